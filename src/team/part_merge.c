/*-------------------------------------------------------------------------
 *
 * part_merge.c
 *	  Merging the runs of several processes by all of them, part by part.
 *
 * One process that merges all runs, by comparing their rows, takes longer than
 * all processes together took to write the runs.  So splitters, which are
 * rows, cut the order of all rows into parts.  Each process merges the next
 * part that no other process has taken (parts.c).
 *
 * Parts that are sent are small enough to fit the shared memory of a sender.
 * So the collector finds the next part complete if all senders together are
 * faster than the collector.  But the smaller a part is, the more is read of
 * each run for nothing, and with little memory there are many short runs.
 * Then parts are larger, and are written to files.
 *
 * Splitters are chosen as in a sample sort (Frazer and McKellar 1970) with
 * regular samples (Shi and Schaeffer 1992).  Each run has an index of rows
 * that lie some pages apart.  A share of these rows are samples.  The samples
 * are sorted, and every n-th is a splitter.  Each process finds the same
 * splitters by itself.  To cut a run, a process bisects the run's index, and
 * compares the rows from an index entry on.
 *
 * Equal rows are in the order of their runs, and then of their places in a
 * run.  So parts are of about the same length even if all rows are equal.
 * Where all processes emit parts to nodes that form groups, parts end where
 * groups do: then a splitter stands for the first row of its group.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "spill/run_merge.h"
#include "team/part_merge.h"
#include "team/part_stream.h"

/*
 * Parts for each process: several, so that no process waits for long in the
 * end.
 */
#define PARTS_OF_PROCESS	4

/*
 * Samples for each part in a file, and for each part of a stream; and the
 * fewest index entries for each part.
 */
#define SAMPLES_OF_PART		64
#define SAMPLES_OF_STREAMED_PART	16
#define LEAST_ENTRIES_OF_PART	8

/*
 * The share of a sender's memory that a part should take, as samples only
 * estimate the size of a part.  And the memory of a sender that is enough if
 * runs are few.
 */
#define STREAMED_PART_SHARE	0.75
#define STREAM_BYTES		((Size) 16 * 1024 * 1024)

/*
 * The least bytes that a part of a stream has of each run.  With 25 kB all
 * processes together took longer than with files, though the leader took less;
 * with 36 kB they did not.
 */
#define LEAST_BYTES_OF_RUN	((Size) 32 * 1024)

/* About the bytes that a row takes in memory beyond its bytes on a tape. */
#define HEADER_BYTES		16

/*
 * Samples take at most 1/SAMPLES_MEMORY_PART of the memory, and the indexes of
 * all runs 1/INDEXES_MEMORY_PART.
 */
#define SAMPLES_MEMORY_PART	4
#define INDEXES_MEMORY_PART	16

/* A run that several processes read. */
typedef struct IndexedRun
{
	RunFile    *file;
	uint64		bytes;			/* position behind the last row */
	NumberList	index;			/* positions where reading can begin */
} IndexedRun;

/* A row, and its place among all rows. */
typedef struct Splitter
{
	void	   *row;
	int			run;
	uint64		position;		/* position on the run's tape */
} Splitter;

struct PartMerge
{
	PartMaker	maker;			/* must be first */
	MemoryContext context;		/* owns everything below */
	MemoryContext part_context; /* memory of one part, or of samples */
	MemoryContext compare_context;	/* memory that comparators leave behind */
	SharedRuns *shared;
	SharedParts *parts;
	RunOrder	order;
	const RowComparator *groups;	/* compares rows by groups; NULL: parts
									 * end anywhere */
	const RunFormat *format;
	int			nruns;
	IndexedRun *runs;			/* NULL: they are not open yet */
	Splitter   *splitters;		/* splitters, one between two parts; NULL: not
								 * chosen yet */
	RunMerge   *rows;			/* rows of the present part, or NULL */
};

static const PartMakerMethods part_merge_methods;

/*
 * Returns how many entries of a run's index a process keeps at most: the same
 * number in all processes.
 */
static uint64
most_entries(const PartMerge *merge)
{
	return Max(merge->shared->limit / INDEXES_MEMORY_PART /
			   (merge->nruns * sizeof(uint64)), 1);
}

