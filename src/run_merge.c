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
 * takes less than to write and to read them.  The first word of a loser's key
 * is in its node, and mostly decides.  Who wins is a toss-up that no processor
 * can foresee, so the two players of a game change places without a jump.  The
 * types' comparators are asked where keys are equal and not exact, or doubtful.
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

/* An input in the tournament. */
typedef struct Player
{
	uint64_t	word;			/* its key's first; the greatest after its end */
	int64_t		input;
} Player;

struct RunMerge
{
	RowOrder   *order;
	MemoryContext compare_context;	/* for what comparators leave behind */
	bool		by_keys;		/* or by comparators alone */
	bool		started;
	int			ninputs;
	MergeInput *inputs;
	Player	   *losers;			/* of the nodes 1 to ninputs - 1; at 0 the
								 * winner of all */
};

#define NOBODY				(-1)

Size
run_merge_bytes(void)
{
	return sizeof(RunTape) + sizeof(MergeInput) + sizeof(Player);
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

/* Does a come before b?  Only if their words do not tell. */
static pg_noinline bool
wins_in_full(const RunMerge *merge, const Player *a, const Player *b)
{
	return comes_first_in_full(merge, &merge->inputs[a->input],
							   &merge->inputs[b->input]);
}

/* Has the winner so far play against a node's loser; the winner goes on. */
static inline void
play_game(const RunMerge *merge, Player *loser, Player *winner)
{
	uint64_t	change = -(uint64_t) (loser->word < winner->word);
	uint64_t	words;
	int64_t		inputs;

	if (unlikely(loser->word == winner->word))
		change = -(uint64_t) wins_in_full(merge, loser, winner);
	words = (loser->word ^ winner->word) & change;
	inputs = (loser->input ^ winner->input) & change;
	loser->word ^= words;
	loser->input ^= inputs;
	winner->word ^= words;
	winner->input ^= inputs;
}

/* Plays all the games on the way of an input to the root. */
static inline void
play(RunMerge *merge, Player winner)
{
	Player	   *losers = merge->losers;

	for (uint64 node = (winner.input + merge->ninputs) / 2; node > 0; node /= 2)
		play_game(merge, &losers[node], &winner);
	losers[0] = winner;
}

/* Makes an input's row a player; false if its key does not fit the others. */
static inline bool
make_player(RunMerge *merge, int64_t number, Player *player)
{
	MergeInput *input = &merge->inputs[number];

	player->input = number;
	if (unlikely(input->row == NULL))
		player->word = PG_UINT64_MAX;
	else if (unlikely(!merge->by_keys))
		player->word = 0;
	else
	{
		input->nwords = row_order_encode(merge->order, input->row,
										 input->words);
		if (unlikely(input->nwords == 0))
			return false;
		player->word = input->words[0];
	}
	return true;
}

/* Plays all games, a node's first comer waiting there for the other. */
static bool
play_all(RunMerge *merge)
{
	for (int node = 0; node < merge->ninputs; node++)
		merge->losers[node].input = NOBODY;
	for (int input = 0; input < merge->ninputs; input++)
	{
		Player		winner;
		int			node = (input + merge->ninputs) / 2;

		if (!make_player(merge, input, &winner))
			return false;
		while (node > 0 && merge->losers[node].input != NOBODY)
		{
			play_game(merge, &merge->losers[node], &winner);
			node /= 2;
		}
		merge->losers[node] = winner;
	}
	return true;
}

/* Makes all keys, in a layout that they fit, and plays with them. */
static void
begin_tournament(RunMerge *merge)
{
	while (!play_all(merge))
		sort_keys_loosen(merge->order->keys);
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
	merge->losers = palloc_extended(nruns * sizeof(Player), MCXT_ALLOC_HUGE);
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
	MergeInput *input = &merge->inputs[merge->losers[0].input];
	Player		player;

	if (input->row == NULL)
		return;
	input->row = run_tape_read(input->run);
	if (likely(make_player(merge, merge->losers[0].input, &player)))
		play(merge, player);
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
	return merge->inputs[merge->losers[0].input].row;
}

void
run_merge_end(RunMerge *merge)
{
	for (int i = 0; i < merge->ninputs; i++)
		run_tape_close(merge->inputs[i].run);
	MemoryContextDelete(merge->compare_context);
	pfree(merge->inputs);
	pfree(merge->losers);
	pfree(merge);
}
