/*-------------------------------------------------------------------------
 *
 * bitonic_network.cuh
 *	  Batcher's bitonic sorting network for any number of items.
 *
 * Batcher 1968, in the form whose comparisons all put the smaller item at the
 * lower place.  Merge number m makes runs of 2^(m+1) items from sorted halves.
 * Its steps are named by bits, m down to 0: the step of a bit compares places
 * that differ in this bit.  The first step of a merge compares places mirrored
 * about the middle of the run, which differ in all the lower bits as well; the
 * others differ in the one bit alone.
 *
 * The places from "length" on hold nothing.  Were they filled with items
 * greater than all others, no comparison would ever move these, because all
 * go the same direction; so comparisons with such a place are left out, or
 * made with the greatest key.
 *
 * Items in shared memory are not compared there: a warp takes 256 of them into
 * its registers, makes as many steps as it can, and puts them back.  Such a
 * unit holds 2^5 neighbouring items, one a lane, for each setting of three
 * more bits, the eight items of a lane.  So the three steps of these bits are
 * comparisons within a lane, and those of the lowest five bits are shuffles.
 * Shared memory is read and written once for three steps or more, always with
 * neighbouring lanes in different banks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_BITONIC_NETWORK_CUH
#define GPUSORT_LINEAGE_BITONIC_NETWORK_CUH

#include "../../kernels/warp_sort.cuh"
#include "lineage.cuh"

namespace lineage
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

/* Items in shared memory. */
template <typename Key, bool has_values, unsigned capacity>
struct SharedItems
{
	Key			keys[capacity];
	uint32_t	values[has_values ? capacity : 1];

	__device__ Items<Key, has_values>
	items()
	{
		return {keys, values};
	}
};

/* Copies one item. */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
copy_item(Items<Key, has_values> from, uint32_t source,
		  Items<Key, has_values> to, uint32_t target)
{
	to.keys[target] = from.keys[source];
	if constexpr (has_values)
		to.values[target] = from.values[source];
}

/* Comparisons of a step, those with places beyond the end at times included. */
static constexpr __host__ __device__ uint32_t
step_pairs(uint32_t length, unsigned bit)
{
	return ((length + (2u << bit) - 1) >> (bit + 1)) << bit;
}

/* Puts the smaller of the items at two places, low < high, at the lower one. */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
order_pair(Items<Key, has_values> items, uint32_t low, uint32_t high)
{
	Key			low_key = items.keys[low];
	Key			high_key = items.keys[high];

	if (low_key <= high_key)
		return;
	items.keys[low] = high_key;
	items.keys[high] = low_key;
	if constexpr (has_values)
	{
		uint32_t	low_value = items.values[low];

		items.values[low] = items.values[high];
		items.values[high] = low_value;
	}
}

/* Makes one comparison of a step, and the exchange if there is need. */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
compare_pair(Items<Key, has_values> items, uint32_t length, uint32_t pair,
			 unsigned bit, bool mirrored)
{
	uint32_t	below = (1u << bit) - 1;
	uint32_t	low = pair + (pair & ~below);
	uint32_t	high = low ^ (mirrored ? 2 * below + 1 : below + 1);

	if (high < length)
		order_pair(items, low, high);
}

