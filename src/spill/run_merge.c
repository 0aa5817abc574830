/*-------------------------------------------------------------------------
 *
 * run_merge.c
 *	  Merging sorted runs by a tree of losers.
 *
 * The runs play a tournament with their next rows, as in Knuth's tree of
 * losers (The Art of Computer Programming, volume 3, section 5.4.1).  Every
 * inner node of a binary tree notes who lost there.  When the winner's run has
 * moved on to its next row, only the games on the path from its leaf to the
 * root are played again.
 *
 * Rows are compared by keys, which are made again as the rows of a run are
 * read.  Under a collation, making a key takes longer than writing and reading
 * it.  So a merge to another run writes keys with its rows, for the merge that
 * reads that run.  A tape with keys is larger than a tape of core's own sort.
 *
 * The node of a loser has the first word of the loser's key, which mostly
 * decides.  No processor can foresee who wins, so the two players of a game
 * change places without a jump.  Where keys are equal and not exact, or are
 * doubtful, the types' comparators decide.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "spill/run_merge.h"

/* The next row of a run, in the tournament. */
typedef struct Player
{
	uint64_t	word;			/* first word of the row's key; the greatest
								 * word at the end of the run */
	int64_t		run;
} Player;

struct RunMerge
{
	RunOrder	order;
	MemoryContext compare_context;	/* memory that comparators leave behind */
	bool		by_keys;		/* rows are compared by keys first, not by
								 * comparators alone */
	bool		started;
	int			nruns;
	RunTape   **runs;
	RunKey	   *keys;			/* keys of the runs' next rows, where keys
								 * have more than one word */
	Player	   *losers;			/* losers of the nodes 1 to nruns - 1; at 0
								 * the winner of all */
};

#define NOBODY				(-1)

/*
 * The most that is read of a run at once: enough for few calls of the
 * operating system, and so little that the nearest cache holds it for many
 * runs.
 */
#define MOST_READ_BYTES		((Size) 64 * 1024)

/* Returns the bytes that a run takes beside what is read of it at once. */
static Size
bytes_for_run(Size longest_row)
{
	return sizeof(RunTape) + sizeof(RunTape *) + sizeof(RunKey) * 2 +
		sizeof(Player) + pg_nextpower2_size_t(longest_row);
}

int
run_merge_most_runs(Size limit, Size longest_row)
{
	Size		most = limit / (bytes_for_run(longest_row) + BLCKSZ);

	return Max(LEAST_MERGED_RUNS, Min(most, PG_INT32_MAX));
}

Size
run_merge_read_bytes(Size limit, int nruns, Size longest_row)
{
	Size		share = limit / Max(nruns, 1);
	Size		used = bytes_for_run(longest_row);

	share = share > used + BLCKSZ ? share - used : BLCKSZ;
	return pg_prevpower2_size_t(Min(share, MOST_READ_BYTES));
}

static int
compare_rows(const RunMerge *merge, const void *a, const void *b)
{
	MemoryContext caller_context =
		MemoryContextSwitchTo(merge->compare_context);
	int			result = run_order_compare(merge->order, a, b);

	MemoryContextSwitchTo(caller_context);
	MemoryContextReset(merge->compare_context);
	return result;
}

/*
 * Returns the place of a run's key.  All keys of one word share a place, as
 * nobody looks there.
 */
static inline RunKey *
player_key(const RunMerge *merge, int64_t run)
{
	return run_order_has_one_word(merge->order) ?
		merge->keys : &merge->keys[run];
}

/*
 * Returns whether a comes before b, if their first words are equal.  Of equal
 * rows the row of the earlier run comes first.  Its rows came earlier, unless
 * runs have been merged before.
 */
static pg_noinline bool
wins_in_full(const RunMerge *merge, const Player *a, const Player *b)
{
	const void *row_a = merge->runs[a->run]->row;
	const void *row_b = merge->runs[b->run]->row;
	int			result;

	if (row_a == NULL || row_b == NULL)
		return row_a != NULL;
	if (merge->by_keys)
	{
		const RunKey *key_a = player_key(merge, a->run);
		const RunKey *key_b = player_key(merge, b->run);

		/* no key begins another */
		for (int i = 1; i < Min(key_a->nwords, key_b->nwords); i++)
		{
			if (key_a->words[i] != key_b->words[i])
				return key_a->words[i] < key_b->words[i];
		}
		if (run_order_is_exact(merge->order))
			return a->run < b->run;
	}
	result = compare_rows(merge, row_a, row_b);
	return result < 0 || (result == 0 && a->run < b->run);
}

/*
 * Plays a game of the winner so far against a node's loser.  *winner becomes
 * the winner of that game.
 */
static inline void
play_game(const RunMerge *merge, Player *loser, Player *winner)
{
	uint64_t	change = -(uint64_t) (loser->word < winner->word);
	uint64_t	words;
	int64_t		runs;

	if (unlikely(loser->word == winner->word))
		change = -(uint64_t) wins_in_full(merge, loser, winner);
	words = (loser->word ^ winner->word) & change;
	runs = (loser->run ^ winner->run) & change;
	loser->word ^= words;
	loser->run ^= runs;
	winner->word ^= words;
	winner->run ^= runs;
}

/* Plays all the games on the way of a run to the root. */
static inline void
play(RunMerge *merge, Player winner)
{
	Player	   *losers = merge->losers;

	for (uint64 node = (winner.run + merge->nruns) / 2; node > 0; node /= 2)
		play_game(merge, &losers[node], &winner);
	losers[0] = winner;
}

