/*-------------------------------------------------------------------------
 *
 * shared_rows.h
 *	  Rows of processes that sort together, in memory that all of them share.
 *
 * The processes are those of a parallel query or of an index build.  One of them, the
 * collector, sorts the rows of all.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SHARED_ROWS_H
#define GPUSORT_SHARED_ROWS_H

#include "storage/dsm.h"

#include "sort/row_batch.h"

/* Segments that a process can make. */
#define MAX_SEGMENTS		1024

/* What is shared of one process. */
typedef struct SharedDeposit
{
	dsm_handle	segments[MAX_SEGMENTS];
	int			nsegments;
	BatchPlace	taken;			/* list of batches that can be used again */
	uint64		nwaiting;		/* batches that the collector has not taken */
	uint64		nrows;			/* rows that were sent */
	uint64		nkept;			/* rows that were kept, set when finished */
} SharedDeposit;

/* The state of all processes, in the parallel context. */
typedef struct SharedRows
{
	int			nprocesses;
	Size		limit;			/* bytes of all segments */
	pg_atomic_uint64 bytes;		/* bytes of the segments so far */
	ConditionVariable taken;	/* the last batch of some process */

	RowExchange exchange;		/* the mutex is for all fields below */
	int			njoined;		/* processes that take part */
	int			nfinished;		/* those that have put their last row */
	bool		elected;		/* somebody is to collect the rows */
	bool		closed;			/* the collector does not wait for others */
	SharedDeposit deposits[FLEXIBLE_ARRAY_MEMBER];
} SharedRows;

extern Size shared_rows_size(int nprocesses);

/*
 * Initializes the state, or resets it when all other processes have ended.  The
 * processes may put "limit" bytes of rows there; with 0 they keep their rows.
 */
extern void shared_rows_init(SharedRows *shared, int nprocesses, Size limit);

/*
 * Elects the collector of processes that are all alike: true for the first caller only.
 * To be called before row_deposit_begin().
 */
extern bool shared_rows_elect(SharedRows *shared);

/*
 * Takes part, before the process has taken a row of the shared scan; false if the
 * collector waits for no more processes, since the others have had all rows.
 */
extern bool shared_rows_join(SharedRows *shared);

/*
 * Says that this process has put its last row, and has kept nkept rows.  All that others
 * need to know is to be noted before.
 */
extern void shared_rows_finish(SharedRows *shared, int process,
							   uint64 nkept);

/* The segments of all processes, as far as this process has mapped them. */
typedef struct RowSegments
{
	SharedRows *shared;
	dsm_segment **mapped;		/* MAX_SEGMENTS places for each process */
	char	  **addresses;		/* addresses of the mapped segments */
} RowSegments;

/* Allocates in the current memory context. */
extern RowSegments *row_segments_begin(SharedRows *shared);

/*
 * Makes another segment of a process, the next of its segments; NULL if there is no
 * memory, or if all segments would have more than the limit.
 */
extern char *row_segments_add(RowSegments *segments, int process, Size bytes);

/* The address of a segment; NULL if no process has it any more. */
extern char *row_segments_find(RowSegments *segments, int process,
							   uint32 number);

/*
 * Maps the segments of all processes, after the last row was sent.  False if some
 * are gone, because all processes that had mapped them have ended.
 */
extern bool row_segments_map(RowSegments *segments);

/* The place of a row: its segment among those of all processes, and where it is there. */
static inline uint64
row_segments_place(int process, uint32 segment, uint32 place)
{
	return (uint64) (process * MAX_SEGMENTS + segment) << 32 | place;
}

/* The address of a row, by its place, when all segments are mapped. */
static inline void *
row_segments_row(const RowSegments *segments, uint64 place)
{
	return segments->addresses[place >> 32] + (uint32) place;
}

/* Unmaps the segments, and frees what row_segments_begin() made. */
extern void row_segments_end(RowSegments *segments);

/* The place of a batch: its process, a segment of that, and where it is there, never 0. */
static inline BatchPlace
batch_place(int process, uint32 segment, uint32 place)
{
	return (uint64) process << 48 | (uint64) segment << 32 | place;
}

static inline int
batch_process(BatchPlace place)
{
	return (int) (place >> 48);
}

/* The address of a batch, whose segment is mapped or has not gone. */
static inline RowBatch *
batch_address(RowSegments *segments, BatchPlace place)
{
	char	   *base = row_segments_find(segments, batch_process(place),
										 (uint32) (place >> 32) & 0xffff);

	return base == NULL ? NULL : (RowBatch *) (base + (uint32) place);
}

#endif							/* GPUSORT_SHARED_ROWS_H */
