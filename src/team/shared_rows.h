/*-------------------------------------------------------------------------
 *
 * shared_rows.h
 *	  Rows of processes that sort together, in memory that all of them share.
 *
 * The processes are the members of a team: those of a parallel query, or of an
 * index build.  One of them, the collector, sorts the rows of all.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SHARED_ROWS_H
#define GPUSORT_SHARED_ROWS_H

#include "storage/dsm.h"

#include "sort/row_batch.h"

/* The most segments of a process. */
#define MAX_SEGMENTS		1024

/* What all processes know of one process. */
typedef struct SharedDeposit
{
	dsm_handle	segments[MAX_SEGMENTS];
	int			nsegments;
	BatchPlace	taken;			/* batches that can be used again, a list */
	uint64		nwaiting;		/* batches sent that the collector has not
								 * taken */
	uint64		nrows;			/* rows that were sent */
	uint64		nkept;			/* rows that the process has kept, set when it
								 * finishes */
} SharedDeposit;

/* The state of all processes, in the parallel context. */
typedef struct SharedRows
{
	int			nprocesses;
	Size		limit;			/* bytes of all segments */
	pg_atomic_uint64 bytes;		/* bytes of the segments so far */
	ConditionVariable taken;	/* signalled when the collector has taken the
								 * last waiting batch of a process */

	RowExchange exchange;		/* its mutex protects all fields below, too */
	int			njoined;		/* processes that take part */
	int			nfinished;		/* processes that have put their last row */
	bool		elected;		/* a process has been elected to collect the
								 * rows */
	bool		closed;			/* the collector does not wait for others */
	SharedDeposit deposits[FLEXIBLE_ARRAY_MEMBER];
} SharedRows;

extern Size shared_rows_size(int nprocesses);

/*
 * Initializes the state, or resets it when all other processes have ended.
 * Rows in shared memory may take "limit" bytes in all; with 0 each process
 * keeps its rows.
 */
extern void shared_rows_init(SharedRows *shared, int nprocesses, Size limit);

/*
 * Elects the collector of processes that are all alike: returns true to the
 * first caller only.  Has to be called before row_deposit_begin().
 */
extern bool shared_rows_elect(SharedRows *shared);

/*
 * Takes part, before the process takes a row of the shared scan.  Returns
 * false if the collector waits for no more processes: the others have had all
 * rows.
 */
extern bool shared_rows_join(SharedRows *shared);

/*
 * Says that this process has put its last row, and has kept nkept rows.
 * Whatever others need to know has to be noted before.
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

/* Begins without mapped segments.  Allocates in the current memory context. */
extern RowSegments *row_segments_begin(SharedRows *shared);

/*
 * Makes the next segment of a process, and returns its address; NULL if there
 * is no memory, or if all segments together would have more bytes than the
 * limit.
 */
extern char *row_segments_add(RowSegments *segments, int process, Size bytes);

/*
 * Returns the address of a segment, and maps it if need be; NULL if no process
 * has the segment any more.
 */
extern char *row_segments_find(RowSegments *segments, int process,
							   uint32 number);

/*
 * Maps the segments of all processes, after the last row was sent.  Returns
 * false if some are gone: then all processes that had mapped them have ended.
 */
extern bool row_segments_map(RowSegments *segments);

/*
 * Returns the place of a row: its segment among the segments of all processes,
 * and its offset there.
 */
static inline uint64
row_segments_place(int process, uint32 segment, uint32 place)
{
	return (uint64) (process * MAX_SEGMENTS + segment) << 32 | place;
}

/* Returns the address of a row, by its place, when all segments are mapped. */
static inline void *
row_segments_row(const RowSegments *segments, uint64 place)
{
	return segments->addresses[place >> 32] + (uint32) place;
}

/* Unmaps the segments, and frees what row_segments_begin() made. */
extern void row_segments_end(RowSegments *segments);

/*
 * Returns the place of a batch, which is never 0: its process, the number of
 * the segment, and the offset there.
 */
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

/*
 * Returns the address of a batch.  Its segment is mapped, or some process has
 * it.
 */
static inline RowBatch *
batch_address(RowSegments *segments, BatchPlace place)
{
	char	   *base = row_segments_find(segments, batch_process(place),
										 (uint32) (place >> 32) & 0xffff);

	return base == NULL ? NULL : (RowBatch *) (base + (uint32) place);
}

#endif							/* GPUSORT_SHARED_ROWS_H */
