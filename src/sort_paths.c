/*-------------------------------------------------------------------------
 *
 * sort_paths.c
 *	  Lets the planner know what sorts cost.
 *
 * Core's own Sort is charged for each comparison, and its Gather Merge for the
 * passage of each row through a tuple queue and for comparing it again there.
 * With GpuSort there is none of that.  So for an ORDER BY the paths are added
 * that sort its input in one process, and with parallel workers together.  They
 * are of core's own nodes, with the costs of what plan_sort.c will make of
 * them, and compete with each other and with all that core has found: indexes,
 * incremental sorts, workers that evaluate dear expressions.  What core has
 * found of the same kind is dropped, since its costs are not those it will
 * have.
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
#include "utils/lsyscache.h"

#include "compat.h"
#include "left_native.h"
#include "settings.h"
#include "shared_rows.h"
#include "sort_cost.h"
#include "sort_paths.h"

/* An expression that costs more than this core, too, takes for a dear one. */
#define DEAR_OPERATORS		10

static create_upper_paths_hook_type previous_upper_paths_hook;

/* One of the expressions that a path key stands for. */
static const EquivalenceMember *
pathkey_member(const PathKey *key)
{
	return linitial(key->pk_eclass->ec_members);
}

/*
 * Will plan_sort.c take over a sort of this path's rows for the ORDER BY?  Sets
 * the sort's size.
 */
static bool
will_be_taken_over(const PlannerInfo *root, const Path *input, SortSize *size)
{
	const PathKey *first = linitial(root->sort_pathkeys);
	const EquivalenceMember *member = pathkey_member(first);
	ListCell   *cell;
	Statistic	reason;

	size->rows = input->rows;
	size->width = input->pathtarget->width;
	size->key_words = 0;
	foreach(cell, root->sort_pathkeys)
	{
		Node	   *column = (Node *) pathkey_member(lfirst(cell))->em_expr;

		size->key_words += sort_key_words(exprType(column), exprTypmod(column));
	}
	return !sort_left_native(exprType((Node *) member->em_expr),
							 PATHKEY_OPERATOR(first, member->em_datatype),
							 first->pk_eclass->ec_collation, size,
							 root->limit_tuples >= 0 ? root->limit_tuples :
							 NO_BOUND, &reason);
}

/* Can a leader and its workers sort the rows of this path together? */
static bool
can_sort_together(const PlannerInfo *root, const RelOptInfo *ordered,
				  const Path *partial, SortSize *size)
{
	return ordered->consider_parallel && enable_gathermerge &&
		parallel_leader_participation &&
		!pathkeys_contained_in(root->sort_pathkeys, partial->pathkeys) &&
		will_be_taken_over(root, partial, size) &&
		sort_fits_memory(size->rows, size->width);
}

/* What a projection that takes no node of its own is of. */
static Path *
skip_projection(Path *path)
{
	return IsA(path, ProjectionPath) && ((ProjectionPath *) path)->dummypp ?
		((ProjectionPath *) path)->subpath : path;
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
		Path	   *path = lfirst(cell);
		bool		drop = alone;

		if (IsA(path, ProjectionPath))
			path = ((ProjectionPath *) path)->subpath;
		if (IsA(path, GatherMergePath))
		{
			path = skip_projection(((GatherMergePath *) path)->subpath);
			drop = together;
		}
		if (drop && IsA(path, SortPath))
			ordered->pathlist = foreach_delete_current(ordered->pathlist, cell);
	}
}

/* The path that sorts these rows in one process, NULL if there is none. */
static Path *
make_sort_alone(PlannerInfo *root, RelOptInfo *ordered, Path *input)
{
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	SortSize	size;
	Path	   *path;
	Cost		startup;
	Cost		total;

	if (pathkeys_contained_in(root->sort_pathkeys, input->pathkeys) ||
		!will_be_taken_over(root, input, &size))
		return NULL;

	cost_sort_alone(&size, &startup, &total);
	path = (Path *) create_sort_path(root, ordered, input,
									 root->sort_pathkeys, root->limit_tuples);
	path->startup_cost = input->total_cost + startup;
	path->total_cost = input->total_cost + total;
	return path->pathtarget == target ? path :
		apply_projection_to_path(root, ordered, path, target);
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

	if (!can_sort_together(root, ordered, partial, &size) ||
		!shared_rows_have_room(shared_rows_bytes(rows, size.width)))
		return NULL;
	/* what takes long had better be left to the workers */
	if (target->cost.per_tuple - partial->pathtarget->cost.per_tuple >
		DEAR_OPERATORS * cpu_operator_cost)
		return NULL;

	size.rows = rows;
	cost_sort_together(&size, rows / partial->rows, &startup, &total);
	sort = (Path *) create_sort_path(root, ordered, partial,
									 root->sort_pathkeys, root->limit_tuples);
	sort->startup_cost = partial->total_cost + startup;
	sort->total_cost = partial->total_cost + total;
	path = (Path *) create_gather_merge_path(root, ordered, sort,
											 sort->pathtarget,
											 root->sort_pathkeys, NULL, &rows);
	path->startup_cost = sort->startup_cost + parallel_setup_cost;
	path->total_cost = sort->total_cost + parallel_setup_cost;

	/* not pushed below the Gather Merge: it would come between the two */
	return equal(path->pathtarget->exprs, target->exprs) ? path :
		(Path *) create_projection_path(root, ordered, path, target);
}

static void
add_ordered_paths(PlannerInfo *root, UpperRelationKind stage,
				  RelOptInfo *input, RelOptInfo *output, void *extra)
{
	Path	   *alone;
	Path	   *together = NULL;

	if (previous_upper_paths_hook != NULL)
		previous_upper_paths_hook(root, stage, input, output, extra);

	if (stage != UPPERREL_ORDERED || root->sort_pathkeys == NIL ||
		!gpusort_enable || !gpusort_enable_sort || !enable_sort)
		return;
	alone = make_sort_alone(root, output, input->cheapest_total_path);
	if (input->partial_pathlist != NIL)
		together = make_sort_together(root, output,
									  linitial(input->partial_pathlist),
									  input->cheapest_total_path->rows);
	drop_core_paths(output, alone != NULL, together != NULL);
	if (alone != NULL)
		add_path(output, alone);
	if (together != NULL)
		add_path(output, together);
}

void
sort_paths_init(void)
{
	previous_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = add_ordered_paths;
}
