/*-------------------------------------------------------------------------
 *
 * hash_paths.c
 *	  Core's paths that hash, beside paths that sort.
 *
 * Core expects the same time of a look-up in a hash table of any size.  But in
 * a large table most look-ups miss the caches (sort_cost.h).  So a path that
 * sorts competes with the real cost of core's paths.
 *
 * How long hashing takes depends on the size of the hash table, and so on a
 * guess: how many rows or groups differ.  The time of a sort hardly depends
 * on that.  So core's choice stays where the guess is only a rule of thumb;
 * the callers see to that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_statistic_ext.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/selfuncs.h"

#include "cost/sort_cost.h"
#include "planner/hash_paths.h"
#include "planner/sort_paths.h"
#include "port/compat.h"

/*
 * A worker's look-ups cost this part of what those of a single process cost: it
 * has caches of its own.  With 100,000 groups, 2 workers and 4MB hashing and
 * sorting take the same time on an H200's Xeon, where each processor has a
 * cache of 2 MB, and sorting takes half of it on a small EPYC.
 */
#define WORKERS_PART	0.3

/*
 * Core may expect all groups of a table behind a join that leaves few: of
 * TPC-DS's 10,000 weeks 263 have sales.  So query 2 took 1.3 times as long by
 * sorting, which was expected to cost 0.85 of hashing.
 *
 * If a join leaves less than FEW_GROUPS_LEFT of the groups, by the numbers of
 * values on both sides, workers hash.  Where that is unknown, a path that sorts
 * has to cost less than GUESSED_GROUPS_PART of one that hashes.
 */
#define FEW_GROUPS_LEFT		0.25
#define GUESSED_GROUPS_PART	0.8

/*
 * The number of a path's rows that are looked up, by this expression, in
 * another place of the hash table than the row before.  Neighbouring rows with
 * the same value are looked up in one place.
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

/*
 * The expression by which one side of a join is hashed, in the first clause.
 */
static Node *
hashed_expression(const HashPath *join, const Path *side)
{
	const RestrictInfo *clause = linitial(join->path_hashclauses);

	return bms_is_subset(clause->left_relids, side->parent->relids) ?
		get_leftop(clause->clause) : get_rightop(clause->clause);
}

/*
 * The part of the rows that are hashed by this expression: it is not NULL in
 * them.
 */
static double
hashed_part(PlannerInfo *root, Node *expr)
{
	VariableStatData variable;
	double		part = 1;

	examine_variable(root, expr, 0, &variable);
	if (HeapTupleIsValid(variable.statsTuple))
		part -= ((Form_pg_statistic) GETSTRUCT(variable.statsTuple))->stanullfrac;
	ReleaseVariableStats(variable);
	return part;
}

/*
 * The part of the look-ups that find their entry far from the entry of the
 * look-up before.  It is all of them, unless both sides come in order.  Then
 * it is half of them, those of a row's place; the row itself is right behind
 * the last one.
 */
static double
distant_part(PlannerInfo *root, const Path *outer, const Node *outer_expr,
			 const Path *table, const Node *table_expr)
{
	TableOrder	outer_order;
	TableOrder	table_order;

	if (!order_of_path(root, outer, outer_expr, &outer_order) ||
		!order_of_path(root, table, table_expr, &table_order))
		return 1;
	return 1 - fabs(outer_order.correlation * table_order.correlation) / 2;
}

/* The cost of hashing in a join beyond what core expects. */
static Cost
hashing_more_in_join(PlannerInfo *root, const HashPath *join)
{
	const Path *outer = join->jpath.outerjoinpath;
	const Path *table = join->jpath.innerjoinpath;
	Node	   *outer_expr = hashed_expression(join, outer);
	Node	   *table_expr = hashed_expression(join, table);
	double		outer_part = hashed_part(root, outer_expr);
	double		table_part = hashed_part(root, table_expr);

	return distant_part(root, outer, outer_expr, table, table_expr) *
		cost_hashing_more(scattered_lookups(root, outer, outer_expr) * outer_part +
						  scattered_lookups(root, table, table_expr) * table_part,
						  table->rows * table_part,
						  table->pathtarget->width);
}

