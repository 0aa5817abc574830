/*-------------------------------------------------------------------------
 *
 * index_build.c
 *	  Building a B-tree in one go: its rows are collected, sorted and written.
 *
 * A build has three phases: collect, sort, write.  The scan of the table
 * (heap_scan.c) calls back for each row of the index, which goes to a sort
 * (index_sort.c).  After the last row the sort makes the order, and the tuples
 * are put on leaf pages in that order, straight from where they are
 * (leaf_maker.c).  Parallel workers may help with all phases but the sort or,
 * if there are more rows than memory, with all but the pages
 * (parallel_build.c).
 *
 * If the rows turn out not to be sortable by keys, the build drops the
 * collected rows, and core builds the index.  If a device has made a wrong
 * order, the build begins once more without the device.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "catalog/index.h"
#include "catalog/storage.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "btree/index_build.h"
#include "btree/index_sort.h"
#include "btree/leaf_maker.h"
#include "btree/merged_rows.h"
#include "btree/parallel_build.h"
#include "btree/tree_writer.h"
#include "common/host_sort.h"
#include "heap/heap_sample.h"
#include "heap/heap_scan.h"
#include "port/compat.h"
#include "port/is_heap.h"
#include "port/shared_memory.h"
#include "port/timing.h"
#include "settings.h"
#include "shared_state.h"
#include "team/build_processes.h"

typedef struct IndexBuild
{
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	Size		limit;			/* bytes for the whole build */
	double		expected_rows;
	bool		host_only;		/* no device: one has made a wrong order */
	bool		out_of_order;	/* the rows turned out to be in a wrong order */
	double		heap_tuples;	/* rows that the scan has seen */

	IndexSort  *sort;
	bool		failed;			/* a worker could not sort by keys */
	ParallelBuild *parallel;	/* NULL in a build without workers */

	instr_time	since;			/* beginning of the present phase */
	uint64		collect_microseconds;
	uint64		sort_microseconds;
	uint64		write_microseconds;
} IndexBuild;

/* Is there shared memory for all rows, as parallel workers need? */
static bool
can_share(const IndexBuild *build)
{
	return shared_memory_has_room(2 * index_sort_least_memory(build->expected_rows));
}

/* Bytes of a column's value, on average, as far as is known. */
static int32
expected_width(const IndexBuild *build, int column)
{
	Form_pg_attribute attribute =
		TupleDescAttr(RelationGetDescr(build->index), column);
	AttrNumber	attno = build->info->ii_IndexAttrNumbers[column];

	if (attribute->attlen > 0)
		return attribute->attlen;
	if (AttributeNumberIsValid(attno))
	{
		int32		width = get_attavgwidth(RelationGetRelid(build->heap),
											attno);

		if (width > 0)
			return width;
		if (is_heap(build->heap))
			return heap_sample_width(build->heap, attno);
	}
	return get_typavgwidth(attribute->atttypid, attribute->atttypmod);
}

/*
 * The bytes that all rows are expected to need: for the rows, their places,
 * the order, and the keys, which are about as long as the columns.
 */
static double
expected_memory(const IndexBuild *build)
{
	int			ncolumns = IndexRelationGetNumberOfAttributes(build->index);
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(build->index);
	int32		row = sizeof(IndexTupleData);
	int32		key = 0;

	for (int i = 0; i < ncolumns; i++)
	{
		int32		width = expected_width(build, i);

		row += width;
		if (i < nkeys)
			key += width;
	}
	return build->expected_rows *
		(MAXALIGN(row) + sizeof(void *) + MAXALIGN(key) +
		 sizeof(HostSortEntry));
}

/* Adds the time since "since" to *microseconds, and sets "since" to now. */
static void
take_time(instr_time *since, uint64 *microseconds)
{
	*microseconds += microseconds_since(*since);
	INSTR_TIME_SET_CURRENT(*since);
}

