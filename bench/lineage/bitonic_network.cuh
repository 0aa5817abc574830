/*-------------------------------------------------------------------------
 *
 * bitonic_network.cuh
 *	  The bitonic network of ../../kernels/bitonic_network.cuh for keys, alone
 *	  and with values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_BITONIC_NETWORK_CUH
#define GPUSORT_LINEAGE_BITONIC_NETWORK_CUH

#include "../../kernels/bitonic_network.cuh"
#include "lineage.cuh"

namespace lineage
{

using gpusort::NetworkStep;

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

using gpusort::whole_warp;

/* An item in registers. */
template <typename Key, bool has_values>
struct Item
{
	Key			key;
	uint32_t	value;
};

template <typename Key>
struct Item<Key, false>
{
	Key			key;
};

/* Items as the network finds them. */
template <typename Key, bool has_values>
struct KeptItems
{
	Items<Key, has_values> items;

	__device__ __forceinline__ Item<Key, has_values>
	get(uint32_t place) const
	{
		if constexpr (has_values)
			return {items.keys[place], items.values[place]};
		else
			return {items.keys[place]};
	}

	__device__ __forceinline__ void
	put(uint32_t place, const Item<Key, has_values> &item) const
	{
		items.keys[place] = item.key;
		if constexpr (has_values)
			items.values[place] = item.value;
	}
};

/* The ordering by keys; values come along. */
template <typename Key, bool has_values>
struct KeyOrdering
{
	using Item = network::Item<Key, has_values>;

	__device__ __forceinline__ Item
	greatest() const
	{
		Item		item = {};

		item.key = static_cast<Key>(~static_cast<Key>(0));
		return item;
	}

	__device__ __forceinline__ void
	exchange(Item &lower, Item &higher) const
	{
		const Item	was_lower = lower;
		const Item	was_higher = higher;
		const bool	exchange = was_higher.key < was_lower.key;

		lower.key = exchange ? was_higher.key : was_lower.key;
		higher.key = exchange ? was_lower.key : was_higher.key;
		if constexpr (has_values)
		{
			lower.value = exchange ? was_higher.value : was_lower.value;
			higher.value = exchange ? was_lower.value : was_higher.value;
		}
	}

	/*
	 * Both lanes must agree on whether they exchange their items, also if the
	 * keys are equal; if these are all there is, it makes no difference.
	 */
	__device__ __forceinline__ Item
	keep(const Item &own, const Item &other, bool is_lower) const
	{
		if constexpr (has_values)
		{
			bool		exchange = is_lower ? other.key < own.key :
				own.key < other.key;

			return {exchange ? other.key : own.key,
				exchange ? other.value : own.value};
		}
		else
		{
			Key			lesser = other.key < own.key ? other.key : own.key;
			Key			greater = other.key < own.key ? own.key : other.key;

			return {is_lower ? lesser : greater};
		}
	}

	__device__ __forceinline__ Item
	from_lane(const Item &own, unsigned distance) const
	{
		Item		item;

		item.key = __shfl_xor_sync(whole_warp, own.key, distance);
		if constexpr (has_values)
			item.value = __shfl_xor_sync(whole_warp, own.value, distance);
		return item;
	}
};

}								/* namespace network */

/*
 * Sorts items in shared memory.  Called by all threads of a block after a
 * barrier, and ends with one.
 */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
block_network(Items<Key, has_values> items, uint32_t length)
{
	gpusort::block_network(network::KeyOrdering<Key, has_values>{},
						   network::KeptItems<Key, has_values>{items}, length);
}

}								/* namespace lineage */

#endif							/* GPUSORT_LINEAGE_BITONIC_NETWORK_CUH */