/*
 * Gets the key of a run's row.  Returns the number of its words; 0 if it does
 * not fit the other keys.
 */
static inline int
get_key(const RunMerge *merge, const RunTape *run, uint64_t *words)
{
	const RunKey *key = run->key;

	if (key == NULL || key->nwords == 0 ||
		run->key_changes != run_order_changes(merge->order))
		return run_order_encode(merge->order, run->row, words);
	for (int i = 0; i < key->nwords; i++)
		words[i] = key->words[i];
	return key->nwords;
}

/*
 * Makes a run's row a player.  Returns false if its key does not fit the
 * others, or is doubtful.
 */
static inline bool
make_player(RunMerge *merge, int64_t run, Player *player)
{
	const void *row = merge->runs[run]->row;

	player->run = run;
	if (unlikely(row == NULL))
		player->word = PG_UINT64_MAX;
	else if (unlikely(!merge->by_keys))
		player->word = 0;
	else
	{
		RunKey	   *key = player_key(merge, run);

		key->nwords = get_key(merge, merge->runs[run], key->words);
		if (unlikely(key->nwords == 0 ||
					 run_order_is_doubtful(merge->order)))
			return false;
		player->word = key->words[0];
	}
	return true;
}

/* Plays all games: the first player at a node waits there for the other. */
static bool
play_all(RunMerge *merge)
{
	for (int node = 0; node < merge->nruns; node++)
		merge->losers[node].run = NOBODY;
	for (int run = 0; run < merge->nruns; run++)
	{
		Player		winner;
		int			node = (run + merge->nruns) / 2;

		if (!make_player(merge, run, &winner))
			return false;
		while (node > 0 && merge->losers[node].run != NOBODY)
		{
			play_game(merge, &merge->losers[node], &winner);
			node /= 2;
		}
		merge->losers[node] = winner;
	}
	return true;
}

/*
 * Changes the layout of the keys, or changes to the comparators, after a row
 * that could not be made a player.  The comparators agree with the keys of the
 * rows so far.
 */
static void
change_keys(RunMerge *merge)
{
	if (run_order_is_doubtful(merge->order))
		merge->by_keys = false;
	else
		row_order_change_layout(merge->order.rows);
}

/* Makes all keys, in a layout that fits them, and plays all games. */
static void
begin_tournament(RunMerge *merge)
{
	while (!play_all(merge))
		change_keys(merge);
}

RunMerge *
run_merge_begin(RunOrder order, RunTape **runs, int nruns, Size read_bytes)
{
	RunMerge   *merge = palloc0(sizeof(RunMerge));

	merge->order = order;
	merge->compare_context = AllocSetContextCreate(CurrentMemoryContext,
												   "gpusort comparisons",
												   ALLOCSET_SMALL_SIZES);
	merge->by_keys = !run_order_is_doubtful(order);
	merge->nruns = nruns;
	merge->runs = palloc_extended(nruns * sizeof(RunTape *), MCXT_ALLOC_HUGE);
	merge->keys = palloc_extended(nruns * sizeof(RunKey), MCXT_ALLOC_HUGE);
	merge->losers = palloc_extended(nruns * sizeof(Player), MCXT_ALLOC_HUGE);
	for (int i = 0; i < nruns; i++)
	{
		merge->runs[i] = runs[i];
		if (runs[i]->buffer != NULL)
			continue;
		run_tape_begin_read(runs[i], read_bytes);
		(void) run_tape_read(runs[i]);
	}
	begin_tournament(merge);
	return merge;
}

/* Goes on to the next row of the run whose row came first. */
static void
move_on(RunMerge *merge)
{
	int64_t		run = merge->losers[0].run;
	Player		player;

	if (unlikely(merge->runs[run]->row == NULL))
		return;
	(void) run_tape_read(merge->runs[run]);
	if (likely(make_player(merge, run, &player)))
		play(merge, player);
	else
	{
		change_keys(merge);
		begin_tournament(merge);
	}
}

void *
run_merge_next(RunMerge *merge)
{
	CHECK_FOR_INTERRUPTS();
	if (likely(merge->started))
		move_on(merge);
	merge->started = true;
	return merge->runs[merge->losers[0].run]->row;
}

/* Writes the key of the row that came last, if the key is known. */
static inline void
write_key(const RunMerge *merge, RunTape *run)
{
	const Player *winner = &merge->losers[0];

	if (!merge->by_keys || run_order_changes(merge->order) != run->key_changes)
		run_tape_write_key(run, NULL, 0);
	else if (run_order_has_one_word(merge->order))
		run_tape_write_key(run, &winner->word, 1);
	else
		run_tape_write_key(run, merge->keys[winner->run].words,
						   merge->keys[winner->run].nwords);
}

void
run_merge_write(RunMerge *merge, RunTape *run)
{
	const void *row;

	if (run_order_is_costly(merge->order) && temp_file_limit < 0)
		run_tape_keep_keys(run, run_order_changes(merge->order));
	while ((row = run_merge_next(merge)) != NULL)
	{
		if (run->key != NULL)
			write_key(merge, run);
		run_tape_write(run, row);
	}
	run_tape_complete(run);
}

void
run_merge_end(RunMerge *merge)
{
	for (int i = 0; i < merge->nruns; i++)
		run_tape_close(merge->runs[i]);
	MemoryContextDelete(merge->compare_context);
	pfree(merge->runs);
	pfree(merge->keys);
	pfree(merge->losers);
	pfree(merge);
}
