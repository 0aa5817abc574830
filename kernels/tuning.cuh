/*-------------------------------------------------------------------------
 *
 * tuning.cuh
 *	  The sizes with which the kernels are built, all in one place.
 *
 * One set is for devices.  The other is for the emulator of the unit tests,
 * where a few thousand rows must pass through every path: several slabs,
 * several levels, every class of leaf, several tiles of start bits.
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
constexpr unsigned max_log_buckets = 4;
constexpr unsigned digit_threads = 256;
constexpr unsigned digit_items = 6;
constexpr unsigned medium_digit_items = 5;
constexpr unsigned few_digit_items = 4;
constexpr uint64_t most_medium_digit_rows = 6000;
constexpr uint64_t most_few_digit_rows = 3500;
constexpr unsigned look_back_tiles = 2;

static constexpr unsigned
digit_blocks(unsigned)
{
	return 2;
}

constexpr unsigned splitter_threads = 64;
constexpr unsigned samples_per_bucket = 8;
constexpr unsigned small_leaf_rows = 64;
constexpr unsigned small_leaf_threads = 32;
constexpr unsigned medium_leaf_rows = 128;
constexpr unsigned medium_leaf_threads = 64;
constexpr unsigned large_leaf_rows = 192;
constexpr unsigned large_leaf_threads = 64;
constexpr unsigned huge_leaf_rows = 256;
constexpr unsigned huge_leaf_threads = 64;
constexpr unsigned leaf_sm_threads = 64;
constexpr unsigned huge_leaf_blocks = 1;
constexpr unsigned most_spread_buckets = 128;
constexpr unsigned crowded_rows = 6;
constexpr unsigned most_rows_for_warp = 40;
constexpr unsigned wanted_leaf_rows = 48;
constexpr unsigned acceptable_leaf_rows = 160;
constexpr unsigned simple_threads = 64;
constexpr unsigned checked_pairs = 512;
constexpr unsigned lane_item_bits = 2;
constexpr unsigned part_bits = 8;
constexpr unsigned part_threads = 64;
constexpr unsigned part_blocks = 2;
constexpr unsigned part_coalesced_bits = 2;
constexpr unsigned kept_buffer_words = 300;
constexpr unsigned joint_threads = 64;
constexpr unsigned joint_items = 4;
constexpr unsigned joint_bucket_rows = 8;
constexpr unsigned max_log_joint_buckets = 6;
constexpr unsigned max_few_slabs = 4;
constexpr unsigned few_leaf_rows = 192;
constexpr unsigned max_ranged_blocks = 2;
constexpr unsigned ranged_rows = 32;
constexpr unsigned ranged_items = 2;
constexpr unsigned report_looks = 1;
constexpr uint64_t most_narrow_joint_rows = 300;

#else

/* Keys are kept in slabs of 2^slab_shift words: 8 MiB. */
constexpr unsigned slab_shift = 20;

/*
 * Two blocks live on an SM, with 80 registers for each of their threads, so that
 * a thread looks for the buckets of all its words at the same time.  A tile of
 * 384 * 16 pairs takes 86 KB of shared memory, and has 24 rows for each of 256
 * buckets.  Milliseconds to scatter 100 million uniform pairs on an H200, level 1
 * and 2, and of the whole sort:
 *
 *		512 * 16		0.98	1.08	4.55
 *		512 * 12		1.02	1.05	4.45
 *		384 * 16		0.98	1.02	4.34
 */
constexpr unsigned partition_threads = 384;
constexpr unsigned partition_items = 16;
constexpr unsigned partition_blocks = 2;	/* resident on an SM */
constexpr unsigned max_log_buckets = 8;

/*
 * The tiles of a pass of a radix sort.  Milliseconds to sort 100 million keys of
 * 4 bytes on an H200, uniform and zipf, by items and blocks:
 *
 *		16, 4		2.78	2.74
 *		20, 3		2.78	2.46
 *		24, 3		2.66	2.38
 *
 * Of fewer rows smaller tiles keep more of the device busy.  Uniform keys:
 *
 *				1M		2M		2.7M	3.3M	4M		10M
 *		16, 4	0.077	0.127	0.140	0.152	0.170
 *		20, 3	0.084	0.109	0.131	0.156	0.174	0.364
 *		24, 3	0.088	0.116	0.139	0.164	0.167	0.357
 */
constexpr unsigned digit_threads = 256;
constexpr unsigned digit_items = 24;
constexpr unsigned medium_digit_items = 20;
constexpr unsigned few_digit_items = 16;
constexpr uint64_t most_medium_digit_rows = 3700000;
constexpr uint64_t most_few_digit_rows = 1800000;

