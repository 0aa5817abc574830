/*-------------------------------------------------------------------------
 *
 * kept_keys.cuh
 *	  Reading keys in the order that a sort has made of them.
 *
 * A job that is one part of a larger one keeps its keys after its sort, so
 * that the parts can be merged.  Then it has the memory of a sort in place,
 * and a buffer.  Keys are gathered in the buffer, each padded with zero words
 * to one length, and copied from there to the host.
 *
 * A sort in place has put working words in the place of the keys' first words.
 * Working words have all bits of the first words that vary, so the first words
 * can be restored.  Other words are where they were.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_KEPT_KEYS_CUH
#define GPUSORT_KEPT_KEYS_CUH

#include "sorted_keys.cuh"

namespace gpusort
{

static_assert(kept_buffer_words >= KEY_MAX_WORDS, "a key fits into the buffer");

/* The keys of a job that was sorted. */
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
 * Gathers "count" keys, key_words words of each, from place "first" of the
 * order on, "step" places apart.
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

/*
 * The host's side: gathers "count" keys in a buffer that has room for them,
 * and copies them to pinned memory.
 */
static inline bool
copy_kept_keys(const Queue &queue, const KeptKeys &kept, uint32_t first,
			   uint32_t step, uint32_t count, uint32_t key_words,
			   uint64_t *buffer, uint64_t *words)
{
	uint64_t	nwords = static_cast<uint64_t>(count) * key_words;

	return queue.launch("gathering keys", gather_keys,
						divide_up(nwords, simple_threads), simple_threads,
						kept, first, step, count, key_words, buffer) &&
		queue.did(cudaMemcpyAsync(words, buffer, nwords * sizeof(uint64_t),
								  cudaMemcpyDeviceToHost, queue.stream),
				  "copying keys from the device");
}

}								/* namespace gpusort */

#endif							/* GPUSORT_KEPT_KEYS_CUH */
