/*-------------------------------------------------------------------------
 *
 * tie_groups.cuh
 *	  Groups of rows whose keys agree in all words compared so far: finding the
 *	  groups, and loading the next working words of the rows.
 *
 * The ties of the order tell which rows agree with the row before in all
 * working words so far.  From these one bit a place is made, which tells
 * whether its row starts a tie group.  Bits are only ever added.  If the bits
 * of a place and of the next place are set, the place is settled for good and
 * is not read again.  So later rounds read the bits, an eighth of a byte a
 * row, and beyond them only the rows that are still tied.
 *
 * The kernels of a round (tie_rounds.cuh): mark_group_starts() adds bits where
 * entries are no ties; collect_tie_groups() lists the groups whose keys go on;
 * load_next_words() makes pairs of their rows and next words.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TIE_GROUPS_CUH
#define GPUSORT_TIE_GROUPS_CUH

#include "key_words.cuh"
#include "warp_sort.cuh"

namespace gpusort
{

constexpr uint32_t no_start = UINT32_MAX;

/* For blocks of one start tile each; a thread has one word of bits. */
struct StartsShared
{
	uint32_t	bits[simple_threads];
	uint32_t	found;			/* the smallest start yet, or no_start */
	bool		is_open;		/* the last group goes on beyond the tile */
};

/* The start bit of a place; beyond the end everything starts. */
static __device__ __forceinline__ bool
is_start(const uint32_t *starts, uint32_t nrows, uint32_t place)
{
	return place >= nrows || (starts[place / 32] >> (place % 32) & 1) != 0;
}

/*
 * Sets the start bits of places whose entry is no tie, and notes each tile's
 * first start.  In the first round there are no bits yet.  Bits beyond the
 * last row are set.
 */
static __global__ void __launch_bounds__(simple_threads)
mark_group_starts(const uint32_t *order, uint32_t nrows, bool is_first_round,
				  uint32_t *starts, uint32_t *first_starts)
{
	StartsShared &shared = block_shared<StartsShared>();
	uint32_t	bits_word = blockIdx.x * simple_threads + threadIdx.x;
	uint32_t	first_word = bits_word - warp_lane();
	bool		is_inside = bits_word < divide_up(nrows, 32);
	uint32_t	bits = !is_inside ? ~0u : is_first_round ? 0 :
		starts[bits_word];

	if (threadIdx.x == 0)
		shared.found = no_start;
	__syncthreads();

	/* All lanes of the warp make the bits of one lane together, a bit each. */
	for (unsigned owner = 0; owner < warp_threads; owner++)
	{
		uint32_t	old_bits = __shfl_sync(whole_warp, bits, owner);
		uint32_t	place = (first_word + owner) * 32 + warp_lane();

		if (old_bits == ~0u)
			continue;

		uint32_t	new_bits =
			__ballot_sync(whole_warp, place >= nrows ||
						  (order[place] & ORDER_TIE) == 0);

		if (warp_lane() == owner)
			bits = new_bits;
	}

	if (is_inside)
		starts[bits_word] = bits;
	if (bits != 0)
		atomicMin(&shared.found, bits_word * 32 + __ffs(bits) - 1);
	__syncthreads();

	if (threadIdx.x == 0)
		first_starts[blockIdx.x] = shared.found;
}

/*
 * The end of the tie group that is open at the end of the calling block's
 * tile.  Called by all threads of the block, after a barrier.
 */
static __device__ __forceinline__ uint32_t
find_end_beyond_tile(const uint32_t *first_starts, uint32_t nrows,
					 StartsShared &shared)
{
	uint32_t	tiles = static_cast<uint32_t>(divide_up(nrows,
														starts_tile_rows));

	for (uint32_t tile = blockIdx.x + 1; tile < tiles; tile += simple_threads)
	{
		if (tile + threadIdx.x < tiles)
		{
			uint32_t	start = first_starts[tile + threadIdx.x];

			if (start != no_start)
				atomicMin(&shared.found, start);
		}
		__syncthreads();

		uint32_t	found = shared.found;

		__syncthreads();
		if (found != no_start)
			return found < nrows ? found : nrows;
	}
	return nrows;
}

/* Appends the elements of lanes with is_active to a list; the others wait. */
template <typename Element>
static __device__ __forceinline__ void
warp_append(Element *list, uint32_t *count, bool is_active, Element element)
{
	unsigned	active = __ballot_sync(whole_warp, is_active);
	uint32_t	first = 0;

	if (active == 0)
		return;
	if (warp_lane() == 0)
		first = atomicAdd(count, static_cast<uint32_t>(__popc(active)));
	first = __shfl_sync(whole_warp, first, 0);
	if (is_active)
		list[first + __popc(active & lanes_before())] = element;
}

