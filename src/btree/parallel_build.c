/*-------------------------------------------------------------------------
 *
 * parallel_build.c
 *	  Building an index with parallel workers.
 *
 * A build has the phases of index_build.c: rows are collected, sorted and
 * written.  The members are the leader and its workers.
 *
 * Collect: the members share one scan of the table.  Each forms its rows
 * in shared memory, where they stay, and sends their places and keys to the
 * leader in batches (row_deposit.c).  The leader takes the batches of all
 * members, its own too (row_collector.c).
 *
 * Sort: the leader makes the order (index_sort.c), in shared memory if that has
 * room (shared_order.c).  Meanwhile the workers find the rows, and wait.
 *
 * Write: all make leaf pages of the rows in their order (parallel_write.c).
 *
 * Separate sorts: each member sorts its own rows, in its part of the
 * memory, and writes sorted runs to files.  Members sort separately if
 * more rows are expected than the memory setting allows, or than there is
 * shared memory for, or if keys cannot be shared.  The workers merge all runs
 * part by part (merged_runs.c).  Meanwhile the leader alone makes the pages of
 * the merged rows.
 *
 * The leader decides once what the workers do after the last row
 * (leader_decision.h).  A member that comes when the others have had all
 * rows of the table puts none.  Shared memory is freed when the transaction
 * ends in any way.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/tableam.h"
#include "utils/memutils.h"

#include "btree/parallel_build.h"
#include "btree/parallel_write.h"
#include "heap/heap_scan.h"
#include "team/build_processes.h"
#include "team/merged_runs.h"
#include "team/row_deposit.h"
#include "team/shared_order.h"

/* What the members share, beside the BuildTeam. */
typedef struct BuildShared
{
	bool		unique;			/* rows are checked for duplicates */
	bool		nulls_not_distinct;
	bool		separately;		/* each member sorts its own rows */
	double		expected_rows;	/* rows of one member */
	bool		host_only;		/* separate sorts use no device */
	bool		check_order;	/* a device has made the order of the rows */
	SharedOrder order;			/* order of rows in shared memory */
	WriteShared write;
} BuildShared;

/* A member that puts its rows into shared memory. */
typedef struct BuildMember
{
	SharedRows *shared;
	bool		unique;
	IndexRows  *rows;
	RowDeposit *deposit;

	/* of the leader only, NULL in a worker */
	RowCollector *collector;
	ExternalSort *sort;
} BuildMember;

struct ParallelBuild
{
	Relation	heap;
	Relation	index;
	BuildProcesses *processes;
	BuildTeam  *team;
	BuildShared *shared;

	RowSegments *segments;		/* shared rows of all members */
	RowCollector *collector;
	SharedOrderRoom room;		/* where the order is to be, if it is shared */
	RowOrder   *order;
	Size		limit;			/* bytes for rows, order and ring */

	/* of members that sort separately */
	MemberRuns	runs;			/* the leader's runs */
	MergedRuns	merge;			/* those of all */
};

/* Are no more rows wanted, since they have to be sorted in another way? */
static inline bool
is_given_up(SharedRows *shared)
{
	return row_exchange_is_closed(&shared->exchange);
}

static void
give_up(SharedRows *shared)
{
	row_exchange_close(&shared->exchange);
}

/* In the leader: takes the rows that have been sent, or gives up without room for all. */
static void
take_batches(BuildMember *leader)
{
	const RowBatch *batch;
	char	   *base;

	while ((batch = row_collector_next(leader->collector, &base)) != NULL)
	{
		if (!is_given_up(leader->shared) &&
			external_sort_take_batch(leader->sort, batch, base) < batch->nrows)
			give_up(leader->shared);
	}
}

/* Returns room for a row; an IndexRowSpace. */
static void *
shared_space(void *owner, Size bytes)
{
	return row_deposit_reserve(owner, bytes);
}

/*
 * An IndexBuildCallback, whose state is the BuildMember: forms and puts a row.
 * Ignores rows once the collection is given up, since nothing can end the
 * scan.
 */
static void
collect_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
			bool is_alive, void *state)
{
	BuildMember *member = state;
	IndexRow   *row;

	if (unlikely(is_given_up(member->shared)))
		return;
	row = index_rows_store(member->rows, tid, values, isnull,
						   shared_space, member->deposit);
	if (unlikely(row == NULL))
	{
		give_up(member->shared);
		return;
	}
	if (member->unique && !is_alive)
		index_row_set_dead(row);
	if (unlikely(!row_deposit_add(member->deposit, member->rows->slot)))
		give_up(member->shared);
	if (member->collector != NULL &&
		unlikely(row_exchange_has_batches(&member->shared->exchange)))
		take_batches(member);
}