/* Frees all rows. */
static void
drop_rows(IndexBuild *build)
{
	/* it compares rows by the sort's order */
	if (build->parallel != NULL)
		parallel_build_end(build->parallel);
	build->parallel = NULL;
	index_sort_end(build->sort);
	build->sort = NULL;
}

/* Begins the sort; the limit is bytes for its rows. */
static void
begin_sort(IndexBuild *build, Size limit, double expected_rows)
{
	build->sort = index_sort_begin(build->index, build->info->ii_Unique, limit,
								   build->limit, expected_rows,
								   build->host_only);
}

/*
 * Starts workers.  The limit is bytes for all members together, or with
 * "separately" for each.  Each is expected to have expected_rows rows.
 */
static bool
begin_parallel(IndexBuild *build, Size limit, bool separately,
			   double expected_rows)
{
	build->parallel = parallel_build_begin(build->heap, build->index,
										   build->info, limit, separately,
										   build->host_only, expected_rows);
	return build->parallel != NULL;
}

/*
 * Scans the table with workers that send their rows to this process; false if
 * there are no workers, or no room for all rows.
 */
static bool
collect_together(IndexBuild *build)
{
	int			nprocesses = build->info->ii_ParallelWorkers + 1;

	if (!can_share(build) || expected_memory(build) > build->limit)
		return false;
	begin_sort(build, build->limit, build->expected_rows);
	if (!index_sort_has_failed(build->sort) &&
		row_order_share(build->sort->external.order) &&
		begin_parallel(build, build->limit, false,
					   build->expected_rows / nprocesses) &&
		parallel_build_collect(build->parallel, build->info, build->sort,
							   &build->heap_tuples))
		return true;
	drop_rows(build);
	return false;
}

/* Scans the table with workers that sort separately; false without workers. */
static bool
collect_separately(IndexBuild *build)
{
	int			nprocesses = build->info->ii_ParallelWorkers + 1;
	Size		limit = Max(build->limit / nprocesses, LEAST_SORT_BYTES);
	double		expected_rows = build->expected_rows / nprocesses;

	if (!begin_parallel(build, limit, true, expected_rows))
		return false;
	begin_sort(build, limit, expected_rows);
	build->failed = !parallel_build_collect_separately(build->parallel, build->info,
													   build->sort, &build->heap_tuples);
	/* the leader's sort goes on with the rows of all members */
	sort_progress_expect(build->sort->external.progress, build->expected_rows);
	return true;
}

/* Scans the table, with workers if core has planned some. */
static void
collect_rows(IndexBuild *build)
{
	if (build->info->ii_ParallelWorkers > 0 &&
		(collect_together(build) || collect_separately(build)))
		return;
	begin_sort(build, build->limit, build->expected_rows);
	build->heap_tuples = heap_scan_for_build(build->heap, build->index,
											 build->info, NULL, true,
											 index_sort_put, build->sort);
}

/* The rows of the store as a source of tuples, in their order. */
typedef struct StoredRows
{
	TupleSource rows;
	const RowOrder *order;
} StoredRows;

static void
find_stored_rows(const TupleSource *rows, uint64 position, uint32 nrows,
				 const IndexRow **found)
{
	const RowOrder *order = ((const StoredRows *) rows)->order;
	const uint32 *entries = order->entries;

	for (uint64 i = position; i < position + nrows; i++)
	{
		if (likely(i + PREFETCH_PLACES < rows->nrows))
			__builtin_prefetch(row_store_place(order->store,
											   ORDER_ROW(entries[i + PREFETCH_PLACES])));
		*found++ = row_order_get(order, i);
	}
}

/*
 * Writes all rows in their order, in this process alone; false if they are not
 * in order.
 */