/*
 * Lists all tie groups of two rows and more whose keys reach the next working
 * word.  If keys agree so far, either all of them go on or none does
 * (key_format.h).
 */
static __global__ void __launch_bounds__(simple_threads)
collect_tie_groups(Keys keys, uint32_t next_word, const uint32_t *order,
				   const uint32_t *starts, const uint32_t *first_starts,
				   TieGroupLists groups, TieGroupCounts *counts)
{
	StartsShared &shared = block_shared<StartsShared>();
	uint32_t	nrows = keys.nrows;
	uint32_t	bits_word = blockIdx.x * simple_threads + threadIdx.x;
	uint32_t	first_place = bits_word * 32;
	uint32_t	bits = bits_word < divide_up(nrows, 32) ? starts[bits_word] :
		~0u;

	shared.bits[threadIdx.x] = bits;
	if (threadIdx.x == 0)
	{
		shared.found = no_start;
		shared.is_open = false;
	}
	__syncthreads();

	/* Heads start a group and have a follower that does not. */
	bool		is_last_thread = threadIdx.x == simple_threads - 1;
	bool		next_starts = is_last_thread ?
		is_start(starts, nrows, first_place + 32) :
		(shared.bits[threadIdx.x + 1] & 1) != 0;
	uint32_t	heads = bits & ~(bits >> 1 | (next_starts ? 1u << 31 : 0));

	/*
	 * Only the group of the last head can go on beyond this word of bits.
	 * Then it ends at the next start in the tile, or beyond the tile.
	 */
	bool		is_open = heads != 0 && (bits >> (31 - __clz(heads))) == 1;
	uint32_t	open_end = no_start;

	if (is_open)
	{
		for (unsigned other = threadIdx.x + 1;
			 other < simple_threads && open_end == no_start; other++)
			if (shared.bits[other] != 0)
				open_end = first_place + (other - threadIdx.x) * 32 +
					__ffs(shared.bits[other]) - 1;
		if (open_end == no_start)
			shared.is_open = true;
	}
	__syncthreads();

	if (shared.is_open)
	{
		uint32_t	end = find_end_beyond_tile(first_starts, nrows, shared);

		if (is_open && open_end == no_start)
			open_end = end;
	}

	while (__any_sync(whole_warp, heads != 0))
	{
		bool		is_active = heads != 0;
		uint32_t	begin = 0;
		uint32_t	length = 0;

		if (is_active)
		{
			unsigned	head = __ffs(heads) - 1;
			uint32_t	later = bits & (~1u << head);
			uint32_t	end = later != 0 ? first_place + __ffs(later) - 1 :
				open_end;
			uint32_t	row;

			heads &= heads - 1;
			begin = first_place + head;
			length = end - begin;
			row = ORDER_ROW(order[begin]);
			is_active = keys.begin(row) + next_word < keys.end(row);
		}

		bool		is_short = length <= leaf_rows;
		LeafClass	its_class = leaf_class(length);
		Leaf		leaf = {begin, static_cast<uint16_t>(length), 0};

#pragma unroll
		for (int number = 0; number < LEAF_CLASSES; number++)
			warp_append(groups.shorts.leaves[number],
						&counts->shorts.count[number],
						is_active && is_short && its_class == number, leaf);
		warp_append(groups.longs, &counts->longs, is_active && !is_short,
					Range{begin, length});
	}
}

/* Makes pairs of the rows in tie groups and their next working words. */
static __global__ void __launch_bounds__(simple_threads)
load_next_words(Keys keys, const __grid_constant__ WordPlan plan,
				const uint32_t *order,
				const uint32_t *starts, Pairs pairs)
{
	uint32_t	place = blockIdx.x * simple_threads + threadIdx.x;

	if (place >= keys.nrows ||
		(is_start(starts, keys.nrows, place) &&
		 is_start(starts, keys.nrows, place + 1)))
		return;

	uint32_t	row = ORDER_ROW(order[place]);

	pairs.words[place] = plan.gather(keys, row);
	pairs.rows[place] = row;
}

/* Removes the ties from an order that is to have none. */
static __global__ void __launch_bounds__(simple_threads)
clear_ties(uint32_t *order, uint32_t nrows)
{
	uint32_t	place = blockIdx.x * simple_threads + threadIdx.x;

	if (place < nrows)
		order[place] = ORDER_ROW(order[place]);
}

}								/* namespace gpusort */

#endif							/* GPUSORT_TIE_GROUPS_CUH */
