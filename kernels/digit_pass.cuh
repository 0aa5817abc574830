/*-------------------------------------------------------------------------
 *
 * digit_pass.cuh
 *	  One pass of a radix sort: all pairs are ordered by one digit.
 *
 * This is the pass of Onesweep (Adinets and Merrill 2022), which reads and
 * writes each pair once.  A block gathers a tile by digit in shared memory, in
 * an order that keeps equal digits as they were, and writes the pairs of each
 * value to neighbouring places.  How many keys have each digit is known beforehand,
 * from the survey.  How many of them are in tiles before is found by decoupled
 * look-back (Merrill and Garland 2016): a block tells the counts of its tile as
 * soon as it has them, and adds those of the tiles before, back to one that
 * knows all before it.
 *
 * The first pass reads keys, and need not keep any order.  So its blocks claim
 * room for a tile's pairs by one atomicAdd for each digit, as a partition does
 * (partition.cuh), and do not wait.
 *
 * A pair is a word of 32 bits and its row, in 8 bytes, so that a tile's pairs
 * with one value of the digit are one piece of memory.  The last pass writes the
 * rows alone.  It also checks that every row is there once, and reports that to
 * the host.
 *
 * What bounds a pass is finding lanes with equal digits, by a vote for each bit:
 * 71% of what the pipe for logic can do (H200, 100 million rows, 20 items a
 * thread), where memory is busy to 53%.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DIGIT_PASS_CUH
#define GPUSORT_DIGIT_PASS_CUH

#include "block_scan.cuh"
#include "key_words.cuh"
#include "order_hash.cuh"
#include "sort_seats.cuh"

namespace gpusort
{

struct alignas(2 * sizeof(uint32_t)) NarrowPair
{
	uint32_t	row;
	uint32_t	word;
};

constexpr unsigned digit_warps = digit_threads / warp_threads;

/*
 * Keys whose working words are taken from one of their words.  Rows are left
 * out, as they are the places: they would take registers.
 */
struct KeyPairs
{
	static constexpr bool is_first_pass = true;

	FieldSource source;

	/* Loads pairs that are a warp apart, from place "first" on. */
	template <unsigned items>
	__device__ __forceinline__ void
	load(uint32_t first, NarrowPair (&pairs)[items]) const
	{
		uint64_t	words[items];

		load_words_apart<items, warp_threads>(source, first, words);
#pragma unroll
		for (unsigned i = 0; i < items; i++)
			pairs[i] = {0, static_cast<uint32_t>(words[i])};
	}

	__device__ __forceinline__ NarrowPair
	load_one(uint32_t place) const
	{
		return {0, static_cast<uint32_t>(source.word(place))};
	}

	/* Has a warp read ahead. */
	__device__ __forceinline__ void
	prefetch(uint32_t place, uint32_t length) const
	{
		source.prefetch(place, length);
	}
};

/* Pairs that a pass has made. */
struct MovedPairs
{
	static constexpr bool is_first_pass = false;

	const NarrowPair *pairs;

	template <unsigned items>
	__device__ __forceinline__ void
	load(uint32_t first, NarrowPair (&own)[items]) const
	{
		load_apart<items, warp_threads>(pairs + first, own);
	}

	__device__ __forceinline__ NarrowPair
	load_one(uint32_t place) const
	{
		return pairs[place];
	}

	__device__ __forceinline__ void
	prefetch(uint32_t place, uint32_t length) const
	{
		prefetch_into_cache(pairs + place, length * sizeof(NarrowPair));
	}
};

struct PairTarget
{
	static constexpr bool is_order = false;

	NarrowPair *pairs;

	__device__ __forceinline__ void
	put(uint32_t place, const NarrowPair &pair) const
	{
		pairs[place] = pair;
	}
};

struct RowTarget
{
	static constexpr bool is_order = true;

	uint32_t   *entries;
	SortReport *report;			/* of the order, or none */

	__device__ __forceinline__ void
	put(uint32_t place, const NarrowPair &pair) const
	{
		entries[place] = pair.row;
	}
};

