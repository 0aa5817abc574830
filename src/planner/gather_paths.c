/*-------------------------------------------------------------------------
 *
 * gather_paths.c
 *	  Paths that gather the rows of a partial path.
 *
 * Rows of workers reach the leader through a tuple queue, or in chunks of
 * memory if there are many (node_stream.c).  Both cost the leader time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "executor/node_stream.h"
#include "planner/gather_paths.h"
#include "port/compat.h"
#include "settings.h"

/*
 * The cost of a row that passes a tuple queue: 0.15 us, at the rate of
 * sort_cost.c.
 */
#define QUEUE_ROW_COST		0.043

/*
 * The cost of a row that passes in a chunk: for its worker, and for the
 * leader.
 */
#define SEND_ROW_COST		0.02
#define RECEIVE_ROW_COST	0.01

static Plan *
plan_receive(PlannerInfo *root, RelOptInfo *relation, CustomPath *path,
			 List *target_list, List *clauses, List *custom_plans)
{
	return &stream_make_plan(&receive_scan_methods, target_list,
							 linitial(custom_plans))->scan.plan;
}

static Plan *
plan_send(PlannerInfo *root, RelOptInfo *relation, CustomPath *path,
		  List *target_list, List *clauses, List *custom_plans)
{
	return &stream_make_plan(&send_scan_methods, target_list,
							 linitial(custom_plans))->scan.plan;
}

static const CustomPathMethods receive_path_methods = {
	.CustomName = "GpuSortReceive",
	.PlanCustomPath = plan_receive
};

static const CustomPathMethods send_path_methods = {
	.CustomName = "GpuSortSend",
	.PlanCustomPath = plan_send
};

/*
 * The path of a node that emits its child's rows, and adds this cost for
 * each.
 */
static Path *
make_stream_node(const CustomPathMethods * methods, Path *child, Cost row_cost)
{
	CustomPath *path = makeNode(CustomPath);

	path->path = *child;
	path->path.type = T_CustomPath;
	path->path.pathtype = T_CustomScan;
	path->path.parallel_aware = methods == &send_path_methods;
	path->path.total_cost += child->rows * row_cost;
	path->custom_paths = list_make1(child);
	path->methods = methods;
	return &path->path;
}

/* A Gather, with this cost for each row. */
static Path *
make_gather(PlannerInfo *root, RelOptInfo *relation, Path *partial,
			double rows, Cost row_cost)
{
	Path	   *gather = (Path *)
		create_gather_path(root, relation, partial, partial->pathtarget, NULL,
						   &rows);

	gather->total_cost = partial->total_cost + parallel_setup_cost +
		rows * row_cost;
	return gather;
}

Path *
gather_paths_make(PlannerInfo *root, RelOptInfo *relation, Path *partial,
				  double rows)
{
	Path	   *path;

	if (rows < gpusort_min_rows || !parallel_leader_participation)
		return make_gather(root, relation, partial, rows,
						   Min(QUEUE_ROW_COST, parallel_tuple_cost));
	path = make_stream_node(&send_path_methods, partial, SEND_ROW_COST);
	path = make_gather(root, relation, path, rows, 0);
	return make_stream_node(&receive_path_methods, path,
							Min(RECEIVE_ROW_COST, parallel_tuple_cost));
}

/*
 * Core's add_partial_path() frees the paths that are worse.  Core calls it only
 * before there are Gathers above partial paths of the relation.  Here core has
 * added these already, where partitions are grouped each for itself, and
 * gpusort may have added one.  So the others stay.  As core expects, paths are
 * in the order of their costs.
 */
bool
gather_paths_add_partial(RelOptInfo *relation, Path *partial)
{
	int			place = 0;
	ListCell   *cell;

	foreach(cell, relation->partial_pathlist)
	{
		const Path *other = lfirst(cell);

		if (DISABLED_NODES(other) > DISABLED_NODES(partial) ||
			(DISABLED_NODES(other) == DISABLED_NODES(partial) &&
			 other->total_cost > partial->total_cost))
			break;
		if (pathkeys_contained_in(partial->pathkeys, other->pathkeys))
			return false;
		place++;
	}
	relation->partial_pathlist = list_insert_nth(relation->partial_pathlist,
												 place, partial);
	return true;
}

void
gather_paths_add(PlannerInfo *root, RelOptInfo *relation, Path *partial,
				 double rows)
{
	if (gather_paths_add_partial(relation, partial))
		add_path(relation, gather_paths_make(root, relation, partial, rows));
}

Path *
gather_paths_gathered(const Path *path)
{
	const CustomPath *custom = (const CustomPath *) path;

	if (IsA(path, CustomPath) && custom->methods == &receive_path_methods)
	{
		const GatherPath *gather = linitial(custom->custom_paths);

		custom = (const CustomPath *) gather->subpath;
		return linitial(custom->custom_paths);
	}
	return IsA(path, GatherPath) ? ((const GatherPath *) path)->subpath : NULL;
}

void
gather_paths_init(void)
{
	RegisterCustomScanMethods(&receive_scan_methods);
	RegisterCustomScanMethods(&send_scan_methods);
}
