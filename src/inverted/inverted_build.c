/*-------------------------------------------------------------------------
 *
 * inverted_build.c
 *	  Building an inverted index (GIN) by sorting.
 *
 * This is blocked sort-based indexing, as in the paper on bitonic networks.
 * Rows are parsed into pairs of a term and a TID (term_scan.c).  As many pairs
 * as memory holds are a block, which is sorted (term_block.c).  If there is
 * only one block, the index is written from it (entry_leaves.c, entry_tree.c).
 * Otherwise each block becomes a run in a file, of terms with compressed lists
 * of TIDs (posting_rows.c).  The merge of all runs joins the lists of equal
 * terms, and the index is written from that.  Where a block would have few rows
 * of each term, pairs are first divided by the order of terms, and make up one
 * run (term_buckets.c).
 *
 * Parallel workers make runs in the same way, and help to merge them
 * (inverted_workers.c).  With temp_file_limit one process inserts its blocks
 * into the index instead, as core does (entry_inserts.c).
 *
 * Core's build has a tree of terms instead, and searches it for each pair.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/gin.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"

#include "inverted/entry_inserts.h"
#include "inverted/entry_tree.h"
#include "inverted/inverted_build.h"
#include "inverted/inverted_workers.h"
#include "inverted/posting_rows.h"
#include "inverted/term_scan.h"
#include "port/compat.h"
#include "port/timing.h"
#include "settings.h"
#include "shared_state.h"
#include "sort_progress.h"
#include "spill/sorted_runs.h"

typedef struct InvertedBuild
{
	TermScan	scan;			/* must be first */
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	Size		limit;			/* bytes */
	double		expected_rows;	/* rows of the table, an estimate */
	double		heap_tuples;
	PostingOrder order;
	InvertedWorkers *workers;	/* NULL in a build without workers */
	bool		insert_blocks;	/* a full block goes to the index, not to a
								 * run */
	SortedRuns *runs;			/* runs of this process; NULL: there are none */
	RunTape    *run;			/* the run that is being written, or NULL */
	EntryInserts *inserts;		/* inserted blocks; NULL: there are none */
	GinWriter	writer;
	EntryTree  *tree;			/* NULL while blocks are inserted */
	RowReader  *leaves;			/* leaves of the index; NULL: there are none */
	SortProgress *progress;

	instr_time	since;			/* beginning of the present phase */
	uint64		sort_microseconds;	/* of blocks, with their runs */
	uint64		collect_microseconds;
	uint64		write_microseconds;
	Size		memory;			/* largest number of bytes, also on disk */
} InvertedBuild;

/* Adds the time since "since" to *microseconds, and sets "since" to now. */
static void
take_time(InvertedBuild *build, uint64 *microseconds)
{
	*microseconds += microseconds_since(build->since);
	INSTR_TIME_SET_CURRENT(build->since);
}

/* Writes the block to a run. */
static void
write_run(InvertedBuild *build, bool ends_run)
{
	sort_progress_enter(build->progress, PROGRESS_WRITING_RUN);
	if (build->runs == NULL)
		build->runs = sorted_runs_create(run_order_of_own(&build->order.own),
										 POSTING_ROW_FORMAT, build->limit,
										 build->limit - build->limit / LISTS_PART,
										 false);
	if (build->run == NULL)
		build->run = sorted_runs_begin_run(build->runs);
	(void) posting_rows_write(build->scan.terms, build->scan.block, build->run,
							  false);
	if (!ends_run)
		return;
	sorted_runs_end_run(build->runs, build->run);
	build->run = NULL;
	build->progress->figures.runs_written++;
}

/* Inserts the block into the index. */
static void
insert_block(InvertedBuild *build)
{
	sort_progress_enter(build->progress, PROGRESS_WRITING_INDEX);
	if (build->inserts == NULL)
		build->inserts = entry_inserts_begin(build->index, build->scan.terms);
	entry_inserts_put(build->inserts, build->scan.block);
}

/* Writes the sorted block to a run, or inserts it. */
static void
spill_block(TermScan *scan, bool ends_run)
{
	InvertedBuild *build = (InvertedBuild *) scan;

	if (build->insert_blocks)
		insert_block(build);
	else
		write_run(build, ends_run);
}

/* Writes the index, leaf by leaf; returns the number of TIDs. */
static uint64
write_index(InvertedBuild *build)
{
	RowReader  *leaves = build->leaves;
	LeafRow    *leaf;

	sort_progress_enter(build->progress, PROGRESS_WRITING_INDEX);
	while (leaves != NULL && (leaf = leaves->next(leaves)) != NULL)
		entry_tree_put(build->tree, leaf);
	return entry_tree_finish(build->tree);
}

/* Parses all rows into blocks, in this process. */
static void
collect_alone(InvertedBuild *build)
{
	TermScan   *scan = &build->scan;

	posting_order_init(&build->order, scan->terms);
	scan->limit = build->limit - run_file_limit_piece(build->limit);
	scan->block = term_block_begin(scan->terms, scan->limit);
	scan->progress = build->progress;
	scan->expected_rows = build->expected_rows;
	scan->may_divide = !build->insert_blocks;
	scan->spill = spill_block;
	build->heap_tuples = term_scan_perform(scan, build->heap, build->index,
										   build->info, NULL, true);
}

