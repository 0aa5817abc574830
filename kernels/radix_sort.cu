/*-------------------------------------------------------------------------
 *
 * radix_sort.cu
 *	  Sorting by CUB's radix sort, where few bits vary.
 *
 * The first pass, by the lowest digit, need not keep the order of the rows.  So
 * if the survey has counted that digit, a kernel here makes it: it reads keys,
 * where CUB would need pairs, and each block claims room for a tile's pairs of
 * each digit by one atomicAdd, as a partition does (partition.cuh).  CUB makes
 * the passes by the other digits.
 *
 * This is a file of its own, since CUB takes long to compile.
 *
 *-------------------------------------------------------------------------
 */
#include <climits>

#include <cub/device/device_radix_sort.cuh>

#include "block_scan.cuh"
#include "device.cuh"
#include "radix_sort.cuh"

namespace gpusort
{

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

struct DigitShared
{
	uint32_t	words[digit_tile_rows];
	uint16_t	numbers[digit_tile_rows];	/* of rows, in the tile */
	uint32_t	counts[radix_digits + 1];
	uint32_t	firsts[radix_digits];	/* the digit's first place of all */
	uint32_t	begins[radix_digits];	/* in the gathered tile */
	uint32_t	offsets[radix_digits];	/* from there to the destination */
	ScanShared<digit_threads> scan;
};

/* A thread's words of a tile: every digit_threads-th word. */
struct DigitItems
{
	uint32_t	words[digit_items];
	uint32_t	places[digit_items];	/* in the gathered tile */
	uint32_t	length;			/* of the tile */

	__device__ __forceinline__ void
	load(const FieldSource &source, uint32_t begin)
	{
		uint64_t	loaded[digit_items];

		if (length == digit_tile_rows)
			load_words_apart<digit_items, digit_threads>(source,
				begin + threadIdx.x, loaded);
		else
		{
#pragma unroll
			for (unsigned i = 0; i < digit_items; i++)
				loaded[i] = is_inside(i) ? source.word(begin + number(i)) : 0;
		}
#pragma unroll
		for (unsigned i = 0; i < digit_items; i++)
			words[i] = static_cast<uint32_t>(loaded[i]);
	}

	/*
	 * Ranks the words of each digit.  Words beyond the end of a tile that is
	 * not whole count for a digit that does not exist.
	 */
	__device__ __forceinline__ void
	rank(uint32_t *counts)
	{
#pragma unroll
		for (unsigned i = 0; i < digit_items; i++)
			places[i] = atomicAdd(&counts[is_inside(i) ? digit(words[i]) :
										  radix_digits], 1u);
	}

	/* Gathers the words by digit, with the numbers of their rows. */
	__device__ __forceinline__ void
	gather(DigitShared &shared)
	{
#pragma unroll
		for (unsigned i = 0; i < digit_items; i++)
			if (is_inside(i))
			{
				uint32_t	place = shared.begins[digit(words[i])] + places[i];

				shared.words[place] = words[i];
				shared.numbers[place] = static_cast<uint16_t>(number(i));
			}
	}

	static __device__ __forceinline__ uint32_t
	digit(uint32_t word)
	{
		return word & (radix_digits - 1);
	}

	/* The number in the tile of this thread's item i. */
	static __device__ __forceinline__ uint32_t
	number(unsigned i)
	{
		return i * digit_threads + threadIdx.x;
	}