static IndexedRun
open_run(const PartMerge *merge, int number)
{
	IndexedRun	run;
	uint64		bytes;

	run.file = shared_runs_open(merge->shared, number, &bytes);
	run.bytes = run_tape_rows_bytes(run.file, bytes);
	run.index = run_tape_read_index(run.file, run.bytes, bytes,
									most_entries(merge));
	return run;
}

PartMerge *
part_merge_begin(SharedRuns *shared, SharedParts *parts, RunOrder order,
				 const RunFormat *format, const RowComparator *groups)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "gpusort merge of parts",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(context);
	PartMerge  *merge = palloc0(sizeof(PartMerge));

	merge->maker.methods = &part_merge_methods;
	merge->maker.row_bytes = format->bytes;
	merge->context = context;
	merge->part_context = AllocSetContextCreate(context, "gpusort part",
												ALLOCSET_DEFAULT_SIZES);
	merge->compare_context = AllocSetContextCreate(context,
												   "gpusort comparisons",
												   ALLOCSET_SMALL_SIZES);
	merge->shared = shared;
	merge->parts = parts;
	merge->order = order;
	merge->format = format;
	merge->groups = groups;
	merge->nruns = shared_runs_count(shared);
	MemoryContextSwitchTo(caller_context);
	return merge;
}

/* Opens the runs, if they are not open yet. */
static void
open_runs(PartMerge *merge)
{
	MemoryContext caller_context;

	if (merge->runs != NULL)
		return;
	caller_context = MemoryContextSwitchTo(merge->context);
	merge->runs = palloc_extended(merge->nruns * sizeof(IndexedRun),
								  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int run = 0; run < merge->nruns; run++)
		merge->runs[run] = open_run(merge, run);
	MemoryContextSwitchTo(caller_context);
}

/*
 * Returns whether the disk has space for all rows once more, even if all parts
 * come to lie in the fullest of the tablespaces where runs are.
 */
static bool
has_space(const PartMerge *merge)
{
	for (int run = 0; run < merge->nruns; run++)
	{
		if (run_file_free_bytes(merge->runs[run].file) < merge->shared->disk)
			return false;
	}
	return true;
}

/* Counts the index entries of all runs. */
static uint64
count_entries(const PartMerge *merge)
{
	uint64		count = 0;

	for (int run = 0; run < merge->nruns; run++)
		count += merge->runs[run].index.count;
	return count;
}

/*
 * Sets the number of parts; false if there are too few samples for these
 * parts.
 */
static bool
set_parts(PartMerge *merge, uint64 nparts, int samples_of_part)
{
	SharedRuns *shared = merge->shared;
	uint64		nentries = count_entries(merge);
	uint64		nsamples = Min(nparts * samples_of_part,
							   shared->limit / SAMPLES_MEMORY_PART /
							   Max(shared->longest_row, 1));

	if (nsamples < nparts * LEAST_ENTRIES_OF_PART)
		return false;
	shared_parts_set(merge->parts, true, nparts, shared->nrows);
	shared->sampled = (nentries + nsamples - 1) / nsamples;
	return true;
}

/*
 * Divides the order into parts of any size, several for each process; false if
 * index entries or samples are too few.
 */
static bool
divide_evenly(PartMerge *merge, int nprocesses)
{
	uint64		nparts = Min(nprocesses * PARTS_OF_PROCESS, MOST_MERGED_PARTS);

	nparts = Min(nparts, count_entries(merge) / LEAST_ENTRIES_OF_PART);
	merge->shared->stream_memory = 0;
	return nparts >= nprocesses && set_parts(merge, nparts, SAMPLES_OF_PART);
}

/*
 * Returns the bytes that each process has for reading runs.  The memory for a
 * stream, or for the file of a part, is not among them.
 */
static Size
memory_for_runs(const SharedRuns *shared, Size stream_memory)
{
	return shared->limit - shared->limit / INDEXES_MEMORY_PART -
		(stream_memory > 0 ? stream_memory :
		 run_file_limit_piece(shared->limit));
}