/* Parses all rows, with workers if core has planned some. */
static void
collect_terms(InvertedBuild *build)
{
	build->scan.terms = terms_begin(build->index);
	if (build->info->ii_ParallelWorkers > 0)
		build->workers = inverted_workers_begin(build->heap, build->index,
												build->info, build->limit,
												build->expected_rows);
	if (build->workers != NULL)
		inverted_workers_collect(build->workers, build->info, build->scan.terms,
								 build->progress, &build->heap_tuples);
	else
		collect_alone(build);
	take_time(build, &build->collect_microseconds);
	build->collect_microseconds -= build->scan.spill_microseconds;
	build->sort_microseconds += build->scan.spill_microseconds;
}

/* Begins to merge this process's runs.  Returns what reads all terms in order. */
static RowReader *
merge_own_runs(InvertedBuild *build)
{
	term_block_end(build->scan.block);
	sort_progress_enter(build->progress, PROGRESS_MERGING_RUNS);
	sorted_runs_merge(build->runs);
	build->memory = Max(build->memory, sorted_runs_disk(build->runs));
	return posting_rows_join(build->scan.terms,
							 sorted_runs_reader(build->runs),
							 build->limit / LISTS_PART);
}

/* Sorts the only block.  Returns what reads all terms in order. */
static RowReader *
sort_block(InvertedBuild *build)
{
	term_scan_sort(&build->scan);
	return posting_rows_of_block(build->scan.terms, build->scan.block);
}

/* Begins the index, and what reads its leaves. */
static void
begin_index(InvertedBuild *build)
{
	RowReader  *rows;

	build->tree = entry_tree_begin(&build->writer, build->scan.terms);
	if (build->workers != NULL)
	{
		sort_progress_enter(build->progress, PROGRESS_MERGING_RUNS);
		build->leaves = inverted_workers_merge(build->workers, &build->writer,
											   build->limit);
		build->memory = inverted_workers_disk(build->workers);
		return;
	}
	rows = build->runs != NULL ? merge_own_runs(build) : sort_block(build);
	build->leaves = entry_leaves_begin(&build->writer, rows);
}

/* Sorts the last block, and begins the merge of runs if there are some. */
static void
sort_terms(InvertedBuild *build)
{
	if (build->scan.has_spilled && term_block_rows(build->scan.block) > 0)
		term_scan_spill(&build->scan, true);
	if (build->inserts == NULL)
		begin_index(build);
	build->memory = Max(build->memory, build->scan.most_bytes);
	take_time(build, &build->sort_microseconds);
}

/* Adds the build to the server's statistics. */
static void
count_build(const InvertedBuild *build, const IndexBuildResult *result)
{
	shared_count(STAT_INDEXES_HOST, 1);
	shared_count(STAT_INDEXES_INVERTED, 1);
	if (build->runs != NULL || build->workers != NULL)
		shared_count(STAT_INDEXES_SPILLED, 1);
	if (build->workers != NULL)
		shared_count(STAT_INDEX_WORKERS,
					 inverted_workers_count(build->workers));
	shared_count(STAT_INDEX_ROWS, result->index_tuples);
	shared_count(STAT_INDEX_BYTES, build->memory);
	shared_count(STAT_INDEX_COLLECT_MICROSECONDS, build->collect_microseconds);
	shared_count(STAT_INDEX_SORT_MICROSECONDS, build->sort_microseconds);
	shared_count(STAT_INDEX_WRITE_MICROSECONDS, build->write_microseconds);
}

static void
build_index(InvertedBuild *build, IndexBuildResult *result)
{
	INSTR_TIME_SET_CURRENT(build->since);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_GIN_PHASE_INDEXBUILD_TABLESCAN);
	collect_terms(build);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_GIN_PHASE_PERFORMSORT_1);
	sort_terms(build);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 PROGRESS_GIN_PHASE_MERGE_2);
	result->heap_tuples = build->heap_tuples;
	result->index_tuples = build->inserts != NULL ?
		entry_inserts_finish(build->inserts) : write_index(build);
	take_time(build, &build->write_microseconds);
	count_build(build, result);
	if (build->runs != NULL)
		sorted_runs_end(build->runs);
	if (build->workers != NULL)
		inverted_workers_end(build->workers);
	sort_progress_end(build->progress);
}

IndexBuildResult *
inverted_build_perform(Relation heap, Relation index, IndexInfo *info,
					   double expected_rows)
{
	MemoryContext caller_context = CurrentMemoryContext;
	MemoryContext context;
	InvertedBuild build = {
		.heap = heap,
		.index = index,
		.info = info,
		.limit = gpusort_index_memory_limit(),
		.expected_rows = expected_rows,
		/* decided once: a function of the index may change the setting */
		.insert_blocks = temp_file_limit >= 0
	};
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));

	/* core raises an error for an index that has pages */
	if (RelationGetNumberOfBlocks(index) != 0)
		return ginbuild(heap, index, info);

	context = AllocSetContextCreate(caller_context, "gpusort index build",
									ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(context);
	gin_writer_init(&build.writer, index);
	build.progress = sort_progress_begin(PROGRESS_OF_INDEX_BUILD,
										 expected_rows, true);
	build_index(&build, result);
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(context);
	return result;
}
