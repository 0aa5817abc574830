/*-------------------------------------------------------------------------
 *
 * spare_memory.h
 *	  Memory of sorts that the process keeps for its next sort.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SPARE_MEMORY_H
#define GPUSORT_SPARE_MEMORY_H

#include "nodes/nodes.h"

/* The most bytes that a process keeps between sorts. */
#define SPARE_MOST_BYTES	((Size) 16 * 1024 * 1024)

/*
 * Prepares the module at its first use, where an error does no harm; does
 * nothing later.
 */
extern void spare_memory_begin(void);

/* New memory of this many bytes, which may exceed palloc()'s limit. */
extern void *spare_memory_create(Size bytes);

/* Kept memory of this size; NULL if there is none. */
extern void *spare_memory_get(Size bytes);

/* Takes memory of either function back, to be kept or freed. */
extern void spare_memory_put(void *memory, Size bytes);

/* Frees kept memory beyond "most" bytes. */
extern void spare_memory_limit(Size most);

/*
 * Counts other bytes that were freed: when much has been freed, its pages go
 * back to the operating system at the end of the transaction.
 */
extern void spare_memory_count_freed(Size bytes);

/* Frees all kept memory, and gives its pages back to the operating system. */
extern void spare_memory_drop(void);

/*
 * Begins the minute after which the pages of kept memory go back to the
 * operating system, unless the memory is used before.  To be called after
 * spare_memory_put().
 */
extern void spare_memory_watch(void);

/*
 * Is this statement DISCARD ALL, after which kept memory is to be discarded?
 */
extern bool spare_memory_is_discarded(const Node *statement);
extern void spare_memory_discard(void);

#endif							/* GPUSORT_SPARE_MEMORY_H */
