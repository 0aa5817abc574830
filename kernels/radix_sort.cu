/*-------------------------------------------------------------------------
 *
 * radix_sort.cu
 *	  Radix sorts, where few bits vary: CUB's, and where it may be taken.
 *
 * If the survey has counted the digits of all bits that vary, the radix sort of
 * digit_sort.cu is taken instead.
 *
 * This is a file of its own, since CUB takes long to compile.
 *
 *-------------------------------------------------------------------------
 */
#include <climits>

#include <cub/device/device_radix_sort.cuh>

#include "device.cuh"
#include "digit_sort.cuh"
#include "radix_sort.cuh"

namespace gpusort
{

/* Bits that CUB sorts by in a pass. */
constexpr unsigned cub_digit_bits = 8;

/* Rows of which a thread makes pairs; several, so that their reads overlap. */
constexpr unsigned pairs_per_thread = 8;
constexpr unsigned pairs_per_block = pairs_per_thread * simple_threads;

/* Makes the working words of all rows, and the rows. */
template <typename Word, typename Source>
static __global__ void __launch_bounds__(simple_threads)
gather_pairs(const __grid_constant__ Source source, uint32_t nrows, Word *words,
			 uint32_t *rows)
{
	uint32_t	first = blockIdx.x * pairs_per_block + threadIdx.x;
	Word		own[pairs_per_thread];

#pragma unroll
	for (unsigned i = 0; i < pairs_per_thread; i++)
	{
		uint32_t	row = first + i * simple_threads;

		own[i] = static_cast<Word>(source.word(row < nrows ? row : nrows - 1));
	}
#pragma unroll
	for (unsigned i = 0; i < pairs_per_thread; i++)
	{
		uint32_t	row = first + i * simple_threads;

		if (row < nrows)
		{
			words[row] = own[i];
			rows[row] = row;
		}
	}
}

/* Marks every entry of the order whose word equals the one before. */
template <typename Word>
static __global__ void __launch_bounds__(simple_threads)
mark_equal(const Word *words, uint32_t nrows, Order order)
{
	uint32_t	place = blockIdx.x * simple_threads + threadIdx.x;

	if (place == 0 || place >= nrows || words[place] != words[place - 1])
		return;
	order.put(place, order.entries[place], true);
	order.note_ties(true);
}

/* Bytes that CUB wants beside the arrays. */
template <typename Word>
static size_t
scratch_bytes(uint64_t nrows, unsigned bits)
{
	size_t		bytes = 0;
	cub::DoubleBuffer<Word> words;
	cub::DoubleBuffer<uint32_t> rows;

	if (cub::DeviceRadixSort::SortPairs(nullptr, bytes, words, rows,
										static_cast<int>(nrows), 0,
										static_cast<int>(bits)) !=
		cudaSuccess)
		return SIZE_MAX;
	return bytes;
}

/* Makes the pairs of a plan. */
template <typename Word>
static bool
make_pairs(const Queue &queue, const Keys &keys, const WordPlan &plan,
		   Word *words, uint32_t *rows)
{
	uint64_t	blocks = divide_up(keys.nrows, pairs_per_block);

	return FieldSource::suffices(keys, plan) ?
		queue.launch("making pairs", gather_pairs<Word, FieldSource>, blocks,
					 simple_threads, FieldSource(keys, plan), keys.nrows,
					 words, rows) :
		queue.launch("making pairs", gather_pairs<Word, PlanSource>, blocks,
					 simple_threads, PlanSource{keys, plan}, keys.nrows,
					 words, rows);
}

/* Sorts by bits of a plan's words by CUB. */
template <typename Word>
static bool
sort_words(const Queue &queue, const Keys &keys, const WordPlan &plan,
		   const Workspace &space, const Order &order)
{
	uint32_t	nrows = keys.nrows;
	unsigned	bits = plan.bits;
	uint64_t	row_blocks = divide_up(nrows, simple_threads);
	Word	   *spare = sizeof(Word) == sizeof(uint64_t) ?
		reinterpret_cast<Word *>(space.pairs[1].words) :
		reinterpret_cast<Word *>(space.pairs[0].words) + nrows;
	void	   *scratch = sizeof(Word) == sizeof(uint64_t) ?
		static_cast<void *>(space.pairs[1].rows) :
		static_cast<void *>(space.pairs[1].words);
	cub::DoubleBuffer<Word> words(reinterpret_cast<Word *>(space.pairs[0].words),
								  spare);

	/* so that an odd number of passes, one for 8 bits, ends in the order */
	bool		is_odd = divide_up(bits, cub_digit_bits) % 2 != 0;
	size_t		bytes = scratch_bytes<Word>(nrows, bits);
	cub::DoubleBuffer<uint32_t> rows(is_odd ? space.pairs[0].rows : order.entries,
									 is_odd ? order.entries : space.pairs[0].rows);

	return make_pairs(queue, keys, plan, words.Current(), rows.Current()) &&
		queue.did(cub::DeviceRadixSort::SortPairs(scratch, bytes, words, rows,
												  static_cast<int>(nrows), 0,
												  static_cast<int>(bits),
												  queue.stream),
				  "sorting by CUB") &&
		(rows.Current() == order.entries ||
		 queue.did(cudaMemcpyAsync(order.entries, rows.Current(),
								   nrows * sizeof(uint32_t),
								   cudaMemcpyDeviceToDevice, queue.stream),
				   "copying the order")) &&
		(order.tie == 0 ||
		 queue.launch("marking ties", mark_equal<Word>, row_blocks,
					  simple_threads, words.Current(), nrows, order));
}

cudaError_t
probe_radix_sort(void)
{
	return probe_kernel(gather_pairs<uint32_t, PlanSource>);
}

bool
radix_sort_gains(uint64_t nrows, unsigned bits)
{
	return nrows > leaf_rows && bits <= radix_sort_bits;
}

bool
radix_sort_fits(uint64_t nrows, unsigned bits)
{
	if (nrows > INT_MAX)
		return false;
	return bits <= 32 ?
		scratch_bytes<uint32_t>(nrows, bits) <= nrows * sizeof(uint64_t) :
		scratch_bytes<uint64_t>(nrows, bits) <= nrows * sizeof(uint32_t);
}

bool
radix_sort_reports(const KeySurvey &survey, const WordPlan &plan,
				   uint64_t nrows, const Order &order)
{
	return order.tie == 0 && knows_digits(survey.window, plan, nrows);
}

bool
radix_sort(const Queue &queue, const Keys &keys, const KeySurvey &survey,
		   const WordPlan &plan, const Workspace &space, const Order &order,
		   SortReport *report)
{
	if (knows_digits(survey.window, plan, keys.nrows))
		return digit_sort(queue, keys, survey.window, plan, space, order,
						  report);
	return plan.bits <= 32 ?
		sort_words<uint32_t>(queue, keys, plan, space, order) :
		sort_words<uint64_t>(queue, keys, plan, space, order);
}

}								/* namespace gpusort */
