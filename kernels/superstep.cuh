/*-------------------------------------------------------------------------
 *
 * superstep.cuh
 *	  The bitonic network of many items: each time items are read, as many
 *	  steps as possible are made in shared memory.
 *
 * The mapping is that of Capannini, Silvestri and Baraglia, "Sorting on GPUs
 * for large scale datasets" (2010), section 5.  A step compares places that
 * differ in one bit.  So a sequence of steps over some set of bits (the
 * paper's Gamma sequence) never leaves the places that agree in all other
 * bits.  These places are a part, which a block loads, takes through these
 * steps and puts back.  2^local_bits items fit into shared memory, so the set
 * may have local_bits bits.  Steps are added until the set is full (a
 * superstep); that may be the end of one merge together with the beginning of
 * the next.  The lowest bits, coalesced_bits of them, are always in the set,
 * because then a part consists of sequences of neighbouring places, and its
 * loads and stores are coalesced.  Before all supersteps, parts of
 * neighbouring places are sorted (the paper's Gamma_0).
 *
 * In the paper n is a power of two, and each step of a part is made in shared
 * memory.  Two things differ here:
 *
 * - The network is the one of bitonic_network.cuh, for any n.  The mirrored
 *	 step at the start of a merge flips not one bit but all up to the merge's.
 *	 Hence in a superstep that has this step, the places of a part in whose
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
#ifndef GPUSORT_SUPERSTEP_CUH
#define GPUSORT_SUPERSTEP_CUH

#include "bitonic_network.cuh"

namespace gpusort
{

/*
 * Steps that are made on parts, one after another.  Their set of bits is the
 * lowest low_bits, and high_bits more from high_start on: local_bits in all.
 * There is never a third range, since the steps of a merge go down through all
 * bits before the next merge begins.
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
	 * the inverted bits are below the bit that decides whether they are.
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

	/* The number of a part's items, which have its lowest numbers. */
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
plan_superstep(NetworkStep &step, uint32_t n, unsigned local_bits,
			   unsigned coalesced_bits)
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

/*
 * Sorts the calling block's part of neighbouring places, of which there are n
 * in all, by way of shared memory: from a source with get(place) to items with
 * put(place, item), which may be the same.
 */
template <unsigned threads, unsigned local_bits, typename Ordering,
		  typename Source, typename Items, typename SharedItems>
static __device__ __forceinline__ void
sort_part(const Ordering &ordering, const Source &source, const Items &items,
		  uint32_t n, const SharedItems &local)
{
	constexpr uint32_t most = 1u << local_bits;

	const uint32_t begin = blockIdx.x * most;
	const uint32_t length = n - begin < most ? n - begin : most;

#pragma unroll 8
	for (uint32_t item = threadIdx.x; item < length; item += threads)
		local.put(item, source.get(begin + item));
	__syncthreads();

	block_network(ordering, local, length);

#pragma unroll 8
	for (uint32_t item = threadIdx.x; item < length; item += threads)
		items.put(begin + item, local.get(item));
}

/* Makes a superstep on the calling block's part. */
template <unsigned threads, typename Ordering, typename Items,
		  typename SharedItems>
static __device__ __forceinline__ void
make_part_steps(const Ordering &ordering, const Items &items, uint32_t n,
				const Superstep &superstep, const SharedItems &local)
{
	const uint32_t part = blockIdx.x;
	const uint32_t length = superstep.length(part, n);
	NetworkStep step = superstep.first;

#pragma unroll 8
	for (uint32_t item = threadIdx.x; item < length; item += threads)
		local.put(item, items.get(superstep.place(part, item)));
	__syncthreads();

	/* The steps of one merge, then those of the next if there are more. */
	for (unsigned left = superstep.steps; left > 0;)
	{
		unsigned	steps = left < step.bit + 1 ? left : step.bit + 1;

		block_steps(ordering, local, length, superstep.local_bit(step.bit),
					superstep.local_bit(step.bit + 1 - steps),
					step.mirrored());
		left -= steps;
		step = {step.merge + 1, step.merge + 1};
	}

#pragma unroll 8
	for (uint32_t item = threadIdx.x; item < length; item += threads)
		items.put(superstep.place(part, item), local.get(item));
}

}								/* namespace gpusort */

#endif							/* GPUSORT_SUPERSTEP_CUH */
