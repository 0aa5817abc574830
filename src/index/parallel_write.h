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
#include "utils/dsa.h"

#include "index/leaf_maker.h"
#include "index/tree_writer.h"

/* What is in a slot of the ring. */
typedef struct LeafSlot
{
	pg_atomic_uint32 page;		/* number of the page, plus one */
	uint32		nrows;			/* that it has */
} LeafSlot;

/* What all participants share. */
typedef struct WriteShared
{
	/* set before workers are told to begin */
	uint32		chunk_rows;
	uint32		nchunks;
	uint32		nslots;
	dsa_pointer pages;			/* on their way to the leader, a ring */
	dsa_pointer slots;			/* of each of them */

	pg_atomic_uint32 next_chunk;	/* that nobody has taken */
	pg_atomic_uint32 turn;		/* the chunk that may be laid out */
	pg_atomic_uint32 nwritten;	/* pages that have left the ring */
	pg_atomic_uint32 worker_pages;	/* that workers have filled */
	pg_atomic_uint32 in_vain;	/* rows are out of order: all may end */

	/* for the participant whose turn it is; for all when all have had theirs */
	PendingRows pending;
	uint32		npages;			/* laid out so far */

	ConditionVariable turn_passed;
	ConditionVariable slots_freed;
	ConditionVariable for_leader;	/* one of these, or a page is there */
} WriteShared;

/* Sets up what is there before it is known whether there will be anything. */
extern void parallel_write_init(WriteShared *shared);

/*
 * Of so many rows in so many bytes: how they are cut into chunks, and how many
 * slots the ring has, for each of which there is to be a page and a LeafSlot,
 * all zero.
 */
extern void parallel_write_plan(WriteShared *shared, uint64 nrows,
								uint64 row_bytes, int nparticipants);

/*
 * Makes pages together with the other participants.  "rows" are the same for
 * all; the leader has a writer, and gets all pages into it.  False if rows turn
 * out not to be in order; then some pages may have been written.
 */
extern bool parallel_write_share(WriteShared *shared, dsa_area *area,
								 const LeafDefinition *definition,
								 const IndexRows *index_rows,
								 const TupleSource *rows, TreeWriter *writer);

#endif							/* GPUSORT_PARALLEL_WRITE_H */
