/*-------------------------------------------------------------------------
 *
 * bitonic_network.cuh
 *	  Batcher's bitonic sorting network for any number of items.
 *
 * Batcher 1968, in the form in which all comparisons put the lesser item at
 * the lower place.  Merge number m makes runs of 2^(m+1) items from sorted
 * halves.  Its steps are named by bits, m down to 0: the step of a bit
 * compares places that differ in this bit.  The first step of a merge compares
 * places mirrored about the middle of the run, which differ in all lower bits
 * as well.  The places of the other steps differ in the one bit alone.
 *
 * The places from "length" on hold nothing.  Items there, greater than all
 * others, would never move, because all comparisons go the same direction.  So
 * comparisons with an empty place are left out, or made with the greatest
 * item.
 *
 * Items in shared memory are not compared there: a warp takes 256 of them into
 * its registers, makes as many steps as it can, and puts them back.  These 256
 * items are a unit: 2^5 neighbouring items, one a lane, for each setting of
 * three more bits, which number the eight items of a lane.  So the steps of
 * these three bits are comparisons within a lane, and the steps of the lowest
 * five bits are shuffles.  Shared memory is read and written once for three
 * steps or more, always with neighbouring lanes in different banks.
 *
 * Two types say what the items are.  An Ordering has
 *
 *		Item						an item in registers
 *		greatest()					an item that is less than no other
 *		exchange(lower, higher)		puts the lesser of two items at the lower
 *									place
 *		keep(own, other, is_lower)	which of two items a lane keeps, at the
 *									lower or the higher place; of two lanes
 *									each must keep what the other does not
 *		from_lane(own, distance)	the item that the lane has whose number
 *									differs in the bits of "distance"
 *
 * and Items, where they are kept, have get(place) and put(place, item).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BITONIC_NETWORK_CUH
#define GPUSORT_BITONIC_NETWORK_CUH

#include "warp_sort.cuh"

namespace gpusort
{

/* Which step of the network is next. */
struct NetworkStep
{
	unsigned	merge;
	unsigned	bit;

	__host__ __device__ bool
	mirrored() const
	{
		return bit == merge;
	}

	__host__ __device__ void
	advance()
	{
		if (bit > 0)
			bit--;
		else
			bit = ++merge;
	}

	/* Whether n items are sorted before this step. */
	__host__ __device__ bool
	is_beyond(uint32_t n) const
	{
		return 1u << merge >= n;
	}
};

namespace network
{

/* A unit: a warp's lanes, and the items of a lane. */
constexpr unsigned lane_bits = 5;
constexpr unsigned lane_items = 1u << lane_item_bits;
constexpr unsigned unit_bits = lane_bits + lane_item_bits;

/* The items of one lane. */
template <typename Ordering>
struct LaneItems
{
	typename Ordering::Item items[lane_items];
};

/* Makes the step of a bit of the lanes' numbers. */
template <typename Ordering>
static __device__ __forceinline__ void
step_between_lanes(const Ordering &ordering, LaneItems<Ordering> &own,
				   unsigned bit, bool mirrored)
{
	const bool	is_lower = (warp_lane() >> bit & 1) == 0;
	const unsigned distance = mirrored ? (2u << bit) - 1 : 1u << bit;

#pragma unroll
	for (unsigned item = 0; item < lane_items; item++)
		own.items[item] = ordering.keep(own.items[item],
										ordering.from_lane(own.items[item],
														   distance),
										is_lower);
}

/*
 * Makes the step of a bit of the items' numbers in their lane.  The compiler
 * must know "bit", or the items would not be in registers.
 */
template <typename Ordering>
static __device__ __forceinline__ void
step_in_lane(const Ordering &ordering, LaneItems<Ordering> &own, unsigned bit,
			 bool mirrored)
{
#pragma unroll
	for (unsigned low = 0; low < lane_items; low++)
	{
		if ((low >> bit & 1) != 0)
			continue;
		if (mirrored)
			ordering.exchange(own.items[low],
							  own.items[low ^ ((2u << bit) - 1)]);
		else
			ordering.exchange(own.items[low], own.items[low | 1u << bit]);
	}
}

/* Reverses the lanes for the items in whose number a bit is set. */
template <typename Ordering>
static __device__ __forceinline__ void
reverse_lanes(const Ordering &ordering, LaneItems<Ordering> &own, unsigned bit)
{
#pragma unroll
	for (unsigned item = 0; item < lane_items; item++)
		if ((item >> bit & 1) != 0)
			own.items[item] = ordering.from_lane(own.items[item],
												 warp_threads - 1);
}

/*
 * The items that a warp takes to make the step of bit "first" and the steps
 * after it.  Where a merge begins, the bits below the three of the lanes'
 * items are inverted in the upper half of these items.  So the partners, which
 * differ in all bits, are in the same lane.  If these are the lanes' bits,
 * whose steps are yet to come, unit_steps() inverts them instead.
 */
struct Unit
{
	unsigned	base;			/* the lowest of the three bits */
	bool		upper_inverted;
	uint32_t	lower_start;	/* place of the calling lane's first item */
	uint32_t	upper_start;	/* the same with "below" inverted */

