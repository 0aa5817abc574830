/*-------------------------------------------------------------------------
 *
 * sort_paths.c
 *	  Paths with the costs of the sorts that GpuSort nodes will do.
 *
 * Core's own Sort is charged for each comparison, and its Gather Merge for the
 * passage of each row through a tuple queue and for comparing it again there.
 * With GpuSort there is none of that.  So paths are added with the costs of
 * what plan_sort.c will make of them.  They are of core's own nodes, and
 * compete with all that core has found: indexes, incremental sorts, workers
 * that evaluate expensive expressions, and hashing, of which core expects too
 * much where tables are large.
 *
 *	- For an ORDER BY: the sort of its input in one process, and with parallel
 *	  workers together.  Core's own paths of these two kinds are dropped, since
 *	  their costs are not those that they will have.
 *	- For GROUP BY and DISTINCT: grouping and uniqueness of sorted input.
 *	- For aggregates that sort their input: see aggregate_paths.c.
 *	- For joins: merge joins of sorted input.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/geqo.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "cost/sort_cost.h"
#include "keys/sort_keys.h"
#include "planner/aggregate_paths.h"
#include "planner/group_paths.h"
#include "planner/sort_paths.h"
#include "planner/sort_refusal.h"
#include "port/compat.h"
#include "port/shared_memory.h"
#include "settings.h"

/* Operators from which on an expression is expensive, as in core. */
#define EXPENSIVE_OPERATORS	10

/*
 * The part of what core charges for an incremental sort that it takes: its groups
 * stay in the cache, and core expects half as many rows more in each.
 */
#define INCREMENTAL_PART	0.4

/*
 * What each scan below an Append costs processes that share the scans, beside
 * the rows: core charges for none of it.  All of them begin all scans, and take
 * turns at those of few pages.  A thousand tables of a page each, scanned by two
 * processes, took 40 us a table more than by one.
 */
#define APPENDED_SCAN_COST	10.0

/*
 * The part of the cost without workers that a sort together may have at most.
 * Where less is gained the workers are better used by others, and they may be in
 * each other's way: a gain of 2% was expected where a sort took 1.4 times as long
 * with a worker, on two busy cores (docs/notes/2026-11-costs.md).
 */
#define TOGETHER_PART		0.95

static create_upper_paths_hook_type previous_upper_paths_hook;
static set_join_pathlist_hook_type previous_join_paths_hook;
static set_rel_pathlist_hook_type previous_relation_paths_hook;
static join_search_hook_type previous_join_search_hook;

/*
 * The relation that may be the next one to be sorted for an ORDER BY, and its
 * cheapest path that is not in that order yet, a copy.
 */
static SortInput noted;

static bool
are_wanted(void)
{
	return gpusort_enable && gpusort_enable_sort && gpusort_enable_costs &&
		enable_sort;
}

/* What a path key stands for in these relations. */
static const EquivalenceMember *
pathkey_member(const PathKey *key, Relids relids)
{
	List	   *members = key->pk_eclass->ec_members;
	ListCell   *cell;

	foreach(cell, members)
	{
		const EquivalenceMember *member = lfirst(cell);

		if (!member->em_is_const && bms_is_subset(member->em_relids, relids))
			return member;
	}
	return linitial(members);
}

List *
sort_paths_columns(const List *pathkeys, Relids relids)
{
	List	   *columns = NIL;
	ListCell   *cell;

	foreach(cell, pathkeys)
		columns = lappend(columns, pathkey_member(lfirst(cell), relids)->em_expr);
	return columns;
}