/*
 * What a tile has told about a digit: how many of its pairs have it, or the end
 * of its pairs of that digit in the output, where all before it are known.  0
 * means nothing yet.
 */
using TileState = uint32_t;

constexpr TileState state_is_count = 1u << 30;
constexpr TileState state_is_end = 1u << 31;
constexpr TileState state_value = state_is_count - 1;

/* The most rows of such a sort: a place has 30 bits. */
constexpr uint64_t most_digit_rows = state_is_count;

/* Enough to count the tiles of that many rows. */
constexpr unsigned tile_count_bits = 22;

static_assert(most_digit_rows / least_digit_rows < 1u << tile_count_bits,
			  "all tiles can be counted");

/* A pass by a digit of "bits" bits.  Tiles have a state for each of its values. */
template <unsigned bits>
struct DigitPass
{
	static constexpr unsigned values = 1u << bits;

	DigitCounts *digits;
	unsigned	number;			/* of the pass and its digit, from 0 on */
	uint32_t	nrows;
	unsigned	ahead;			/* how many tiles to read ahead */
	TileState  *states;			/* 0 before; not used by the first pass */
	TileState  *next_states;	/* made 0 for the next pass */

	__device__ __forceinline__ uint32_t
	digit(const NarrowPair &pair) const
	{
		return pair.word >> (number * bits) & (values - 1);
	}

	/*
	 * Keeps the compiler from holding digits in registers, where they would
	 * take the place of pairs.
	 */
	__device__ __forceinline__ void
	forget_digits()
	{
		asm volatile("" : "+r"(number));
	}
};

template <unsigned bits, unsigned items>
struct DigitShared
{
	static constexpr unsigned values = 1u << bits;

	NarrowPair	pairs[items * digit_threads];	/* by digit */

	/* first a warp's pairs of each digit, then the places of the next ones */
	uint32_t	places[digit_warps * values];
	uint32_t	offsets[values];	/* from there to the destination */
	uint32_t	tile;
	ScanShared<digit_threads> scan;
	ScanShared<digit_threads> total_scan;
	uint64_t	excess[digit_warps];
};

/* The lanes of the warp that have the same digit as the calling one. */
template <unsigned bits>
static __device__ __forceinline__ uint32_t
lanes_with_digit(uint32_t digit)
{
	uint32_t	lanes = whole_warp;

#pragma unroll
	for (unsigned bit = 0; bit < bits; bit++)
	{
		bool		is_set = (digit >> bit & 1) != 0;
		uint32_t	set = __ballot_sync(whole_warp, is_set);

		lanes &= is_set ? set : ~set;
	}
	return lanes;
}

/* The items of a thread of a tile. */
template <unsigned bits, unsigned items, typename Source>
struct DigitItems
{
	/* Of a warp: neighbours, of which each of its items takes 32. */
	static constexpr unsigned warp_rows = warp_threads * items;

	static constexpr unsigned tile_rows = digit_threads * items;

	NarrowPair	pairs[items];
	uint32_t	begin;			/* of the tile */
	uint32_t	length;

	/*
	 * Loads the pairs.  Beyond the end of a tile that is not whole are words
	 * that no word comes after.
	 */
	__device__ __forceinline__ void
	load(const Source &source, uint32_t tile, uint32_t nrows)
	{
		begin = tile * tile_rows;
		length = nrows - begin < tile_rows ?
			nrows - begin : tile_rows;
		if (length == tile_rows)
			source.load(begin + place(0), pairs);
		else
		{
#pragma unroll
			for (unsigned i = 0; i < items; i++)
				pairs[i] = place(i) < length ?
					source.load_one(begin + place(i)) :
					NarrowPair{0, UINT32_MAX};
		}
	}

	/* Counts the warp's pairs of each digit. */
	__device__ __forceinline__ void
	count(const DigitPass<bits> &pass, uint32_t *counts) const
	{
#pragma unroll
		for (unsigned i = 0; i < items; i++)
			atomicAdd(&counts[pass.digit(pairs[i])], 1u);
	}

