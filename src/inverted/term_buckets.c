/*-------------------------------------------------------------------------
 *
 * term_buckets.c
 *	  Pairs (term, row) beyond memory, divided by the order of terms.
 *
 * Runs of blocks are short if terms recur within a block, as a run has each
 * term once.  But with many terms and little memory a block has few rows of a
 * term.  Then each run has nearly all terms again, and writing and merging
 * them takes longer than all else.
 *
 * So pairs are divided instead: each goes to the bucket that has its term.
 * Later one bucket at a time is a block, with all rows of its terms.  The
 * buckets are in the order of terms, so their blocks make up one run.  This is
 * a bucket sort with splitters from a sample (Frazer and McKellar 1970).  The
 * sample is the first block.
 *
 * Splitters are words (terms.h), so a pair finds its bucket without a call of
 * the operator class.  If few words differ, there are too few buckets, and
 * runs are written as usual.  The same is done with further rows if they turn
 * out to be unlike the sample, so that a few buckets take most pairs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "inverted/term_buckets.h"
#include "spill/run_tape.h"

/* Buckets: the fewest that are worth while, and the most. */
#define LEAST_BUCKETS	8
#define MOST_BUCKETS	64

/* A bucket should take this part of the memory, as the estimate is rough. */
#define BUCKET_PART		2

/* While pairs are written, files take this part of the memory. */
#define BUFFERS_PART	2

/* Runs are better from this number of rows on that a term has in a block. */
#define ENOUGH_ROWS_OF_TERM	3

/*
 * Buckets are uneven if one of them takes more than this part of as many pairs
 * as fill the memory.
 */
#define UNEVEN_PART		4

/* A pair, as a row of a tape. */
typedef struct Pair
{
	RunBlock	block;			/* must be first: the bytes behind it */
	BlockNumber row_block;
	OffsetNumber row_offset;
	uint8		column;
	GinNullCategory category;
	char		value[FLEXIBLE_ARRAY_MEMBER];	/* bytes of the value, or a
												 * Datum */
} Pair;

StaticAssertDecl(INDEX_MAX_KEYS <= PG_UINT8_MAX,
				 "a pair has too few bits for a column");

typedef struct Bucket
{
	RunFile    *file;
	RunTape    *tape;
	Size		new_bytes;		/* bytes since the last look at all buckets */
} Bucket;

/*
 * A term that a row has.  Most of the terms that the same row has once more are
 * found among these, and dropped; the block drops the others.
 */
typedef struct RecentTerm
{
	uint64		row;			/* number of the row */
	uint32		hash;
	Term		term;			/* may point to memory of that row */
} RecentTerm;

/* These take one part in RECENT_PART of the memory, and this many at most. */
#define RECENT_PART			64
#define MOST_RECENT_TERMS	4096

struct TermBuckets
{
	Terms	   *terms;
	Size		limit;
	Size		disk;			/* bytes of all files */
	ItemPointerData tid;		/* of the present row */
	uint64		row;			/* its number, from 1 */
	RecentTerm *recent;			/* each at a place of its hash value */
	uint32		nrecent;		/* a power of two */
	Size		new_bytes;		/* bytes since the last look at all buckets */
	bool		uneven;
	int			nbuckets;
	uint64		splitters[MOST_BUCKETS - 1];	/* in order: the least word of
												 * each bucket but the first */
	Bucket		buckets[MOST_BUCKETS];
};

/* Returns how many buckets are wanted. */
static int
wanted_buckets(Size limit, double expected_bytes)
{
	double		wanted = Min(expected_bytes / (limit / BUCKET_PART),
							 MOST_BUCKETS);

	/* each bucket has a page at least */
	return Min(wanted, limit / BUFFERS_PART / BLCKSZ);
}

TermBuckets *
term_buckets_begin(Terms *terms, const TermBlock *sample, Size limit,
				   double expected_bytes)
{
	int			wanted = wanted_buckets(limit, expected_bytes);
	TermBuckets *buckets;

	if (wanted < LEAST_BUCKETS ||
		term_block_rows_of_term(sample) >= ENOUGH_ROWS_OF_TERM)
		return NULL;
	buckets = palloc0(sizeof(TermBuckets));
	buckets->terms = terms;
	buckets->limit = limit;
	buckets->nbuckets = term_block_split(sample, wanted,
										 buckets->splitters);
	if (buckets->nbuckets < LEAST_BUCKETS)
	{
		pfree(buckets);
		return NULL;
	}
	buckets->nrecent = Min(pg_prevpower2_size_t(limit / RECENT_PART /
												sizeof(RecentTerm)),
						   MOST_RECENT_TERMS);
	buckets->recent = palloc0(buckets->nrecent * sizeof(RecentTerm));
	for (int i = 0; i < buckets->nbuckets; i++)
	{
		buckets->buckets[i].file =
			run_file_create_pieces(limit / BUFFERS_PART / buckets->nbuckets);
		buckets->buckets[i].tape = run_tape_create(buckets->buckets[i].file,
												   &run_of_blocks);
	}
	ereport(DEBUG1,
			(errmsg_internal("gpusort: dividing terms into %d buckets",
							 buckets->nbuckets)));
	return buckets;
}

