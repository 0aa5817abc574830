/*-------------------------------------------------------------------------
 *
 * inverted_workers.c
 *	  Building an inverted index with parallel workers.
 *
 * The leader and its workers share one scan of the table.  Each process sorts
 * blocks of its own, in its part of the memory, and writes them as runs that
 * all can read.  When all rows are in runs, the leader decides what the
 * workers do: they merge ranges of terms, write the leaves of these ranges, and
 * tell the leader of them; or they end.  The leader completes the index from
 * all leaves in order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/guc.h"

#include "inverted/entry_leaves.h"
#include "inverted/inverted_workers.h"
#include "inverted/posting_parts.h"
#include "inverted/term_scan.h"
#include "spill/run_file.h"
#include "team/merged_runs.h"
#include "team/part_stream.h"
#include "team/row_collector.h"

/* What the processes share, beside the BuildTeam. */
typedef struct InvertedShared
{
	double		expected_rows;	/* rows of one process */
} InvertedShared;

/* A process that scans a share of the table. */
typedef struct Member
{
	TermScan	scan;			/* must be first */
	MemberRuns	runs;			/* this process's runs */
	RunTape    *run;			/* the run that is being written, or NULL */
	uint64		nrows;			/* its rows */
} Member;

struct InvertedWorkers
{
	Relation	heap;
	Relation	index;
	BuildProcesses *processes;
	RowSegments *segments;		/* none: rows are in runs */
	RowCollector *collector;	/* waits for the workers */
	PostingOrder order;
	PostingWrapper wrapper;
	MergedRuns	merge;			/* runs of all */
};

/* Writes the block to a run. */
static void
write_run(TermScan *scan, bool ends_run)
{
	Member	   *member = (Member *) scan;

	sort_progress_enter(scan->progress, PROGRESS_WRITING_RUN);
	if (member->run == NULL)
		member->run = member_runs_begin_run(&member->runs);
	member->nrows += posting_rows_write(scan->terms, scan->block, member->run,
										true);
	if (!ends_run)
		return;
	member_runs_end_run(&member->runs, member->run, NULL, member->nrows);
	member->run = NULL;
	member->nrows = 0;
	scan->progress->figures.runs_written++;
}

/*
 * Scans a share of the table, and writes all its terms to runs.  Returns the
 * number of live rows.
 */
static double
scan_share(Member *member, SharedRuns *runs, Relation heap, Relation index,
		   IndexInfo *info, ParallelTableScanDesc shared_scan,
		   bool show_progress)
{
	TermScan   *scan = &member->scan;
	double		heap_tuples;

	member_runs_begin(&member->runs, runs, POSTING_ROW_FORMAT);
	scan->limit = runs->limit - run_file_limit_piece(runs->limit);
	scan->block = term_block_begin(scan->terms, scan->limit);
	scan->may_divide = temp_file_limit < 0;
	scan->spill = write_run;
	heap_tuples = term_scan_perform(scan, heap, index, info, shared_scan,
									show_progress);
	if (term_block_rows(scan->block) > 0)
		term_scan_spill(scan, true);
	term_block_end(scan->block);
	return heap_tuples;
}

/*
 * ---- a worker
 */

/* Waits for the decision, and makes parts of the merge if that is it. */
static void
help_to_merge(BuildTeam *team, Relation index, Terms *terms,
			  SortProgress *progress)
{
	TeamWork	work;
	PostingOrder order;
	GinWriter	writer;
	PostingWrapper wrapper;

	sort_progress_enter(progress, PROGRESS_WAITING_FOR_LEADER);
	work = leader_decision_await(&team->parts.decision);
	if (work == WORK_NONE)
		return;
	sort_progress_enter(progress, PROGRESS_MERGING_RUNS);
	posting_order_init(&order, terms);
	gin_writer_init(&writer, index);
	posting_wrapper_init(&wrapper, &order, &writer,
						 team->runs.limit / LISTS_PART);
	merged_runs_help(&team->runs, &team->parts, work,
					 run_order_of_own(&order.own), POSTING_ROW_FORMAT,
					 &wrapper.wrapper);
}

/* Sorts a worker's share of the rows, and helps the leader with the runs. */
static void
work(BuildWorker *worker)
{
	BuildTeam  *team = worker->team;
	const InvertedShared *shared = worker->shared;
	Member		member = {0};

	if (!build_worker_join(worker))
		return;
	member.scan.terms = terms_begin(worker->index);
	member.scan.expected_rows = shared->expected_rows;
	member.scan.progress = sort_progress_begin(PROGRESS_OF_INDEX_BUILD,
											   shared->expected_rows, true);
	build_worker_note_counts(worker,
							 scan_share(&member, &team->runs, worker->heap,
										worker->index, worker->info,
										worker->scan, false));
	shared_parts_offer(&team->parts);
	shared_rows_finish(worker->rows, ParallelWorkerNumber, 0);

	help_to_merge(team, worker->index, member.scan.terms,
				  member.scan.progress);
	member_runs_close(&member.runs);
	sort_progress_end(member.scan.progress);
}

