/*-------------------------------------------------------------------------
 *
 * parallel_write.h
 *	  Making the leaf pages of an index with parallel workers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PARALLEL_WRITE_H
#define GPUSORT_PARALLEL_WRITE_H

#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/dsm.h"

#include "btree/leaf_maker.h"
#include "btree/tree_writer.h"
#include "sort_progress.h"

/* A slot of the ring: a page on its way to the leader. */
typedef struct LeafSlot
{
	pg_atomic_uint32 page;		/* number of the page, plus 1; 0 before */
	uint32		nrows;			/* rows of the page */
} LeafSlot;

/* The state that all members share. */
typedef struct WriteShared
{
	/* set before the workers begin to write */
	uint32		chunk_rows;		/* rows of a chunk */
	uint32		nchunks;
	uint32		nslots;			/* slots of the ring */
	dsm_handle	ring;			/* segment of nslots pages, and a LeafSlot for
								 * each of them */

	pg_atomic_uint32 next_chunk;	/* first chunk that nobody has taken */
	pg_atomic_uint32 turn;		/* chunk that may be laid out */
	pg_atomic_uint32 nwritten;	/* pages that have left the ring */
	pg_atomic_uint32 worker_pages;	/* pages that workers have filled */
	pg_atomic_uint32 abandoned; /* a bool: rows are out of order, all end */

	/* for the member that lays out; for all after the last chunk */
	PendingRows pending;
	uint32		npages;			/* pages laid out so far */

	ConditionVariable turn_passed;
	ConditionVariable slots_freed;
	ConditionVariable for_leader;	/* signalled as both of these, and for
									 * full pages */
} WriteShared;

/* Initializes the locks and counters, before the rows are known. */
extern void parallel_write_init(WriteShared *shared);

/*
 * In the leader: divides nrows rows, of row_bytes bytes together, into chunks; returns
 * the bytes of the ring.
 */
extern Size parallel_write_plan(WriteShared *shared, uint64 nrows,
								uint64 row_bytes, int nmembers);

/*
 * In the leader: makes the ring, before others write.  False if there is no
 * memory.
 */
extern bool parallel_write_make_ring(WriteShared *shared);

/*
 * Makes pages together with the other members, which have the same rows.
 * Only the leader has a writer, which gets all pages in order; a worker passes
 * NULL, and writes nothing if the leader has ended already.  The progress
 * counts the rows that the leader has written, or that the worker has put on
 * pages.  Returns false if rows turn out not to be in order; some pages may
 * have been written by then.
 */
extern bool parallel_write_share(WriteShared *shared,
								 const LeafDefinition *definition,
								 const IndexRows *index_rows,
								 const TupleSource *rows, TreeWriter *writer,
								 SortProgress *progress);

#endif							/* GPUSORT_PARALLEL_WRITE_H */
