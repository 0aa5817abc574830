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
 * the items are read; ../../kernels/superstep.cuh says how, and where that
 * differs from the paper.
 *
 * Both are in place and need no memory beside the items.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_BITONIC_SORT_CUH
#define GPUSORT_LINEAGE_BITONIC_SORT_CUH

#include "../../kernels/superstep.cuh"
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

template <typename Key, bool has_values>
using PartShared = SharedItems<Key, has_values,
							   1u << local_bits<Key, has_values>()>;

/* Sorts neighbouring places, one part a block. */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(local_threads, resident_parts)
sort_parts(Items<Key, has_values> items, uint32_t n)
{
	using Kept = network::KeptItems<Key, has_values>;

	auto	   &shared = block_shared<PartShared<Key, has_values>>();
	const Kept	all = {items};

	gpusort::sort_part<local_threads, local_bits<Key, has_values>()>(
		network::KeyOrdering<Key, has_values>{}, all, all, n,
		Kept{shared.items()});
}

/* Makes a superstep, one part a block. */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(local_threads, resident_parts)
make_superstep(Items<Key, has_values> items, uint32_t n,
			   gpusort::Superstep superstep)
{
	using Kept = network::KeptItems<Key, has_values>;

	auto	   &shared = block_shared<PartShared<Key, has_values>>();

	gpusort::make_part_steps<local_threads>(
		network::KeyOrdering<Key, has_values>{}, Kept{items}, n, superstep,
		Kept{shared.items()});
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

		if (!queue.launch<Shared>("sorting parts", sort_parts<Key, has_values>,
								  divide_up(n, 1u << bits), local_threads,
								  items, n))
			return false;
		while (!step.is_beyond(n))
		{
			gpusort::Superstep superstep =
				gpusort::plan_superstep(step, n, bits, coalesced_bits);

			if (!queue.launch<Shared>("bitonic superstep",
									  make_superstep<Key, has_values>,
									  superstep.parts(n), local_threads,
									  items, n, superstep))
				return false;
		}
		return true;
	}
};

}								/* namespace lineage */

#endif							/* GPUSORT_LINEAGE_BITONIC_SORT_CUH */
