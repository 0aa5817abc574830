/*-------------------------------------------------------------------------
 *
 * worker_reports.c
 *	  Reports of workers that each sort for themselves.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/worker_reports.h"

void
worker_reports_init(WorkerReports *reports)
{
	memset(reports, 0, sizeof(WorkerReports));
	SpinLockInit(&reports->mutex);
}

void
worker_reports_leave(WorkerReports *reports, const RowSortReport *report)
{
	SpinLockAcquire(&reports->mutex);
	if (reports->count == 0 || report->nrows > reports->largest.nrows)
		reports->largest = *report;
	reports->nrows += report->nrows;
	reports->left_out_rows += report->left_out_rows;
	reports->count++;
	SpinLockRelease(&reports->mutex);
}

bool
worker_reports_add(WorkerReports *reports, RowSortReport *report)
{
	uint64		nrows = report->nrows;
	uint64		left_out_rows = report->left_out_rows;

	SpinLockAcquire(&reports->mutex);
	if (reports->count > 0 && report->method[0] == '\0')
		*report = reports->largest;
	report->nrows = nrows + reports->nrows;
	report->left_out_rows = left_out_rows + reports->left_out_rows;
	report->workers_alone = reports->count;
	SpinLockRelease(&reports->mutex);
	return report->workers_alone > 0;
}
