/*-------------------------------------------------------------------------
 *
 * in_place_sort.cuh
 *	  Sorting in the memory of the keys and the order alone, where memory is
 *	  short.
 *
 * This is a bitonic sort, mapped as superstep.cuh says.  It only ever
 * exchanges two pairs, so no pair needs a second place.  For 100 million pairs
 * it makes 378 steps, in which the pairs are read and written 27 times.
 *
 * The working words and row numbers of pairs lie in the memory of the keys and
 * the order.  Working words take the place of the keys' first words: place i
 * has its word in the first word of key number i, and its row in entry i of
 * the order.  Nothing is lost: every key has a first word, and the working
 * word has all bits of it that vary.  The other words stay where they are.
 *
 * There are no rounds for ties: if working words are equal, the comparison
 * goes on with the words of the keys that they were not made of.  Rows with
 * equal keys stay in the order of their numbers.  So no two pairs are equal,
 * and two lanes that compare their pairs agree on what to do.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_IN_PLACE_SORT_CUH
#define GPUSORT_IN_PLACE_SORT_CUH

#include "key_words.cuh"
#include "superstep.cuh"

namespace gpusort
{

/*
 * With fewer fields a working word could end before the key's first word does.
 */
static_assert(max_fields >= 32, "all varying bits of a word fit into a plan");

/* The row of no pair, greater than all others. */
constexpr uint32_t no_row = UINT32_MAX;

struct PlacedPair
{
	uint64_t	word;
	uint32_t	row;
};

/* Pairs in a block's shared memory. */
struct PartShared
{
	uint64_t	words[1u << part_bits];
	uint32_t	rows[1u << part_bits];
};

struct PartPairs
{
	PartShared &shared;

	__device__ __forceinline__ PlacedPair
	get(uint32_t place) const
	{
		return {shared.words[place], shared.rows[place]};
	}

	__device__ __forceinline__ void
	put(uint32_t place, const PlacedPair &pair) const
	{
		shared.words[place] = pair.word;
		shared.rows[place] = pair.row;
	}
};

/* Pairs of which only the words are made yet. */
struct UnsortedPairs
{
	const Keys &keys;

	__device__ __forceinline__ PlacedPair
	get(uint32_t place) const
	{
		return {keys.words[keys.begin(place)], place};
	}
};

/* Pairs in the memory of keys and order. */
struct PlacedPairs
{
	const Keys &keys;
	uint32_t   *rows;

	__device__ __forceinline__ PlacedPair
	get(uint32_t place) const
	{
		return {keys.words[keys.begin(place)], rows[place]};
	}

	__device__ __forceinline__ void
	put(uint32_t place, const PlacedPair &pair) const
	{
		keys.words.put(keys.begin(place), pair.word);
		rows[place] = pair.row;
	}
};

/*
 * Whether row a comes before row b, if their working words are equal, by the
 * words of their keys from number "rest" on.  Kept out of the code of the
 * steps, as it is rarely called.
 */
static __device__ __noinline__ bool
is_less_by_rest(const Keys &keys, unsigned rest, uint32_t a, uint32_t b)
{
	int			comparison = a == no_row || b == no_row ? 0 :
		keys.compare(a, b, rest);

	return comparison != 0 ? comparison < 0 : a < b;
}

/*
 * The ordering of pairs for the network.  Keys have a rest if working words do
 * not hold all of their bits that vary.
 */
template <bool has_rest>
struct PairOrdering
{
	using Item = PlacedPair;

	const Keys &keys;
	unsigned	rest;			/* the first word of it */

	__device__ __forceinline__ PlacedPair
	greatest() const
	{
		return {UINT64_MAX, no_row};
	}

	__device__ __forceinline__ bool
	is_less(const PlacedPair &a, const PlacedPair &b) const
	{
		if (has_rest && a.word == b.word)
			return is_less_by_rest(keys, rest, a.row, b.row);
		return a.word == b.word ? a.row < b.row : a.word < b.word;
	}

	/* Whether the keys of two pairs are equal. */
	__device__ __forceinline__ bool
	is_tie(const PlacedPair &a, const PlacedPair &b) const
	{
		return a.word == b.word &&
			(!has_rest || keys.compare(a.row, b.row, rest) == 0);
	}

	__device__ __forceinline__ void
	exchange(PlacedPair &lower, PlacedPair &higher) const
	{
		const PlacedPair was_lower = lower;
		const PlacedPair was_higher = higher;
		const bool	exchange = is_less(was_higher, was_lower);

		lower.word = exchange ? was_higher.word : was_lower.word;
		lower.row = exchange ? was_higher.row : was_lower.row;
		higher.word = exchange ? was_lower.word : was_higher.word;
		higher.row = exchange ? was_lower.row : was_higher.row;
	}

