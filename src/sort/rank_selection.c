/*-------------------------------------------------------------------------
 *
 * rank_selection.c
 *	  The rows at single places of an order that is never made.
 *
 * A percentile looks at one row of all, or at two neighbours.  To find these
 * takes less time than to sort.  This is a radix sort from the most
 * significant bits down (host_sort.c) that goes on with a single bucket: one
 * pass over the keys counts them by the highest bits in which they differ.  The
 * counts tell which bucket has the wanted place, and the next pass looks at the
 * keys of this bucket only.  When it has few rows, these are sorted, and
 * answer for all places of the bucket.
 *
 * No key is moved, and no memory is needed that grows with the rows.  Each new
 * place takes a few passes over all keys.  So this is for few places.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "sort/rank_selection.h"

/* Bits by which a pass divides. */
#define PASS_BITS		12

/* A bucket of at most this many rows is sorted. */
#define FEW_ROWS		1024

/*
 * Buckets in which a place was looked for.  With that many, and a few passes
 * for each, a sort takes about as long.
 */
#define MOST_SEARCHES	4

/* Rows between two checks for interrupts. */
#define STRETCH_ROWS	65536

/* A row and its key. */
typedef struct RankedRow
{
	uint64		word;
	uint32		row;
} RankedRow;

/* The rows whose keys begin with the same bits. */
typedef struct RankBucket
{
	uint64		prefix;			/* these bits */
	int			shift;			/* bits behind them; 64: all keys */
	uint64		first;			/* place of the first of the rows */
	uint64		nrows;
} RankBucket;

struct RankSelection
{
	const uint64 *words;
	uint64		nrows;
	int			nsearches;
	RankBucket	bucket;			/* bucket of the rows below */
	bool		all_equal;		/* all its rows have the key of the first one */
	RankedRow	rows[FEW_ROWS]; /* in order */
	uint64		counts[1 << PASS_BITS];
};

RankSelection *
rank_selection_begin(const uint64 *words, uint64 nrows)
{
	RankSelection *selection = palloc(sizeof(RankSelection));

	selection->words = words;
	selection->nrows = nrows;
	selection->nsearches = 0;
	selection->bucket.first = 0;
	selection->bucket.nrows = 0;
	return selection;
}

/* Is a key in this bucket? */
static inline bool
is_in_bucket(const RankBucket *bucket, uint64 word)
{
	return bucket->shift == 64 || word >> bucket->shift == bucket->prefix;
}

/*
 * Returns the number of lowest bits in which keys of a bucket differ, and sets
 * *common to the bits that all of them have.
 */
static int
differing_bits(const RankSelection *selection, const RankBucket *bucket,
			   uint64 *common)
{
	uint64		any = 0;
	uint64		all = ~UINT64CONST(0);

	for (uint64 start = 0; start < selection->nrows; start += STRETCH_ROWS)
	{
		uint64		end = Min(selection->nrows, start + STRETCH_ROWS);

		CHECK_FOR_INTERRUPTS();
		for (uint64 row = start; row < end; row++)
		{
			uint64		word = selection->words[row];

			if (is_in_bucket(bucket, word))
			{
				any |= word;
				all &= word;
			}
		}
	}
	*common = all;
	return any == all ? 0 : pg_leftmost_one_pos64(any ^ all) + 1;
}

/* Counts the keys of a bucket by PASS_BITS bits, above the lowest "shift" ones. */
static void
count_keys(RankSelection *selection, const RankBucket *bucket, int shift)
{
	const uint64 mask = (UINT64CONST(1) << PASS_BITS) - 1;

	memset(selection->counts, 0, sizeof(selection->counts));
	for (uint64 start = 0; start < selection->nrows; start += STRETCH_ROWS)
	{
		uint64		end = Min(selection->nrows, start + STRETCH_ROWS);

		CHECK_FOR_INTERRUPTS();
		for (uint64 row = start; row < end; row++)
		{
			uint64		word = selection->words[row];

			if (is_in_bucket(bucket, word))
				selection->counts[word >> shift & mask]++;
		}
	}
}

/*
 * Narrows a bucket, whose keys differ in the lowest nbits bits and have others
 * in common, to the bucket of a place in it.
 */
static void
narrow(RankSelection *selection, RankBucket *bucket, int nbits, uint64 common,
	   uint64 place)
{
	int			shift = Max(nbits - PASS_BITS, 0);
	uint64		digit = 0;

	count_keys(selection, bucket, shift);
	while (place - bucket->first >= selection->counts[digit])
		bucket->first += selection->counts[digit++];
	bucket->nrows = selection->counts[digit];
	bucket->prefix = common >> shift >> PASS_BITS << PASS_BITS | digit;
	bucket->shift = shift;
}

static int
compare_rows(const void *a, const void *b)
{
	uint64		word_a = ((const RankedRow *) a)->word;
	uint64		word_b = ((const RankedRow *) b)->word;

	return word_a < word_b ? -1 : word_a > word_b;
}

/* Takes the first rows of a bucket, at most FEW_ROWS, and sorts them. */
static void
take_rows(RankSelection *selection, const RankBucket *bucket)
{
	uint64		count = Min(bucket->nrows, FEW_ROWS);
	uint64		taken = 0;

	for (uint64 row = 0; taken < count; row++)
	{
		uint64		word = selection->words[row];

		if (row % STRETCH_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		if (is_in_bucket(bucket, word))
		{
			selection->rows[taken].word = word;
			selection->rows[taken++].row = row;
		}
	}
	qsort(selection->rows, count, sizeof(RankedRow), compare_rows);
	selection->bucket = *bucket;
}

/* Finds the bucket of a place: few rows, or rows with equal keys. */
static void
search(RankSelection *selection, uint64 place)
{
	RankBucket	bucket = {0};

	bucket.shift = 64;
	bucket.nrows = selection->nrows;
	selection->all_equal = false;
	while (bucket.nrows > FEW_ROWS && !selection->all_equal)
	{
		uint64		common;
		int			nbits = differing_bits(selection, &bucket, &common);

		if (nbits == 0)
			selection->all_equal = true;
		else
			narrow(selection, &bucket, nbits, common, place);
	}
	take_rows(selection, &bucket);
}

bool
rank_selection_find(RankSelection *selection, uint64 place, uint32 *row)
{
	const RankBucket *bucket = &selection->bucket;

	Assert(place < selection->nrows);
	/* nobody asks again after a refusal */
	Assert(selection->nsearches <= MOST_SEARCHES);
	if (place < bucket->first || place - bucket->first >= bucket->nrows)
	{
		if (selection->nsearches++ == MOST_SEARCHES)
			return false;
		search(selection, place);
	}
	*row = selection->rows[selection->all_equal ? 0 :
						   place - bucket->first].row;
	return true;
}

void
rank_selection_end(RankSelection *selection)
{
	pfree(selection);
}
