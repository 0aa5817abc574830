/*-------------------------------------------------------------------------
 *
 * bitonic_sort.cuh
 *	  Bitonic sort in global memory: step by step, and as mapped by Capannini,
 *	  Silvestri and Baraglia, "Sorting on GPUs for large scale datasets"
 *	  (2010), section 5.
 *
 * BitonicSort launches a kernel for each step, so that all items are read and
 * written log2(n) * (log2(n) + 1) / 2 times.
 *
 * KModelBitonicSort makes as many steps as it can in shared memory each time
 * the items are read.  A step compares places that differ in one bit, so a run
 * of steps over some set of bits (the paper's Gamma sequence) never leaves the
 * places that agree in all the other bits: such places are a part, which a
 * block loads, takes through these steps and puts back.  2^local_bits items
 * fit into shared memory, so the set may have so many bits.  Steps are added
 * until the set is full (a superstep); that may be the end of one merge
 * together with the beginning of the next.  The lowest bits are always in the
 * set, because then a part consists of runs of neighbouring places, and its
 * loads and stores are coalesced.  Before all supersteps, tiles of 2^local_bits
 * neighbouring places are sorted (the paper's Gamma_0).
 *
 * Both are in place and need no memory beside the items.
 *
 * Different from the paper, for which n is a power of two and which makes each
 * step of a part in shared memory:
 *
 * - The network is the one of bitonic_network.cuh, for any n.  The mirrored
 *	 step at the start of a merge flips not one bit but all up to the merge's.
 *	 Hence in a superstep that has such a step, the places of a part in whose
 *	 number the merge's bit is set have the lower ones of the bits outside the
 *	 set inverted; all other steps stay on either side of this.
 *
 * - Within a part, warps do with their registers what blocks do with shared
 *	 memory: each time they read, they make several steps.  So the steps of low
 *	 bits, in which lanes of a warp would meet in the banks of shared memory,
 *	 do not touch it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_BITONIC_SORT_CUH
#define GPUSORT_LINEAGE_BITONIC_SORT_CUH

#include "bitonic_network.cuh"

namespace lineage
{

namespace bitonic
{

#ifdef CUDA_ON_CPU

constexpr unsigned step_threads = 64;
constexpr size_t local_bytes = 2048;
constexpr unsigned coalesced_bits = 2;
constexpr unsigned local_threads = 64;
constexpr unsigned resident_parts = 2;

#else

/* Threads of a block that makes one comparison each. */
constexpr unsigned step_threads = 256;

/*
 * Shared memory for a part; two of them fit onto an SM, as do their threads'
 * registers.  That is 16384 of the smallest items and 8192 of the others.
 */
constexpr size_t local_bytes = 96 * 1024;

/* 32 neighbouring keys of 32 bits are a line of 128 bytes. */
constexpr unsigned coalesced_bits = 5;

constexpr unsigned local_threads = 512;
constexpr unsigned resident_parts = 2;

#endif

/* Bits of a place for which a part has all items: the most that it holds. */
template <typename Key, bool has_values>
static constexpr __host__ __device__ unsigned
local_bits()
{
	constexpr size_t item_bytes = sizeof(Key) +
		(has_values ? sizeof(uint32_t) : 0);
	unsigned	bits = 0;

	while (item_bytes << (bits + 1) <= local_bytes)
		bits++;
	return bits;
}

/* Makes a step, one comparison a thread. */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(step_threads)
global_step(Items<Key, has_values> items, uint32_t n, unsigned bit,
			bool mirrored)
{
	uint32_t	pair = blockIdx.x * step_threads + threadIdx.x;

	if (pair < step_pairs(n, bit))
		compare_pair(items, n, pair, bit, mirrored);
}

/*
 * Steps that are made on parts, one after another.  Their set of bits is the
 * lowest low_bits and high_bits more from high_start on, local_bits in all;
 * there is never a third range, since the steps of a merge go down through
 * all bits before the next merge begins.
 */
struct Superstep
{
	NetworkStep first;
	unsigned	steps;
	unsigned	local_bits;
	unsigned	low_bits;
	unsigned	high_start;
	unsigned	high_bits;
	bool		mirrored;		/* whether one of the steps is */

	/* The bits of a place between the two ranges. */
	__host__ __device__ unsigned
	middle_bits() const
	{
		return high_start - low_bits;
	}

	/* Parts with places before n. */
	uint64_t
	parts(uint32_t n) const
	{
		uint64_t	above = (n - 1) >> (high_start + high_bits);

		return (above + 1) << middle_bits();
	}

	/*
	 * The place of item number "local" of a part.  It rises with "local", as
	 * what is inverted lies below the bit that decides about it.
	 */
	__device__ uint32_t
	place(uint32_t part, uint32_t local) const
	{
		uint32_t	middle_mask = (1u << middle_bits()) - 1;
		uint32_t	low = local & ((1u << low_bits) - 1);
		uint32_t	high = local >> low_bits;
		uint32_t	above = part >> middle_bits();

		if (mirrored && local >> (local_bits - 1) != 0)
			part = ~part;
		return (above << high_bits | high) << high_start |
			(part & middle_mask) << low_bits | low;
	}

	/* Items of a part, which have the lowest numbers of it. */
	__device__ uint32_t
	length(uint32_t part, uint32_t n) const
	{
		uint32_t	length = 1u << local_bits;

		if (place(part, length - 1) < n)
			return length;
		length = 0;
		for (unsigned bit = local_bits; bit-- > 0;)
			if (place(part, length + (1u << bit) - 1) < n)
				length += 1u << bit;
		return length;
	}

