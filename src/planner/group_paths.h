/*-------------------------------------------------------------------------
 *
 * group_paths.h
 *	  Paths in which sorted groups are consumed by all parallel workers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_GROUP_PATHS_H
#define GPUSORT_GROUP_PATHS_H

#include "nodes/pathnodes.h"

#include "cost/sort_cost.h"

/* The rows that are to be grouped. */
typedef struct Grouped
{
	PlannerInfo *root;
	RelOptInfo *relation;		/* relation of the groups */
	Path	   *serial;			/* cheapest path of the input */
	Path	   *partial;		/* cheapest partial path of the input, or NULL */
	Cost		repeated;		/* of what all members repeat
								 * (repeated_work.h) */
} Grouped;

/* Returns the rows of a relation's input, without a partial path if there is none. */
extern Grouped group_paths_begin(PlannerInfo *root, const RelOptInfo *input,
								 RelOptInfo *relation);

/* The members of the partial path, by the rows of each. */
extern double group_paths_members(const Grouped *grouped);

/* The part of all rows that the largest group by this expression has. */
extern double group_paths_largest_part(PlannerInfo *root, Node *expr);

/*
 * The part of all rows that the busiest member has, if groups stay whole,
 * and the largest of them has this part of the rows.
 */
extern double group_paths_busiest_share(double ngroups, double part,
										double members);

/* The same for groups by these columns. */
extern double group_paths_busiest(const Grouped *grouped, List *group_columns);

/*
 * The partial path of a node that takes the place of core's Sort, and gives
 * each member whole groups.  Its child is the Sort, from which the plan
 * gets the columns.  "busiest" is the part of all rows that the busiest
 * member has.  The caller sets what the node is.
 */
extern CustomPath *group_paths_above(SortPath *sort, const SortSize *size,
									 double members, double busiest);

/* The path that gathers all members' rows of a partial path. */
extern Path *group_paths_gather(const Grouped *grouped, Path *partial);

/* Registers the nodes for parallel workers. */
extern void group_paths_init(void);

/*
 * Adds the paths to a relation for which create_upper_paths_hook is called.
 */
extern void group_paths_add(PlannerInfo *root, UpperRelationKind stage,
							RelOptInfo *input, RelOptInfo *output,
							void *extra);

#endif							/* GPUSORT_GROUP_PATHS_H */