bool
sort_paths_take_over(PlannerInfo *root, const Path *input, List *pathkeys,
					 double bound, SortSize *size)
{
	Relids		relids = input->parent->relids;
	const PathKey *first = linitial(pathkeys);
	const EquivalenceMember *member = pathkey_member(first, relids);
	Oid			sort_operator = PATHKEY_OPERATOR(first, member->em_datatype);
	Oid			collation = first->pk_eclass->ec_collation;
	SortSize	rows = {input->rows, input->pathtarget->width};

	/* whatever the keys are: to look at them takes longer than a few rows */
	if (refuse_size(&rows, bound) != REFUSAL_NONE ||
		sort_keys_refuse(exprType((Node *) member->em_expr), sort_operator,
						 collation) != REFUSAL_NONE)
		return false;
	*size = sort_size_of_path(root, input, sort_paths_columns(pathkeys, relids),
							  sort_operator, collation, bound);
	return refuse_size(size, bound) == REFUSAL_NONE;
}

Path *
sort_paths_make(PlannerInfo *root, RelOptInfo *relation, Path *input,
				List *pathkeys, double bound)
{
	SortSize	size;
	Path	   *path;
	Cost		startup;
	Cost		total;

	if (pathkeys_contained_in(pathkeys, input->pathkeys) ||
		!sort_paths_take_over(root, input, pathkeys, bound, &size))
		return NULL;

	cost_sort_alone(&size, &startup, &total);
	path = (Path *) create_sort_path(root, relation, input, pathkeys, bound);
	path->startup_cost = input->total_cost + startup;
	path->total_cost = input->total_cost + total;
	return path;
}

/*
 * ---- ORDER BY
 */

/* How many rows are wanted of an ORDER BY. */
static double
ordered_bound(const PlannerInfo *root)
{
	/* functions that return sets may make more of each */
	return root->limit_tuples >= 0 && !root->parse->hasTargetSRFs ?
		root->limit_tuples : NO_BOUND;
}

/* What a projection that takes no node of its own is of. */
static Path *
skip_projection(Path *path)
{
	return IsA(path, ProjectionPath) && ((ProjectionPath *) path)->dummypp ?
		((ProjectionPath *) path)->subpath : path;
}

/* To sort such rows takes a single process next to nothing. */
bool
sort_paths_come_in_order(PlannerInfo *root, const Path *input, List *pathkeys)
{
	ListCell   *cell;

	foreach(cell, pathkeys)
	{
		const PathKey *key = lfirst(cell);
		const EquivalenceMember *member = pathkey_member(key, input->parent->relids);
		TableOrder	order;

		if (!order_of_path(root, input, (Node *) member->em_expr, &order) ||
			table_order_correlation(&order,
									PATHKEY_OPERATOR(key, member->em_datatype),
									key->pk_eclass->ec_collation) < SORTED_CORRELATION)
			return false;
	}
	return true;
}

/* Should a leader and its workers sort the rows of this path together? */
static bool
can_sort_together(PlannerInfo *root, const RelOptInfo *ordered,
				  const Path *partial, SortSize *size)
{
	return ordered->consider_parallel && enable_gathermerge &&
		parallel_leader_participation &&
		!pathkeys_contained_in(root->sort_pathkeys, partial->pathkeys) &&
		sort_paths_take_over(root, partial, root->sort_pathkeys,
							 ordered_bound(root), size) &&
		!first_rows_are_few(size, sort_participants(partial->parallel_workers),
							ordered_bound(root)) &&
		sort_fits_memory(size->rows, size->width) &&
		!sort_paths_come_in_order(root, partial, root->sort_pathkeys);
}

/* Is this one of core's own paths of sorts, and one with parallel workers? */
static bool
is_core_sort(Path *path, bool *together)
{
	if (IsA(path, ProjectionPath))
		path = ((ProjectionPath *) path)->subpath;
	*together = IsA(path, GatherMergePath);
	if (*together)
		path = skip_projection(((GatherMergePath *) path)->subpath);
	return IsA(path, SortPath);
}

/*
 * Drops core's own paths of sorts in one process, of such together, or of both.
 */
static void
drop_core_paths(RelOptInfo *ordered, bool alone, bool together)
{
	ListCell   *cell;

	foreach(cell, ordered->pathlist)
	{
		bool		is_together;

		if (is_core_sort(lfirst(cell), &is_together) &&
			(is_together ? together : alone))
			ordered->pathlist = foreach_delete_current(ordered->pathlist, cell);
	}
}