	/*
	 * Gathers the pairs by digit, given the places of the warp's first pair of
	 * each digit.
	 */
	__device__ __forceinline__ void
	gather(const DigitPass<bits> &pass, uint32_t *places,
		   NarrowPair *gathered) const
	{
#pragma unroll
		for (unsigned i = 0; i < items; i++)
		{
			NarrowPair	pair = pairs[i];
			uint32_t	digit = pass.digit(pair);
			uint32_t	lanes = lanes_with_digit<bits>(digit);
			int			first = __ffs(static_cast<int>(lanes)) - 1;
			uint32_t	to = 0;

			if (Source::is_first_pass)
				pair.row = begin + place(i);
			if (static_cast<int>(warp_lane()) == first)
				to = atomicAdd(&places[digit],
							   static_cast<uint32_t>(__popc(lanes)));
			to = __shfl_sync(whole_warp, to, first) +
				static_cast<uint32_t>(__popc(lanes & lanes_before()));
			gathered[to] = pair;
		}
	}

	/* The place in the tile of this thread's item i. */
	static __device__ __forceinline__ uint32_t
	place(unsigned i)
	{
		return threadIdx.x / warp_threads * warp_rows +
			i * warp_threads + warp_lane();
	}
};

/*
 * What a thread knows of a tile's pairs with some values of the digit: one value
 * or two neighbouring ones.
 */
template <unsigned bits>
struct OwnValues
{
	static constexpr unsigned values = DigitPass<bits>::values;
	static constexpr unsigned own = values / digit_threads;

	uint32_t	counts[own];	/* of the tile's pairs */
	uint32_t	begins[own];	/* where they are to be in the output */

	static __device__ __forceinline__ unsigned
	first()
	{
		return threadIdx.x * own;
	}

	/* Puts "begins" to where the first pairs of all tiles are to be. */
	__device__ __forceinline__ void
	begin_output(const DigitPass<bits> &pass,
				 ScanShared<digit_threads> &scan)
	{
		const uint32_t *totals =
			&pass.digits->counts[pass.number * values + first()];
		uint32_t	sum = 0;

#pragma unroll
		for (unsigned i = 0; i < own; i++)
			sum += totals[i];
		sum = block_sum_before(sum, scan);
#pragma unroll
		for (unsigned i = 0; i < own; i++)
		{
			begins[i] = sum;
			sum += totals[i];
		}
	}

	/*
	 * Adds the counts of all warps up, and turns each into the number of pairs
	 * before the warp's with the thread's values.  Returns how many pairs there
	 * are with these.
	 */
	__device__ __forceinline__ uint32_t
	add_up(uint32_t *places)
	{
		uint32_t	sum = 0;

#pragma unroll
		for (unsigned i = 0; i < own; i++)
		{
			uint32_t	before = sum;

#pragma unroll
			for (unsigned warp = 0; warp < digit_warps; warp++)
			{
				uint32_t   *of_warp =
					&places[warp * values + first() + i];
				uint32_t	count = *of_warp;

				*of_warp = sum;
				sum += count;
			}
			counts[i] = sum - before;
		}
		return sum;
	}

	/* Moves the places of all warps by where the thread's pairs begin. */
	__device__ __forceinline__ void
	shift_places(uint32_t *places, uint32_t begin) const
	{
#pragma unroll
		for (unsigned i = 0; i < own; i++)
#pragma unroll
			for (unsigned warp = 0; warp < digit_warps; warp++)
				places[warp * values + first() + i] += begin;
	}

	/* Words beyond the end of a tile have the greatest value of all digits. */
	__device__ __forceinline__ void
	leave_out(uint32_t padding)
	{
		if (threadIdx.x == digit_threads - 1)
			counts[own - 1] -= padding;
	}

	/* Tells the counts of the tile, or with the first tile where pairs end. */
	__device__ __forceinline__ void
	tell_counts(volatile TileState *states, bool is_first_tile) const
	{
#pragma unroll
		for (unsigned i = 0; i < own; i++)
			states[i] = is_first_tile ? state_is_end | (begins[i] + counts[i]) :
				state_is_count | counts[i];
	}