/*
 * Returns the bytes of shared memory that each sender needs, if all parts of
 * the stream have "bytes" bytes together.
 */
static Size
memory_for_stream(const PartMerge *merge, uint64 bytes)
{
	uint64		part = Max(merge->nruns * LEAST_BYTES_OF_RUN,
						   bytes / MOST_MERGED_PARTS + 1);
	Size		needed = part / STREAMED_PART_SHARE;

	return Max(needed, Min(STREAM_BYTES, merge->shared->limit / 2));
}

/*
 * Divides the order into parts that fit the memory of a stream; false if these
 * would be too small, or too many.
 */
static bool
divide_to_send(PartMerge *merge, int nhelpers)
{
	SharedRuns *shared = merge->shared;
	uint64		bytes = shared->disk + shared->nsorted * HEADER_BYTES;
	Size		memory = memory_for_stream(merge, bytes);
	uint64		nparts = bytes / (memory * STREAMED_PART_SHARE) + 1;

	nparts = Max(nparts, (nhelpers + 1) * PARTS_OF_PROCESS);
	shared->stream_memory = memory;
	return memory <= shared->limit / 2 &&
		shared->longest_row <= STREAM_MOST_ROW_BYTES &&
		nparts <= Min(MOST_MERGED_PARTS,
					  count_entries(merge) / LEAST_ENTRIES_OF_PART) &&
		bytes / nparts >= merge->nruns * LEAST_BYTES_OF_RUN &&
		merge->nruns <= run_merge_most_runs(memory_for_runs(shared, memory),
											shared->longest_row) &&
		set_parts(merge, nparts, SAMPLES_OF_STREAMED_PART);
}

bool
part_merge_divide(PartMerge *merge, TeamWork work, int nmembers)
{
	const SharedRuns *shared = merge->shared;
	int			nhelpers = shared_parts_helpers(merge->parts);

	if (merge->nruns > run_merge_most_runs(shared->limit, shared->longest_row))
		return false;
	open_runs(merge);
	switch (work)
	{
		case WORK_EMIT_PARTS:
			return divide_evenly(merge, nmembers);
		case WORK_SEND_PARTS:
			return nhelpers > 0 && divide_to_send(merge, nhelpers);
		case WORK_WRITE_PARTS:
			/* parts in files take the space of the runs once more */
			return nhelpers > 0 && temp_file_limit < 0 &&
				divide_evenly(merge, nhelpers + 1) && has_space(merge);
		default:
			return false;
	}
}

/*
 * Opens a tape of a run's rows, from an index entry up to a position.  Each
 * read of the tape fetches read_bytes bytes.
 */
static RunTape *
open_tape(const PartMerge *merge, int run, uint64 entry, uint64 finish,
		  Size read_bytes)
{
	const IndexedRun *indexed = &merge->runs[run];
	RunTape    *tape = run_tape_open(indexed->file, merge->format, finish);

	run_tape_begin_read_at(tape, Min(indexed->index.numbers[entry], finish),
						   read_bytes);
	return tape;
}

/* Compares two rows by groups, if parts end where groups do. */
static inline int
compare_groups(const PartMerge *merge, const void *a, const void *b)
{
	OwnOrder   *own = merge->order.own;

	return own != NULL ? own->compare_groups(own, a, b) :
		row_compare(merge->groups, a, b);
}

/*
 * Compares two rows by their places in the order of all rows, or, if parts end
 * where groups do, only by their groups.
 */
static int
compare(const PartMerge *merge, const Splitter *a, const Splitter *b)
{
	MemoryContext caller_context =
		MemoryContextSwitchTo(merge->compare_context);
	bool		by_groups = merge->groups != NULL || merge->order.own != NULL;
	int			result = by_groups ? compare_groups(merge, a->row, b->row) :
		run_order_compare(merge->order, a->row, b->row);

	MemoryContextSwitchTo(caller_context);
	MemoryContextReset(merge->compare_context);
	if (result != 0 || by_groups)
		return result;
	if (a->run != b->run)
		return a->run < b->run ? -1 : 1;
	return (a->position > b->position) - (a->position < b->position);
}