	__device__ __forceinline__ PlacedPair
	keep(const PlacedPair &own, const PlacedPair &other, bool is_lower) const
	{
		const bool	exchange = is_less(other, own) == is_lower;

		return {exchange ? other.word : own.word,
			exchange ? other.row : own.row};
	}

	__device__ __forceinline__ PlacedPair
	from_lane(const PlacedPair &own, unsigned distance) const
	{
		return {__shfl_xor_sync(whole_warp, own.word, distance),
			__shfl_xor_sync(whole_warp, own.row, distance)};
	}
};

/* Makes the working words of all rows where their keys' first words are. */
static __global__ void __launch_bounds__(simple_threads)
place_words(Keys keys, const __grid_constant__ WordPlan plan)
{
	uint32_t	row = blockIdx.x * simple_threads + threadIdx.x;

	if (row < keys.nrows)
		keys.words.put(keys.begin(row), plan.gather(keys, row));
}

/* Makes pairs of neighbouring rows and sorts them, one part a block. */
template <bool has_rest>
static __global__ void __launch_bounds__(part_threads, part_blocks)
sort_parts(const __grid_constant__ Keys keys, unsigned rest, uint32_t *rows)
{
	sort_part<part_threads, part_bits>(PairOrdering<has_rest>{keys, rest},
									   UnsortedPairs{keys},
									   PlacedPairs{keys, rows}, keys.nrows,
									   PartPairs{block_shared<PartShared>()});
}

/* Makes a superstep, one part a block. */
template <bool has_rest>
static __global__ void __launch_bounds__(part_threads, part_blocks)
make_superstep(const __grid_constant__ Keys keys, unsigned rest,
			   uint32_t *rows, Superstep superstep)
{
	make_part_steps<part_threads>(PairOrdering<has_rest>{keys, rest},
								  PlacedPairs{keys, rows}, keys.nrows,
								  superstep,
								  PartPairs{block_shared<PartShared>()});
}

/* Marks every entry of the order whose row's key equals the one before. */
template <bool has_rest>
static __global__ void __launch_bounds__(simple_threads)
mark_ties(const __grid_constant__ Keys keys, unsigned rest, uint32_t *order)
{
	PairOrdering<has_rest> ordering = {keys, rest};
	PlacedPairs pairs = {keys, order};
	uint32_t	place = blockIdx.x * simple_threads + threadIdx.x;

	if (place == 0 || place >= keys.nrows)
		return;

	PlacedPair	previous = pairs.get(place - 1);
	PlacedPair	pair = pairs.get(place);

	/* the row before may have its mark already */
	previous.row = ORDER_ROW(previous.row);
	if (ordering.is_tie(previous, pair))
		order[place] = pair.row | ORDER_TIE;
}

/* The host's side. */
template <bool has_rest>
static bool
sort_pairs_in_place(const Queue &queue, const Keys &keys, unsigned rest,
					bool want_ties, uint32_t *order)
{
	uint32_t	nrows = keys.nrows;
	NetworkStep step = {part_bits, part_bits};

	if (!queue.launch<PartShared>("sorting parts", sort_parts<has_rest>,
								  divide_up(nrows, 1u << part_bits),
								  part_threads, keys, rest, order))
		return false;
	while (!step.is_beyond(nrows))
	{
		Superstep	superstep = plan_superstep(step, nrows, part_bits,
											   part_coalesced_bits);

		if (!queue.launch<PartShared>("bitonic superstep",
									  make_superstep<has_rest>,
									  superstep.parts(nrows), part_threads,
									  keys, rest, order, superstep))
			return false;
	}
	return !want_ties ||
		queue.launch("marking ties", mark_ties<has_rest>,
					 divide_up(nrows, simple_threads), simple_threads, keys,
					 rest, order);
}

/*
 * Sorts all rows into the order, with ties if ties are wanted. "plan" makes
 * the first working words of the keys, "next_plan" the second ones; next_plan
 * is null if there are none.  The keys are lost.
 */
static inline bool
sort_in_place(const Queue &queue, const Keys &keys, const WordPlan &plan,
			  const WordPlan *next_plan, bool want_ties, uint32_t *order)
{
	/* If no other words vary, the keys' first words are as good. */
	if (plan.last_word() > 0 &&
		!queue.launch("making working words", place_words,
					  divide_up(keys.nrows, simple_threads), simple_threads,
					  keys, plan))
		return false;
	return next_plan != nullptr ?
		sort_pairs_in_place<true>(queue, keys, next_plan->first_word(),
								  want_ties, order) :
		sort_pairs_in_place<false>(queue, keys, 0, want_ties, order);
}

}								/* namespace gpusort */

#endif							/* GPUSORT_IN_PLACE_SORT_CUH */