/*
 * Is there a LIMIT that is not known before it runs, of this query or of one that
 * it is a part of?
 */
static bool
is_below_unknown_limit(const PlannerInfo *root)
{
	for (; root != NULL; root = root->parent_root)
	{
		if (root->parse->limitCount != NULL &&
			!IsA(root->parse->limitCount, Const))
			return true;
	}
	return false;
}

/*
 * May all of the sort's time be that of core's heap of the first rows, of which
 * workers have a share each?  So it may below such a LIMIT, where core would have
 * workers.  Then our costs are not those that it will have.  Nor should it have
 * workers where core has none: of a LIMIT that is more in a rescan core tells
 * workers only what it was at first.
 */
static bool
workers_may_spare_time(const PlannerInfo *root, const RelOptInfo *ordered)
{
	ListCell   *cell;

	if (root->limit_tuples >= 0 || !is_below_unknown_limit(root))
		return false;
	foreach(cell, ordered->pathlist)
	{
		bool		is_together;

		if (is_core_sort(lfirst(cell), &is_together) && is_together)
			return true;
	}
	return false;
}

/* The path that sorts these rows in one process, NULL if there is none. */
static Path *
make_sort_alone(PlannerInfo *root, RelOptInfo *ordered, Path *input)
{
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	Path	   *path = sort_paths_make(root, ordered, input, root->sort_pathkeys,
									   ordered_bound(root));

	return path == NULL || path->pathtarget == target ? path :
		apply_projection_to_path(root, ordered, path, target);
}

/*
 * How many scans an Append on top of a path has below it.  Below joins such scans
 * are but a part of the plan.
 */
static int
count_appended_scans(const Path *path)
{
	while (IsA(path, ProjectionPath))
		path = ((const ProjectionPath *) path)->subpath;
	return IsA(path, AppendPath) ?
		list_length(((const AppendPath *) path)->subpaths) : 0;
}

/* The path that sorts so many rows, a part of which is "partial", together. */
static Path *
make_sort_together(PlannerInfo *root, RelOptInfo *ordered, Path *partial,
				   double rows)
{
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	SortSize	size;
	Path	   *sort;
	Path	   *path;
	Cost		startup;
	Cost		total;
	Cost		shared_scans;

	if (!can_sort_together(root, ordered, partial, &size) ||
		!shared_memory_suffices(sort_rows_bytes(rows, size.width)))
		return NULL;
	/* expensive expressions are left to the workers */
	if (target->cost.per_tuple - partial->pathtarget->cost.per_tuple >
		EXPENSIVE_OPERATORS * cpu_operator_cost)
		return NULL;

	size.rows = rows;
	cost_sort_together(&size, rows / partial->rows, &startup, &total);
	shared_scans = count_appended_scans(partial) * APPENDED_SCAN_COST;
	sort = (Path *) create_sort_path(root, ordered, partial,
									 root->sort_pathkeys, root->limit_tuples);
	sort->startup_cost = partial->total_cost + shared_scans + startup;
	sort->total_cost = partial->total_cost + shared_scans + total;
	path = (Path *) create_gather_merge_path(root, ordered, sort,
											 sort->pathtarget,
											 root->sort_pathkeys, NULL, &rows);
	path->startup_cost = sort->startup_cost + parallel_setup_cost;
	path->total_cost = sort->total_cost + parallel_setup_cost;

	/* not pushed below the Gather Merge: it would come between the two */
	return equal(path->pathtarget->exprs, target->exprs) ? path :
		(Path *) create_projection_path(root, ordered, path, target);
}

/*
 * The input of an ORDER BY.
 *
 * Core adds to the ordered relation both paths of the input that are in order and
 * sorts of its cheapest path, and frees those that lose.  A freed path stays in
 * the input's list, and may be its cheapest path.  So after core has added its
 * paths only the partial paths of the input may be read.  The path to sort is
 *	- the path below core's own Sort, if that path of core is still there; or
 *	- a copy of the cheapest path that is not in order, noted when the input was
 *	  made, to which the planner may have applied a target since.
 *
 * No path is noted where the hook of another extension comes after ours: that hook
 * may put a node above all paths, or replace them.
 */

