/*-------------------------------------------------------------------------
 *
 * parallel_paths.c
 *	  Lets the planner know what a sort with parallel workers costs.
 *
 * Core's own Gather Merge is charged for the passage of each row through a
 * tuple queue and for comparing it again there, and its Sort for each
 * comparison.  With GpuSort below Gather Merge there is none of that: workers
 * leave their rows in shared memory, and the leader finds them there.  So for
 * an ORDER BY another such path is added, of core's own nodes, with the costs
 * of what plan_sort.c will make of it.
 *
 * It is added only where it takes less time than a GpuSort in one process,
 * whose costs the planner does not know either.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "storage/dsm_impl.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "left_native.h"
#include "parallel_paths.h"
#include "settings.h"
#include "shared_rows.h"

/*
 * What a GpuSort costs a row, each time that of so many operators: measured
 * where cpu_operator_cost was about 12 ns (docs/performance.md).
 */
#define COPY_OPERATORS		6	/* taking it, with its key */
#define TAKE_OPERATORS		1	/* taking a worker's, by the leader */
#define SORT_OPERATORS		2
#define RETURN_OPERATORS	3

/*
 * And a kilobyte of shared memory that is new, for the worker who fills it and
 * for the leader who reads it.
 */
#define FILL_OPERATORS		20
#define MAP_OPERATORS		5

/* An expression that costs more than this core, too, takes for a dear one. */
#define DEAR_OPERATORS		10

static create_upper_paths_hook_type previous_upper_paths_hook;

/* Will these bytes be of the memory that the server has set aside? */
static bool
is_set_aside(double bytes)
{
	return bytes <= min_dynamic_shared_memory * 1024.0 * 1024.0;
}

/*
 * Sets the costs of a sort and the Gather Merge above it, when so many rows
 * are in all.
 */
static void
cost_together(Path *sort, Path *gather, const Path *partial, double rows)
{
	double		participants = rows / partial->rows;
	double		workers_rows = rows - rows / participants;
	double		kilobytes =
		shared_rows_bytes(1, partial->pathtarget->width) / 1024;
	double		share = partial->rows * COPY_OPERATORS;
	double		leader = workers_rows * TAKE_OPERATORS + rows * SORT_OPERATORS;

	if (!is_set_aside(workers_rows * kilobytes * 1024))
	{
		share += partial->rows * kilobytes * FILL_OPERATORS;
		leader += workers_rows * kilobytes * MAP_OPERATORS;
	}
	sort->startup_cost = partial->total_cost +
		(share + leader) * cpu_operator_cost;
	sort->total_cost = sort->startup_cost +
		rows * RETURN_OPERATORS * cpu_operator_cost;
	gather->startup_cost = sort->startup_cost + parallel_setup_cost;
	gather->total_cost = sort->total_cost + parallel_setup_cost;
}

/* What a GpuSort in one process costs. */
static Cost
cost_alone(const Path *input)
{
	return input->total_cost + input->rows * cpu_operator_cost *
		(COPY_OPERATORS + SORT_OPERATORS + RETURN_OPERATORS);
}

/* Will plan_sort.c take over a sort of this path's rows by these keys? */
static bool
will_be_taken_over(const PlannerInfo *root, const Path *path)
{
	const PathKey *key = linitial(root->sort_pathkeys);
	const EquivalenceMember *member = linitial(key->pk_eclass->ec_members);
	Statistic	reason;

	return !sort_left_native(exprType((Node *) member->em_expr),
							 PATHKEY_OPERATOR(key, member->em_datatype),
							 key->pk_eclass->ec_collation,
							 path->rows,
							 root->limit_tuples >= 0 ? root->limit_tuples :
							 NO_BOUND, &reason);
}

/* Adds the path, for rows that come from "input" or in part from "partial". */
static void
add_parallel_sort(PlannerInfo *root, RelOptInfo *ordered, Path *input,
				  Path *partial)
{
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	double		rows = input->rows;
	SortPath   *sort;
	GatherMergePath *gather;
	Path	   *path;

	sort = create_sort_path(root, ordered, partial, root->sort_pathkeys,
							root->limit_tuples);
	gather = create_gather_merge_path(root, ordered, &sort->path,
									  sort->path.pathtarget,
									  root->sort_pathkeys, NULL, &rows);
	cost_together(&sort->path, &gather->path, partial, rows);
	if (gather->path.total_cost >= cost_alone(input))
		return;

	/* not pushed below the Gather Merge: it would come between the two */
	path = &gather->path;
	if (!equal(path->pathtarget->exprs, target->exprs))
	{
		/* what takes long had better be left to the workers */
		if (target->cost.per_tuple - path->pathtarget->cost.per_tuple >
			DEAR_OPERATORS * cpu_operator_cost)
			return;
		path = (Path *) create_projection_path(root, ordered, path, target);
	}
	add_path(ordered, path);
}

static void
add_ordered_paths(PlannerInfo *root, UpperRelationKind stage,
				  RelOptInfo *input, RelOptInfo *output, void *extra)
{
	Path	   *partial;

	if (previous_upper_paths_hook != NULL)
		previous_upper_paths_hook(root, stage, input, output, extra);

	if (stage != UPPERREL_ORDERED || !gpusort_enable || !gpusort_enable_sort ||
		!enable_sort || !enable_gathermerge || !parallel_leader_participation ||
		!output->consider_parallel || input->partial_pathlist == NIL ||
		root->sort_pathkeys == NIL)
		return;
	partial = linitial(input->partial_pathlist);
	if (pathkeys_contained_in(root->sort_pathkeys, partial->pathkeys) ||
		!will_be_taken_over(root, partial))
		return;
	if (!shared_rows_have_room(input->cheapest_total_path->rows, partial->rows,
							   partial->pathtarget->width))
		return;
	add_parallel_sort(root, output, input->cheapest_total_path, partial);
}

void
parallel_paths_init(void)
{
	previous_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = add_ordered_paths;
}