	/* Claims room for the tile's pairs, whatever other tiles have done. */
	__device__ __forceinline__ void
	claim_room(uint32_t *filled)
	{
#pragma unroll
		for (unsigned i = 0; i < own; i++)
			if (counts[i] != 0)
				begins[i] += atomicAdd(&filled[first() + i], counts[i]);
	}

	/*
	 * Puts "begins" behind the pairs of all tiles before, and tells where those
	 * of this one end.  Blocks take tiles in turn, so the blocks of all tiles
	 * before are running or have finished.  What several tiles have told is read
	 * at once: if all tiles are at work at the same time, hardly any has told an
	 * end.
	 */
	__device__ __forceinline__ void
	look_back(volatile TileState *states, uint32_t tile)
	{
		uint32_t	next[own];	/* tiles from the one to be added next, or 0 */
		bool		are_known;

#pragma unroll
		for (unsigned i = 0; i < own; i++)
		{
			begins[i] = 0;
			next[i] = 1;
		}
		do
		{
			TileState	found[own][look_back_tiles];

#pragma unroll
			for (unsigned i = 0; i < own; i++)
#pragma unroll
				for (unsigned j = 0; j < look_back_tiles; j++)
				{
					uint64_t	back = next[i] + j < tile ? next[i] + j : tile;

					found[i][j] = *(states + i - back * values);
				}
			are_known = true;
#pragma unroll
			for (unsigned i = 0; i < own; i++)
			{
				next[i] = add_told(i, next[i], found[i]);
				are_known &= next[i] == 0;
			}
		} while (!are_known);
#pragma unroll
		for (unsigned i = 0; i < own; i++)
			states[i] = state_is_end | (begins[i] + counts[i]);
	}

private:
	/*
	 * Adds what tiles have told of a value, up to one that has told nothing or an
	 * end.  Returns the next tile to be added, or 0.
	 */
	__device__ __forceinline__ uint32_t
	add_told(unsigned i, uint32_t next,
			 const TileState (&found)[look_back_tiles])
	{
		bool		goes_on = next != 0;

#pragma unroll
		for (unsigned j = 0; j < look_back_tiles; j++)
		{
			goes_on &= found[j] != 0;
			if (goes_on)
			{
				begins[i] += found[j] & state_value;
				goes_on = (found[j] & state_is_end) == 0;
				next = goes_on ? next + 1 : 0;
			}
		}
		return next;
	}
};

/* The number of the block's tile. */
template <typename Source, unsigned bits>
static __device__ __forceinline__ uint32_t
take_tile(const DigitPass<bits> &pass, uint32_t &shared_tile)
{
	if (Source::is_first_pass)
		return blockIdx.x;
	if (threadIdx.x == 0)
		shared_tile = atomicAdd(&pass.digits->tiles[pass.number], 1u);
	__syncthreads();
	return shared_tile;
}

/* Has the tile read that some other block will soon take. */
template <unsigned tile_rows, typename Source, unsigned bits>
static __device__ __forceinline__ void
read_ahead(const Source &source, const DigitPass<bits> &pass, uint32_t tile)
{
	uint64_t	first = (static_cast<uint64_t>(tile) + pass.ahead) *
		tile_rows;

	if (threadIdx.x < warp_threads && first + tile_rows <= pass.nrows)
		source.prefetch(static_cast<uint32_t>(first), tile_rows);
}

/*
 * Reports an order, if all other blocks have written their parts.  "excess" is the
 * hashes of the rows that a thread has written less those of their places, as in
 * order_check.cuh.  One atomicAdd adds up both: the blocks, and above them the
 * lower bits of the excess.  Two would need a fence in between, which waits for
 * all that was written.
 */
template <unsigned bits, unsigned items>
static __device__ __forceinline__ void
report_order(uint64_t excess, DigitShared<bits, items> &shared,
			 DigitCounts *digits, SortReport *report)
{
	uint64_t	own = 1;

	excess = warp_sum(excess);
	if (warp_lane() == 0)
		shared.excess[threadIdx.x / warp_threads] = excess;
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	for (uint64_t of_warp : shared.excess)
		own += of_warp << tile_count_bits;

	uint64_t	sum = own +
		atomicAdd(reinterpret_cast<unsigned long long *>(&digits->written),
				  static_cast<unsigned long long>(own));

	if ((sum & ((1u << tile_count_bits) - 1)) == gridDim.x)
		report->findings = SORT_DONE |
			finding_if(sum >> tile_count_bits != 0, SORT_EXCESS);
}

