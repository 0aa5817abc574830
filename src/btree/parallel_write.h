/*-------------------------------------------------------------------------
 *
 * parallel_write.h
 *	  Making and writing the leaf pages of an index with parallel workers.
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

/* A slot of the ring, which a page fills in each lap. */
typedef struct LeafSlot
{
	pg_atomic_uint32 state;		/* twice the lap; 1 more if the page is full */
	uint32		nrows;			/* rows of the page */
	BlockNumber block;			/* where it is to be written, once complete */
} LeafSlot;

/* The state that all members share. */
typedef struct WriteShared
{
	/* set before the workers begin to write */
	uint32		chunk_rows;		/* rows of a chunk */
	uint32		nchunks;
	uint32		nslots;			/* slots of the ring */
	dsm_handle	ring;			/* segment of nslots pages, from an address
								 * aligned for I/O on, and behind them a
								 * LeafSlot for each */

	pg_atomic_uint32 next_chunk;	/* first chunk that nobody has taken */
	pg_atomic_uint32 turn;		/* chunk that may be laid out */
	pg_atomic_uint32 ncomplete; /* pages that are complete */
	pg_atomic_uint32 ntaken;	/* pages that somebody writes, or has written */
	pg_atomic_uint32 nwritten;	/* pages that have left the ring */
	pg_atomic_uint32 worker_pages;	/* pages that workers have filled */
	pg_atomic_uint32 abandoned; /* a bool: rows are out of order, all end */

	/* for the member that lays out; for all after the last chunk */
	PendingRows pending;
	uint32		npages;			/* pages laid out so far */

	ConditionVariable turn_passed;
	ConditionVariable ring_changed; /* pages are complete or written */
	ConditionVariable for_leader;	/* signalled for a turn, and when pages
									 * are full or written */
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
 * Makes and writes pages together with the other members, which have the same
 * rows.  Only the leader has a writer of the tree, which gets the last leaf; a
 * worker passes NULL, and does nothing if the leader has ended already.  The
 * progress counts the rows that the leader has added to the tree, or that the
 * worker has put on pages.  Returns false if rows turn out not to be in order;
 * some pages may have been written by then, and some may still be until the
 * workers have ended.
 */
extern bool parallel_write_share(WriteShared *shared,
								 const LeafDefinition *definition,
								 const IndexRows *index_rows,
								 const TupleSource *rows, TreeWriter *writer,
								 SortProgress *progress);

#endif							/* GPUSORT_PARALLEL_WRITE_H */
