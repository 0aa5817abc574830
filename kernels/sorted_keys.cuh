/*-------------------------------------------------------------------------
 *
 * sorted_keys.cuh
 *	  Where the keys are after a sort.
 *
 * Most sorts leave the keys alone.  A sort in place (in_place_sort.cuh) has
 * put the first working words where the keys' first words were, in the order.
 * The structures here read keys after a sort, to check the order or to return
 * them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SORTED_KEYS_CUH
#define GPUSORT_SORTED_KEYS_CUH

#include "key_words.cuh"

namespace gpusort
{

/*
 * Keys as the check of the order compares them.  Bits that are not in placed
 * working words are in the words of the keys from number "rest" on.
 */
struct SortedKeys
{
	Keys		keys;
	bool		are_placed;
	unsigned	rest;
	bool		is_simple;		/* the order is simple, and needs no check */

	/*
	 * As Keys::compare(), for the rows at a place and at the place before it.
	 * If one key begins with the other, they are not equal, and not allowed.
	 */
	__device__ __forceinline__ int
	compare(uint32_t row_before, uint32_t row, uint32_t place) const
	{
		uint64_t	length_before = keys.end(row_before) - keys.begin(row_before);
		uint64_t	length = keys.end(row) - keys.begin(row);
		int			comparison;

		if (are_placed)
		{
			uint64_t	before = keys.words[keys.begin(place - 1)];
			uint64_t	word = keys.words[keys.begin(place)];

			if (before != word)
				return before < word ? -1 : 1;
		}
		comparison = keys.compare(row_before, row, are_placed ? rest : 0);
		return comparison != 0 || length_before == length ? comparison :
			length_before < length ? -1 : 1;
	}
};

/* Where the first words of keys are, and how to restore them. */
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

}								/* namespace gpusort */

#endif							/* GPUSORT_SORTED_KEYS_CUH */
