/*-------------------------------------------------------------------------
 *
 * hash_paths.h
 *	  Core's paths that hash, beside paths that sort.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_HASH_PATHS_H
#define GPUSORT_HASH_PATHS_H

#include "nodes/pathnodes.h"

/*
 * Drops core's paths of a join or of groups whose real cost of hashing makes
 * them more expensive than a path that sorts.  To that path "sorted_more" is
 * added.  The caller adds the path to the relation, and knows that the size of
 * the hash tables is not a mere guess.  Drops nothing if only some of the rows
 * are wanted.
 */
extern void hash_paths_drop(PlannerInfo *root, RelOptInfo *relation,
							const Path *sorted, Cost sorted_more);

/*
 * Returns whether core may expect far too many groups by these expressions, and
 * a path in which workers hash first may well be better than this one, which
 * sorts the rows of "input".
 */
extern bool hash_paths_may_be_better(PlannerInfo *root,
									 const RelOptInfo *relation,
									 const Path *input, List *groups,
									 const Path *sorted);

#endif							/* GPUSORT_HASH_PATHS_H */
