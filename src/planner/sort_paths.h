/*-------------------------------------------------------------------------
 *
 * sort_paths.h
 *	  The path of a sort that a GpuSort node will do.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORT_PATHS_H
#define GPUSORT_SORT_PATHS_H

#include "nodes/pathnodes.h"

#include "cost/sort_cost.h"

/* The expressions that these path keys stand for in these relations. */
extern List *sort_paths_columns(const List *pathkeys, Relids relids);

/*
 * Will plan_sort.c take over a sort of this path's rows, of which the first
 * "bound" are wanted, and is there room for what the sort writes?  Sets the
 * sort's size.
 */
extern bool sort_paths_take_over(PlannerInfo *root, const Path *input,
								 List *pathkeys, double bound,
								 SortSize *size);

/*
 * Will plan_sort.c leave a sort of this path's rows in one process to core,
 * because the rows are single values, and there are few or few different
 * ones?
 */
extern bool sort_paths_few_values(PlannerInfo *root, const Path *input,
								  const List *pathkeys);

/*
 * The path of "relation" that sorts the rows of "input", of which the first
 * "bound" are wanted, in one process.  NULL if gpusort does not do this
 * sort, or if the rows come in this order.
 */
extern Path *sort_paths_make(PlannerInfo *root, RelOptInfo *relation,
							 Path *input, List *pathkeys, double bound);

/*
 * Will all members that run this partial path sort its rows together?
 * "rows" counts the rows of all members.  Sets the sort's size.
 */
extern bool sort_paths_share(PlannerInfo *root, const Path *partial,
							 List *pathkeys, double rows, SortSize *size);

/*
 * Do rows come from a table in which they lie in order by each of these
 * keys, as far as statistics tell?
 */
extern bool sort_paths_come_in_order(PlannerInfo *root, const Path *input,
									 List *pathkeys);

/*
 * The path of a relation with the least total cost; a relation has at least
 * one.
 */
extern Path *sort_paths_cheapest(const RelOptInfo *relation);

/* The input of a path that groups rows or makes them unique; NULL for others. */
extern const Path *sort_paths_below_groups(const Path *path);

/* The incremental sort of core's by which a path has its rows in order, or NULL. */
extern const IncrementalSortPath *sort_paths_find_incremental(const Path *path);

/*
 * Does a path of this relation with an incremental sort probably take less
 * time than this path of ours?
 */
extern bool sort_paths_incremental_is_better(const PlannerInfo *root,
											 const RelOptInfo *relation,
											 const Path *own);

/*
 * The path that groups sorted rows into this many groups, or aggregates them
 * all if there is no GROUP BY.
 */
extern Path *sort_paths_group(PlannerInfo *root, RelOptInfo *grouped,
							  Path *sorted, const GroupPathExtraData *extra,
							  double ngroups);

/* The number of groups of this path's rows. */
extern double sort_paths_count_groups(PlannerInfo *root, const Path *input,
									  const GroupPathExtraData *extra);

/*
 * Returns how many different values an expression has; 0: statistics do not
 * tell.
 */
extern double sort_paths_count_values(PlannerInfo *root, Node *expr);

/*
 * Do statistics tell how many values these expressions have, and how many groups
 * this clause makes?
 */
extern bool sort_paths_know_values(PlannerInfo *root, List *exprs);
extern bool sort_paths_know_groups(PlannerInfo *root, List *clause,
								   List *target_list);

/* Do rows that are equal in these keys follow one another in their order? */
extern bool sort_paths_join_equals(const List *pathkeys);

#endif							/* GPUSORT_SORT_PATHS_H */