/* Blocks of a pass that are resident on an SM. */
static constexpr __host__ __device__ unsigned
digit_blocks(unsigned items)
{
	return items <= 16 ? 4 : 3;
}

/* Tiles whose counts a pass reads at once when it looks back. */
constexpr unsigned look_back_tiles = 4;

/*
 * With 16 samples for each bucket the lengths of buckets spread by a quarter
 * around their mean (one standard deviation); the longest of 256 has twice the
 * mean.
 */
constexpr unsigned samples_per_bucket = 16;
constexpr unsigned splitter_threads = 512;

constexpr unsigned small_leaf_rows = 512;
constexpr unsigned small_leaf_threads = 128;
constexpr unsigned medium_leaf_rows = 2048;
constexpr unsigned medium_leaf_threads = 256;
constexpr unsigned large_leaf_rows = 4096;
constexpr unsigned large_leaf_threads = 512;
constexpr unsigned huge_leaf_rows = 7168;
constexpr unsigned huge_leaf_threads = 1024;

/*
 * Threads on an SM that sort leaves, with 64 registers for each: with 48 or 40 a
 * thread keeps some of its pairs in memory, and 100 million rows take 0.12 and
 * 0.24 ms longer on an H200.  Of the largest leaves two are sorted at a time.
 */
constexpr unsigned leaf_sm_threads = 1024;
constexpr unsigned huge_leaf_blocks = 2;

/* With 4096 buckets and 7168 rows two blocks live on an SM. */
constexpr unsigned most_spread_buckets = 4096;

/* Rows of a bucket in a leaf that are compared each with each. */
constexpr unsigned crowded_rows = 32;

/* One warp sorts more rows of a bucket, up to this many. */
constexpr unsigned most_rows_for_warp = 512;

/*
 * Segments are split into leaves of this many rows, or, where that saves a
 * level, of up to acceptable_leaf_rows.
 */
constexpr unsigned wanted_leaf_rows = 1536;
constexpr unsigned acceptable_leaf_rows = 4096;

/* Kernels in which every thread has one element and no neighbour. */
constexpr unsigned simple_threads = 256;

/* The most pairs of neighbours in an order whose keys its check compares. */
constexpr unsigned checked_pairs = 1u << 16;

/* In a bitonic network a lane has 2^lane_item_bits items in registers. */
constexpr unsigned lane_item_bits = 3;

/*
 * A sort in place has parts of 2^part_bits pairs: 96 KiB, so that two live on
 * an SM, with 64 registers for each of their threads.  A part consists of
 * sequences of 2^part_coalesced_bits pairs: 64 bytes of row numbers.
 */
constexpr unsigned part_bits = 13;
constexpr unsigned part_threads = 512;
constexpr unsigned part_blocks = 2;	/* resident on an SM */
constexpr unsigned part_coalesced_bits = 4;

/* Words of keys that are gathered to be copied to the host at once: 1 MiB. */
constexpr unsigned kept_buffer_words = 1u << 17;

/*
 * In the sort in one launch a block has joint_threads * joint_items rows in
 * registers, so that 132 blocks take 1,081,344 rows.  With 64 registers a
 * thread one block lives on an SM.  Milliseconds of device_sort_perform() on an
 * H200, uniform keys, medians of 21, before and with it:
 *
 *				32 bits				64 bits				4 words
 *		rows	before	with		before	with		before	with
 *		10k		0.085	0.065		0.099	0.064		0.147	0.065
 *		100k	0.097	0.073		0.105	0.073		0.163	0.079
 *		300k	0.107	0.081		0.116	0.082		0.185	0.103
 *		1M		0.129	0.115		0.191	0.117		0.257	0.135
 */
constexpr unsigned joint_threads = 1024;
constexpr unsigned joint_items = 8;

/* The most rows that a bucket of it has on average, if buckets are enough. */
constexpr unsigned joint_bucket_rows = 640;
constexpr unsigned max_log_joint_buckets = 10;

/* A leaf of up to this many rows is sorted with fewer items a thread. */
constexpr unsigned few_leaf_rows = 3072;

/*
 * Up to max_ranged_blocks * ranged_rows are sorted by ranges, with ranged_rows
 * in a range on average.  A thread reads ranged_items words together.
 */
constexpr unsigned max_ranged_blocks = 64;
constexpr unsigned ranged_rows = 512;
constexpr unsigned ranged_items = 4;

/* How often the host looks for the report before it waits: some 100 us. */
constexpr unsigned report_looks = 100000;

