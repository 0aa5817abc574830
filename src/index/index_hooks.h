/*-------------------------------------------------------------------------
 *
 * index_hooks.h
 *	  Taking over the builds of B-tree indexes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_INDEX_HOOKS_H
#define GPUSORT_INDEX_HOOKS_H

/* Puts a hook where every build begins. */
extern void index_hooks_init(void);

#endif							/* GPUSORT_INDEX_HOOKS_H */
