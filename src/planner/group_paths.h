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

/* The rows that are to be grouped. */
typedef struct Grouped
{
	PlannerInfo *root;
	RelOptInfo *relation;		/* relation of the groups */
	Path	   *serial;			/* cheapest path of the input */
	Path	   *partial;		/* cheapest partial path of the input, or NULL */
} Grouped;

/* The participants of the partial path, by the rows of each. */
extern double group_paths_participants(const Grouped *grouped);

/*
 * The part of all rows that the participant has which has the most, if groups by
 * these columns stay whole.
 */
extern double group_paths_busiest(const Grouped *grouped, List *group_columns);

/* What gathers the rows of a partial path of all participants. */
extern Path *group_paths_gather(const Grouped *grouped, Path *partial);

/* Registers the nodes for parallel workers. */
extern void group_paths_init(void);

/* Adds such paths to a relation, as create_upper_paths_hook is called for it. */
extern void group_paths_add(PlannerInfo *root, UpperRelationKind stage,
							RelOptInfo *input, RelOptInfo *output,
							void *extra);

#endif							/* GPUSORT_GROUP_PATHS_H */
