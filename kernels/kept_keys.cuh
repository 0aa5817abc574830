/*-------------------------------------------------------------------------
 *
 * kept_keys.cuh
 *	  Reading keys in the order that a sort has made of them.
 *
 * A job that is one part of a larger one keeps its keys when it has run, so
 * that the parts can be merged.  Then it takes what a sort in place takes, and
 * a buffer: keys are gathered there, each padded with zero words to one
 * length, and copied to the host from there.
 *
 * A sort in place has put working words where the keys' first words were, in
 * the order.  But all bits of the first words that vary are in them, so these
 * can be told again.  Other words are where they were.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_KEPT_KEYS_CUH
#define GPUSORT_KEPT_KEYS_CUH

#include "key_words.cuh"

namespace gpusort
{

static_assert(kept_buffer_words >= KEY_MAX_WORDS, "a key fits into the buffer");

/* Where the first words of keys are, and what of them. */
struct FirstWords
{
	bool		are_placed;		/* where the order has their rows */
	bool		are_made;		/* working words by this plan */
	WordPlan	plan;
	uint64_t	common;			/* bits that are set in all first words */

	__device__ __forceinline__ uint64_t
	restore(uint64_t word) const
	{
		unsigned	below = plan.bits;
		uint64_t	restored = common;

		if (!are_made)
			return word;
		for (unsigned i = 0; i < plan.nfields && plan.fields[i].word == 0; i++)
		{
			Field		field = plan.fields[i];

			below -= field.width;
			restored |= (word >> below & field.mask()) << field.shift;
		}
		return restored;
	}
};

/* The keys of a job that has run. */
struct KeptKeys
{
	Keys		keys;
	FirstWords	first_words;
	const uint32_t *order;

	/* A word of the key at a place of the order, zero beyond its end. */
	__device__ __forceinline__ uint64_t
	word(uint32_t place, uint32_t number) const
	{
		uint32_t	row = ORDER_ROW(order[place]);
		uint64_t	begin = keys.begin(row);

		if (number >= keys.end(row) - begin)
			return 0;
		if (number == 0 && first_words.are_placed)
			return first_words.restore(keys.words[keys.begin(place)]);
		return keys.words[begin + number];
	}
};

/*
 * Gathers "count" keys, of each so many words, from place "first" of the order
 * on, "step" places apart.
 */
static __global__ void __launch_bounds__(simple_threads)
gather_keys(const __grid_constant__ KeptKeys kept, uint32_t first,
			uint32_t step, uint32_t count, uint32_t key_words,
			uint64_t *gathered)
{
	uint32_t	index = blockIdx.x * simple_threads + threadIdx.x;

	if (index < count * key_words)
		gathered[index] = kept.word(first + index / key_words * step,
									index % key_words);
}

}								/* namespace gpusort */

#endif							/* GPUSORT_KEPT_KEYS_CUH */
