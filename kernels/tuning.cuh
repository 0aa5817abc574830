/*-------------------------------------------------------------------------
 *
 * tuning.cuh
 *	  The sizes the kernels are built with, all in one place.
 *
 * One set is for devices; the other is for the emulator of the unit tests,
 * where a few thousand rows shall already pass through every path: several
 * slabs, several levels, every class of leaf, several tiles of start bits.
 *
 * Threads are per block and multiples of a warp.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TUNING_CUH
#define GPUSORT_TUNING_CUH

#include <cuda_runtime.h>

#include <cstdint>

namespace gpusort
{

constexpr unsigned warp_threads = 32;
constexpr unsigned whole_warp = 0xffffffffu;

#ifdef CUDA_ON_CPU

constexpr unsigned slab_shift = 10;
constexpr unsigned partition_threads = 96;
constexpr unsigned partition_items = 3;
constexpr unsigned partition_blocks = 2;
constexpr unsigned medium_leaf_rows = 64;
constexpr unsigned medium_leaf_threads = 32;
constexpr unsigned large_leaf_rows = 256;
constexpr unsigned large_leaf_threads = 64;
constexpr unsigned simple_threads = 64;

#else

/* Keys are kept in slabs of 2^slab_shift words: 8 MiB. */
constexpr unsigned slab_shift = 20;

/*
 * A tile of 256 * 16 pairs takes 48 KiB of shared memory, so that four blocks
 * live on an SM of 227 KiB and some of them wait for memory while others
 * compute.  Larger tiles gain little with only two sides.
 */
constexpr unsigned partition_threads = 256;
constexpr unsigned partition_items = 16;
constexpr unsigned partition_blocks = 4;	/* resident on an SM */

/*
 * A leaf is sorted by log2(rows) * (log2(rows) + 1) / 2 steps in shared
 * memory.  Of one of 2048 rows the last doubling costs 11 steps for each of
 * its rows, about what one more level of partitioning costs.
 */
constexpr unsigned medium_leaf_rows = 256;
constexpr unsigned medium_leaf_threads = 64;
constexpr unsigned large_leaf_rows = 2048;
constexpr unsigned large_leaf_threads = 256;

/* Kernels in which every thread has one element and no neighbour. */
constexpr unsigned simple_threads = 256;

#endif

/* Rows of a partition's tile. */
constexpr unsigned tile_rows = partition_threads * partition_items;

/* Segments of up to so many rows are leaves; longer ones are partitioned. */
constexpr unsigned leaf_rows = large_leaf_rows;

/* Leaves of up to so many rows are sorted by one warp, in registers. */
constexpr unsigned tiny_leaf_rows = warp_threads;

/*
 * Levels launched before the host looks whether any segment is left.  A look
 * costs about as much as a level with nothing to do.
 */
constexpr unsigned levels_per_look = 4;

static_assert(partition_threads % warp_threads == 0, "whole warps");
static_assert(partition_threads >= 3 * warp_threads,
			  "less, greater and equal claim their room from three warps");
static_assert(tile_rows < 65536, "two counts of a tile share a word");
static_assert(leaf_rows < 65536, "a leaf's length has 16 bits");
static_assert((medium_leaf_rows & (medium_leaf_rows - 1)) == 0 &&
			  (large_leaf_rows & (large_leaf_rows - 1)) == 0,
			  "leaves are bounded by powers of two");

}								/* namespace gpusort */

#endif							/* GPUSORT_TUNING_CUH */
