/*-------------------------------------------------------------------------
 *
 * order_paths.c
 *	  Paths for an ORDER BY: by a GpuSort in one process, and with workers.
 *
 * Core's own paths of these two kinds are dropped, since gpusort takes over
 * their sorts, and their costs would be wrong.  All other paths compete with
 * ours: indexes, incremental sorts, workers that evaluate expensive
 * expressions.
 *
 * When core asks for more paths, it may have freed the cheapest path of the
 * input in favour of one that is in order.  So the cheapest path is noted
 * earlier, while all paths are there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "cost/sort_choice.h"
#include "planner/gather_paths.h"
#include "planner/order_paths.h"
#include "planner/sort_refusal.h"
#include "port/compat.h"

/* Operators from which on an expression is expensive, as in core. */
#define EXPENSIVE_OPERATORS	10

/*
 * The cost of each scan below an Append, beside its rows, if processes share
 * the scans; core charges nothing for it.  All processes begin all scans,
 * and take turns at scans of few pages.  A thousand tables of a page each
 * took 40 us a table more when two processes scanned them than when one did.
 */
#define APPENDED_SCAN_COST	10.0

/*
 * The relation that may be the next one to be sorted for an ORDER BY, and a
 * copy of its cheapest path that is not in that order yet.
 */
static SortInput noted;

/* The number of rows that are wanted of an ORDER BY. */
static double
ordered_bound(const PlannerInfo *root)
{
	/* functions that return sets may make several rows of each */
	return root->limit_tuples >= 0 && !root->parse->hasTargetSRFs ?
		root->limit_tuples : NO_BOUND;
}

/*
 * The path below a projection that takes no node of its own; other paths as
 * they are.
 */
static Path *
skip_projection(Path *path)
{
	return IsA(path, ProjectionPath) && ((ProjectionPath *) path)->dummypp ?
		((ProjectionPath *) path)->subpath : path;
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
		sort_is_together(sort_choose(size,
									 sort_members(partial->parallel_workers),
									 ordered_bound(root))) &&
		!sort_paths_come_in_order(root, partial, root->sort_pathkeys);
}

/*
 * Is this one of core's own paths that sort, with parallel workers or
 * without?
 */
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

/* Drops core's own paths that sort: in one process, with workers, or both. */
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
 * Does this query, or a query around it, have a LIMIT that is not known
 * before it runs?
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
 * May the sort turn out to be core's heap of the first rows, shared by
 * workers?  That is possible below a LIMIT that is not known before the query
 * runs, if core would use workers.  Then our costs would be wrong.  And if
 * core uses no workers, gpusort should use none either: core tells workers
 * only the first LIMIT, though a rescan may have a larger one.
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

/* The path that sorts these rows in one process; NULL if there is none. */
static Path *
make_sort_alone(PlannerInfo *root, RelOptInfo *ordered, Path *input)
{
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	Path	   *path = sort_paths_make(root, ordered, input, root->sort_pathkeys,
									   ordered_bound(root));

	return path == NULL || equal(path->pathtarget->exprs, target->exprs) ?
		path : apply_projection_to_path(root, ordered, path, target);
}

/*
 * The number of scans below an Append on top of a path.  Scans below a join
 * do not count, as they are only a part of the plan.
 */
static int
count_appended_scans(const Path *path)
{
	while (IsA(path, ProjectionPath))
		path = ((const ProjectionPath *) path)->subpath;
	return IsA(path, AppendPath) ?
		list_length(((const AppendPath *) path)->subpaths) : 0;
}

/*
 * The path by which all processes sort this many rows together; "partial"
 * has one process's share of them.
 */
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

	if (!can_sort_together(root, ordered, partial, &size))
		return NULL;
	/* the workers evaluate expensive expressions */
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

	/*
	 * not pushed below the Gather Merge, where it would stand above the Sort
	 */
	return equal(path->pathtarget->exprs, target->exprs) ? path :
		(Path *) create_projection_path(root, ordered, path, target);
}

/*
 * The input of an ORDER BY.
 *
 * Core adds to the ordered relation the paths of the input that are in order,
 * and sorts of the input's cheapest path, and frees the paths that lose.  A
 * freed path stays in the input's list, and may be its cheapest path.  So when
 * core has added its paths, only the partial paths of the input may be read.
 * The path to sort is
 *	- the path below core's own Sort, if that path of core is still there; or
 *	- a copy of the cheapest path that is not in order, noted when the input was
 *	  made, to which the planner may have applied a target since.
 *
 * No path is noted if the hook of another extension comes after ours, as
 * that hook may put a node above all paths, or replace them.
 */

