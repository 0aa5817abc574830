/*-------------------------------------------------------------------------
 *
 * key_words.cuh
 *	  From keys to working words.
 *
 * The keys of a job lie in slab arrays: their words, and where they vary in
 * length the ends (key_format.h).  Sorting works on one word of each key at a
 * time, "depth" words from the key's beginning.  Only here keys are read.
 *
 * The ends come from another process, and a wrong one would make a kernel
 * read where nothing is and cost every job its context.  So they are checked
 * before the first use, in the pass that has to read them anyway.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_KEY_WORDS_CUH
#define GPUSORT_KEY_WORDS_CUH

#include "workspace.cuh"

namespace gpusort
{

/* The keys of a job as kernels see them. */
struct Keys
{
	SlabView	words;
	SlabView	ends;			/* not used if fixed_words is not 0 */
	uint64_t	nwords;
	uint32_t	nrows;
	uint32_t	fixed_words;

	__device__ __forceinline__ uint64_t
	begin(uint32_t row) const
	{
		return fixed_words != 0 ? static_cast<uint64_t>(row) * fixed_words :
			row == 0 ? 0 : ends[row - 1];
	}

	__device__ __forceinline__ uint64_t
	end(uint32_t row) const
	{
		return fixed_words != 0 ? begin(row) + fixed_words : ends[row];
	}
};

/*
 * Makes pairs of all rows and their keys' first words.  As yet all rows are
 * one run; the host knows of which class, here it gets its entry.
 */
static __global__ void __launch_bounds__(simple_threads)
load_first_words(Keys keys, Pairs sorted, RunLists runs, uint32_t *keys_broken)
{
	uint32_t	row = blockIdx.x * simple_threads + threadIdx.x;

	if (row == 0)
	{
		if (keys.nrows > leaf_rows)
			runs.longs[0] = {0, keys.nrows};
		else
			runs.shorts.of(leaf_class(keys.nrows))[0] =
				{0, static_cast<uint16_t>(keys.nrows), false};
	}
	if (row >= keys.nrows)
		return;

	uint64_t	begin = keys.begin(row);
	uint64_t	end = keys.end(row);
	bool		is_last = row == keys.nrows - 1;
	bool		is_broken = begin >= end || end > keys.nwords ||
		(is_last && end != keys.nwords);

	if (is_broken)
		*keys_broken = 1;
	sorted.words[row] = is_broken ? 0 : keys.words[begin];
	sorted.rows[row] = row;
}

}								/* namespace gpusort */

#endif							/* GPUSORT_KEY_WORDS_CUH */