/*
 * With more rows a radix sort is faster, if few bits vary and ties are not asked
 * for.  Milliseconds on an H200, in one launch and by passes:
 *
 *		rows	4 digits		3 digits
 *		500k	0.072	0.066	0.076	0.057
 *		700k	0.077	0.079	0.084	0.068
 *		1M		0.095	0.077	0.100	0.063
 */
constexpr uint64_t most_narrow_joint_rows = 750000;

/*
 * Slabs whose table a kernel takes as a parameter, that of a sort in one launch and
 * the survey: 2 million keys of 16 words.
 */
constexpr unsigned max_few_slabs = 32;

#endif

/*
 * A radix sort is taken for keys of which up to this many bits vary.  With CUB's,
 * milliseconds of device_sort_perform() on an H100, uniform keys, medians of
 * 5:
 *
 *				32 bits					64 bits
 *		rows	quicksort	radix		quicksort	radix
 *		100k	0.127		0.117		0.123		0.166
 *		300k	0.139		0.127		0.139		0.174
 *		1M		0.198		0.144		0.186		0.266
 *		3M		0.304		0.261		0.294		0.475
 *		10M		0.699		0.546		0.665		1.184
 *		30M		1.851		1.368		1.711		3.236
 *		268M	17.23		11.17		15.96		27.85
 *
 * In between, the time of a radix sort grows with the digits of 8 bits, in
 * words of twice the size, so there is no other crossing.  Few keys of fixed
 * width are sorted in one launch instead, see key_sort.cu.
 */
constexpr unsigned radix_sort_bits = 32;

/*
 * The digits of a radix sort have 8 bits, or 9 where that takes a pass less: for
 * 9, 17, 18, and 25 to 27 bits.
 */
constexpr unsigned digit_bits = 8;
constexpr unsigned wide_digit_bits = 9;
constexpr unsigned max_digits = 4;
constexpr unsigned max_digit_values = 1u << wide_digit_bits;
constexpr unsigned max_digit_counts = 3 * max_digit_values; /* of all digits */

/* Keys of each push by which the host guesses which bits vary. */
constexpr unsigned pushed_samples = 64;

/* The most sorts that have a seat at a time, of all devices. */
constexpr unsigned sort_seats = 64;

/* Words that a thread surveys before its warp reduces the findings. */
constexpr unsigned survey_words = 16;
constexpr unsigned survey_blocks = 4;	/* resident on an SM */

/* Rows of a tile of the survey, where keys are one word. */
constexpr unsigned survey_tile_rows = survey_words * simple_threads;

/* Rows of a partition's tile. */
constexpr unsigned tile_rows = partition_threads * partition_items;

/* The fewest rows of a radix sort by passes: a whole tile of the smallest. */
constexpr unsigned least_digit_rows = digit_threads * few_digit_items;

/* The most buckets that a segment is split into. */
constexpr unsigned max_buckets = 1u << max_log_buckets;

/* Segments of up to this many rows are leaves; longer ones are partitioned. */
constexpr unsigned leaf_rows = huge_leaf_rows;

/*
 * If buckets have this many rows on average, it is as good as certain that all
 * are leaves.  Their lengths are distributed as the sum of 16 exponential
 * variables, one for each sample of a bucket.  Once in 39 million a bucket has
 * three times the mean or more.
 */
constexpr unsigned sure_leaf_rows = leaf_rows / 3;

/* One warp sorts leaves of up to this many rows, in registers. */
constexpr unsigned tiny_leaf_rows = warp_threads;

/*
 * Up to this many rows one level splits into leaves that are few enough for
 * the device to sort all at the same time.
 */
constexpr unsigned few_rows = max_buckets * acceptable_leaf_rows;

/* The most levels that are launched before the host reads the control block. */
constexpr unsigned max_levels_per_read = 4;

static_assert(partition_threads % warp_threads == 0, "whole warps");
static_assert(max_buckets <= 256, "a bucket's number is a byte");
static_assert(digit_threads == 1u << digit_bits, "a thread for each value");
static_assert(2 * max_digit_values <= least_digit_rows,
			  "the states of a tile take less room than its rows");
static_assert(max_buckets <= partition_threads, "a thread for each bucket");
static_assert(max_buckets <= simple_threads, "a thread for each bucket");
static_assert(tile_rows <= 1u << 16, "a rank in a tile has 16 bits");
static_assert(leaf_rows < 65536, "a leaf's length has 16 bits");

}								/* namespace gpusort */

#endif							/* GPUSORT_TUNING_CUH */