/* The rows in shared memory, in their order, as a source of tuples. */
typedef struct SharedTuples
{
	TupleSource source;
	OrderedRows rows;
} SharedTuples;

static void
find_shared_rows(const TupleSource *source, uint64 position, uint32 nrows,
				 const IndexRow **found)
{
	const OrderedRows *rows = &((const SharedTuples *) source)->rows;

	for (uint64 i = position; i < position + nrows; i++)
	{
		if (likely(i + PREFETCH_PLACES < source->nrows))
			ordered_rows_prefetch_place(rows, i + PREFETCH_PLACES);
		*found++ = ordered_rows_get(rows, i);
	}
}

/* Returns the bytes that a row takes in shared memory. */
static Size
row_bytes(const void *row)
{
	return index_row_bytes(row);
}

/*
 * Takes part in making pages, unless the leader has ended; false if the rows are not in
 * order.
 */
static bool
write_share(BuildShared *shared, RowSegments *segments,
			const LeafDefinition *definition, const IndexRows *index_rows,
			TreeWriter *writer, SortProgress *progress)
{
	SharedTuples tuples = {
		.source = {.nrows = shared->order.nrows,.find = find_shared_rows}
	};
	bool		in_order;

	if (!ordered_rows_map(&tuples.rows, &shared->order, segments, row_bytes))
		return true;
	in_order = parallel_write_share(&shared->write, definition, index_rows,
									&tuples.source, writer, progress);
	ordered_rows_unmap(&tuples.rows);
	return in_order;
}

/*
 * ---- a worker
 */

/* Scans a worker's share of the table. */
static void
scan_share(const BuildWorker *worker, IndexBuildCallback callback, void *state)
{
	build_worker_note_counts(worker,
							 heap_scan_for_build(worker->heap, worker->index,
												 worker->info, worker->scan,
												 false, callback, state));
}

/* Lets a separate sort write its runs where all members can read them. */
static void
write_runs_to(IndexSort *sort, MemberRuns *runs, SharedRuns *shared)
{
	ExternalSort *external = &sort->external;

	member_runs_begin(runs, shared, external->variant->format);
	external->writer = &runs->writer;
}

/* Puts a worker's rows into shared memory, unless the others have had all. */
static void
put_rows(const BuildWorker *worker, IndexRows *rows, RowSegments *segments,
		 SortProgress *progress)
{
	BuildMember member = {
		.shared = worker->rows,
		.unique = ((const BuildShared *) worker->shared)->unique,
		.rows = rows,
		.deposit = row_deposit_begin(worker->rows, segments,
									 ParallelWorkerNumber, rows->descriptor,
									 rows->columns, rows->ncolumns, progress)
	};

	if (member.deposit == NULL)
		return;
	scan_share(worker, collect_row, &member);
	row_deposit_finish(member.deposit, 0);
	sort_progress_enter(progress, PROGRESS_WAITING_FOR_LEADER);
	row_deposit_end(member.deposit);
}

/* Collects rows together with the others, and makes pages of them. */
static void
work_together(const BuildWorker *worker)
{
	BuildShared *shared = worker->shared;
	LeaderDecision *decision = &worker->team->parts.decision;
	IndexRows  *rows = index_rows_begin(worker->index);
	RowSegments *segments = row_segments_begin(worker->rows);
	SortProgress *progress = sort_progress_begin(PROGRESS_OF_INDEX_BUILD,
												 shared->expected_rows, true);

	put_rows(worker, rows, segments, progress);
	if (leader_decision_await_or(decision, &shared->order.has_room) ==
		WORK_UNDECIDED)
		shared_order_find_rows(&shared->order, segments, row_bytes);
	if (leader_decision_await(decision) == WORK_EMIT_PARTS)
	{
		const LeafDefinition definition = {
			.heap = worker->heap,
			.index = worker->index,
			.unique = shared->unique,
			.nulls_not_distinct = shared->nulls_not_distinct,
			.check_order = shared->check_order
		};

		sort_progress_enter(progress, PROGRESS_WRITING_INDEX);
		(void) write_share(shared, segments, &definition, rows, NULL,
						   progress);
	}
	sort_progress_end(progress);
	shared_order_drop(&shared->order);
	row_segments_end(segments);
	index_rows_end(rows);
}

