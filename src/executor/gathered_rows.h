/*-------------------------------------------------------------------------
 *
 * gathered_rows.h
 *	  Rows in shared memory, which workers gather in their order for the leader.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_GATHERED_ROWS_H
#define GPUSORT_GATHERED_ROWS_H

#include "executor/shared_rows.h"
#include "executor/sorted_slices.h"
#include "port/leader_decision.h"
#include "spill/row_reader.h"

/* What leader and workers share. */
typedef struct SharedGather
{
	double		expected_rows;	/* rows that workers may be asked to gather */
	LeaderDecision decision;	/* a GatherDecision */
	SharedSlices slices;		/* order of the rows, and the next slice */
	dsm_handle	stream;			/* stream of the gathered rows */
} SharedGather;

/*
 * In the leader, before so many workers are launched to sort so many rows; without
 * any rows these gather none.
 */
extern void shared_gather_init(SharedGather *shared, int nworkers,
							   double expected_rows);

/* In the leader: may the workers that were launched be asked to gather rows? */
extern bool shared_gather_is_expected(const SharedGather *shared,
									  int nworkers);

/*
 * In a worker: shared_gather_offer() offers help to the leader, before that knows of
 * the worker's last row; false if none is expected.  Otherwise gather_rows() has to
 * follow, when the leader no longer waits for this process: it waits for the decision,
 * and gathers rows until there are no more, or the leader wants none.
 */
extern bool shared_gather_offer(SharedGather *shared);
extern void gather_rows(SharedGather *shared, SharedRows *rows);

/* The leader's end. */
typedef struct GatheredRows GatheredRows;

/*
 * Decides whether workers gather the rows of an order, all of which are those of the
 * collector.  NULL if they do not, since they are few or memory does not suffice: that
 * for rows, order and stream in "limit" bytes.  To be called in any case where workers
 * have offered help, with NULL for no order.  Allocates in the current memory context.
 */
extern GatheredRows *gathered_rows_begin(SharedGather *shared,
										 RowOrder *order,
										 const RowCollector *collector,
										 Size limit);

/* The gathered rows, which are minimal tuples. */
extern RowReader *gathered_rows_reader(GatheredRows *gathered);

/* Rows so far that workers have gathered. */
extern uint64 gathered_rows_count(const GatheredRows *gathered);

/* Has the workers end, as no more rows are wanted; gathered_rows_end() does, too. */
extern void gathered_rows_stop(GatheredRows *gathered);
extern void gathered_rows_end(GatheredRows *gathered);

#endif							/* GPUSORT_GATHERED_ROWS_H */
