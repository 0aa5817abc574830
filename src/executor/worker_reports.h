/*-------------------------------------------------------------------------
 *
 * worker_reports.h
 *	  Reports of workers that each sort for themselves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_WORKER_REPORTS_H
#define GPUSORT_WORKER_REPORTS_H

#include "storage/spin.h"

#include "executor/row_sort.h"

/* The reports, in shared memory. */
typedef struct WorkerReports
{
	slock_t		mutex;			/* protects the other fields */
	int			count;
	uint64		nrows;
	uint64		left_out_rows;
	RowSortReport largest;		/* report of the worker that had most rows */
} WorkerReports;

/* Initializes the reports, and does so again when all workers have ended. */
extern void worker_reports_init(WorkerReports *reports);

/* Adds the report of a sort, in a worker. */
extern void worker_reports_leave(WorkerReports *reports,
								 const RowSortReport *report);

/*
 * Adds the rows of workers to the leader's own report, in the leader.  If the
 * leader has not sorted, its report is all zeros: then it becomes the report
 * of the worker that had most rows.  Returns false if workers have left no
 * reports.
 */
extern bool worker_reports_add(WorkerReports *reports, RowSortReport *report);

#endif							/* GPUSORT_WORKER_REPORTS_H */
