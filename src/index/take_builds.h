/*-------------------------------------------------------------------------
 *
 * take_builds.h
 *	  Taking over the builds of B-tree and GIN indexes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TAKE_BUILDS_H
#define GPUSORT_TAKE_BUILDS_H

#include "nodes/pathnodes.h"

/*
 * Called while the planner learns about a relation.  If it plans an index
 * build, gpusort will build the open indexes of the relation.
 */
extern void take_builds_of(PlannerInfo *root, RelOptInfo *rel);

/*
 * Called where core does not plan the builds of GIN indexes: when a relation
 * has been created, and when the relcache entry of a relation has changed.  If
 * it is a GIN index that is going to be built, gpusort will build it.
 */
extern void take_builds_of_new(Oid relation);
extern void take_builds_of_changed(Datum unused, Oid relation);

/*
 * Called ahead of a utility statement: makes core plan the index builds in it.
 * If it returns true, the caller calls take_builds_end() afterwards, also
 * after an error.
 */
extern bool take_builds_begin(const Node *statement);
extern void take_builds_end(void);

#endif							/* GPUSORT_TAKE_BUILDS_H */
