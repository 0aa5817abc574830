/*-------------------------------------------------------------------------
 *
 * index_hooks.h
 *	  Taking over the builds of B-tree indexes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_INDEX_HOOKS_H
#define GPUSORT_INDEX_HOOKS_H

/* Installs the hooks; once, when the library is loaded. */
extern void index_hooks_init(void);

#endif							/* GPUSORT_INDEX_HOOKS_H */