	__device__
	Unit(unsigned first, bool mirrored, uint32_t number)
		: base(lowest_bit(first)), upper_inverted(mirrored && base > lane_bits)
	{
		const uint32_t below_mask = (1u << base) - 1;
		const uint32_t lanes = number << lane_bits | warp_lane();

		lower_start = (lanes & ~below_mask) << lane_item_bits |
			(lanes & below_mask);
		upper_start = upper_inverted ? lower_start ^ below_mask : lower_start;
	}

	/* The three bits end with the first, but the lanes' bits stay below. */
	static __device__ unsigned
	lowest_bit(unsigned first)
	{
		return first < unit_bits ? lane_bits : first - (lane_item_bits - 1);
	}

	/* How many units have places before "length". */
	static __device__ uint32_t
	count(unsigned first, uint32_t length)
	{
		unsigned	base = lowest_bit(first);
		uint32_t	size = 1u << (base + lane_item_bits);

		return (length + size - 1) / size << (base - lane_bits);
	}

	/* The place of an item of the calling lane. */
	__device__ __forceinline__ uint32_t
	place(unsigned item) const
	{
		return (item < lane_items / 2 ? lower_start : upper_start) +
			(item << base);
	}
};

template <typename Ordering, typename Items>
static __device__ __forceinline__ void
load_unit(const Ordering &ordering, const Unit &unit, const Items &items,
		  uint32_t length, LaneItems<Ordering> &own)
{
#pragma unroll
	for (unsigned item = 0; item < lane_items; item++)
	{
		uint32_t	place = unit.place(item);

		own.items[item] = ordering.greatest();
		if (place < length)
			own.items[item] = items.get(place);
	}
}

template <typename Ordering, typename Items>
static __device__ __forceinline__ void
store_unit(const Unit &unit, const LaneItems<Ordering> &own,
		   const Items &items, uint32_t length)
{
#pragma unroll
	for (unsigned item = 0; item < lane_items; item++)
	{
		uint32_t	place = unit.place(item);

		if (place < length)
			items.put(place, own.items[item]);
	}
}

/*
 * Makes the steps of bits "first" down to "last" on a unit that has them all.
 * "mirrored" says whether the first begins a merge.
 */
template <typename Ordering>
static __device__ __forceinline__ void
unit_steps(const Ordering &ordering, const Unit &unit,
		   LaneItems<Ordering> &own, unsigned first, unsigned last,
		   bool mirrored)
{
	const bool	reverse = mirrored && first >= lane_bits &&
		!unit.upper_inverted;

	if (reverse)
		reverse_lanes(ordering, own, first - unit.base);
#pragma unroll
	for (unsigned bit = lane_item_bits; bit-- > 0;)
		if (unit.base + bit <= first && unit.base + bit >= last)
			step_in_lane(ordering, own, bit,
						 mirrored && unit.base + bit == first);
	if (reverse)
		reverse_lanes(ordering, own, first - unit.base);

#pragma unroll 1
	for (unsigned bit = first < lane_bits ? first + 1 : lane_bits;
		 bit-- > last;)
		step_between_lanes(ordering, own, bit, mirrored && bit == first);
}

}								/* namespace network */

/*
 * Makes the steps of bits "first" down to "last", the first of which begins a
 * merge if "mirrored", on items in shared memory.  Called by all threads of a
 * block after a barrier, and ends with one.
 */
template <typename Ordering, typename Items>
static __device__ __forceinline__ void
block_steps(const Ordering &ordering, const Items &items, uint32_t length,
			unsigned first, unsigned last, bool mirrored)
{
	using namespace network;

	const uint32_t warp = threadIdx.x / warp_threads;
	const uint32_t warps = blockDim.x / warp_threads;

	for (;;)
	{
		unsigned	base = Unit::lowest_bit(first);
		unsigned	stop = base == lane_bits || base < last ? last : base;
		uint32_t	units = Unit::count(first, length);

		for (uint32_t number = warp; number < units; number += warps)
		{
			const Unit	unit(first, mirrored, number);
			LaneItems<Ordering> own;

			load_unit(ordering, unit, items, length, own);
			unit_steps(ordering, unit, own, first, stop, mirrored);
			store_unit(unit, own, items, length);
		}
		__syncthreads();

		if (stop == last)
			return;
		first = stop - 1;
		mirrored = false;
	}
}

/* Sorts items in shared memory.  Called as block_steps() is. */
template <typename Ordering, typename Items>
static __device__ __forceinline__ void
block_network(const Ordering &ordering, const Items &items, uint32_t length)
{
	using namespace network;

	const uint32_t warp = threadIdx.x / warp_threads;
	const uint32_t warps = blockDim.x / warp_threads;
	const uint32_t units = Unit::count(0, length);

	/* The merges that stay within a unit, and so in registers. */
	for (uint32_t number = warp; number < units; number += warps)
	{
		const Unit	unit(0, false, number);
		LaneItems<Ordering> own;

		load_unit(ordering, unit, items, length, own);
#pragma unroll 1
		for (unsigned merge = 0; merge < unit_bits && 1u << merge < length;
			 merge++)
			unit_steps(ordering, unit, own, merge, 0, true);
		store_unit(unit, own, items, length);
	}
	__syncthreads();

	for (unsigned merge = unit_bits; 1u << merge < length; merge++)
		block_steps(ordering, items, length, merge, 0, true);
}

}								/* namespace gpusort */

#endif							/* GPUSORT_BITONIC_NETWORK_CUH */
