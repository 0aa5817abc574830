/*-------------------------------------------------------------------------
 *
 * inverted_build.h
 *	  Building an inverted index (GIN) by sorting.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_INVERTED_BUILD_H
#define GPUSORT_INVERTED_BUILD_H

#include "access/genam.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

/*
 * Builds an index; takes the place of ginbuild().  About expected_rows rows of
 * the table are expected.
 */
extern IndexBuildResult *inverted_build_perform(Relation heap, Relation index,
												IndexInfo *info,
												double expected_rows);

#endif							/* GPUSORT_INVERTED_BUILD_H */