/* Does a relation have statistics of several columns together? */
static bool
has_statistics_of_groups(const RelOptInfo *relation)
{
	ListCell   *cell;

	foreach(cell, relation->statlist)
	{
		if (lfirst_node(StatisticExtInfo, cell)->kind == STATS_EXT_NDISTINCT)
			return true;
	}
	return false;
}

/*
 * The number of groups that a hash table is expected to have.  For several
 * columns without common statistics core multiplies the numbers of their
 * values, as if the columns had nothing to do with each other.  There are at
 * least as many groups as values of one column.  So the number is between the
 * two: too many would leave small hash tables for a sort.
 */
static double
count_entries(PlannerInfo *root, const Path *input, List *columns,
			  double ngroups)
{
	double		least = 1;
	ListCell   *cell;

	if (list_length(columns) == 1 || has_statistics_of_groups(input->parent))
		return ngroups;
	foreach(cell, columns)
	{
		double		count = estimate_num_groups(root, list_make1(lfirst(cell)),
												input->rows, NULL, NULL);

		least = Max(least, count);
	}
	return sqrt(Min(least, ngroups) * ngroups);
}

/*
 * The cost of hashing the rows of "input" by a clause, which makes this many
 * groups, beyond what core expects.
 */
static Cost
hashing_more_by_clause(PlannerInfo *root, const Path *input, List *clause,
					   double ngroups, int width)
{
	List	   *columns = get_sortgrouplist_exprs(clause,
												  root->processed_tlist);
	double		lookups = list_length(columns) == 1 ?
		scattered_lookups(root, input, linitial(columns)) : input->rows;

	return cost_hashing_more(lookups,
							 count_entries(root, input, columns, ngroups),
							 width);
}

/* The same for grouping sets, some of which are hashed, each in its own table. */
static Cost
hashing_more_in_sets(PlannerInfo *root, const GroupingSetsPath *path)
{
	Cost		more = 0;
	ListCell   *cell;

	foreach(cell, path->rollups)
	{
		const RollupData *rollup = lfirst(cell);

		if (rollup->is_hashed)
			more += hashing_more_by_clause(root, path->subpath,
										   rollup->groupClause,
										   rollup->numGroups,
										   path->path.pathtarget->width);
	}
	return more;
}

/*
 * The cost of hashing groups, beyond what core expects.  Workers may hash
 * first, each for itself, and the leader sort or hash what they emit.  That
 * counts only for groups of a table: how many groups come out of a join is a
 * guess, and workers are at their best with few.
 */
static Cost
hashing_more_in_groups(PlannerInfo *root, const Path *path)
{
	bool		in_workers = false;
	Cost		alone = 0;
	Cost		with_workers = 0;

	for (;;)
	{
		const AggPath *agg = (const AggPath *) path;
		const Path *below;

		switch (nodeTag(path))
		{
			case T_GatherPath:
				below = ((const GatherPath *) path)->subpath;
				in_workers = true;
				break;
			case T_GatherMergePath:
				below = ((const GatherMergePath *) path)->subpath;
				in_workers = true;
				break;
			case T_SortPath:
				below = ((const SortPath *) path)->subpath;
				break;
			default:
				below = sort_paths_below_groups(path);
				break;
		}
		if (below == NULL)
			return path->parent->reloptkind == RELOPT_BASEREL ?
				alone + with_workers : alone;
		if (IsA(path, GroupingSetsPath))
			alone += hashing_more_in_sets(root, (const GroupingSetsPath *) path);
		if (IsA(path, AggPath) && agg->aggstrategy == AGG_HASHED)
		{
			Cost		more = hashing_more_by_clause(root, agg->subpath,
													  agg->groupClause,
													  agg->numGroups,
													  path->pathtarget->width);

			if (in_workers)
				with_workers += more * WORKERS_PART;
			else if (agg->aggsplit == AGGSPLIT_SIMPLE)
				alone += more;
			else
				with_workers += more;
		}
		path = below;
	}
}

/*
 * The cost of hashing in this path beyond what core expects; 0 if nothing is
 * hashed.
 */
static Cost
hashing_more(PlannerInfo *root, const Path *path)
{
	return IsA(path, HashPath) ?
		hashing_more_in_join(root, (const HashPath *) path) :
		hashing_more_in_groups(root, path);
}

