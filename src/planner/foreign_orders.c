/*-------------------------------------------------------------------------
 *
 * foreign_orders.c
 *	  Paths that rely on a foreign server's order of strings.
 *
 * A foreign server sorts by its own collations.  If a collation there sorts
 * differently from the collation of that name here, core takes rows for sorted
 * that are not.  Then a merge join misses rows, or finds its input out of
 * order.  Hashing gives the right rows, and so does a sort of both sides here.
 *
 * Costs decide which way core chooses.  If a sort cost less, core would choose
 * a merge join with a sort of one side and the foreign order of the other.
 * And if we dropped a path of core's because ours is better, the next best
 * path might rely on the foreign order.  So core's costs stay as they are if
 * any path that relies on a foreign order competes.  Core then chooses as it
 * does without gpusort, and the sorts of its plan are taken over.
 *
 * A part of a query may return its rows in an order by which the query joins
 * them.  So for a part the tables of all queries around it count, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "nodes/pathnodes.h"

#include "planner/foreign_orders.h"
#include "port/compat.h"

static bool is_by_foreign_order(const Path *path);

/* Does this order depend on collations? */
static bool
is_collated(const List *pathkeys)
{
	ListCell   *cell;

	foreach(cell, pathkeys)
	{
		if (OidIsValid(lfirst_node(PathKey, cell)->pk_eclass->ec_collation))
			return true;
	}
	return false;
}

static bool
is_any_by_foreign_order(const List *paths)
{
	ListCell   *cell;

	foreach(cell, paths)
	{
		if (is_by_foreign_order(lfirst(cell)))
			return true;
	}
	return false;
}

/* Does a join rely on the order of one side, or pass on that of the outer one? */
static bool
joins_by_foreign_order(const JoinPath *join)
{
	const MergePath *merge = (const MergePath *) join;

	if (!IsA(join, MergePath))
		return is_by_foreign_order(join->outerjoinpath);
	return (merge->outersortkeys == NIL &&
			is_by_foreign_order(join->outerjoinpath)) ||
		(merge->innersortkeys == NIL &&
		 is_by_foreign_order(join->innerjoinpath));
}

/*
 * Does a path rely on an order of a foreign server, or have its rows in one?
 */
static bool
is_by_foreign_order(const Path *path)
{
	switch (nodeTag(path))
	{
		case T_ForeignPath:
			return is_collated(path->pathkeys);
		case T_AppendPath:
			return is_any_by_foreign_order(((const AppendPath *) path)->subpaths);
		case T_MergeAppendPath:
			return is_any_by_foreign_order(((const MergeAppendPath *) path)->subpaths);
		case T_NestPath:
		case T_MergePath:
			return joins_by_foreign_order((const JoinPath *) path);
		case T_SubqueryScanPath:
			return is_by_foreign_order(((const SubqueryScanPath *) path)->subpath);
		case T_ProjectionPath:
			return is_by_foreign_order(((const ProjectionPath *) path)->subpath);
		case T_ProjectSetPath:
			return is_by_foreign_order(((const ProjectSetPath *) path)->subpath);
		case T_MaterialPath:
			return is_by_foreign_order(((const MaterialPath *) path)->subpath);
		case T_IncrementalSortPath:
			return is_by_foreign_order(((const SortPath *) path)->subpath);
		case T_GroupPath:
			return is_by_foreign_order(((const GroupPath *) path)->subpath);
		case T_AggPath:
			return ((const AggPath *) path)->aggstrategy != AGG_HASHED &&
				is_by_foreign_order(((const AggPath *) path)->subpath);
		case T_UniquePath:
			return is_by_foreign_order(((const UniquePath *) path)->subpath);
		case T_WindowAggPath:
			return is_by_foreign_order(((const WindowAggPath *) path)->subpath);
		case T_LimitPath:
			return is_by_foreign_order(((const LimitPath *) path)->subpath);
		default:
			return false;
	}
}

/* Does a query read foreign tables? */
static bool
reads_foreign_tables(const RangeTblEntry *entry)
{
	ListCell   *cell;

	if (entry->rtekind == RTE_RELATION)
		return entry->relkind == RELKIND_FOREIGN_TABLE;
	if (entry->rtekind != RTE_SUBQUERY || entry->subquery == NULL)
		return false;
	foreach(cell, entry->subquery->rtable)
	{
		if (reads_foreign_tables(lfirst(cell)))
			return true;
	}
	return false;
}

/*
 * The same for the tables of one query; a table that has no paths yet may
 * have one.
 */
static bool
are_tables_in_foreign_order(PlannerInfo *root)
{
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		const RelOptInfo *table = root->simple_rel_array[i];

		if (table == NULL)
			continue;
		if (table->pathlist == NIL ?
			reads_foreign_tables(root->simple_rte_array[i]) :
			is_any_by_foreign_order(table->pathlist))
			return true;
	}
	return false;
}

bool
foreign_orders_may_be_joined(PlannerInfo *root)
{
	for (; root != NULL; root = root->parent_root)
	{
		if (are_tables_in_foreign_order(root))
			return true;
	}
	return false;
}

bool
foreign_orders_compete(PlannerInfo *root, const RelOptInfo *output)
{
	return is_any_by_foreign_order(output->pathlist) ||
		foreign_orders_may_be_joined(root->parent_root);
}