void
gpusort_inverted_worker(dsm_segment *segment, shm_toc *contents)
{
	BuildWorker worker;

	build_worker_begin(&worker, segment, contents);
	work(&worker);
	build_worker_end(&worker);
}

/*
 * ---- the leader
 */

InvertedWorkers *
inverted_workers_begin(Relation heap, Relation index, const IndexInfo *info,
					   Size limit, double expected_rows)
{
	int			nprocesses = info->ii_ParallelWorkers + 1;
	Size		limit_of_process = Max(limit / nprocesses, LEAST_SORT_BYTES);
	BuildProcesses *processes =
		build_processes_begin(heap, index, info, "gpusort_inverted_worker",
							  sizeof(InvertedShared), limit_of_process, 0);
	InvertedWorkers *workers;

	if (processes == NULL)
		return NULL;
	((InvertedShared *) processes->shared)->expected_rows =
		expected_rows / nprocesses;
	workers = palloc0(sizeof(InvertedWorkers));
	workers->heap = heap;
	workers->index = index;
	workers->processes = processes;
	workers->segments = row_segments_begin(processes->rows);
	workers->collector = row_collector_begin(processes->rows,
											 workers->segments);
	if (build_processes_launch(processes))
		return workers;
	inverted_workers_end(workers);
	return NULL;
}

void
inverted_workers_collect(InvertedWorkers *workers, IndexInfo *info,
						 Terms *terms, SortProgress *progress,
						 double *heap_tuples)
{
	BuildProcesses *processes = workers->processes;
	const InvertedShared *shared = processes->shared;
	Member		leader = {
		.scan.terms = terms,
		.scan.progress = progress,
		.scan.expected_rows = shared->expected_rows
	};

	posting_order_init(&workers->order, terms);
	sort_progress_expect(progress, shared->expected_rows);
	*heap_tuples = scan_share(&leader, &processes->team->runs, workers->heap,
							  workers->index, info, processes->scan, true);
	(void) row_collector_wait(workers->collector);
	build_processes_take_counts(processes, info, heap_tuples);
	/* the leader goes on with the rows and runs of all */
	sort_progress_expect(progress, *heap_tuples);
	progress->figures.rows_put = *heap_tuples;
	progress->figures.runs_written = shared_runs_count(&processes->team->runs);
	member_runs_close(&leader.runs);
}

RowReader *
inverted_workers_merge(InvertedWorkers *workers, GinWriter *writer, Size limit)
{
	BuildTeam  *team = workers->processes->team;
	MergedRuns *merge = &workers->merge;
	int			nmembers = build_processes_workers(workers->processes) + 1;
	RowReader  *joined;

	if (shared_runs_count(&team->runs) == 0)
		return NULL;
	posting_wrapper_init(&workers->wrapper, &workers->order, writer,
						 team->runs.limit / LISTS_PART);
	merged_runs_begin(merge, &team->runs, &team->parts,
					  run_order_of_own(&workers->order.own),
					  POSTING_ROW_FORMAT, limit - limit / LISTS_PART);
	merge->wrapper = &workers->wrapper.wrapper;
	if (!merged_runs_prepare(merge, WORK_SEND_PARTS, nmembers))
		(void) merged_runs_prepare(merge, WORK_WRITE_PARTS, nmembers);
	merged_runs_announce(merge);
	/* whoever makes a part has written its leaves */
	if (merge->work != WORK_NONE)
		return merged_runs_rows(merge);
	joined = posting_rows_join(workers->order.terms, merged_runs_rows(merge),
							   limit / LISTS_PART);
	return entry_leaves_begin(writer, joined);
}

Size
inverted_workers_disk(const InvertedWorkers *workers)
{
	return workers->processes->team->runs.disk;
}

int
inverted_workers_count(const InvertedWorkers *workers)
{
	return build_processes_workers(workers->processes);
}

void
inverted_workers_end(InvertedWorkers *workers)
{
	BuildProcesses *processes = workers->processes;

	/* unless something else has been decided */
	leader_decision_make(&processes->team->parts.decision, WORK_NONE);
	merged_runs_end(&workers->merge);
	WaitForParallelWorkersToFinish(processes->context);
	row_segments_end(workers->segments);
	build_processes_end(processes);
	pfree(workers);
}
