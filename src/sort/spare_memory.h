/*-------------------------------------------------------------------------
 *
 * spare_memory.h
 *	  Memory of sorts that the process keeps for its next one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SPARE_MEMORY_H
#define GPUSORT_SPARE_MEMORY_H

/* New memory, of so many bytes, which may be more than palloc() has. */
extern void *spare_memory_create(Size bytes);

/* Memory of this size that is kept; NULL if there is none. */
extern void *spare_memory_get(Size bytes);

/* Takes memory that came from either back, to keep it or to free it. */
extern void spare_memory_put(void *memory, Size bytes);

/* Frees what is kept beyond so many bytes. */
extern void spare_memory_limit(Size most);

/*
 * Has what is kept given back to the operating system if it is not wanted for a
 * minute; to be called after the last of the calls above, for a while.
 */
extern void spare_memory_watch(void);

extern void spare_memory_init(void);

#endif							/* GPUSORT_SPARE_MEMORY_H */