namespace network
{

using gpusort::warp_lane;
using gpusort::warp_threads;
using gpusort::whole_warp;

/* A unit: a warp's lanes, and the items of a lane. */
constexpr unsigned lane_bits = 5;
#ifdef CUDA_ON_CPU
constexpr unsigned lane_item_bits = 2;
#else
constexpr unsigned lane_item_bits = 3;
#endif
constexpr unsigned lane_items = 1u << lane_item_bits;
constexpr unsigned unit_bits = lane_bits + lane_item_bits;

/* The items of one lane. */
template <typename Key, bool has_values>
struct LaneItems
{
	Key			keys[lane_items];
	uint32_t	values[has_values ? lane_items : 1];
};

/*
 * Makes the step of a bit of the lanes' numbers.  Both lanes must agree on
 * whether they exchange their items, also if the keys are equal; if these are
 * all there is, it makes no difference.
 */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
step_between_lanes(LaneItems<Key, has_values> &own, unsigned bit,
				   bool mirrored)
{
	const bool	is_low = (warp_lane() >> bit & 1) == 0;
	const unsigned distance = mirrored ? (2u << bit) - 1 : 1u << bit;

#pragma unroll
	for (unsigned item = 0; item < lane_items; item++)
	{
		Key			key = own.keys[item];
		Key			other = __shfl_xor_sync(whole_warp, key, distance);

		if constexpr (has_values)
		{
			uint32_t	value = own.values[item];
			uint32_t	other_value = __shfl_xor_sync(whole_warp, value,
													  distance);
			bool		exchange = is_low ? other < key : key < other;

			own.keys[item] = exchange ? other : key;
			own.values[item] = exchange ? other_value : value;
		}
		else
		{
			Key			lesser = other < key ? other : key;
			Key			greater = other < key ? key : other;

			own.keys[item] = is_low ? lesser : greater;
		}
	}
}

/* Makes one comparison between items of the same lane. */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
compare_in_lane(LaneItems<Key, has_values> &own, unsigned low, unsigned high)
{
	const Key	low_key = own.keys[low];
	const Key	high_key = own.keys[high];
	const bool	exchange = high_key < low_key;

	own.keys[low] = exchange ? high_key : low_key;
	own.keys[high] = exchange ? low_key : high_key;
	if constexpr (has_values)
	{
		const uint32_t low_value = own.values[low];
		const uint32_t high_value = own.values[high];

		own.values[low] = exchange ? high_value : low_value;
		own.values[high] = exchange ? low_value : high_value;
	}
}

/*
 * Makes the step of a bit of the items' numbers in their lane.  "bit" must be
 * known to the compiler, or the items would not be in registers.
 */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
step_in_lane(LaneItems<Key, has_values> &own, unsigned bit, bool mirrored)
{
#pragma unroll
	for (unsigned low = 0; low < lane_items; low++)
	{
		if ((low >> bit & 1) != 0)
			continue;
		if (mirrored)
			compare_in_lane(own, low, low ^ ((2u << bit) - 1));
		else
			compare_in_lane(own, low, low | 1u << bit);
	}
}

/* Reverses the lanes for the items in whose number a bit is set. */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
reverse_lanes(LaneItems<Key, has_values> &own, unsigned bit)
{
	constexpr unsigned distance = warp_threads - 1;

#pragma unroll
	for (unsigned item = 0; item < lane_items; item++)
	{
		if ((item >> bit & 1) == 0)
			continue;
		own.keys[item] = __shfl_xor_sync(whole_warp, own.keys[item], distance);
		if constexpr (has_values)
			own.values[item] = __shfl_xor_sync(whole_warp, own.values[item],
											   distance);
	}
}

/*
 * The items that a warp takes in order to make the step of bit "first" and
 * those that follow.  Where a merge begins, the bits below the three of the
 * lanes' items are inverted in their upper half: so the partners, which differ
 * in all bits, are in the same lane.  If these are just the lanes' bits, on
 * which steps are yet to come, unit_steps() cares for it instead.
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

template <typename Key, bool has_values>
static __device__ __forceinline__ void
load_unit(const Unit &unit, Items<Key, has_values> items, uint32_t length,
		  LaneItems<Key, has_values> &own)
{
#pragma unroll
	for (unsigned item = 0; item < lane_items; item++)
	{
		uint32_t	place = unit.place(item);
		bool		is_inside = place < length;

		own.keys[item] = is_inside ? items.keys[place] :
			static_cast<Key>(~static_cast<Key>(0));
		if constexpr (has_values)
			own.values[item] = is_inside ? items.values[place] : 0;
	}
}

template <typename Key, bool has_values>
static __device__ __forceinline__ void
store_unit(const Unit &unit, const LaneItems<Key, has_values> &own,
		   Items<Key, has_values> items, uint32_t length)
{
#pragma unroll
	for (unsigned item = 0; item < lane_items; item++)
	{
		uint32_t	place = unit.place(item);

		if (place >= length)
			continue;
		items.keys[place] = own.keys[item];
		if constexpr (has_values)
			items.values[place] = own.values[item];
	}
}

/*
 * Makes the steps of bits "first" down to "last" on a unit that has them all.
 * "mirrored" says whether the first begins a merge.
 */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
unit_steps(const Unit &unit, LaneItems<Key, has_values> &own, unsigned first,
		   unsigned last, bool mirrored)
{
	const bool	reverse = mirrored && first >= lane_bits &&
		!unit.upper_inverted;

	if (reverse)
		reverse_lanes(own, first - unit.base);
#pragma unroll
	for (unsigned bit = lane_item_bits; bit-- > 0;)
		if (unit.base + bit <= first && unit.base + bit >= last)
			step_in_lane(own, bit, mirrored && unit.base + bit == first);
	if (reverse)
		reverse_lanes(own, first - unit.base);

#pragma unroll 1
	for (unsigned bit = first < lane_bits ? first + 1 : lane_bits;
		 bit-- > last;)
		step_between_lanes(own, bit, mirrored && bit == first);
}

}								/* namespace network */

/*
 * Makes the steps of bits "first" down to "last", the first of which begins a
 * merge if "mirrored", on items in shared memory.  Called by all threads of a
 * block after a barrier, and ends with one.
 */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
block_steps(Items<Key, has_values> items, uint32_t length, unsigned first,
			unsigned last, bool mirrored)
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
			LaneItems<Key, has_values> own;

			load_unit(unit, items, length, own);
			unit_steps(unit, own, first, stop, mirrored);
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
template <typename Key, bool has_values>
static __device__ __forceinline__ void
block_network(Items<Key, has_values> items, uint32_t length)
{
	using namespace network;

	const uint32_t warp = threadIdx.x / warp_threads;
	const uint32_t warps = blockDim.x / warp_threads;
	const uint32_t units = Unit::count(0, length);

	/* The merges that stay within a unit, and so in registers. */
	for (uint32_t number = warp; number < units; number += warps)
	{
		const Unit	unit(0, false, number);
		LaneItems<Key, has_values> own;

		load_unit(unit, items, length, own);
#pragma unroll 1
		for (unsigned merge = 0; merge < unit_bits && 1u << merge < length;
			 merge++)
			unit_steps(unit, own, merge, 0, true);
		store_unit(unit, own, items, length);
	}
	__syncthreads();

	for (unsigned merge = unit_bits; 1u << merge < length; merge++)
		block_steps(items, length, merge, 0, true);
}

}								/* namespace lineage */

#endif							/* GPUSORT_LINEAGE_BITONIC_NETWORK_CUH */