	__device__ __forceinline__ bool
	is_inside(unsigned i) const
	{
		return number(i) < length;
	}
};

/*
 * Claims room for the tile's pairs of each digit, and lays the digits out in
 * the tile.  Called by all threads of the block, between two barriers.
 */
static __device__ __forceinline__ void
claim_digit_room(uint32_t *filled, DigitShared &shared)
{
	unsigned	digit = threadIdx.x;
	uint32_t	count = digit < radix_digits ? shared.counts[digit] : 0;
	uint32_t	begin = block_sum_before(count, shared.scan);

	if (digit >= radix_digits)
		return;
	shared.begins[digit] = begin;
	if (count != 0)
		shared.offsets[digit] = shared.firsts[digit] +
			atomicAdd(&filled[digit], count) - begin;
}

/*
 * Makes the pairs of all rows, ordered by the lowest digit of their words.
 * Blocks take tiles in turn.
 */
static __global__ void __launch_bounds__(digit_threads, digit_blocks)
scatter_digits(FieldSource source, uint32_t nrows, DigitCounts *digits,
			   uint32_t *words, uint32_t *rows)
{
	DigitShared &shared = block_shared<DigitShared>();
	uint64_t	step = static_cast<uint64_t>(gridDim.x) * digit_tile_rows;
	bool		is_digit = threadIdx.x < radix_digits;
	uint32_t	before = block_sum_before(
		is_digit ? digits->counts[threadIdx.x] : 0, shared.scan);

	if (is_digit)
		shared.firsts[threadIdx.x] = before;
	for (uint64_t first = static_cast<uint64_t>(blockIdx.x) * digit_tile_rows;
		 first < nrows; first += step)
	{
		uint32_t	begin = static_cast<uint32_t>(first);
		DigitItems	items;

		items.length = nrows - begin < digit_tile_rows ?
			nrows - begin : digit_tile_rows;
		__syncthreads();
		if (is_digit)
			shared.counts[threadIdx.x] = 0;
		items.load(source, begin);
		__syncthreads();
		if (threadIdx.x < warp_threads && first + step + digit_tile_rows <= nrows)
			source.prefetch(static_cast<uint32_t>(first + step),
							digit_tile_rows);
		items.rank(shared.counts);
		__syncthreads();
		claim_digit_room(digits->filled, shared);
		__syncthreads();
		items.gather(shared);
		__syncthreads();

		for (uint32_t place = threadIdx.x; place < items.length;
			 place += digit_threads)
		{
			uint32_t	word = shared.words[place];
			uint32_t	target = shared.offsets[DigitItems::digit(word)] + place;

			words[target] = word;
			rows[target] = begin + shared.numbers[place];
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

/* Bits of the words that are sorted by. */
struct BitRange
{
	unsigned	begin;
	unsigned	end;

	/* Moves of all pairs. */
	unsigned
	passes() const
	{
		return static_cast<unsigned>(divide_up(end - begin, 8));
	}
};

/*
 * Whether the first pass can be made by the digit that the survey has counted,
 * and the bits by which words are sorted then.  Not if the digit is not the
 * lowest, or if bits in between that do not vary would take more passes.
 */
static bool
knows_digit(const KeySurvey &survey, const WordPlan &plan, BitRange *bits)
{
	const Field &first = plan.fields[0];
	const Field &last = plan.fields[plan.nfields - 1];

	*bits = {0, static_cast<unsigned>(first.shift + first.width - last.shift)};
	return survey.window == last.shift + 1u && bits->end <= 32 &&
		bits->passes() == BitRange{0, plan.bits}.passes();
}

/* Bytes that CUB wants beside the arrays. */
template <typename Word>
static size_t
scratch_bytes(uint64_t nrows, const BitRange &bits)
{
	size_t		bytes = 0;
	cub::DoubleBuffer<Word> words;
	cub::DoubleBuffer<uint32_t> rows;

	if (cub::DeviceRadixSort::SortPairs(nullptr, bytes, words, rows,
										static_cast<int>(nrows),
										static_cast<int>(bits.begin),
										static_cast<int>(bits.end)) !=
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

/*
 * Makes the pairs of a plan, and the first pass of their sort, by the digit
 * that the survey has counted.
 */
static bool
make_first_pass(const Queue &queue, const Keys &keys, const WordPlan &plan,
				const Workspace &space, uint32_t *words, uint32_t *rows)
{
	FieldSource source(keys, plan);
	uint64_t	tiles = divide_up(keys.nrows, digit_tile_rows);
	uint64_t	resident = static_cast<uint64_t>(queue.multiprocessors) *
		digit_blocks;

	/* all of the plan's bits, and those in between */
	source.field.shift = plan.fields[plan.nfields - 1].shift;
	source.field.width = 32;
	return queue.launch<DigitShared>("making the first pass", scatter_digits,
									 tiles < resident ? tiles : resident,
									 digit_threads, source, keys.nrows,
									 space.digits, words, rows);
}

/*
 * Sorts by bits of a plan's words.  If the survey knows the first digit, these
 * are words of 32 bits and the first pass is not CUB's.
 */
template <typename Word>
static bool
sort_words(const Queue &queue, const Keys &keys, const WordPlan &plan,
		   bool is_first_known, BitRange bits, const Workspace &space,
		   const Order &order)
{
	uint32_t	nrows = keys.nrows;
	uint64_t	row_blocks = divide_up(nrows, simple_threads);
	Word	   *spare = sizeof(Word) == sizeof(uint64_t) ?
		reinterpret_cast<Word *>(space.pairs[1].words) :
		reinterpret_cast<Word *>(space.pairs[0].words) + nrows;
	void	   *scratch = sizeof(Word) == sizeof(uint64_t) ?
		static_cast<void *>(space.pairs[1].rows) :
		static_cast<void *>(space.pairs[1].words);
	cub::DoubleBuffer<Word> words(reinterpret_cast<Word *>(space.pairs[0].words),
								  spare);

	if (is_first_known)
		bits.begin = radix_digit_bits < bits.end ? radix_digit_bits : bits.end;

	/* so that an odd number of passes, one for 8 bits, ends in the order */
	bool		is_odd = bits.passes() % 2 != 0;
	size_t		bytes = scratch_bytes<Word>(nrows, bits);
	cub::DoubleBuffer<uint32_t> rows(is_odd ? space.pairs[0].rows : order.entries,
									 is_odd ? order.entries : space.pairs[0].rows);

	return (is_first_known ?
			make_first_pass(queue, keys, plan, space,
							reinterpret_cast<uint32_t *>(words.Current()),
							rows.Current()) :
			make_pairs(queue, keys, plan, words.Current(), rows.Current())) &&
		(bits.passes() == 0 ||
		 queue.did(cub::DeviceRadixSort::SortPairs(scratch, bytes, words, rows,
												   static_cast<int>(nrows),
												   static_cast<int>(bits.begin),
												   static_cast<int>(bits.end),
												   queue.stream),
				   "sorting by CUB")) &&
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
		scratch_bytes<uint32_t>(nrows, {0, bits}) <= nrows * sizeof(uint64_t) :
		scratch_bytes<uint64_t>(nrows, {0, bits}) <= nrows * sizeof(uint32_t);
}

bool
radix_sort(const Queue &queue, const Keys &keys, const KeySurvey &survey,
		   const WordPlan &plan, const Workspace &space, const Order &order)
{
	BitRange	bits = {0, plan.bits};
	BitRange	known;

	if (knows_digit(survey, plan, &known))
		return sort_words<uint32_t>(queue, keys, plan, true, known, space,
									order);
	return plan.bits <= 32 ?
		sort_words<uint32_t>(queue, keys, plan, false, bits, space, order) :
		sort_words<uint64_t>(queue, keys, plan, false, bits, space, order);
}

}								/* namespace gpusort */
