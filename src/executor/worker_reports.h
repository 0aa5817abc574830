/*-------------------------------------------------------------------------
 *
 * worker_reports.h
 *	  Reports of workers that sort each for itself.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_WORKER_REPORTS_H
#define GPUSORT_WORKER_REPORTS_H

#include "storage/spin.h"

#include "executor/row_sort.h"

/* In shared memory. */
typedef struct WorkerReports
{
	slock_t		mutex;			/* protects the other fields */
	int			count;
	uint64		nrows;
	RowSortReport largest;		/* of the one that had most rows */
} WorkerReports;

/* Initializes the reports, also anew when all workers have ended. */
extern void worker_reports_init(WorkerReports *reports);

/* A worker leaves the report of its sort. */
extern void worker_reports_leave(WorkerReports *reports,
								 const RowSortReport *report);

/*
 * The leader adds the rows of workers to its own report; if that is all zeros, as it has
 * not sorted, it becomes that of the worker that had most rows.  False if workers have
 * left none.
 */
extern bool worker_reports_add(WorkerReports *reports, RowSortReport *report);

#endif							/* GPUSORT_WORKER_REPORTS_H */
