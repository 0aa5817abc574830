/*-------------------------------------------------------------------------
 *
 * order_check.cuh
 *	  The check of an order, the last thing that a job does before its keys are
 *	  gone.
 *
 * A wrong order is a wrong answer to a query, and nobody else would notice it.
 * So every order is read once more, and a job whose order is wrong fails like
 * one that ran out of memory: the rows are sorted elsewhere.  Two things are
 * checked.
 *
 * Every row is there once: this is checked for all entries.  The hashes of all
 * row numbers are added up, and the hashes of all places are subtracted,
 * modulo 2^64.  A permutation leaves 0.  The hash is the square of a scattered
 * number, and one to one, so a single wrong entry (a row that comes twice, or
 * does not exist) never leaves 0.  Several wrong entries would have to cancel
 * out.  Faults know nothing of the hash, so they do that about once in 2^63
 * times.  A bitmap of the rows seen would leave no chance at all, but takes an
 * atomic operation at a random place for each row: even where the bits fit
 * into the cache some 0.7 ms for 100 million rows, five times what reading
 * costs.  The hashes are 6 instructions a row, which hide behind the reading.
 * If no ties were asked for, the mark of a tie counts as a part of the row
 * number, so that a mark is found.
 *
 * Keys are in order, and ties are marked where they belong: this is checked
 * for up to checked_pairs pairs of neighbours.  If there are no more rows than
 * that, these are all pairs.  To compare all pairs of more rows would mean to
 * read all keys in sorted order, a sector of memory each, which takes a third
 * of the time of the sort.  So more rows are divided into checked_pairs
 * stretches of equal length, and one place in each stretch is checked.  The
 * place differs from stretch to stretch, so that no regular fault hides.  If a
 * share f of all neighbours is wrong, that goes unnoticed with probability (1
 * - f)^checked_pairs: with 2^16 pairs one time in 700 if it is every ten
 * thousandth pair.  So the check finds a partition, a level or a kernel that
 * goes wrong.  It mostly misses a single wrong leaf among 100 million rows;
 * gpusort.verify is for that.
 *
 * Predicted for one H100 at 3.0 TB/s: 100 million rows are 400 MB and take
 * 135 us, the pairs some 5 us of which most is waiting for memory three times
 * in a row, and the launch and reading the control block 8 us: 2.8% of a
 * sort of 8-byte keys in 5.23 ms.  10 million rows: 26 us of 668, 4%; 1 million:
 * 13 us of 179, 7%, nearly all of it the launch and that reading.
 *
 * Measured beside a build without it: 100 million rows 5.36 ms and 5.29, 1.2%,
 * as the memory of the keys is given back meanwhile (the kernel alone takes 148
 * us); 10 million 0.74 and 0.69; 1 million 0.226 and 0.200.
 *
 * Orders of keys that were in order already are not checked, as the check would
 * take as long as writing the order.  Nor are those of CUB's radix sort, nor those
 * of the other one if ties are marked.  Else the last pass of a radix sort checks
 * that every row is there once, while it writes them (digit_pass.cuh).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ORDER_CHECK_CUH
#define GPUSORT_ORDER_CHECK_CUH

#include "order_hash.cuh"
#include "sorted_keys.cuh"

namespace gpusort
{

/* Entries that are read together. */
constexpr unsigned quad_entries = 4;

struct alignas(quad_entries * sizeof(uint32_t)) EntryQuad
{
	uint32_t	entries[quad_entries];
};

/* Quads that each thread reads before it uses the first. */
constexpr unsigned check_quads = 4;

constexpr unsigned check_tile_rows =
	simple_threads * check_quads * quad_entries;

struct OrderCheckShared
{
	OrderCheck	found;
};

/*
 * The excess of this thread's entries of those from "first" to "end", of which
 * the block's threads take turns: the hashes of their rows less those of their
 * places.
 */
template <unsigned threads>
static __device__ __forceinline__ uint64_t
excess_of_entries(const uint32_t *order, uint32_t row_bits, uint32_t first,
				  uint32_t end)
{
	uint64_t	of_rows = 0;
	uint64_t	of_places = 0;

	for (uint32_t place = first + threadIdx.x; place < end; place += threads)
	{
		add_hash(of_rows, order[place] & row_bits);
		add_hash(of_places, place);
	}
	return of_rows - of_places;
}

/* The same for the tile that begins at "first". */
static __device__ __forceinline__ uint64_t
excess_of_tile(const uint32_t *order, uint32_t nrows, uint32_t row_bits,
			   uint32_t first)
{
	const EntryQuad *quads = reinterpret_cast<const EntryQuad *>(order + first);
	EntryQuad	own[check_quads];
	uint64_t	of_rows = 0;
	uint64_t	of_places = 0;

	if (nrows - first < check_tile_rows)
		return excess_of_entries<simple_threads>(order, row_bits, first, nrows);
#pragma unroll
	for (unsigned i = 0; i < check_quads; i++)
		own[i] = quads[i * simple_threads + threadIdx.x];
#pragma unroll
	for (unsigned i = 0; i < check_quads; i++)
		for (unsigned item = 0; item < quad_entries; item++)
		{
			unsigned	quad = i * simple_threads + threadIdx.x;

			add_hash(of_rows, own[i].entries[item] & row_bits);
			add_hash(of_places, first + quad * quad_entries + item);
		}
	return of_rows - of_places;
}

