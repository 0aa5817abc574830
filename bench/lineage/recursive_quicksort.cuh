/*-------------------------------------------------------------------------
 *
 * recursive_quicksort.cuh
 *	  What quicksorts by dynamic parallelism have in common.
 *
 * A grid partitions a sequence from one array to the other.  Its blocks, or
 * warps, take room for their items by atomic operations, in no order.  A
 * grid's own blocks cannot wait for each other, so one more counter tells the
 * block that is done last; this one fills the gap between the two sides with
 * the keys equal to the pivot, and launches a grid for each side.  A short
 * side is sorted by a grid of one block, in shared memory.
 *
 * The algorithm says how a grid partitions.  It is a class template
 *
 *		template <typename Key, bool has_values> struct Partition
 *		{
 *			static constexpr unsigned threads = ...;	of a block
 *			static constexpr unsigned blocks = ...;		at once on an SM
 *			static constexpr uint32_t block_items = ...;
 *			struct Shared { ... };
 *			static __device__ void run(const PartitionJob<Key, has_values> &job,
 *									   Shared &shared);
 *		};
 *
 * whose run() moves the block_items items of each block.
 *
 * Where the paper (Manca et al. 2015) says nothing:
 *
 * - Grids cannot be nested without end.  Pivots must therefore be close to the
 *	 median, whatever the keys; they are the median of a sample.  A sequence at
 *	 the greatest depth all the same is sorted by one block, however long it
 *	 is, by the network for short ones.
 * - Keys equal to the pivot may have values.  These wait in an array of their
 *	 own until it is known where the gap is.  A gap that is long for one block
 *	 is filled by a further grid, the last block of which goes on.
 * - The device runs 128 grids at a time, many of which have one block in the
 *	 end: therefore the block for short sequences is the largest there is, and
 *	 they are as long as shared memory allows without asking for more.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_RECURSIVE_QUICKSORT_CUH
#define GPUSORT_LINEAGE_RECURSIVE_QUICKSORT_CUH

#include "../../kernels/workspace.cuh"
#include "device_launch.cuh"
#include "pivot.cuh"
#include "quicksort.cuh"

#if LINEAGE_DEVICE_LAUNCH

namespace lineage
{
namespace recursive_quicksort
{

using gpusort::Carver;
using gpusort::warp_lane;
using gpusort::warp_threads;
using gpusort::whole_warp;

#ifdef CUDA_ON_CPU

constexpr uint32_t short_items = 64;
constexpr unsigned short_threads = 32;
constexpr uint32_t gap_block_items = 96;
constexpr unsigned gap_threads = 64;
constexpr unsigned max_depth = 6;

#else

/* Sequences of up to this many items are sorted in shared memory. */
constexpr uint32_t short_items = 4096;
constexpr unsigned short_threads = 1024;

/* What a block fills of a gap. */
constexpr uint32_t gap_block_items = 4096;
constexpr unsigned gap_threads = 256;

/* The grid that the host launches has depth 0. */
constexpr unsigned max_depth = max_nested_grids - 1;

#endif

static_assert(gap_threads > warp_threads, "two warps launch");

/* Where a key belongs, compared with the pivot. */
enum Side
{
	LESS,
	GREATER,
	EQUAL,
	SIDES
};

/*
 * What the blocks that partition a sequence share, zero before and after: the
 * items that they have taken room for, and the blocks that are done.
 */
struct Progress
{
	uint32_t	taken[SIDES];
	uint32_t	blocks_done;
};

/* Neighbouring items that a grid is to sort, which is nested so deep. */
struct Sequence
{
	uint32_t	begin;
	uint32_t	length;
	uint32_t	depth;
	bool		in_spare;
};

/*
 * The median of a sample of a sequence: of every lane's three keys the median,
 * and of these the median.  Called by all lanes of a warp; all get it.
 */
template <typename Key>
static __device__ __forceinline__ Key
choose_pivot(const Key *keys, const Sequence &sequence)
{
	static_assert(samples_per_lane == 3, "three keys a lane");

	Key			samples[samples_per_lane];

	for (unsigned i = 0; i < samples_per_lane; i++)
		samples[i] = keys[sequence.begin + sample_position(
			sequence.begin, sequence.length,
			samples_per_lane * warp_lane() + i)];

	uint64_t	word = median(samples[0], samples[1], samples[2]);
	uint32_t	unused = 0;

	gpusort::warp_sort(word, unused, warp_threads);
	return static_cast<Key>(__shfl_sync(whole_warp, word, warp_threads / 2));
}