static bool
write_alone(const IndexBuild *build, const LeafDefinition *definition,
			TreeWriter *writer)
{
	const IndexSort *sort = build->sort;
	uint64		all_rows = sort->external.nrows;
	uint32		chunk_rows = leaf_maker_chunk_rows(all_rows, 1);
	StoredRows	stored = {
		.rows = {.nrows = all_rows,.find = find_stored_rows},
		.order = sort->external.order
	};
	MergedRows *merged = sort->merged == NULL ? NULL :
		merged_rows_begin(sort->merged, all_rows, chunk_rows,
						  merged_rows_bytes(build->limit));
	LeafMaker  *maker = leaf_maker_begin(definition, sort->rows,
										 merged == NULL ? &stored.rows :
										 merged_rows_source(merged),
										 chunk_rows);
	PendingRows *pending = palloc0(sizeof(PendingRows));
	uint64		position = 0;

	while (position < all_rows)
	{
		uint32		nrows = Min(chunk_rows, all_rows - position);
		uint32		npages;

		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
									 position);
		sort_progress_emitted(sort->external.progress, position);
		/* the first row of the chunk is compared with the row before it */
		if (merged != NULL)
			nrows = merged_rows_read(merged,
									 Max(pending->nrows, position > 0));
		if (nrows == 0)
			elog(ERROR, "gpusort: rows are missing from sorted runs");
		if (!leaf_maker_take(maker, position, nrows))
			return false;
		npages = leaf_maker_lay_out(maker, pending);
		for (uint32 page = 0; page < npages; page++)
			(void) leaf_maker_fill(maker, page, tree_writer_next_leaf(writer));
		position += nrows;
	}
	return true;
}

/* Writes all rows in their order; false if they are not in order. */
static bool
write_in_order(const IndexBuild *build)
{
	const IndexSort *sort = build->sort;
	const LeafDefinition definition = {
		.heap = build->heap,
		.index = build->index,
		.unique = build->info->ii_Unique,
		.nulls_not_distinct = build->info->ii_NullsNotDistinct,
		.check_order = index_sort_needs_check(sort)
	};
	TreeWriter *writer = tree_writer_begin(build->heap, build->index);

	/* rows of processes that sorted separately are not in shared memory */
	bool		together = build->parallel != NULL &&
		sort->external.writer == NULL &&
		parallel_build_share(build->parallel);

	if (!(together ?
		  parallel_build_write(build->parallel, &definition, sort->rows,
							   writer, sort->external.progress) :
		  write_alone(build, &definition, writer)))
		return false;
	tree_writer_finish(writer);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, sort->external.nrows);
	return true;
}

/* Reports the progress: all rows have come and are being sorted. */
static void
report_sort_phase(const IndexBuild *build)
{
	const int	parameters[] = {
		PROGRESS_CREATEIDX_SUBPHASE,
		PROGRESS_CREATEIDX_TUPLES_TOTAL,
		PROGRESS_SCAN_BLOCKS_TOTAL,
		PROGRESS_SCAN_BLOCKS_DONE
	};
	const ExternalSort *external = &build->sort->external;
	const int64 values[] = {
		PROGRESS_BTREE_PHASE_PERFORMSORT_1,
		external->nrows + external->store->nrows,
		0, 0
	};

	pgstat_progress_update_multi_param(lengthof(parameters), parameters,
									   values);
}

/* Sorts all rows; false if they cannot be sorted by keys. */
static bool
sort_rows(IndexBuild *build)
{
	const ExternalSort *external = &build->sort->external;
	bool		sorted;

	if (build->failed || index_sort_has_failed(build->sort))
		return false;
	report_sort_phase(build);
	if (external->writer != NULL)
		sorted = parallel_build_merge(build->parallel, build->sort);
	else
	{
		if (build->parallel != NULL)
			parallel_build_expect_order(build->parallel, external->order,
										build->limit);
		sorted = index_sort_perform(build->sort);
	}
	take_time(&build->since, &build->sort_microseconds);
	return sorted;
}

