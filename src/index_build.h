/*-------------------------------------------------------------------------
 *
 * index_build.h
 *	  Taking over the builds of B-tree indexes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_INDEX_BUILD_H
#define GPUSORT_INDEX_BUILD_H

/* Puts a hook where every build begins. */
extern void index_build_init(void);

#endif							/* GPUSORT_INDEX_BUILD_H */