/* The size of a path's node, 0 for one that is not known. */
static size_t
path_size(const Path *path)
{
	switch (nodeTag(path))
	{
		case T_Path:
			return sizeof(Path);
		case T_IndexPath:
			return sizeof(IndexPath);
		case T_BitmapHeapPath:
			return sizeof(BitmapHeapPath);
		case T_TidPath:
			return sizeof(TidPath);
		case T_TidRangePath:
			return sizeof(TidRangePath);
		case T_SubqueryScanPath:
			return sizeof(SubqueryScanPath);
		case T_ForeignPath:
			return sizeof(ForeignPath);
		case T_AppendPath:
			return sizeof(AppendPath);
		case T_MergeAppendPath:
			return sizeof(MergeAppendPath);
		case T_NestPath:
			return sizeof(NestPath);
		case T_MergePath:
			return sizeof(MergePath);
		case T_HashPath:
			return sizeof(HashPath);
		case T_GatherPath:
			return sizeof(GatherPath);
		case T_GatherMergePath:
			return sizeof(GatherMergePath);
		case T_ProjectionPath:
			return sizeof(ProjectionPath);
		case T_SortPath:
			return sizeof(SortPath);
		case T_IncrementalSortPath:
			return sizeof(IncrementalSortPath);
		case T_GroupPath:
			return sizeof(GroupPath);
		case T_UpperUniquePath:
			return sizeof(UpperUniquePath);
		case T_AggPath:
			return sizeof(AggPath);
		case T_GroupingSetsPath:
			return sizeof(GroupingSetsPath);
		case T_WindowAggPath:
			return sizeof(WindowAggPath);
		default:
			return 0;
	}
}

/* A copy of a path's node alone, NULL if it is of a kind that is not known. */
static Path *
copy_path(const Path *path)
{
	size_t		size = path_size(path);

	return size == 0 ? NULL : memcpy(palloc(size), path, size);
}

/* Notes what to sort of a relation whose paths are complete. */
static void
note_input(PlannerInfo *root, RelOptInfo *relation)
{
	const Path *cheapest = NULL;
	ListCell   *cell;

	if (!are_wanted() || root->sort_pathkeys == NIL || IS_OTHER_REL(relation))
		return;
	foreach(cell, relation->pathlist)
	{
		Path	   *path = lfirst(cell);

		if (path->param_info == NULL &&
			!pathkeys_contained_in(root->sort_pathkeys, path->pathkeys) &&
			(cheapest == NULL ||
			 compare_path_costs(path, (Path *) cheapest, TOTAL_COST) < 0))
			cheapest = path;
	}
	noted.root = root;
	noted.relation = relation;
	noted.path = cheapest == NULL ? NULL : copy_path(cheapest);
}

SortInput
sort_paths_begin(void)
{
	SortInput	outer = noted;

	memset(&noted, 0, sizeof(noted));
	return outer;
}

void
sort_paths_end(SortInput outer)
{
	noted = outer;
}

/* The input of core's own sort of this path, NULL if that is not there. */
static Path *
input_sorted_by_core(const RelOptInfo *ordered, const Path *input)
{
	ListCell   *cell;

	foreach(cell, ordered->pathlist)
	{
		Path	   *path = lfirst(cell);

		if (IsA(path, ProjectionPath))
			path = ((ProjectionPath *) path)->subpath;
		if ((IsA(path, SortPath) || IsA(path, IncrementalSortPath)) &&
			((SortPath *) path)->subpath == input)
			return ((SortPath *) path)->subpath;
	}
	return NULL;
}