/* A sort's device memory. */
template <typename Key, bool has_values>
struct Memory
{
	Items<Key, has_values> sorted;
	Items<Key, has_values> spare;
	uint32_t   *equal_values;	/* of a sequence at its places */
	Progress   *progress;
	uint32_t   *failed_launches;

	static uint32_t
	progress_entries(uint32_t n)
	{
		return n / short_items + 1;
	}

	/* Lays out the extra memory; with a null base it only counts bytes. */
	size_t
	lay_out(void *base, uint32_t n)
	{
		Carver		carver(base);

		spare.keys = carver.take<Key>(n);
		spare.values = carver.take<uint32_t>(has_values ? n : 0);
		equal_values = carver.take<uint32_t>(has_values ? n : 0);
		progress = carver.take<Progress>(progress_entries(n));
		failed_launches = carver.take<uint32_t>(1);
		return carver.bytes();
	}

	/* The array that a sequence is in. */
	__device__ Items<Key, has_values>
	items_of(const Sequence &sequence) const
	{
		return sequence.in_spare ? spare : sorted;
	}

	/*
	 * The progress of a sequence that is partitioned.  Such sequences are
	 * longer than short_items, so no two that begin in the same stretch of
	 * short_items are there at once: one would be a part of the other.
	 */
	__device__ Progress &
	progress_of(const Sequence &sequence) const
	{
		return progress[sequence.begin / short_items];
	}
};

/* What a block must know to partition its part of a sequence. */
template <typename Key, bool has_values>
struct PartitionJob
{
	Items<Key, has_values> from;
	Items<Key, has_values> to;
	uint32_t   *equal_values;
	uint32_t	begin;
	uint32_t	end;
	Key			pivot;
	Progress   *progress;

	/*
	 * Takes room for items of one side; returns the first place, which for
	 * EQUAL is one in equal_values.
	 */
	__device__ uint32_t
	take_room(unsigned side, uint32_t count) const
	{
		uint32_t	before = atomicAdd(&progress->taken[side], count);

		return side == GREATER ? end - before - count : begin + before;
	}

	/* Puts an item at its place. */
	__device__ void
	put(unsigned side, uint32_t place, Key key, uint32_t value) const
	{
		if (side != EQUAL)
		{
			to.keys[place] = key;
			if constexpr (has_values)
				to.values[place] = value;
		}
		else if constexpr (has_values)
			equal_values[place] = value;
	}

	__device__ unsigned
	side_of(Key key) const
	{
		return key < pivot ? LESS : key > pivot ? GREATER : EQUAL;
	}
};

/* Sorts a sequence by one block. */
template <typename Key, bool has_values>
static __global__ void __launch_bounds__(short_threads)
sort_alone(Memory<Key, has_values> memory, Sequence sequence)
{
	Items<Key, has_values> from = memory.items_of(sequence);
	Items<Key, has_values> own = memory.sorted;

	if (sequence.length <= short_items)
	{
		auto	   &shared =
			block_shared<SharedItems<Key, has_values, short_items>>();

		sort_short(from, memory.sorted, sequence.begin, sequence.length,
				   shared.items());
		return;
	}

	own.keys += sequence.begin;
	if constexpr (has_values)
		own.values += sequence.begin;
	if (sequence.in_spare)
		for (uint32_t item = threadIdx.x; item < sequence.length;
			 item += short_threads)
			copy_item(from, sequence.begin + item, own, item);
	__syncthreads();
	block_network(own, sequence.length);
}

/* What is known of a sequence when it has been partitioned. */
template <typename Key>
struct Outcome
{
	Sequence	sequence;
	Key			pivot;
	uint32_t	less;
	uint32_t	greater;

	__device__ uint32_t
	gap_length() const
	{
		return sequence.length - less - greater;
	}
};