/* The size of a path's node; 0 if its kind is not known. */
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
		case T_UniquePath:
			return sizeof(UniquePath);
		case T_AggPath:
			return sizeof(AggPath);
		case T_GroupingSetsPath:
			return sizeof(GroupingSetsPath);
		case T_WindowAggPath:
			return sizeof(WindowAggPath);
		case T_CustomPath:
			/* the size of another extension's path is not known */
			return gather_paths_gathered(path) != NULL ? sizeof(CustomPath) : 0;
		default:
			return 0;
	}
}

/* A copy of a path's node alone; NULL if its kind is not known. */
static Path *
copy_path(const Path *path)
{
	size_t		size = path_size(path);

	return size == 0 ? NULL : memcpy(palloc(size), path, size);
}

void
order_paths_note(PlannerInfo *root, RelOptInfo *relation)
{
	const Path *cheapest = NULL;
	ListCell   *cell;

	if (root->sort_pathkeys == NIL || IS_OTHER_REL(relation))
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
order_paths_begin(void)
{
	SortInput	outer = noted;

	memset(&noted, 0, sizeof(noted));
	return outer;
}

void
order_paths_end(SortInput outer)
{
	noted = outer;
}

/*
 * The input of core's own sort of this path; NULL if that sort is not there.
 */
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

/* The path that has been noted for this input; NULL if there is none. */
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

	/* a scan or join: does what core did when all of its paths were there */
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

/* Does a path emit groups that were hashed? */
static bool
is_hashed(const Path *path)
{
	for (;;)
	{
		switch (nodeTag(path))
		{
			case T_ProjectionPath:
				path = ((const ProjectionPath *) path)->subpath;
				break;
			case T_SubqueryScanPath:
				path = ((const SubqueryScanPath *) path)->subpath;
				break;
			case T_AggPath:
				return ((const AggPath *) path)->aggstrategy == AGG_HASHED;
			default:
				return false;
		}
	}
}

/*
 * Does core prefer to sort rows and then group them, to hashing groups and
 * then sorting these?  A GpuSort gains far more in the first way.  But the
 * time of hashing is known less well, so that the second way may seem to
 * cost less.
 */
static bool
sorts_before_grouping(const RelOptInfo *ordered, const Path *unordered)
{
	bool		is_together;

	return is_hashed(unordered) &&
		!is_core_sort(sort_paths_cheapest(ordered), &is_together);
}

/* The cost of a path up to the rows that are wanted. */
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
 * Do workers gain too little in a sort together?  "alone" is the sort of
 * "input" in one process, which may have workers below it.
 */
static bool
together_hardly_gains(const PlannerInfo *root, Path *input,
					  const Path *alone, const Path *together)
{
	return gather_paths_gathered(skip_projection(input)) == NULL &&
		DISABLED_NODES(alone) <= DISABLED_NODES(together) &&
		workers_hardly_gain(cost_of_wanted_rows(root, together),
							cost_of_wanted_rows(root, alone));
}

void
order_paths_add(PlannerInfo *root, RelOptInfo *input, RelOptInfo *ordered)
{
	Path	   *unordered;
	Path	   *alone = NULL;
	Path	   *together = NULL;

	/* the output of a set operation, and its LIMIT, are not known here */
	if (root->sort_pathkeys == NIL || root->parse->setOperations != NULL ||
		ordered->pathlist == NIL || workers_may_spare_time(root, ordered))
		return;
	unordered = input_sorted_by_core(ordered, input->cheapest_total_path);
	if (unordered == NULL)
		unordered = noted_input(root, input);
	if (unordered != NULL && sort_paths_few_values(root, unordered, root->sort_pathkeys))
		return;
	if (unordered != NULL && !sorts_before_grouping(ordered, unordered))
		alone = make_sort_alone(root, ordered, unordered);
	if (input->partial_pathlist != NIL)
		together = make_sort_together(root, ordered,
									  linitial(input->partial_pathlist),
									  unordered != NULL ? unordered->rows :
									  ((Path *) linitial(ordered->pathlist))->rows);
	if (alone != NULL && sort_paths_incremental_is_better(root, ordered, alone))
		alone = NULL;
	if (together != NULL && sort_paths_incremental_is_better(root, ordered, together))
		together = NULL;
	drop_core_paths(ordered, alone != NULL, together != NULL);
	if (alone != NULL && together != NULL &&
		together_hardly_gains(root, unordered, alone, together))
		together = NULL;
	if (alone != NULL)
		add_path(ordered, alone);
	if (together != NULL)
		add_path(ordered, together);
}
