/*-------------------------------------------------------------------------
 *
 * gathered_rows.h
 *	  Rows in shared memory, which workers gather in their order for the leader.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_GATHERED_ROWS_H
#define GPUSORT_GATHERED_ROWS_H

#include "spill/row_reader.h"
#include "team/sorted_slices.h"

/* What leader and workers share, beside the slices. */
typedef struct SharedGather
{
	double		expected_rows;	/* rows that workers may be asked to gather */
	pg_atomic_uint32 nhelpers;	/* workers that wait to gather rows */
	dsm_handle	stream;			/* stream of the gathered rows */
} SharedGather;

/*
 * In the leader, before nworkers workers are launched.  With expected_rows = 0 they
 * gather nothing.
 */
extern void shared_gather_init(SharedGather *shared, int nworkers,
							   double expected_rows);

/* In the leader: may the workers that were launched be asked to gather rows? */
extern bool shared_gather_is_expected(const SharedGather *shared,
									  int nworkers);

/*
 * In a worker: shared_gather_offer() offers help to the leader, before that knows of
 * the worker's last row; false if none is expected.  gather_rows() gathers rows, if the
 * leader has decided that, until there are no more, or the leader wants none.
 */
extern bool shared_gather_offer(SharedGather *shared);
extern void gather_rows(SharedGather *shared, SharedSlices *slices,
						RowSegments *segments);

/* The leader's end. */
typedef struct GatheredRows GatheredRows;

/*
 * Shares an order, all of whose rows are those of the collector, for workers to gather
 * them.  NULL if these are to gather nothing, since rows or workers are few or memory
 * does not suffice: that for rows, order and stream in "limit" bytes.  Allocates in the
 * current memory context.
 */
extern GatheredRows *gathered_rows_begin(SharedGather *shared,
										 SharedSlices *slices,
										 RowOrder *order,
										 const RowCollector *collector,
										 Size limit);

/* The gathered rows, which are minimal tuples. */
extern RowReader *gathered_rows_reader(GatheredRows *gathered);

/* Rows so far that workers have gathered. */
extern uint64 gathered_rows_count(const GatheredRows *gathered);

/* Makes the workers end, as no more rows are wanted; gathered_rows_end() does, too. */
extern void gathered_rows_stop(GatheredRows *gathered);
extern void gathered_rows_end(GatheredRows *gathered);

#endif							/* GPUSORT_GATHERED_ROWS_H */