/* Begins a worker's separate sort, whose runs are these. */
static IndexSort *
begin_separate_sort(const BuildWorker *worker, MemberRuns *runs)
{
	const BuildShared *shared = worker->shared;
	SharedRuns *shared_runs = &worker->team->runs;
	IndexSort  *sort = index_sort_begin(worker->index, shared->unique,
										shared_runs->limit, shared_runs->limit,
										shared->expected_rows,
										shared->host_only);

	write_runs_to(sort, runs, shared_runs);
	return sort;
}

/* Sends parts of the merge of all runs, if the leader wants that. */
static void
help_to_merge(BuildTeam *team, ExternalSort *external)
{
	TeamWork	work = leader_decision_await(&team->parts.decision);
	MemoryContext caller_context = MemoryContextSwitchTo(external->context);

	if (work == WORK_SEND_PARTS)
	{
		sort_progress_enter(external->progress, PROGRESS_MERGING_RUNS);
		merged_runs_help(&team->runs, &team->parts, work,
						 run_order_of_rows(external->order),
						 external->variant->format, NULL);
	}
	MemoryContextSwitchTo(caller_context);
}

/* Sorts a worker's rows separately, and helps the leader with the runs, if there are any. */
static void
work_separately(BuildWorker *worker)
{
	BuildTeam  *team = worker->team;
	MemberRuns	runs;
	IndexSort  *sort;
	bool		has_runs;

	if (!build_worker_join(worker))
		return;
	sort = begin_separate_sort(worker, &runs);
	scan_share(worker, index_sort_put, sort);
	if (!index_sort_write_last_run(sort))
		give_up(worker->rows);
	has_runs = !index_sort_has_failed(sort) && sort->external.nruns > 0;
	if (has_runs)
		shared_parts_offer(&team->parts);
	shared_rows_finish(worker->rows, ParallelWorkerNumber, 0);

	if (has_runs)
		help_to_merge(team, &sort->external);
	member_runs_close(&runs);
	index_sort_end(sort);
}

/* The entry point of a worker. */
void
gpusort_build_worker(dsm_segment *segment, shm_toc *contents)
{
	BuildWorker worker;

	build_worker_begin(&worker, segment, contents);
	if (((const BuildShared *) worker.shared)->separately)
		work_separately(&worker);
	else
		work_together(&worker);
	build_worker_end(&worker);
}

/*
 * ---- the leader
 */

/* Begins to collect the rows of all members. */
static void
begin_collecting(ParallelBuild *build)
{
	SharedRows *rows = build->processes->rows;

	build->segments = row_segments_begin(rows);
	build->collector = row_collector_begin(rows, build->segments);
}

ParallelBuild *
parallel_build_begin(Relation heap, Relation index, IndexInfo *info,
					 Size limit, bool separately, bool host_only,
					 double expected_rows)
{
	BuildProcesses *processes =
		build_processes_begin(heap, index, info, "gpusort_build_worker",
							  sizeof(BuildShared), limit,
							  separately ? 0 : limit);
	BuildShared *shared;
	ParallelBuild *build;

	if (processes == NULL)
		return NULL;
	shared = processes->shared;

	/*
	 * false for a unique index whose rows need no check, as in VACUUM FULL
	 */
	shared->unique = info->ii_Unique;
	shared->nulls_not_distinct = info->ii_NullsNotDistinct;
	shared->separately = separately;
	shared->host_only = host_only;
	shared->expected_rows = expected_rows;
	shared_order_init(&shared->order);
	parallel_write_init(&shared->write);

	build = palloc0(sizeof(ParallelBuild));
	build->heap = heap;
	build->index = index;
	build->processes = processes;
	build->team = processes->team;
	build->shared = shared;
	begin_collecting(build);
	if (build_processes_launch(processes))
		return build;
	row_segments_end(build->segments);
	build_processes_end(processes);
	pfree(build);
	return NULL;
}

/*
 * Adds the counts of the workers, which have finished; false if the sort is
 * given up.
 */
static bool
take_counts(ParallelBuild *build, IndexInfo *info, double *heap_tuples)
{
	build_processes_take_counts(build->processes, info, heap_tuples);
	return !is_given_up(build->processes->rows);
}

