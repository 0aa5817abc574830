/*-------------------------------------------------------------------------
 *
 * merge_plan.c
 *	  A merge of sorted runs in an order that gpusortd has made of all keys.
 *
 * A sort makes its runs one after the other, each by a job of its own.
 * Meanwhile another job gets the keys of all rows.  At the end this job makes
 * an order of the numbers of all rows.  The number of a row tells the row's
 * run.  So the merge only reads the runs in turn, and makes and compares no
 * keys.  The idea that the device works while the next run is read is from the
 * pipelined indexer of Capannini, Silvestri and Baraglia, "Sorting on GPUs for
 * large scale datasets: A thorough comparison" (section 7), where the host
 * merges the runs.
 *
 * The order sorts whole rows only if their keys are exact.  A run may have
 * rows with equal keys in another order than the job.  As these rows are
 * equal, that does not matter.
 *
 * The whole order is fetched at once, and written to the sort's file with a
 * byte or two for each row.  So the device is free while the rows are emitted,
 * and cannot be lost then.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "port/cache_lines.h"
#include "spill/merge_plan.h"

/* Numbers of runs that are written and read at once. */
#define BLOCK_NUMBERS		4096

/* The most runs that numbers of two bytes, and of one, can tell apart. */
#define MOST_RUNS			65536
#define MOST_SHORT_RUNS		256

/* Runs that there is room for at first. */
#define FIRST_MAX_RUNS		64

/*
 * The most parts into which all rows are divided.  For each part the run in
 * which it begins is noted.
 */
#define MOST_PARTS			4096

/*
 * How many rows ahead a run's next row is prefetched, and how many bytes of
 * it.
 */
#define PREFETCH_ROWS		12
#define PREFETCHED_BYTES	(3 * CACHE_LINE_BYTES)

typedef struct OrderedRun
{
	RunTape    *tape;
	uint64		end;			/* number of the row behind the run's last row */
	uint64		nordered;		/* rows of the run that the order has so far */
} OrderedRun;

/* Numbers of runs, as a row of a tape. */
typedef struct NumberBlock
{
	RunBlock	head;
	char		numbers[BLOCK_NUMBERS * sizeof(uint16)];
} NumberBlock;

struct MergePlan
{
	SortJob    *job;			/* job of all keys; NULL once the order is
								 * made */
	OrderedRun *runs;
	int			nruns;
	int			max_runs;

	/* the order */
	RunTape    *tape;			/* tape with blocks of the runs' numbers */
	int			number_bytes;	/* bytes of a number */
	const char *numbers;		/* numbers of the block that is being read */
	uint32		count;
	uint32		next;
};

MergePlan *
merge_plan_begin(const KeyShape *shape, uint64 expected_rows)
{
	SortJob    *job = sort_job_begin_on_device(shape, expected_rows);
	MergePlan  *plan;

	if (job == NULL)
		return NULL;
	plan = palloc0(sizeof(MergePlan));
	plan->job = job;
	plan->max_runs = FIRST_MAX_RUNS;
	plan->runs = palloc(plan->max_runs * sizeof(OrderedRun));
	return plan;
}

bool
merge_plan_add(MergePlan *plan, const uint64_t *words, int nwords)
{
	uint64_t   *space = sort_job_space(plan->job);

	if (unlikely(space == NULL))
		return false;
	for (int i = 0; i < nwords; i++)
		space[i] = words[i];
	sort_job_add(plan->job, nwords);
	return true;
}

/* Returns the number of the first row of a run. */
static inline uint64
first_row(const MergePlan *plan, int run)
{
	return run == 0 ? 0 : plan->runs[run - 1].end;
}

bool
merge_plan_end_run(MergePlan *plan, RunTape *run, uint64 nrows)
{
	uint64		end = sort_job_nrows(plan->job);
	OrderedRun *ordered;

	if (end - first_row(plan, plan->nruns) != nrows ||
		end > SORT_MAX_ROWS || plan->nruns == MOST_RUNS)
		return false;
	if (plan->nruns == plan->max_runs)
	{
		plan->max_runs *= 2;
		plan->runs = repalloc_huge(plan->runs,
								   plan->max_runs * sizeof(OrderedRun));
	}
	ordered = &plan->runs[plan->nruns++];
	ordered->tape = run;
	ordered->end = end;
	ordered->nordered = 0;
	return true;
}

void
merge_plan_replace(MergePlan *plan, const RunTape *run, RunTape *replacement)
{
	for (int i = 0; i < plan->nruns; i++)
	{
		if (plan->runs[i].tape == run)
			plan->runs[i].tape = replacement;
	}
}

/*
 * Divides all rows into parts of 2^*shift rows, and returns an array of the
 * runs in which the parts begin.
 */