/* The path that has been noted of this input, NULL if there is none. */
static Path *
noted_input(PlannerInfo *root, RelOptInfo *input)
{
	Path	   *path = noted.path;
	Path	   *gather;

	if (noted.root != root || noted.relation != input || path == NULL ||
		root->parse->hasTargetSRFs)
		return NULL;
	if (IS_UPPER_REL(input))
		return path;

	/* a scan or join: what core has done when all of its paths were there */
	if (equal(path->pathtarget->exprs, input->reltarget->exprs))
		path->pathtarget = input->reltarget;
	else
		path = (Path *) create_projection_path(root, input, path,
											   input->reltarget);
	if (input->partial_pathlist == NIL)
		return path;
	gather = (Path *) create_gather_path(root, input,
										 linitial(input->partial_pathlist),
										 input->reltarget, NULL, NULL);
	return compare_path_costs(gather, path, TOTAL_COST) < 0 ? gather : path;
}

/* Does an incremental sort of core's probably take less time than this path? */
static bool
incremental_is_better(const RelOptInfo *ordered, const Path *own)
{
	ListCell   *cell;

	foreach(cell, ordered->pathlist)
	{
		const Path *path = skip_projection(lfirst(cell));
		const Path *input;

		if (!IsA(path, IncrementalSortPath))
			continue;
		input = ((const IncrementalSortPath *) path)->spath.subpath;
		if (DISABLED_NODES(path) <= DISABLED_NODES(own) &&
			input->total_cost + INCREMENTAL_PART *
			(path->total_cost - input->total_cost) <= own->total_cost)
			return true;
	}
	return false;
}

/* The cost of the rows that are wanted of a path. */
static Cost
cost_of_wanted_rows(const PlannerInfo *root, const Path *path)
{
	double		part = root->tuple_fraction;

	/* a number of rows, if it is not a part of them */
	if (part >= 1 && path->rows > 0)
		part /= path->rows;
	return part <= 0 || part >= 1 ? path->total_cost :
		path->startup_cost + part * (path->total_cost - path->startup_cost);
}

/*
 * Is a sort together expected to gain too little by its workers?  "alone" is the
 * sort of "input" in one process, which may have workers below it.
 */
static bool
workers_hardly_gain(const PlannerInfo *root, Path *input, const Path *alone,
					const Path *together)
{
	return !IsA(skip_projection(input), GatherPath) &&
		DISABLED_NODES(alone) <= DISABLED_NODES(together) &&
		cost_of_wanted_rows(root, together) >
		TOGETHER_PART * cost_of_wanted_rows(root, alone);
}

static void
add_ordered_paths(PlannerInfo *root, RelOptInfo *input, RelOptInfo *ordered)
{
	Path	   *unordered;
	Path	   *alone = NULL;
	Path	   *together = NULL;

	/* what a set operation puts out, and its LIMIT, are not known here */
	if (root->sort_pathkeys == NIL || root->parse->setOperations != NULL ||
		ordered->pathlist == NIL || workers_may_spare_time(root, ordered))
		return;
	unordered = input_sorted_by_core(ordered, input->cheapest_total_path);
	if (unordered == NULL)
		unordered = noted_input(root, input);
	if (unordered != NULL)
		alone = make_sort_alone(root, ordered, unordered);
	if (input->partial_pathlist != NIL)
		together = make_sort_together(root, ordered,
									  linitial(input->partial_pathlist),
									  unordered != NULL ? unordered->rows :
									  ((Path *) linitial(ordered->pathlist))->rows);
	if (alone != NULL && incremental_is_better(ordered, alone))
		alone = NULL;
	if (together != NULL && incremental_is_better(ordered, together))
		together = NULL;
	drop_core_paths(ordered, alone != NULL, together != NULL);
	if (alone != NULL && together != NULL &&
		workers_hardly_gain(root, unordered, alone, together))
		together = NULL;
	if (alone != NULL)
		add_path(ordered, alone);
	if (together != NULL)
		add_path(ordered, together);
}

/*
 * ---- hashing, or sorting
 *
 * How long hashing takes depends on the size of the table that it makes, and so
 * on a guess of how many rows or groups differ.  A sort takes about as long
 * whatever these are.  So where the guess is of nothing but a rule of thumb,
 * core's choice stays.
 */