	/* The bit of an item's number in the part that is this bit of its place. */
	__device__ unsigned
	local_bit(unsigned bit) const
	{
		return bit < low_bits ? bit : bit - middle_bits();
	}

	/* Takes a step's bit into the set; false if there is no room for it. */
	bool
	include(unsigned bit)
	{
		if (bit < low_bits)
			return true;
		if (low_bits + high_bits == local_bits)
			return false;
		high_start = bit;
		high_bits++;
		if (high_start == low_bits)
		{
			low_bits += high_bits;
			high_bits = 0;
		}
		return true;
	}
};

/*
 * The superstep for n items that begins with "step", which it advances; not
 * the first of a network.
 */
inline Superstep
plan_superstep(NetworkStep &step, uint32_t n, unsigned local_bits)
{
	Superstep	superstep = {step, 0, local_bits, coalesced_bits, 0, 0, false};

	while (!step.is_beyond(n) && superstep.include(step.bit))
	{
		superstep.mirrored |= step.mirrored();
		superstep.steps++;
		step.advance();
	}

	/* At the network's end there may be room left. */
	superstep.low_bits = local_bits - superstep.high_bits;
	if (superstep.high_bits == 0)
		superstep.high_start = local_bits;
	return superstep;
}

template <typename Key, bool has_values>
using PartShared = SharedItems<Key, has_values,
							   1u << local_bits<Key, has_values>()>;

/* Sorts neighbouring places, one part a block. */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(local_threads, resident_parts)
sort_tiles(Items<Key, has_values> items, uint32_t n)
{
	constexpr uint32_t most = 1u << local_bits<Key, has_values>();

	auto	   &shared = block_shared<PartShared<Key, has_values>>();
	const Items<Key, has_values> local = shared.items();
	const uint32_t begin = blockIdx.x * most;
	const uint32_t length = n - begin < most ? n - begin : most;

#pragma unroll 8
	for (uint32_t item = threadIdx.x; item < length; item += local_threads)
		copy_item(items, begin + item, local, item);
	__syncthreads();

	block_network(local, length);

#pragma unroll 8
	for (uint32_t item = threadIdx.x; item < length; item += local_threads)
		copy_item(local, item, items, begin + item);
}

/* Makes a superstep, one part a block. */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(local_threads, resident_parts)
run_superstep(Items<Key, has_values> items, uint32_t n, Superstep superstep)
{
	auto	   &shared = block_shared<PartShared<Key, has_values>>();
	const Items<Key, has_values> local = shared.items();
	const uint32_t part = blockIdx.x;
	const uint32_t length = superstep.length(part, n);
	NetworkStep step = superstep.first;

#pragma unroll 8
	for (uint32_t item = threadIdx.x; item < length; item += local_threads)
		copy_item(items, superstep.place(part, item), local, item);
	__syncthreads();

	/* The steps of one merge, then those of the next if there are more. */
	for (unsigned left = superstep.steps; left > 0;)
	{
		unsigned	steps = left < step.bit + 1 ? left : step.bit + 1;

		block_steps(local, length, superstep.local_bit(step.bit),
					superstep.local_bit(step.bit + 1 - steps),
					step.mirrored());
		left -= steps;
		step = {step.merge + 1, step.merge + 1};
	}

#pragma unroll 8
	for (uint32_t item = threadIdx.x; item < length; item += local_threads)
		copy_item(local, item, items, superstep.place(part, item));
}

}								/* namespace bitonic */

template <typename Key, bool has_values>
struct BitonicSort
{
	static constexpr const char *name = "bitonic sort";

	static size_t
	extra_bytes(uint32_t)
	{
		return 0;
	}

	static bool
	sort(const Queue &queue, Items<Key, has_values> items, uint32_t n, void *)
	{
		using namespace bitonic;

		for (NetworkStep step = {0, 0}; !step.is_beyond(n); step.advance())
			if (!queue.launch("bitonic step", global_step<Key, has_values>,
							  divide_up(step_pairs(n, step.bit), step_threads),
							  step_threads, items, n, step.bit,
							  step.mirrored()))
				return false;
		return true;
	}
};

template <typename Key, bool has_values>
struct KModelBitonicSort
{
	static constexpr const char *name = "K-model bitonic sort";

	static size_t
	extra_bytes(uint32_t)
	{
		return 0;
	}

	static bool
	sort(const Queue &queue, Items<Key, has_values> items, uint32_t n, void *)
	{
		using namespace bitonic;
		using Shared = PartShared<Key, has_values>;

		constexpr unsigned bits = local_bits<Key, has_values>();
		NetworkStep step = {bits, bits};

		if (!queue.launch<Shared>("sorting tiles", sort_tiles<Key, has_values>,
								  divide_up(n, 1u << bits), local_threads,
								  items, n))
			return false;
		while (!step.is_beyond(n))
		{
			Superstep	superstep = plan_superstep(step, n, bits);

			if (!queue.launch<Shared>("bitonic superstep",
									  run_superstep<Key, has_values>,
									  superstep.parts(n), local_threads,
									  items, n, superstep))
				return false;
		}
		return true;
	}
};

}								/* namespace lineage */

#endif							/* GPUSORT_LINEAGE_BITONIC_SORT_CUH */