static uint16 *
find_parts(const MergePlan *plan, int *shift)
{
	uint64		nrows = sort_job_nrows(plan->job);
	uint16	   *parts = palloc(MOST_PARTS * sizeof(uint16));
	int			run = 0;

	*shift = 0;
	while (nrows >> *shift >= MOST_PARTS)
		(*shift)++;
	for (uint64 part = 0; part << *shift < nrows; part++)
	{
		while (plan->runs[run].end <= part << *shift)
			run++;
		parts[part] = run;
	}
	return parts;
}

/* Writes numbers of runs to the tape. */
static void
write_numbers(MergePlan *plan, const uint16 *numbers, uint32 count)
{
	NumberBlock block;

	block.head.bytes = count * plan->number_bytes;
	if (plan->number_bytes == sizeof(uint16))
		memcpy(block.numbers, numbers, count * sizeof(uint16));
	else
	{
		for (uint32 i = 0; i < count; i++)
			block.numbers[i] = numbers[i];
	}
	run_tape_write(plan->tape, &block);
}

/* Writes the number of the run of each of these rows. */
static void
write_runs_of(MergePlan *plan, const uint16 *parts, int shift,
			  const uint32 *rows, uint32 count)
{
	uint16		numbers[BLOCK_NUMBERS];
	uint32		filled = 0;

	for (uint32 i = 0; i < count; i++)
	{
		uint32		row = ORDER_ROW(rows[i]);
		uint16		run = parts[row >> shift];

		while (plan->runs[run].end <= row)
			run++;
		plan->runs[run].nordered++;
		numbers[filled++] = run;
		if (filled == BLOCK_NUMBERS || i + 1 == count)
		{
			write_numbers(plan, numbers, filled);
			filled = 0;
		}
	}
}

/* Fetches the order that gpusortd has made, and writes it to the tape. */
static bool
fetch_order(MergePlan *plan)
{
	uint64		nrows = sort_job_nrows(plan->job);
	uint64		have = 0;
	int			shift;
	uint16	   *parts = find_parts(plan, &shift);
	uint32	   *rows = palloc(Min(nrows, ORDER_PART_ENTRIES) * sizeof(uint32));
	uint32		count;

	while (have < nrows && sort_job_order_part(plan->job, rows, &count))
	{
		write_runs_of(plan, parts, shift, rows, count);
		have += count;
	}
	pfree(rows);
	pfree(parts);
	return have == nrows;
}

/*
 * Returns whether the order has as many rows of each run as the run has.
 * Which rows of the run these are makes no difference, since a run is read in
 * turn.
 */
static bool
has_all_rows(const MergePlan *plan)
{
	for (int i = 0; i < plan->nruns; i++)
	{
		if (plan->runs[i].nordered !=
			plan->runs[i].end - first_row(plan, i))
			return false;
	}
	return true;
}

bool
merge_plan_make(MergePlan *plan, RunFile *file)
{
	bool		made;

	plan->number_bytes = plan->nruns <= MOST_SHORT_RUNS ?
		sizeof(uint8) : sizeof(uint16);
	plan->tape = run_tape_create(file, &run_of_blocks);
	made = sort_job_perform_on_device(plan->job) && fetch_order(plan);
	run_tape_complete(plan->tape);
	sort_job_end(plan->job);
	plan->job = NULL;
	if (!made || !has_all_rows(plan))
		return false;
	run_tape_begin_read(plan->tape, BLCKSZ);
	return true;
}

/* Gets the next block of numbers; false if there is none. */
static bool
read_numbers(MergePlan *plan)
{
	const NumberBlock *block = run_tape_read(plan->tape);

	if (block == NULL)
		return false;
	plan->numbers = block->numbers;
	plan->count = block->head.bytes / plan->number_bytes;
	plan->next = 0;
	return true;
}

static inline RunTape *
run_at(const MergePlan *plan, uint32 place)
{
	return plan->runs[plan->number_bytes == sizeof(uint16) ?
					  ((const uint16 *) plan->numbers)[place] :
					  (uint8) plan->numbers[place]].tape;
}

RunTape *
merge_plan_next(MergePlan *plan)
{
	if (unlikely(plan->next == plan->count) && !read_numbers(plan))
		return NULL;
	if (likely(plan->next + PREFETCH_ROWS < plan->count))
	{
		const char *next = run_at(plan, plan->next + PREFETCH_ROWS)->next;

		for (Size line = 0; line < PREFETCHED_BYTES; line += CACHE_LINE_BYTES)
			__builtin_prefetch(next + line);
	}
	return run_at(plan, plan->next++);
}

void
merge_plan_free(MergePlan *plan)
{
	if (plan->job != NULL)
		sort_job_end(plan->job);
	if (plan->tape != NULL)
		run_tape_close(plan->tape);
	pfree(plan->runs);
	pfree(plan);
}