bool
sort_paths_know_groups(PlannerInfo *root, List *clause, List *target_list)
{
	List	   *exprs = get_sortgrouplist_exprs(clause, target_list);
	bool		are_known = exprs != NIL;
	ListCell   *cell;

	foreach(cell, exprs)
	{
		VariableStatData variable;
		bool		is_default;

		examine_variable(root, lfirst(cell), 0, &variable);
		(void) get_variable_numdistinct(&variable, &is_default);
		ReleaseVariableStats(variable);
		are_known &= !is_default;
	}
	return are_known;
}

/* Is the number of rows that of a table? */
static bool
rows_are_known(const RelOptInfo *relation)
{
	return relation->reloptkind == RELOPT_BASEREL &&
		relation->rtekind == RTE_RELATION &&
		relation->baserestrictinfo == NIL;
}

/*
 * How many of a path's rows are looked up by this expression where the table has
 * not just been looked at, as it is for rows of the same value that come one
 * behind the other.
 */
static double
scattered_lookups(PlannerInfo *root, const Path *path, const Node *expr)
{
	TableOrder	order;
	double		ordered;

	if (!order_of_path(root, path, expr, &order))
		return path->rows;
	ordered = order.correlation * order.correlation;
	return path->rows * (1 - ordered + ordered / order.group_rows);
}

/* The same for one side of a join, by the first of its clauses. */
static double
scattered_lookups_of_side(PlannerInfo *root, const HashPath *join,
						  const Path *side)
{
	const RestrictInfo *clause = linitial(join->path_hashclauses);
	bool		is_left = bms_is_subset(clause->left_relids,
										side->parent->relids);

	return scattered_lookups(root, side, is_left ? get_leftop(clause->clause) :
							 get_rightop(clause->clause));
}

/* What hashing in this path costs more than core expects, 0 if it has none. */
static Cost
hashing_more(PlannerInfo *root, const Path *path)
{
	if (IsA(path, HashPath))
	{
		const HashPath *join = (const HashPath *) path;
		const Path *table = join->jpath.innerjoinpath;

		return cost_hashing_more(scattered_lookups_of_side(root, join,
														   join->jpath.outerjoinpath) +
								 scattered_lookups_of_side(root, join, table),
								 table->rows, table->pathtarget->width);
	}
	if (IsA(path, AggPath))
	{
		const AggPath *agg = (const AggPath *) path;

		if (agg->aggstrategy == AGG_HASHED && agg->aggsplit == AGGSPLIT_SIMPLE)
			return cost_hashing_more(agg->subpath->rows, agg->numGroups,
									 path->pathtarget->width);
	}
	return 0;
}

/*
 * Adds a path with our sorts.  A path of core that hashes is dropped if it is more
 * expensive by what hashing really costs.  Where not all rows are wanted nothing
 * is dropped, since hashing may give the first rows sooner.
 */
static void
add_path_before_hashing(PlannerInfo *root, RelOptInfo *relation,
						Path *sorted)
{
	ListCell   *cell;

	foreach(cell, relation->pathlist)
	{
		const Path *path = lfirst(cell);
		Cost		more = hashing_more(root, path);

		if (more > 0 && root->tuple_fraction == 0 &&
			DISABLED_NODES(path) >= DISABLED_NODES(sorted) &&
			path->total_cost + more > sorted->total_cost)
			relation->pathlist = foreach_delete_current(relation->pathlist,
														cell);
	}
	add_path(relation, sorted);
}

/*
 * ---- GROUP BY and DISTINCT
 */

