/*-------------------------------------------------------------------------
 *
 * run_merge.c
 *	  Many sorted runs as one.
 *
 * The runs play a tournament with their next rows, as in Knuth's tree of
 * losers (The Art of Computer Programming, volume 3, section 5.4.1): every
 * inner node of a binary tree notes who lost there, so when the winner's run
 * has moved on to its next row only the games on the path from its leaf to
 * the root are played again.
 *
 * Rows are compared by keys, which are made again as the rows are read: that
 * takes less than to write and to read them.  The first words of all keys are
 * together in a few cache lines, and mostly decide.  The types' comparators
 * are asked where keys are equal and not exact, or doubtful.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "run_merge.h"

typedef struct MergeInput
{
	RunTape    *run;
	void	   *row;			/* its next one; NULL after the last */
	int			nwords;
	uint64_t	words[KEY_MAX_WORDS];	/* the row's key */
} MergeInput;

struct RunMerge
{
	RowOrder   *order;
	MemoryContext compare_context;	/* for what comparators leave behind */
	bool		by_keys;		/* or by comparators alone */
	bool		started;
	int			ninputs;
	MergeInput *inputs;
	uint64_t   *first_words;	/* of their keys; the greatest after the end */
	int		   *losers;			/* of the nodes 1 to ninputs - 1; at 0 the
								 * winner of all */
};

#define NOBODY				(-1)

Size
run_merge_bytes(void)
{
	return sizeof(RunTape) + sizeof(MergeInput) + sizeof(uint64_t) + sizeof(int);
}

static int
compare_rows(const RunMerge *merge, const void *a, const void *b)
{
	MemoryContext caller_context =
		MemoryContextSwitchTo(merge->compare_context);
	int			result = row_order_compare(merge->order, a, b);

	MemoryContextSwitchTo(caller_context);
	MemoryContextReset(merge->compare_context);
	return result;
}

/* Where the first words do not tell: does one input's row come first? */
static bool
comes_first_in_full(const RunMerge *merge, const MergeInput *a,
					const MergeInput *b)
{
	if (a->row == NULL || b->row == NULL)
		return a->row != NULL;
	if (merge->by_keys)
	{
		/* no key begins another */
		for (int i = 1; i < Min(a->nwords, b->nwords); i++)
		{
			if (a->words[i] != b->words[i])
				return a->words[i] < b->words[i];
		}
		if (sort_keys_exact(merge->order->keys))
			return true;
	}
	return compare_rows(merge, a->row, b->row) <= 0;
}

static inline bool
comes_first(const RunMerge *merge, int a, int b)
{
	if (likely(merge->first_words[a] != merge->first_words[b]))
		return merge->first_words[a] < merge->first_words[b];
	return comes_first_in_full(merge, &merge->inputs[a], &merge->inputs[b]);
}

/* Plays all the games on the way of an input to the root. */
static inline void
play(RunMerge *merge, int input)
{
	int			winner = input;

	for (int node = (input + merge->ninputs) / 2; node > 0; node /= 2)
	{
		int			opponent = merge->losers[node];

		if (comes_first(merge, opponent, winner))
		{
			merge->losers[node] = winner;
			winner = opponent;
		}
	}
	merge->losers[0] = winner;
}

/* Plays all games: who comes first to a node waits there for the other. */
static void
play_all(RunMerge *merge)
{
	for (int node = 0; node < merge->ninputs; node++)
		merge->losers[node] = NOBODY;
	for (int input = 0; input < merge->ninputs; input++)
	{
		int			winner = input;
		int			node = (input + merge->ninputs) / 2;

		while (node > 0 && merge->losers[node] != NOBODY)
		{
			int			opponent = merge->losers[node];

			if (comes_first(merge, opponent, winner))
			{
				merge->losers[node] = winner;
				winner = opponent;
			}
			node /= 2;
		}
		merge->losers[node] = winner;
	}
}

/* Makes the key of an input's row; false if it does not fit the others. */
static bool
make_key(RunMerge *merge, MergeInput *input)
{
	uint64_t   *first_word = &merge->first_words[input - merge->inputs];

	if (input->row == NULL)
		*first_word = PG_UINT64_MAX;
	else if (!merge->by_keys)
		*first_word = 0;
	else
	{
		input->nwords = row_order_encode(merge->order, input->row,
										 input->words);
		if (input->nwords == 0)
			return false;
		*first_word = input->words[0];
	}
	return true;
}

/* Makes all keys, in a layout that they fit, and plays with them. */
static void
begin_tournament(RunMerge *merge)
{
	int			input = 0;

	while (input < merge->ninputs)
	{
		if (make_key(merge, &merge->inputs[input]))
			input++;
		else
		{
			sort_keys_loosen(merge->order->keys);
			input = 0;
		}
	}
	play_all(merge);
}

RunMerge *
run_merge_begin(RowOrder *order, RunTape **runs, int nruns, Size read_bytes)
{
	RunMerge   *merge = palloc0(sizeof(RunMerge));

	merge->order = order;
	merge->compare_context = AllocSetContextCreate(CurrentMemoryContext,
												   "gpusort comparisons",
												   ALLOCSET_SMALL_SIZES);
	merge->by_keys = !sort_keys_doubtful(order->keys);
	merge->ninputs = nruns;
	merge->inputs = palloc_extended(nruns * sizeof(MergeInput),
									MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	merge->first_words = palloc(nruns * sizeof(uint64_t));
	merge->losers = palloc(nruns * sizeof(int));
	for (int i = 0; i < nruns; i++)
	{
		merge->inputs[i].run = runs[i];
		run_tape_begin_read(runs[i], read_bytes);
		merge->inputs[i].row = run_tape_read(runs[i]);
	}
	begin_tournament(merge);
	return merge;
}

/* Goes on to the next row of the input whose row came first. */
static void
move_on(RunMerge *merge)
{
	int			winner = merge->losers[0];
	MergeInput *input = &merge->inputs[winner];

	if (input->row == NULL)
		return;
	input->row = run_tape_read(input->run);
	if (likely(make_key(merge, input)))
		play(merge, winner);
	else
	{
		sort_keys_loosen(merge->order->keys);
		begin_tournament(merge);
	}
}

void *
run_merge_next(RunMerge *merge)
{
	CHECK_FOR_INTERRUPTS();
	if (merge->started)
		move_on(merge);
	merge->started = true;
	return merge->inputs[merge->losers[0]].row;
}

void
run_merge_end(RunMerge *merge)
{
	for (int i = 0; i < merge->ninputs; i++)
		run_tape_close(merge->inputs[i].run);
	MemoryContextDelete(merge->compare_context);
	pfree(merge->inputs);
	pfree(merge->first_words);
	pfree(merge->losers);
	pfree(merge);
}