/*
 * Orders all pairs by a digit; a block has a tile.  All passes but the first are
 * launched behind the one before.  Until that has ended, they only take tiles.
 */
template <unsigned bits, unsigned items_a_thread, typename Source,
		  typename Target>
static __global__ void
__launch_bounds__(digit_threads, digit_blocks(items_a_thread))
scatter_digits(Source source, DigitPass<bits> pass, Target target)
{
	using Values = OwnValues<bits>;
	using Shared = DigitShared<bits, items_a_thread>;
	using Items = DigitItems<bits, items_a_thread, Source>;

	Shared	   &shared = block_shared<Shared>();
	uint32_t   *warp_places =
		&shared.places[threadIdx.x / warp_threads * Values::values];
	Items		items;
	Values		own;
	uint64_t	of_rows = 0;	/* hashes */
	uint64_t	of_places = 0;

	for (unsigned i = threadIdx.x; i < digit_warps * Values::values;
		 i += digit_threads)
		shared.places[i] = 0;

	uint32_t	tile = take_tile<Source>(pass, shared.tile);
	uint64_t	state = static_cast<uint64_t>(tile) * Values::values +
		Values::first();

	if (!Source::is_first_pass)
		wait_for_kernel_before();
	items.load(source, tile, pass.nrows);
	if (!Target::is_order)
		let_next_kernel_begin();
	read_ahead<Items::tile_rows>(source, pass, tile);
	if (Source::is_first_pass || tile == 0)
		own.begin_output(pass, shared.total_scan);
	__syncthreads();
	items.count(pass, warp_places);
	__syncthreads();

	uint32_t	sum = own.add_up(shared.places);

	own.leave_out(Items::tile_rows - items.length);
	if (!Source::is_first_pass)
		own.tell_counts(&pass.states[state], tile == 0);
	if (pass.next_states != nullptr)
#pragma unroll
		for (unsigned i = 0; i < Values::own; i++)
			pass.next_states[state + i] = 0;

	uint32_t	begin = block_sum_before(sum, shared.scan);

	own.shift_places(shared.places, begin);
	__syncthreads();
	pass.forget_digits();
	items.gather(pass, warp_places, shared.pairs);

	if (Source::is_first_pass)
		own.claim_room(pass.digits->filled);
	else if (tile > 0)
		own.look_back(&pass.states[state], tile);
#pragma unroll
	for (unsigned i = 0; i < Values::own; i++)
	{
		shared.offsets[Values::first() + i] = own.begins[i] - begin;
		begin += own.counts[i];
	}
	__syncthreads();

#pragma unroll
	for (unsigned i = 0; i < items_a_thread; i++)
	{
		uint32_t	place = i * digit_threads + threadIdx.x;

		if (place < items.length)
		{
			NarrowPair	pair = shared.pairs[place];
			uint32_t	to = shared.offsets[pass.digit(pair)] + place;

			target.put(to, pair);
			if (Target::is_order)
			{
				add_hash(of_rows, pair.row);
				add_hash(of_places, to);
			}
		}
	}
	if constexpr (Target::is_order)
		if (target.report != nullptr)
			report_order(of_rows - of_places, shared, pass.digits,
						 target.report);
}

/* The order of sorted pairs, with ties marked. */
static __global__ void __launch_bounds__(simple_threads)
take_sorted_rows(const NarrowPair *pairs, uint32_t nrows, Order order)
{
	uint32_t	place = blockIdx.x * simple_threads + threadIdx.x;

	if (place >= nrows)
		return;

	bool		is_tie = place > 0 && pairs[place].word == pairs[place - 1].word;

	order.put(place, pairs[place].row, is_tie);
	order.note_ties(is_tie);
}

}								/* namespace gpusort */

#endif							/* GPUSORT_DIGIT_PASS_CUH */