static void
add_grouping_path(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped,
				  const GroupPathExtraData *extra)
{
	List	   *clause = GROUP_CLAUSE(root);
	List	   *having = (List *) extra->havingQual;
	Path	   *cheapest = input->cheapest_total_path;
	AggClauseCosts costs = {0};
	List	   *exprs;
	double		ngroups;
	Path	   *path;

	if (clause == NIL || root->group_pathkeys == NIL ||
		root->parse->groupingSets != NIL || IS_OTHER_REL(grouped) ||
		(extra->flags & GROUPING_CAN_USE_SORT) == 0)
		return;
	if (!sort_paths_know_groups(root, clause, extra->targetList))
		return;
	path = sort_paths_make(root, grouped, cheapest, root->group_pathkeys, NO_BOUND);
	if (path == NULL)
		return;

	exprs = get_sortgrouplist_exprs(clause, extra->targetList);
	ngroups = estimate_num_groups(root, exprs, cheapest->rows, NULL, NULL);
	if (root->parse->hasAggs)
	{
		get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
		path = (Path *) create_agg_path(root, grouped, path, grouped->reltarget,
										AGG_SORTED, AGGSPLIT_SIMPLE, clause,
										having, &costs, ngroups);
	}
	else
		path = (Path *) create_group_path(root, grouped, path, clause, having,
										  ngroups);
	add_path_before_hashing(root, grouped, path);
}

static void
add_distinct_path(PlannerInfo *root, RelOptInfo *input, RelOptInfo *distinct)
{
	Path	   *path;

	/* DISTINCT ON takes the first rows of the ORDER BY */
	if (root->parse->hasDistinctOn || root->distinct_pathkeys == NIL ||
		distinct->pathlist == NIL ||
		!sort_paths_know_groups(root, root->parse->distinctClause,
								root->processed_tlist))
		return;
	path = sort_paths_make(root, distinct, input->cheapest_total_path,
						   root->distinct_pathkeys, NO_BOUND);
	if (path == NULL)
		return;
	/* all paths yield as many rows */
	path = (Path *)
		create_upper_unique_path(root, distinct, path,
								 list_length(root->distinct_pathkeys),
								 ((Path *) linitial(distinct->pathlist))->rows);
	add_path_before_hashing(root, distinct, path);
}

static void
add_paths_of_stage(PlannerInfo *root, UpperRelationKind stage,
				   RelOptInfo *input, RelOptInfo *output, void *extra)
{
	switch (stage)
	{
		case UPPERREL_GROUP_AGG:
			add_grouping_path(root, input, output, extra);
			break;
		case UPPERREL_DISTINCT:
			add_distinct_path(root, input, output);
			break;
		case UPPERREL_ORDERED:
			add_ordered_paths(root, input, output);
			break;
		default:
			break;
	}
	group_paths_add(root, stage, input, output, extra);
	/* when all others are there, some of which it drops */
	if (stage == UPPERREL_GROUP_AGG)
		aggregate_paths_add(root, input, output, extra);
}

static void
add_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
				RelOptInfo *output, void *extra)
{
	/* first: an extension that puts a node above all paths has to find ours */
	if (are_wanted())
		add_paths_of_stage(root, stage, input, output, extra);
	if (previous_upper_paths_hook != NULL)
		previous_upper_paths_hook(root, stage, input, output, extra);

	if (create_upper_paths_hook == add_upper_paths &&
		(stage == UPPERREL_GROUP_AGG || stage == UPPERREL_WINDOW ||
		 stage == UPPERREL_DISTINCT))
		note_input(root, output);
}

/*
 * ---- joins
 */

/*
 * The cheapest path of a relation in this order.  Sets *sorts if it is one of
 * our sorts.
 */
static Path *
cheapest_in_order(PlannerInfo *root, RelOptInfo *relation, List *pathkeys,
				  bool *sorts)
{
	Path	   *cheapest = relation->cheapest_total_path;
	Path	   *ordered;
	Path	   *sort;

	ordered = get_cheapest_path_for_pathkeys(relation->pathlist, pathkeys,
											 NULL, TOTAL_COST, false);
	sort = sort_paths_make(root, relation, cheapest, pathkeys, NO_BOUND);
	if (sort == NULL)
		return ordered != NULL ? ordered : (Path *)
			create_sort_path(root, relation, cheapest, pathkeys, NO_BOUND);
	if (ordered != NULL && compare_path_costs(ordered, sort, TOTAL_COST) <= 0)
		return ordered;
	*sorts = true;
	return sort;
}