/* Returns the number of the bucket that has a word. */
static inline int
find_bucket(const TermBuckets *buckets, uint64 word)
{
	int			low = 0;
	int			high = buckets->nbuckets - 1;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (buckets->splitters[middle] <= word)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void
term_buckets_begin_row(TermBuckets *buckets, const ItemPointerData *tid)
{
	buckets->tid = *tid;
	buckets->row++;
}

/* Returns whether the present row is known to have a term already. */
static inline bool
is_recent(TermBuckets *buckets, const Term *term, Size bytes)
{
	uint32		hash = terms_hash(term, bytes);
	RecentTerm *recent = &buckets->recent[hash & (buckets->nrecent - 1)];

	if (recent->row == buckets->row && recent->hash == hash &&
		terms_are_same(buckets->terms, &recent->term, term, bytes))
		return true;
	*recent = (RecentTerm)
	{
		buckets->row, hash, *term
	};
	return false;
}

/* Looks whether new pairs have gone to few buckets. */
static void
look_at_new_bytes(TermBuckets *buckets)
{
	for (int i = 0; i < buckets->nbuckets; i++)
	{
		Bucket	   *bucket = &buckets->buckets[i];

		if (bucket->new_bytes > buckets->new_bytes / UNEVEN_PART)
			buckets->uneven = true;
		bucket->new_bytes = 0;
	}
	buckets->new_bytes = 0;
}

/* Writes a pair of the present row to a bucket. */
static void
write_pair(TermBuckets *buckets, Bucket *bucket, const Term *term, Size bytes)
{
	static const char padding[MAXIMUM_ALIGNOF] = {0};
	RunTape    *tape = bucket->tape;
	Size		value_bytes = bytes > 0 ? bytes : sizeof(Datum);
	Size		pair_bytes = MAXALIGN(offsetof(Pair, value) + value_bytes);
	Pair		pair = {
		.block.bytes = pair_bytes - sizeof(RunBlock),
		.row_block = GinItemPointerGetBlockNumber(&buckets->tid),
		.row_offset = GinItemPointerGetOffsetNumber(&buckets->tid),
		.column = term->column,
		.category = term->category
	};

	run_tape_append(tape, &pair, offsetof(Pair, value));
	run_tape_append(tape, bytes > 0 ? DatumGetPointer(term->value) :
					(const void *) &term->value, value_bytes);
	run_tape_append(tape, padding,
					pair_bytes - offsetof(Pair, value) - value_bytes);
	bucket->new_bytes += pair_bytes;
	buckets->new_bytes += pair_bytes;
}

void
term_buckets_add(TermBuckets *buckets, const Term *term)
{
	Size		bytes = terms_bytes(buckets->terms, term);
	int			bucket;

	if (is_recent(buckets, term, bytes))
		return;
	bucket = find_bucket(buckets, terms_word(buckets->terms, term));
	write_pair(buckets, &buckets->buckets[bucket], term, bytes);
	if (unlikely(buckets->new_bytes > buckets->limit))
		look_at_new_bytes(buckets);
}

bool
term_buckets_are_uneven(const TermBuckets *buckets)
{
	return buckets->uneven;
}

void
term_buckets_finish(TermBuckets *buckets)
{
	for (int i = 0; i < buckets->nbuckets; i++)
	{
		Bucket	   *bucket = &buckets->buckets[i];

		run_tape_complete(bucket->tape);
		run_file_end_write(bucket->file);
		buckets->disk += run_file_bytes(bucket->file);
	}
	pfree(buckets->recent);
	buckets->recent = NULL;
}

int
term_buckets_count(const TermBuckets *buckets)
{
	return buckets->nbuckets;
}

/* Adds a pair to a block. */
static void
add_pair(TermBuckets *buckets, const Pair *pair, TermBlock *block)
{
	ItemPointerData tid;
	Term		term = {.column = pair->column,.category = pair->category};

	if (pair->category == GIN_CAT_NORM_KEY &&
		!buckets->terms->types[pair->column - 1].by_value)
		term.value = PointerGetDatum(pair->value);
	else
		memcpy(&term.value, pair->value, sizeof(Datum));
	ItemPointerSet(&tid, pair->row_block, pair->row_offset);
	term_block_begin_row(block, &tid);
	term_block_add(block, &term);
	term_block_end_row(block);
}

bool
term_buckets_read(TermBuckets *buckets, int number, TermBlock *block)
{
	Bucket	   *bucket = &buckets->buckets[number];
	const Pair *pair;

	if (bucket->tape->buffer == NULL)
		run_tape_begin_read(bucket->tape, run_file_piece_bytes(bucket->file));
	while (!term_block_is_full(block))
	{
		CHECK_FOR_INTERRUPTS();
		pair = run_tape_read(bucket->tape);
		if (pair == NULL)
		{
			run_tape_close(bucket->tape);
			run_file_close(bucket->file);
			return true;
		}
		add_pair(buckets, pair, block);
	}
	return false;
}

Size
term_buckets_disk(const TermBuckets *buckets)
{
	return buckets->disk;
}

void
term_buckets_end(TermBuckets *buckets)
{
	pfree(buckets);
}