/*
 * Are all rows of a path that hashes wanted?  Hashing may give the first rows
 * sooner, but not if the query sorts all of them.
 */
static bool
wants_all_hashed(const PlannerInfo *root)
{
	return root->tuple_fraction == 0 || root->sort_pathkeys != NIL;
}

void
hash_paths_drop(PlannerInfo *root, RelOptInfo *relation, const Path *sorted,
				Cost sorted_more)
{
	ListCell   *cell;

	if (!wants_all_hashed(root))
		return;
	foreach(cell, relation->pathlist)
	{
		const Path *path = lfirst(cell);
		Cost		more = hashing_more(root, path);

		if (more > 0 && DISABLED_NODES(path) >= DISABLED_NODES(sorted) &&
			path->total_cost + more > sorted->total_cost + sorted_more)
			relation->pathlist = foreach_delete_current(relation->pathlist,
														cell);
	}
}

/* Do workers hash in this path of groups, before one process has all of them? */
static bool
hashes_in_workers(const Path *path)
{
	const AggPath *agg = (const AggPath *) path;

	if (!IsA(path, AggPath) || !DO_AGGSPLIT_COMBINE(agg->aggsplit))
		return false;
	path = agg->subpath;
	for (;;)
	{
		switch (nodeTag(path))
		{
			case T_SortPath:
				path = ((const SortPath *) path)->subpath;
				break;
			case T_GatherPath:
				path = ((const GatherPath *) path)->subpath;
				break;
			case T_GatherMergePath:
				path = ((const GatherMergePath *) path)->subpath;
				break;
			default:
				return IsA(path, AggPath) &&
					((const AggPath *) path)->aggstrategy == AGG_HASHED;
		}
	}
}

/*
 * The part of a relation's values that have equals in the other joined
 * relations, by the members of an equivalence class.
 */
static double
part_with_equals(PlannerInfo *root, const EquivalenceClass *equals,
				 Relids joined, int relid)
{
	double		own = 0;
	double		least = 0;
	ListCell   *cell;

	foreach(cell, equals->ec_members)
	{
		const EquivalenceMember *member = lfirst(cell);
		int			number;
		double		count;

		if (!bms_get_singleton_member(member->em_relids, &number) ||
			!bms_is_member(number, joined))
			continue;
		count = sort_paths_count_values(root, (Node *) member->em_expr);
		if (number == relid)
			own = count;
		else if (count > 0 && (least == 0 || count < least))
			least = count;
	}
	return own > 0 && least > 0 ? Min(least / own, 1) : 1;
}

/* The part of the groups by these expressions that joins leave. */
static double
part_of_groups_left(PlannerInfo *root, Relids joined, List *groups)
{
	Relids		grouped = pull_varnos(root, (Node *) groups);
	double		part = 1;
	int			relid = -1;

	while ((relid = bms_next_member(grouped, relid)) >= 0)
	{
		double		part_of_relation = 1;
		ListCell   *cell;

		foreach(cell, root->eq_classes)
		{
			const EquivalenceClass *equals = lfirst(cell);

			if (list_length(equals->ec_members) > 1 &&
				!equals->ec_has_volatile &&
				bms_is_member(relid, equals->ec_relids))
				part_of_relation = Min(part_of_relation,
									   part_with_equals(root, equals, joined,
														relid));
		}
		part *= part_of_relation;
	}
	return part;
}

bool
hash_paths_may_be_better(PlannerInfo *root, const RelOptInfo *relation,
						 const Path *input, List *groups, const Path *sorted)
{
	bool		is_found = false;
	ListCell   *cell;

	if (!IS_JOIN_REL(input->parent))
		return false;
	foreach(cell, relation->pathlist)
	{
		const Path *path = lfirst(cell);

		if (!hashes_in_workers(path) ||
			DISABLED_NODES(path) > DISABLED_NODES(sorted))
			continue;
		if (sorted->total_cost > GUESSED_GROUPS_PART * path->total_cost)
			return true;
		is_found = true;
	}
	return is_found && part_of_groups_left(root, input->parent->relids,
										   groups) < FEW_GROUPS_LEFT;
}