/* The place whose entry is compared with the one before it, by sample. */
static __device__ __forceinline__ uint32_t
checked_place(uint32_t sample, uint32_t nrows)
{
	constexpr unsigned fraction_bits = 16;
	uint64_t	fraction = scatter_number(sample) >> (32 - fraction_bits);
	uint64_t	point = static_cast<uint64_t>(sample) << fraction_bits |
		fraction;
	constexpr uint64_t end = static_cast<uint64_t>(checked_pairs) <<
		fraction_bits;

	return nrows <= checked_pairs ? sample :
		static_cast<uint32_t>(point * nrows / end);
}

/*
 * Whether the entry at a place cannot come after the one before it.  Entries
 * may have any values: only keys of rows that exist are read.
 */
static __device__ __forceinline__ bool
is_misplaced(const SortedKeys &sorted, const uint32_t *order, bool want_ties,
			 uint32_t place)
{
	uint32_t	entry = order[place];
	uint32_t	before = ORDER_ROW(place > 0 ? order[place - 1] : 0);
	bool		is_tie = (entry & ORDER_TIE) != 0;
	int			comparison;

	if (ORDER_ROW(entry) >= sorted.keys.nrows || before >= sorted.keys.nrows)
		return true;
	comparison = place > 0 ?
		sorted.compare(before, ORDER_ROW(entry), place) : -1;
	return comparison > 0 || is_tie != (want_ties && comparison == 0);
}

/*
 * Whether any entry of this thread's samples is misplaced: those from "first"
 * on, "step" apart.
 */
static __device__ __forceinline__ bool
has_misplaced(const SortedKeys &sorted, const uint32_t *order, bool want_ties,
			  uint32_t first, uint32_t step)
{
	uint32_t	nrows = sorted.keys.nrows;
	uint32_t	samples = nrows < checked_pairs ? nrows : checked_pairs;
	bool		found = false;

	for (uint32_t sample = first; sample < samples; sample += step)
		found |= is_misplaced(sorted, order, want_ties,
							  checked_place(sample, nrows));
	return found;
}

/*
 * Adds the findings of all threads of a block to "found" in shared memory, and
 * these to *check.  "found" is 0 before, with a barrier in between.
 */
static __device__ __forceinline__ void
add_findings(uint64_t excess, bool has_disorder, OrderCheck &found,
			 OrderCheck *check)
{
	using Sum = unsigned long long;

	excess = warp_sum(excess);
	if (warp_lane() == 0)
		atomicAdd(reinterpret_cast<Sum *>(&found.excess),
				  static_cast<Sum>(excess));
	if (has_disorder)
		found.disorder = 1;
	__syncthreads();

	if (threadIdx.x == 0)
	{
		atomicAdd(reinterpret_cast<Sum *>(&check->excess),
				  static_cast<Sum>(found.excess));
		if (found.disorder != 0)
			check->disorder = 1;
	}
}

/* Checks an order; blocks take tiles in turn. */
static __global__ void __launch_bounds__(simple_threads)
check_entries(SortedKeys sorted, const uint32_t *order, bool want_ties,
			  OrderCheck *check)
{
	OrderCheck &found = block_shared<OrderCheckShared>().found;
	uint32_t	nrows = sorted.keys.nrows;
	uint32_t	row_bits = want_ties ? ~ORDER_TIE : ~0u;
	bool		has_disorder;
	uint64_t	excess = 0;

	if (threadIdx.x == 0)
		found = {0, 0};
	__syncthreads();

	has_disorder = has_misplaced(sorted, order, want_ties,
								 blockIdx.x * simple_threads + threadIdx.x,
								 gridDim.x * simple_threads);
	for (uint64_t first = static_cast<uint64_t>(blockIdx.x) * check_tile_rows;
		 first < nrows;
		 first += static_cast<uint64_t>(gridDim.x) * check_tile_rows)
		excess += excess_of_tile(order, nrows, row_bits,
								 static_cast<uint32_t>(first));
	add_findings(excess, has_disorder, found, check);
}

/*
 * Puts the check of an order on the queue.  It adds its findings to *check, in
 * device memory; the keys must be known not to be broken.
 */
static inline bool
check_order(const Queue &queue, const SortedKeys &sorted, bool want_ties,
			const uint32_t *order, OrderCheck *check)
{
	constexpr unsigned blocks_on_sm = 8;
	uint64_t	tiles = divide_up(sorted.keys.nrows, check_tile_rows);
	uint64_t	resident = static_cast<uint64_t>(queue.multiprocessors) *
		blocks_on_sm;

	return queue.launch<OrderCheckShared>("checking the order", check_entries,
										  tiles < resident ? tiles : resident,
										  simple_threads, sorted, order,
										  want_ties, check);
}

}								/* namespace gpusort */

#endif							/* GPUSORT_ORDER_CHECK_CUH */