bool
parallel_build_collect(ParallelBuild *build, IndexInfo *info,
					   IndexSort *sort, double *heap_tuples)
{
	IndexRows  *rows = sort->rows;
	RowOrder   *order = sort->external.order;
	SharedRows *shared = build->processes->rows;
	BuildMember leader = {
		.shared = shared,
		.unique = build->shared->unique,
		.rows = rows,
		.deposit = row_deposit_begin(shared, build->segments,
									 build->processes->context->nworkers,
									 rows->descriptor, rows->columns,
									 rows->ncolumns, NULL),
		.collector = build->collector,
		.sort = &sort->external
	};

	row_order_set_layout(order, row_collector_layout(build->collector));
	*heap_tuples = heap_scan_for_build(build->heap, build->index, info,
									   build->processes->scan, true, collect_row,
									   &leader);
	row_deposit_finish(leader.deposit, 0);
	do
		take_batches(&leader);
	while (row_collector_wait(build->collector));
	row_deposit_end(leader.deposit);
	row_order_set_layout(order, NULL);
	return take_counts(build, info, heap_tuples);
}

bool
parallel_build_collect_separately(ParallelBuild *build, IndexInfo *info,
								  IndexSort *sort, double *heap_tuples)
{
	SharedRuns *runs = &build->team->runs;

	write_runs_to(sort, &build->runs, runs);
	*heap_tuples = heap_scan_for_build(build->heap, build->index, info,
									   build->processes->scan, true, index_sort_put,
									   sort);
	(void) row_collector_wait(build->collector);
	shared_runs_report(runs, &sort->external);
	return take_counts(build, info, heap_tuples);
}

bool
parallel_build_merge(ParallelBuild *build, IndexSort *sort)
{
	BuildTeam  *team = build->team;
	ExternalSort *external = &sort->external;
	MergedRuns *merge = &build->merge;

	if (shared_runs_count(&team->runs) == 0)
		return index_sort_perform(sort);
	if (!index_sort_write_last_run(sort))
		return false;
	member_runs_close(&build->runs);
	sort_progress_enter(external->progress, PROGRESS_MERGING_RUNS);
	merged_runs_begin(merge, &team->runs, &team->parts,
					  run_order_of_rows(external->order),
					  external->variant->format, external->limit_of_merge);
	/* rows are small: parts in files take as long as the leader alone */
	(void) merged_runs_prepare(merge, WORK_SEND_PARTS,
							   build_processes_workers(build->processes) + 1);
	merged_runs_announce(merge);
	sort->merged = merged_runs_rows(merge);
	external->memory = merged_runs_disk(merge);
	return true;
}

/*
 * Plans how the rows are written, and returns the bytes that are left for them
 * and their order.
 */
static Size
plan_to_write(const ParallelBuild *build)
{
	const RowStore *store = build->order->store;
	int			nmembers = build_processes_workers(build->processes) + 1;
	Size		ring_bytes = parallel_write_plan(&build->shared->write,
												 store->nrows, store->memory,
												 nmembers);

	return build->limit - Min(build->limit, ring_bytes);
}

void
parallel_build_expect_order(ParallelBuild *build, RowOrder *order, Size limit)
{
	build->order = order;
	build->limit = limit;
	if (order->store->nrows > 0)
		shared_order_expect(&build->room, &build->shared->order, order,
							build->collector, &build->team->parts.decision,
							plan_to_write(build));
}

bool
parallel_build_share(ParallelBuild *build)
{
	BuildShared *shared = build->shared;

	return build->order->store->nrows > 0 &&
		shared_order_set(&shared->order, build->order, build->collector,
						 plan_to_write(build)) &&
		parallel_write_make_ring(&shared->write);
}

bool
parallel_build_write(ParallelBuild *build,
					 const LeafDefinition *definition,
					 const IndexRows *index_rows, TreeWriter *writer,
					 SortProgress *progress)
{
	BuildShared *shared = build->shared;

	shared->check_order = definition->check_order;
	leader_decision_make(&build->team->parts.decision, WORK_EMIT_PARTS);
	return write_share(shared, build->segments, definition, index_rows,
					   writer, progress);
}

uint64
parallel_build_worker_pages(const ParallelBuild *build)
{
	return pg_atomic_read_u32(&build->shared->write.worker_pages);
}

int
parallel_build_workers(const ParallelBuild *build)
{
	return build_processes_workers(build->processes);
}

void
parallel_build_end(ParallelBuild *build)
{
	/* unless something else has been decided */
	leader_decision_make(&build->team->parts.decision, WORK_NONE);
	shared_order_drop(&build->shared->order);
	merged_runs_end(&build->merge);
	member_runs_close(&build->runs);
	WaitForParallelWorkersToFinish(build->processes->context);
	row_segments_end(build->segments);
	build_processes_end(build->processes);
}