/* Returns whether a row of a run is before a splitter, in an earlier part. */
static bool
is_before(const PartMerge *merge, void *row, int run, uint64 position,
		  const Splitter *splitter)
{
	Splitter	place = {row, run, position};

	return compare(merge, &place, splitter) < 0;
}

/* Returns whether the row of an index entry is before a splitter. */
static bool
entry_is_before(const PartMerge *merge, int run, uint64 entry,
				const Splitter *splitter)
{
	const IndexedRun *indexed = &merge->runs[run];
	RunTape    *tape = open_tape(merge, run, entry, indexed->bytes, BLCKSZ);
	bool		result = is_before(merge, run_tape_read(tape), run,
								   indexed->index.numbers[entry], splitter);

	run_tape_close(tape);
	return result;
}

/*
 * Finds the last index entry of a run that is before a splitter; the first
 * entry if there is none.
 */
static uint64
find_entry(const PartMerge *merge, int run, const Splitter *splitter)
{
	uint64		low = 0;
	uint64		high = merge->runs[run].index.count;

	while (high - low > 1)
	{
		uint64		middle = low + (high - low) / 2;

		if (entry_is_before(merge, run, middle, splitter))
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * Opens a tape of a run's rows up to the position "finish", and reads the
 * first row that is not before the splitter.  Returns the position of that
 * row, or "finish" if there is none.
 */
static uint64
open_tape_at(const PartMerge *merge, int run, const Splitter *splitter,
			 uint64 finish, Size read_bytes, RunTape **tape)
{
	uint64		position;

	*tape = open_tape(merge, run, find_entry(merge, run, splitter), finish,
					  read_bytes);
	do
		position = run_tape_position(*tape);
	while (run_tape_read(*tape) != NULL &&
		   is_before(merge, (*tape)->row, run, position, splitter));
	return (*tape)->row == NULL ? finish : position;
}

/* Returns the position where a splitter cuts a run. */
static uint64
find_cut(const PartMerge *merge, int run, const Splitter *splitter)
{
	RunTape    *tape;
	uint64		position = open_tape_at(merge, run, splitter,
										merge->runs[run].bytes, BLCKSZ, &tape);

	run_tape_close(tape);
	return position;
}

/* Copies a row, in the current memory context. */
static void *
copy_row(const PartMerge *merge, const void *row)
{
	Size		bytes = merge->format->bytes(row);
	void	   *copy = palloc_extended(bytes, MCXT_ALLOC_HUGE);

	memcpy(copy, row, bytes);
	return copy;
}

/* Reads the row of an index entry as a sample, in the current memory context. */
static Splitter
read_sample(const PartMerge *merge, int run, uint64 entry)
{
	const IndexedRun *indexed = &merge->runs[run];
	RunTape    *tape = open_tape(merge, run, entry, indexed->bytes, BLCKSZ);
	Splitter	sample = {
		.row = copy_row(merge, run_tape_read(tape)),
		.run = run,
		.position = indexed->index.numbers[entry]
	};

	run_tape_close(tape);
	return sample;
}

/* Reads the samples; returns their number. */
static uint64
read_samples(const PartMerge *merge, Splitter **samples)
{
	uint64		distance = merge->shared->sampled;
	uint64		next = distance / 2;	/* entry, counted from the present
										 * run's first */
	uint64		count = 0;
	uint64		max = 0;

	*samples = NULL;
	for (int run = 0; run < merge->nruns; run++)
	{
		uint64		nentries = merge->runs[run].index.count;

		max += nentries / distance + 1;
		*samples = *samples == NULL ? palloc(max * sizeof(Splitter)) :
			repalloc_huge(*samples, max * sizeof(Splitter));
		for (; next < nentries; next += distance)
		{
			CHECK_FOR_INTERRUPTS();
			(*samples)[count++] = read_sample(merge, run, next);
		}
		next -= nentries;
	}
	return count;
}

/* Compares two samples, for qsort_arg(). */
static int
compare_samples(const void *a, const void *b, void *merge)
{
	CHECK_FOR_INTERRUPTS();
	return compare(merge, a, b);
}

/* Chooses the splitters: the same in all processes. */
static void
choose_splitters(PartMerge *merge)
{
	int			nparts = merge->parts->nparts;
	MemoryContext caller_context = MemoryContextSwitchTo(merge->part_context);
	Splitter   *samples;
	uint64		count = read_samples(merge, &samples);

	qsort_arg(samples, count, sizeof(Splitter), compare_samples, merge);
	MemoryContextSwitchTo(merge->context);
	merge->splitters = palloc((nparts - 1) * sizeof(Splitter));
	for (int i = 1; i < nparts; i++)
	{
		merge->splitters[i - 1] = samples[count * i / nparts];
		merge->splitters[i - 1].row = copy_row(merge,
											   samples[count * i / nparts].row);
	}
	MemoryContextSwitchTo(caller_context);
	MemoryContextReset(merge->part_context);
}

/*
 * Opens a tape of the rows that a part has of a run, and reads the first of
 * them; NULL if there is none.
 */
static RunTape *
open_part_of_run(const PartMerge *merge, int part, int run, Size read_bytes)
{
	uint64		finish = part == merge->parts->nparts - 1 ?
		merge->runs[run].bytes :
		find_cut(merge, run, &merge->splitters[part]);
	RunTape    *tape;

	if (part > 0)
		(void) open_tape_at(merge, run, &merge->splitters[part - 1], finish,
							read_bytes, &tape);
	else
	{
		tape = open_tape(merge, run, 0, finish, read_bytes);
		(void) run_tape_read(tape);
	}
	if (tape->row != NULL)
		return tape;
	run_tape_close(tape);
	return NULL;
}

/* Begins to merge a part. */
static void
open_part(PartMaker *maker, int part)
{
	PartMerge  *merge = (PartMerge *) maker;
	const SharedRuns *shared = merge->shared;
	Size		memory = memory_for_runs(shared, shared->stream_memory);
	Size		read_bytes = run_merge_read_bytes(memory, merge->nruns,
												  shared->longest_row);
	MemoryContext caller_context;
	RunTape   **tapes;
	int			ntapes = 0;

	open_runs(merge);
	if (merge->splitters == NULL)
		choose_splitters(merge);
	caller_context = MemoryContextSwitchTo(merge->part_context);
	tapes = palloc(merge->nruns * sizeof(RunTape *));
	for (int run = 0; run < merge->nruns; run++)
	{
		RunTape    *tape = open_part_of_run(merge, part, run, read_bytes);

		CHECK_FOR_INTERRUPTS();
		if (tape != NULL)
			tapes[ntapes++] = tape;
	}
	if (ntapes > 0)
		merge->rows = run_merge_begin(merge->order, tapes, ntapes, read_bytes);
	MemoryContextSwitchTo(caller_context);
}

/* Returns the next row of the part; NULL at its end. */
static void *
next_of_part(PartMaker *maker)
{
	PartMerge  *merge = (PartMerge *) maker;

	return merge->rows != NULL ? run_merge_next(merge->rows) : NULL;
}

static void
close_part(PartMaker *maker)
{
	PartMerge  *merge = (PartMerge *) maker;

	if (merge->rows != NULL)
		run_merge_end(merge->rows);
	merge->rows = NULL;
	MemoryContextReset(merge->part_context);
}

/*
 * Ends the merge: closes the runs, and deletes them if all parts have been
 * merged.
 */
static void
end_merge(PartMaker *maker, bool at_end)
{
	PartMerge  *merge = (PartMerge *) maker;

	for (int run = 0; run < merge->nruns && merge->runs != NULL; run++)
	{
		if (at_end)
			run_file_delete(merge->runs[run].file);
		else
			run_file_close(merge->runs[run].file);
	}
	MemoryContextDelete(merge->context);
}

static const PartMakerMethods part_merge_methods = {
	.open = open_part,
	.next = next_of_part,
	.close = close_part,
	.end = end_merge
};

PartMaker *
part_merge_maker(PartMerge *merge)
{
	return &merge->maker;
}

void
part_merge_end(PartMerge *merge)
{
	end_merge(&merge->maker, false);
}