static void
add_merge_join_path(PlannerInfo *root, RelOptInfo *join, RelOptInfo *outer,
					RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	JoinCostWorkspace costs;
	List	   *clauses;
	List	   *outer_keys;
	List	   *inner_keys;
	Path	   *outer_path;
	Path	   *inner_path;
	Path	   *path;
	bool		sorts = false;

	outer_keys = select_outer_pathkeys_for_merge(root, extra->mergeclause_list,
												 join);
	clauses = find_mergeclauses_for_outer_pathkeys(root, outer_keys,
												   extra->mergeclause_list);
	inner_keys = make_inner_pathkeys_for_merge(root, clauses, outer_keys);
	outer_path = cheapest_in_order(root, outer, outer_keys, &sorts);
	inner_path = cheapest_in_order(root, inner, inner_keys, &sorts);
	if (!sorts)
		return;

	initial_cost_mergejoin(root, &costs, type, clauses, outer_path, inner_path,
						   NIL, NIL, 0, extra);
	path = (Path *)
		create_mergejoin_path(root, join, type, &costs, extra, outer_path,
							  inner_path, extra->restrictlist,
							  build_join_pathkeys(root, join, type, outer_keys),
							  NULL, clauses, NIL, NIL, 0);

	/*
	 * Core tries a join from both sides, one after the other.  Only of an
	 * inner join both can be merged here; of others a hashing path would be
	 * left that may be the worse one.
	 */
	if (type == JOIN_INNER)
		add_path_before_hashing(root, join, path);
	else
		add_path(join, path);
}

static void
add_join_paths(PlannerInfo *root, RelOptInfo *join, RelOptInfo *outer,
			   RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	if (previous_join_paths_hook != NULL)
		previous_join_paths_hook(root, join, outer, inner, type, extra);

	/* of the other types not all can be merged, or not by all clauses */
	if (are_wanted() && enable_mergejoin && extra->mergeclause_list != NIL &&
		!IS_OTHER_REL(join) &&
		Max(outer->rows, inner->rows) >= gpusort_min_rows &&
		rows_are_known(outer) && rows_are_known(inner) &&
		(type == JOIN_INNER || type == JOIN_LEFT || type == JOIN_SEMI ||
		 type == JOIN_ANTI) &&
		outer->cheapest_total_path->param_info == NULL &&
		inner->cheapest_total_path->param_info == NULL)
		add_merge_join_path(root, join, outer, inner, type, extra);
}

/*
 * ---- what is noted of scans and joins
 */

static void
note_relation(PlannerInfo *root, RelOptInfo *relation, Index index,
			  RangeTblEntry *entry)
{
	if (previous_relation_paths_hook != NULL)
		previous_relation_paths_hook(root, relation, index, entry);
	if (set_rel_pathlist_hook == note_relation &&
		bms_equal(relation->relids, QUERY_RELIDS(root)))
		note_input(root, relation);
}

/* The search for a join, of which only the last result is noted. */
static RelOptInfo *
search_join(PlannerInfo *root, int levels_needed, List *initial_rels)
{
	RelOptInfo *join;

	if (previous_join_search_hook != NULL)
		join = previous_join_search_hook(root, levels_needed, initial_rels);
	else if (enable_geqo && levels_needed >= geqo_threshold)
		join = geqo(root, levels_needed, initial_rels);
	else
		join = standard_join_search(root, levels_needed, initial_rels);

	if (join_search_hook == search_join &&
		bms_equal(join->relids, QUERY_RELIDS(root)))
		note_input(root, join);
	return join;
}

void
sort_paths_init(void)
{
	previous_relation_paths_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = note_relation;
	previous_join_search_hook = join_search_hook;
	join_search_hook = search_join;
	previous_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = add_upper_paths;
	previous_join_paths_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = add_join_paths;
}
