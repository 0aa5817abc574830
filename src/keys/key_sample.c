/*-------------------------------------------------------------------------
 *
 * key_sample.c
 *	  Samples of truncated keys, which show whether keys had better be longer.
 *
 * The first sample begins with the first truncated key.  Later keys may tell
 * less than the first ones, as with numbers that rise, so more samples follow.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "keys/key_sample.h"

/*
 * Keys in a sample, and how many of them may be equal to others.  If more are
 * not, the keys have more than a million different values.  Then few of some
 * million rows tie.
 */
#define SAMPLE_SIZE			4096
#define SAMPLE_CLASHES		8

/*
 * The number of keys from the end of a sample to the next: FIRST_PAUSE, and
 * then PAUSE_FACTOR times as many, up to LAST_PAUSE.
 */
#define FIRST_PAUSE			16384
#define PAUSE_FACTOR		16
#define LAST_PAUSE			(FIRST_PAUSE * PAUSE_FACTOR)

/* Large enough that two keys of a sample rarely share a slot. */
#define SLOT_BITS			14
#define NSLOTS				(1 << SLOT_BITS)

typedef enum SampleState
{
	TAKES_SAMPLE,
	PAUSES,
	ENDED						/* all samples are taken */
} SampleState;

struct KeySample
{
	SampleState state;
	uint32		left;			/* keys until the sample or the pause ends */
	uint32		next_pause;		/* keys of the next pause */
	uint32		nclashes;
	uint32	   *slots;			/* hashes, 0 if the slot is free; or NULL */
	MemoryContext context;
};

KeySample *
key_sample_begin(void)
{
	KeySample  *sample = palloc0(sizeof(KeySample));

	sample->left = SAMPLE_SIZE;
	sample->next_pause = FIRST_PAUSE;
	sample->context = CurrentMemoryContext;
	return sample;
}

void
key_sample_end(KeySample *sample)
{
	if (sample->slots != NULL)
		pfree(sample->slots);
	pfree(sample);
}

/* Goes on from a sample to a pause or to the end, or from a pause to a sample. */
static void
change_state(KeySample *sample)
{
	if (sample->state == PAUSES)
	{
		sample->state = TAKES_SAMPLE;
		sample->left = SAMPLE_SIZE;
		sample->nclashes = 0;
		return;
	}
	pfree(sample->slots);
	sample->slots = NULL;
	sample->state = sample->next_pause <= LAST_PAUSE ? PAUSES : ENDED;
	sample->left = sample->next_pause;
	sample->next_pause *= PAUSE_FACTOR;
}

/* A hash that is not 0; its highest bits depend on all words. */
static uint64_t
hash_words(const uint64_t *words, int nwords)
{
	uint64_t	hash = 0;

	for (int i = 0; i < nwords; i++)
	{
		hash = (hash ^ words[i]) * UINT64_C(0x9E3779B97F4A7C15);
		hash ^= hash >> 32;
	}
	return hash * UINT64_C(0x9E3779B97F4A7C15) | 1;
}

/* Adds a key to the sample, and counts it if an equal one is there. */
static pg_noinline void
add_key(KeySample *sample, const uint64_t *words, int nwords)
{
	uint64_t	hash = hash_words(words, nwords);
	uint32	   *slot;

	if (sample->slots == NULL)
		sample->slots = MemoryContextAllocZero(sample->context,
											   NSLOTS * sizeof(uint32));
	slot = &sample->slots[hash >> (64 - SLOT_BITS)];
	if (*slot == (uint32) hash)
		sample->nclashes++;
	*slot = (uint32) hash;
}

bool
key_sample_take(KeySample *sample, const uint64_t *words, int nwords)
{
	if (sample->state == ENDED)
		return true;
	if (sample->state == TAKES_SAMPLE)
		add_key(sample, words, nwords);
	if (sample->nclashes > SAMPLE_CLASHES)
		return false;
	if (--sample->left == 0)
		change_state(sample);
	return true;
}