/* Writes the index; false if the rows are not in order. */
static bool
write_index(IndexBuild *build)
{
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_BTREE_PHASE_LEAF_LOAD);
	sort_progress_enter(build->sort->external.progress, PROGRESS_WRITING_INDEX);
	build->out_of_order = !write_in_order(build);
	take_time(&build->since, &build->write_microseconds);
	return !build->out_of_order;
}

/* Adds a build to the server's statistics. */
static void
count_build(const IndexBuild *build)
{
	const IndexSort *sort = build->sort;

	shared_count(sort->external.on_device ? STAT_INDEXES_DEVICE : STAT_INDEXES_HOST, 1);
	if (sort->merged != NULL)
		shared_count(STAT_INDEXES_SPILLED, 1);
	if (build->parallel != NULL)
	{
		shared_count(STAT_INDEX_WORKERS,
					 parallel_build_workers(build->parallel));
		shared_count(STAT_INDEX_WORKER_PAGES,
					 parallel_build_worker_pages(build->parallel));
	}
	shared_count(STAT_INDEX_ROWS, sort->external.nrows);
	shared_count(STAT_INDEX_BYTES, sort->external.memory);
	shared_count(STAT_INDEX_COLLECT_MICROSECONDS,
				 build->collect_microseconds - sort->run_microseconds);
	shared_count(STAT_INDEX_SORT_MICROSECONDS,
				 build->sort_microseconds + sort->run_microseconds);
	shared_count(STAT_INDEX_WRITE_MICROSECONDS, build->write_microseconds);
}

/* The phases of the build; false if it has to be done in another way. */
static bool
build_index(IndexBuild *build)
{
	INSTR_TIME_SET_CURRENT(build->since);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_BTREE_PHASE_INDEXBUILD_TABLESCAN);
	collect_rows(build);
	take_time(&build->since, &build->collect_microseconds);
	if (!sort_rows(build) || !write_index(build))
		return false;
	count_build(build);
	return true;
}

/* Builds the index, and frees the rows; false as build_index(). */
static bool
build_once(IndexBuild *build, IndexBuildResult *result)
{
	MemoryContext caller_context = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(caller_context,
												  "gpusort index build",
												  ALLOCSET_SMALL_SIZES);
	bool		built;

	MemoryContextSwitchTo(context);
	built = build_index(build);
	result->heap_tuples = build->heap_tuples;
	result->index_tuples = build->sort->external.nrows;
	drop_rows(build);
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(context);
	return built;
}

/*
 * Empties the index, which may have pages of rows that turned out to be out of
 * order.
 */
static void
empty_index(const IndexBuild *build)
{
	if (RelationGetNumberOfBlocks(build->index) > 0)
		RelationTruncate(build->index, 0);
}

/*
 * Builds the index once more without a device, which has made a wrong order.
 * sort_job.c has dealt with all other failures of a device.
 */
static bool
build_without_device(IndexBuild *build, IndexBuildResult *result)
{
	IndexBuild	again = {
		.heap = build->heap,
		.index = build->index,
		.info = build->info,
		.limit = build->limit,
		.expected_rows = build->expected_rows,
		.host_only = true
	};

	empty_index(build);
	sort_job_report_wrong_order();
	*build = again;
	return build_once(build, result);
}

IndexBuildResult *
index_build_perform(Relation heap, Relation index, IndexInfo *info,
					double expected_rows)
{
	IndexBuild	build = {
		.heap = heap,
		.index = index,
		.info = info,
		.limit = gpusort_index_memory_limit(),
		.expected_rows = expected_rows
	};
	IndexBuildResult *result;
	bool		built;

	/* core raises an error for an index that has pages */
	if (RelationGetNumberOfBlocks(index) != 0)
		return btbuild(heap, index, info);

	result = palloc(sizeof(IndexBuildResult));
	built = build_once(&build, result);
	if (!built && build.out_of_order)
		built = build_without_device(&build, result);
	if (!built)
	{
		shared_count(STAT_INDEXES_NATIVE, 1);
		pfree(result);
		result = btbuild(heap, index, info);
	}
	return result;
}