/* Fills places first, first + step and so on of a gap. */
template <typename Key, bool has_values>
static __device__ __forceinline__ void
fill(const Memory<Key, has_values> &memory, const Outcome<Key> &outcome,
	 uint32_t first, uint32_t step)
{
	uint32_t	begin = outcome.sequence.begin;
	uint32_t	gap_begin = begin + outcome.less;

	for (uint32_t place = first; place < outcome.gap_length(); place += step)
	{
		memory.sorted.keys[gap_begin + place] = outcome.pivot;
		if constexpr (has_values)
			memory.sorted.values[gap_begin + place] =
				memory.equal_values[begin + place];
	}
}

/* What the last block of a grid learns. */
struct LastBlock
{
	bool		is_last;
	uint32_t	less;
	uint32_t	greater;
};

/*
 * Whether all blocks of the grid but the calling one are done.  Called by each
 * of its blocks once, when it is done.  The last may then see and overwrite
 * whatever they have written and read; the counters are zero again.
 */
static __device__ __forceinline__ bool
is_last_block(Progress &progress, LastBlock &shared)
{
	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0)
	{
		shared.is_last = atomicAdd(&progress.blocks_done, 1u) == gridDim.x - 1;
		if (shared.is_last)
		{
			shared.less = atomicAdd(&progress.taken[LESS], 0u);
			shared.greater = atomicAdd(&progress.taken[GREATER], 0u);
			progress = {};
		}
	}
	__syncthreads();
	__threadfence();
	return shared.is_last;
}

template <typename Key, bool has_values>
static __device__ __forceinline__ void
check_launch(const Memory<Key, has_values> &memory, bool was_launched)
{
	if (!was_launched)
		(void) atomicAdd(memory.failed_launches, 1u);
}

template <typename PartShared>
struct PartitionShared
{
	PartShared	part;
	LastBlock	last;
};

template <typename Key, bool has_values,
		  template <typename, bool> class Partition>
static __global__ void
partition_sequence(Memory<Key, has_values> memory, Sequence sequence,
				   Key pivot);

/* Launches what sorts a sequence.  Called by all lanes of a warp. */
template <typename Key, bool has_values,
		  template <typename, bool> class Partition>
static __device__ __forceinline__ void
launch_sort(const Memory<Key, has_values> &memory, Sequence sequence)
{
	using Part = Partition<Key, has_values>;
	using Shared = PartitionShared<typename Part::Shared>;
	using AloneShared = SharedItems<Key, has_values, short_items>;

	if (sequence.length > short_items && sequence.depth < max_depth)
	{
		Key			pivot = choose_pivot(memory.items_of(sequence).keys,
										 sequence);

		if (warp_lane() == 0)
			check_launch(memory, launch_child<Shared>(
				partition_sequence<Key, has_values, Partition>,
				static_cast<unsigned>(divide_up(sequence.length,
												Part::block_items)),
				Part::threads, memory, sequence, pivot));
	}
	else if (warp_lane() == 0 &&
			 (sequence.length > 1 ||
			  (sequence.length == 1 && sequence.in_spare)))
		check_launch(memory, launch_child<AloneShared>(
			sort_alone<Key, has_values>, 1u, short_threads, memory, sequence));
}

/* Launches what sorts the whole input, by one warp. */
template <typename Key, bool has_values,
		  template <typename, bool> class Partition>
static __global__ void __launch_bounds__(warp_threads)
start_sort(Memory<Key, has_values> memory, uint32_t n)
{
	launch_sort<Key, has_values, Partition>(memory, {0, n, 1, false});
}

/*
 * Launches what sorts the sides, by grids that are one deeper than "depth".
 * Called by all threads of a block when the gap has been filled, for the sides
 * use the memory that its values waited in.
 */
template <typename Key, bool has_values,
		  template <typename, bool> class Partition>
static __device__ __forceinline__ void
launch_sides(const Memory<Key, has_values> &memory,
			 const Outcome<Key> &outcome, uint32_t depth)
{
	const Sequence &sequence = outcome.sequence;
	const unsigned warp = threadIdx.x / warp_threads;
	uint32_t	end = sequence.begin + sequence.length;

	if (warp == 0)
		launch_sort<Key, has_values, Partition>(
			memory, {sequence.begin, outcome.less, depth + 1,
					 !sequence.in_spare});
	if (warp == 1)
		launch_sort<Key, has_values, Partition>(
			memory, {end - outcome.greater, outcome.greater, depth + 1,
					 !sequence.in_spare});
}

/* Fills a long gap, and sorts the sides. */
template <typename Key, bool has_values,
		  template <typename, bool> class Partition>
static __global__ void __launch_bounds__(gap_threads)
fill_gap(Memory<Key, has_values> memory, Outcome<Key> outcome)
{
	LastBlock  &shared = block_shared<LastBlock>();

	fill(memory, outcome, blockIdx.x * gap_threads + threadIdx.x,
		 gridDim.x * gap_threads);
	if (is_last_block(memory.progress_of(outcome.sequence), shared))
		launch_sides<Key, has_values, Partition>(memory, outcome,
												 outcome.sequence.depth + 1);
}

/* Partitions a sequence, and sorts what comes of it. */
template <typename Key, bool has_values,
		  template <typename, bool> class Partition>
static __global__ void
__launch_bounds__(Partition<Key, has_values>::threads,
				  Partition<Key, has_values>::blocks)
partition_sequence(Memory<Key, has_values> memory, Sequence sequence,
				   Key pivot)
{
	using Part = Partition<Key, has_values>;

	static_assert(Part::threads > warp_threads, "two warps launch");

	auto	   &shared = block_shared<PartitionShared<typename Part::Shared>>();
	Progress   &progress = memory.progress_of(sequence);

	Part::run({memory.items_of(sequence),
			   sequence.in_spare ? memory.sorted : memory.spare,
			   memory.equal_values, sequence.begin,
			   sequence.begin + sequence.length, pivot, &progress},
			  shared.part);
	if (!is_last_block(progress, shared.last))
		return;

	Outcome<Key> outcome = {sequence, pivot, shared.last.less,
		shared.last.greater};

	if (outcome.gap_length() > gap_block_items &&
		sequence.depth + 1 < max_depth)
	{
		if (threadIdx.x == 0)
			check_launch(memory, launch_child<LastBlock>(
				fill_gap<Key, has_values, Partition>,
				static_cast<unsigned>(divide_up(outcome.gap_length(),
												gap_block_items)),
				gap_threads, memory, outcome));
		return;
	}
	fill(memory, outcome, threadIdx.x, Part::threads);
	__syncthreads();
	launch_sides<Key, has_values, Partition>(memory, outcome, sequence.depth);
}

/*
 * Launches that may have to wait.  With the median of three, which is further
 * off, random keys take 12/7 * n / short_items partitionings (Sedgewick 1977)
 * and as many short sorts, so there is room for the whole of a sort.
 */
static inline size_t
pending_launches(uint32_t n)
{
	return 4 * divide_up(n, short_items);
}

template <typename Key, bool has_values,
		  template <typename, bool> class Partition>
struct Algorithm
{
	static size_t
	extra_bytes(uint32_t n)
	{
		return Memory<Key, has_values>().lay_out(nullptr, n);
	}

	static bool
	sort(const Queue &queue, Items<Key, has_values> items, uint32_t n,
		 void *extra)
	{
		Memory<Key, has_values> memory;
		uint32_t	failed = 0;

		if (n < 2)
			return true;
		memory.sorted = items;
		(void) memory.lay_out(extra, n);
		if (!allow_pending_launches(queue, pending_launches(n)) ||
			!queue.did(cudaMemsetAsync(memory.progress, 0,
									   memory.progress_entries(n) *
									   sizeof(Progress), queue.stream),
					   "clearing counters") ||
			!queue.did(cudaMemsetAsync(memory.failed_launches, 0,
									   sizeof(uint32_t), queue.stream),
					   "clearing a counter") ||
			!queue.launch("sorting", start_sort<Key, has_values, Partition>, 1,
						  warp_threads, memory, n) ||
			!queue.did(cudaMemcpyAsync(&failed, memory.failed_launches,
									   sizeof(failed), cudaMemcpyDeviceToHost,
									   queue.stream), "reading a counter") ||
			!queue.did(cudaStreamSynchronize(queue.stream), "sorting"))
			return false;
		return failed == 0 ||
			gpusort::refuse(queue.error, "a kernel could not launch another");
	}
};

}								/* namespace recursive_quicksort */
}								/* namespace lineage */

#endif							/* LINEAGE_DEVICE_LAUNCH */

#endif							/* GPUSORT_LINEAGE_RECURSIVE_QUICKSORT_CUH */
