/*-------------------------------------------------------------------------
 *
 * key_survey.cuh
 *	  What a sort needs to know of the keys beforehand: which of their bits
 *	  vary, and whether the keys are in order already.
 *
 * The survey is one pass over the keys.  A sort has to compare only the bits
 * that are set in some keys and not in others (WordPlan).  If no key is less
 * than the one before, or none is greater, there is nothing to sort.  (Sorting
 * by few bits is in the radix sort of Satish, Harris and Garland 2009; testing
 * for order first is in Chen et al.  2009, section 3.4.)
 *
 * The ends of keys come from another process, and a wrong end would make a
 * kernel read where nothing is and cost every job its context.  So the ends
 * are checked here, before any other use.
 *
 * If keys are one word, and a sample shows which bits are likely to vary, the
 * pass also counts the digits of these bits for a radix sort, which would have
 * to read all keys for that.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_KEY_SURVEY_CUH
#define GPUSORT_KEY_SURVEY_CUH

#include "key_words.cuh"
#include "sort_seats.cuh"
#include "warp_sort.cuh"

namespace gpusort
{

static_assert(slab_words % survey_tile_rows == 0, "tiles end where slabs do");

/* A few keys, one a thread. */
struct SurveySample
{
	uint64_t	any;			/* as of all keys, see KeySurvey */
	uint64_t	all_but;
	bool		falls;
	bool		rises;
};

struct SurveyShared
{
	KeySurvey	found;
	uint32_t	digits[max_digit_counts];	/* by digit, and its values */
	SurveySample sample;
	bool		is_last;
};

constexpr unsigned survey_counters = sizeof(KeySurvey) / sizeof(uint32_t);

/* Sets the bits of all lanes in *sum. */
static __device__ __forceinline__ void
add_bits(uint64_t *sum, uint64_t bits)
{
	for (unsigned distance = warp_threads / 2; distance > 0; distance /= 2)
		bits |= __shfl_xor_sync(whole_warp, bits, distance);
	if (warp_lane() == 0)
		atomicOr(reinterpret_cast<unsigned long long *>(sum),
				 static_cast<unsigned long long>(bits));
}

static __device__ __forceinline__ unsigned
warp_max(unsigned number)
{
	for (unsigned distance = warp_threads / 2; distance > 0; distance /= 2)
	{
		unsigned	other = __shfl_xor_sync(whole_warp, number, distance);

		number = other > number ? other : number;
	}
	return number;
}

/* Whether a row's ends are wrong: no key can be there. */
static __device__ __forceinline__ bool
is_broken_key(const Keys &keys, uint32_t row)
{
	uint64_t	begin = keys.begin(row);
	uint64_t	end = keys.end(row);

	return begin >= end || end > keys.nwords ||
		end - begin > KEY_MAX_WORDS ||
		(row == keys.nrows - 1 && end != keys.nwords);
}

/* Counts the digits of a word, given the bits of a digit. */
template <unsigned bits>
static __device__ __forceinline__ void
count_digits_of(uint32_t word, unsigned digits, uint32_t *counts)
{
	constexpr uint32_t values = 1u << bits;

#pragma unroll
	for (unsigned digit = 0; digit < max_digits; digit++)
		if (digit < digits)
			atomicAdd(&counts[digit * values +
							  (word >> (digit * bits) & (values - 1))], 1u);
}

/* Counts the digits that a window shows of a word. */
static __device__ __forceinline__ void
count_digits(uint64_t word, const BitWindow &window, uint32_t *counts)
{
	uint32_t	shown = static_cast<uint32_t>(word >> window.shift);

	if (window.digit_bits == digit_bits)
		count_digits_of<digit_bits>(shown, window.digits, counts);
	else
		count_digits_of<wide_digit_bits>(shown, window.digits, counts);
}

/* The place of the highest bit that is set, of at least one. */
static __device__ __forceinline__ unsigned
highest_bit(uint64_t bits)
{
	return 63 - static_cast<unsigned>(__clzll(static_cast<long long>(bits)));
}

/*
 * Guesses, from the same sample in each block, a window that has all bits of
 * keys of one word that vary.  There is none if the keys seem to be in order.
 * Called by all threads of the block after a barrier.
 */
static __device__ __forceinline__ BitWindow
guess_window(const Keys &keys, SurveySample &sample)
{
	uint64_t	word = keys.words[static_cast<uint64_t>(keys.nrows) *
								  threadIdx.x / simple_threads];
	uint64_t	before = __shfl_up_sync(whole_warp, word, 1);

	add_bits(&sample.any, word);
	add_bits(&sample.all_but, ~word);
	if (word < before)
		sample.falls = true;
	if (word > before)
		sample.rises = true;
	__syncthreads();

	uint64_t	varying = sample.any & sample.all_but;

	if (!sample.falls || !sample.rises)
		return {0, 0, 0};

	unsigned	shift = highest_bit(varying & (0 - varying));
	unsigned	width = highest_bit(varying) + 1 - shift;
	unsigned	digits = (width + digit_bits - 1) / digit_bits;
	unsigned	wide_digits = (width + wide_digit_bits - 1) / wide_digit_bits;

	if (width > 32)
		return {0, 0, 0};
	return wide_digits < digits ?
		BitWindow{shift, wide_digits, wide_digit_bits} :
		BitWindow{shift, digits, digit_bits};
}

/* A thread's findings about its rows, beside bits. */
struct RowFindings
{
	bool		falls;
	bool		rises;
	bool		repeats;
	bool		is_broken;
};

/*
 * Compares a row to the one before, given the first words of both that count,
 * and the number of the word after these.
 */
static __device__ __forceinline__ void
compare_to_previous(const Keys &keys, uint32_t row, uint64_t word,
					uint64_t previous, unsigned next, RowFindings &findings)
{
	if (word == previous)
	{
		int			comparison = keys.compare(row, row - 1, next);

		findings.falls |= comparison < 0;
		findings.rises |= comparison > 0;
		findings.repeats |= comparison == 0;
	}
	findings.falls |= word < previous;
	findings.rises |= word > previous;
}

/* Surveys a row's first word, and compares the row to the one before. */
static __device__ __forceinline__ void
survey_row(const Keys &keys, uint32_t row, RowFindings &findings,
		   uint64_t &any, uint64_t &all_but, unsigned &most_words)
{
	if (keys.fixed_words == 0)
	{
		if (is_broken_key(keys, row) ||
			(row > 0 && is_broken_key(keys, row - 1)))
		{
			findings.is_broken = true;
			return;
		}

		unsigned	words = static_cast<unsigned>(keys.end(row) -
												  keys.begin(row));

		most_words = words > most_words ? words : most_words;
	}

	uint64_t	word = keys.words[keys.begin(row)];

	any |= word;
	all_but |= ~word;
	if (row > 0)
		compare_to_previous(keys, row, word, keys.words[keys.begin(row - 1)],
							1, findings);
}

/* Words that are read together. */
struct alignas(2 * sizeof(uint64_t)) WordPair
{
	uint64_t	first;
	uint64_t	second;
};

/* Whether the rows from "first" to "end" are a tile for the next function. */
static __device__ __forceinline__ bool
is_whole_tile(const Keys &keys, uint64_t first, uint64_t end)
{
	return keys.fixed_words == 1 && end - first == survey_tile_rows &&
		first % survey_tile_rows == 0;
}

/*
 * Surveys a tile of rows from "first" on whose keys are one word and lie in
 * one slab, and counts their digits if there is a window.  Each word is read
 * once: a warp has neighbouring words, and a lane gets the word before its own
 * from another lane.
 */
static __device__ __forceinline__ void
survey_whole_tile(const Keys &keys, uint64_t first, const BitWindow &window,
				  uint32_t *digits, RowFindings &findings,
				  uint64_t &any, uint64_t &all_but)
{
	constexpr unsigned warp_words = survey_words * warp_threads;

	uint64_t	warp_first = first + threadIdx.x / warp_threads * warp_words;
	const uint64_t *words = keys.words.address(warp_first);
	WordPair	pairs[survey_words / 2];
	bool		is_first = warp_first == 0 && warp_lane() == 0;
	uint64_t	last;			/* word of those before */

#pragma unroll
	for (unsigned i = 0; i < survey_words / 2; i++)
		pairs[i] = reinterpret_cast<const WordPair *>(words)
			[i * warp_threads + warp_lane()];
	last = warp_first == 0 ? words[0] : keys.words[warp_first - 1];

#pragma unroll
	for (unsigned i = 0; i < survey_words / 2; i++)
	{
		const WordPair &pair = pairs[i];
		bool		is_last_lane = warp_lane() == warp_threads - 1;
		uint64_t	before = __shfl_sync(whole_warp,
										 is_last_lane ? last : pair.second,
										 (warp_lane() - 1) % warp_threads);

		any |= pair.first | pair.second;
		all_but |= ~(pair.first & pair.second);
		findings.falls |= pair.first < before || pair.second < pair.first;
		findings.rises |= pair.first > before || pair.second > pair.first;
		findings.repeats |= (pair.first == before && !(i == 0 && is_first)) ||
			pair.second == pair.first;
		last = pair.second;

		if (window.digits != 0)
		{
			count_digits(pair.first, window, digits);
			count_digits(pair.second, window, digits);
		}
	}
}

/* Keys by their tables, one of few slabs that is still to be stored, or both. */
struct SurveyedKeys
{
	Keys		keys;
	FewSlabs	few;

	/* Stores the table of few slabs, for other kernels. */
	__device__ __forceinline__ void
	store_table() const
	{
		if (blockIdx.x == 0 && threadIdx.x < few.count)
			const_cast<uint64_t **>(keys.words.slabs)[threadIdx.x] =
				few.slabs[threadIdx.x];
	}

	__device__ __forceinline__ Keys
	view() const
	{
		Keys		view = keys;

		if (few.count > 0)
			view.words.slabs = few.slabs;
		return view;
	}
};

static_assert(max_few_slabs <= simple_threads, "a thread for each slab");

/* Reports the survey that all blocks have made. */
static __device__ __forceinline__ void
report_survey(const KeySurvey &survey, SortReport *report)
{
	const volatile uint32_t *from =
		reinterpret_cast<const volatile uint32_t *>(&survey);
	uint32_t   *to = reinterpret_cast<uint32_t *>(&report->survey);

	for (unsigned i = threadIdx.x; i < survey_counters; i += simple_threads)
		to[i] = from[i];
	__threadfence_system();
	__syncthreads();
	if (threadIdx.x == 0)
		report->is_surveyed = 1;
}

/*
 * Surveys all keys.  A block takes rows_per_thread rows for each thread at a
 * time.  This should be fewer with long keys, so that what is read for the
 * first word is still in the cache for the last.  Digits are counted only if
 * keys are one word.
 */
template <bool counts_digits>
static __global__ void __launch_bounds__(simple_threads, survey_blocks)
survey_keys(const __grid_constant__ SurveyedKeys surveyed,
			unsigned rows_per_thread, Counters *counters, SortReport *report)
{
	SurveyShared &shared = block_shared<SurveyShared>();
	KeySurvey  &found = shared.found;
	Keys		keys = surveyed.view();
	BitWindow	window = {0, 0, 0};
	uint64_t	step = static_cast<uint64_t>(rows_per_thread) * simple_threads;
	RowFindings findings = {false, false, false, false};

	surveyed.store_table();
	for (unsigned i = threadIdx.x; i < survey_counters; i += simple_threads)
		reinterpret_cast<uint32_t *>(&found)[i] = 0;
	for (unsigned i = threadIdx.x; counts_digits && i < max_digit_counts;
		 i += simple_threads)
		shared.digits[i] = 0;
	if (threadIdx.x == 0)
		shared.sample = {0, 0, false, false};
	__syncthreads();
	if (counts_digits)
		window = guess_window(keys, shared.sample);

	for (uint64_t first = blockIdx.x * step; first < keys.nrows;
		 first += gridDim.x * step)
	{
		uint64_t	end = first + step < keys.nrows ? first + step : keys.nrows;
		uint64_t	any = 0;
		uint64_t	all_but = 0;
		unsigned	most_words = keys.fixed_words;

		if (is_whole_tile(keys, first, end))
			survey_whole_tile(keys, first, window, shared.digits, findings, any,
							  all_but);
		else
			for (uint64_t row = first + threadIdx.x; row < end;
				 row += simple_threads)
			{
				survey_row(keys, static_cast<uint32_t>(row), findings, any,
						   all_but, most_words);
				if (window.digits != 0)
					count_digits(keys.words[row], window, shared.digits);
			}
		add_bits(&found.any[0], any);
		add_bits(&found.all_but[0], all_but);
		most_words = warp_max(most_words);
		if (__any_sync(whole_warp, findings.is_broken))
			break;

		for (unsigned word = 1; word < most_words; word++)
		{
			any = 0;
			all_but = 0;
			for (uint64_t row = first + threadIdx.x; row < end;
				 row += simple_threads)
			{
				uint64_t	at = keys.begin(static_cast<uint32_t>(row)) + word;

				if (at < keys.end(static_cast<uint32_t>(row)))
				{
					any |= keys.words[at];
					all_but |= ~keys.words[at];
				}
			}
			add_bits(&found.any[word], any);
			add_bits(&found.all_but[word], all_but);
		}
	}

	if (findings.falls)
		atomicOr(&found.falls, 1u);
	if (findings.rises)
		atomicOr(&found.rises, 1u);
	if (findings.repeats)
		atomicOr(&found.repeats, 1u);
	if (findings.is_broken)
		atomicOr(&found.is_broken, 1u);
	if (threadIdx.x == 0)
		found.window = window;
	__syncthreads();

	for (unsigned i = threadIdx.x; i < survey_counters; i += simple_threads)
	{
		uint32_t	bits = reinterpret_cast<uint32_t *>(&found)[i];
		uint32_t   *sum =
			&reinterpret_cast<uint32_t *>(&counters->control.survey)[i];

		if (bits != 0)
			atomicOr(sum, bits);
	}
	for (unsigned i = threadIdx.x; i < window.digits << window.digit_bits;
		 i += simple_threads)
		if (shared.digits[i] != 0)
			atomicAdd(&counters->digits.counts[i], shared.digits[i]);

	if (report != nullptr &&
		is_last_block(&counters->control.surveyed, shared.is_last))
		report_survey(counters->control.survey, report);
}

/*
 * Puts a row of keys that are in order already, or in the opposite order; with
 * ties if some keys are equal.
 */
static __device__ __forceinline__ void
put_ordered_row(const Keys &keys, uint32_t row, bool is_reversed,
				bool has_repeats, const Order &order)
{
	uint32_t	nrows = keys.nrows;
	bool		is_tie = false;

	if (has_repeats && !is_reversed)
		is_tie = row > 0 && keys.compare(row, row - 1, 0) == 0;
	else if (has_repeats)
		is_tie = row + 1 < nrows && keys.compare(row + 1, row, 0) == 0;
	order.put(is_reversed ? nrows - 1 - row : row, row, is_tie);
}

/* Makes the order of keys that are in one of these orders. */
static __global__ void __launch_bounds__(simple_threads)
put_ordered(Keys keys, bool is_reversed, bool has_repeats, Order order)
{
	uint32_t	row = blockIdx.x * simple_threads + threadIdx.x;

	if (row < keys.nrows)
		put_ordered_row(keys, row, is_reversed, has_repeats, order);
}

/*
 * The host's side, first the plans of all working words, one after the other,
 * from the bits that vary.
 */
class WordPlanner
{
public:
	explicit WordPlanner(const KeySurvey &survey)
	{
		for (unsigned word = 0; word < KEY_MAX_WORDS; word++)
			varying[word] = survey.any[word] & survey.all_but[word];
	}

	/* Makes the next plan; false if no bits are left. */
	bool
	next(WordPlan *plan)
	{
		plan->nfields = 0;
		plan->bits = 0;
		for (; word < KEY_MAX_WORDS; word++)
			while (varying[word] != 0)
				if (!take_field(plan))
					return true;
		return plan->nfields > 0;
	}

private:
	/* Takes the highest bits of the word that stand together; false if full. */
	bool
	take_field(WordPlan *plan)
	{
		unsigned	top = 63;
		unsigned	width = 0;

		if (plan->nfields == max_fields || plan->bits == 64)
			return false;
		while ((varying[word] >> top & 1) == 0)
			top--;
		while (width <= top && plan->bits + width < 64 &&
			   (varying[word] >> (top - width) & 1) != 0)
		{
			varying[word] &= ~(UINT64_C(1) << (top - width));
			width++;
		}
		plan->fields[plan->nfields++] = {static_cast<uint8_t>(word),
			static_cast<uint8_t>(top + 1 - width), static_cast<uint8_t>(width)};
		plan->bits += width;
		return true;
	}

	uint64_t	varying[KEY_MAX_WORDS];
	unsigned	word = 0;
};

/*
 * Puts the survey of the keys on the queue; the counters are cleared before.  If it
 * may count digits, keys are one word.
 */
static inline bool
survey(const Queue &queue, const Keys &keys, const FewSlabs &few,
	   bool counts_digits, Counters *counters, SortReport *report)
{
	unsigned	words = keys.fixed_words != 0 ? keys.fixed_words :
		static_cast<unsigned>(keys.nwords / keys.nrows) + 1;
	unsigned	rows_per_thread = words <= survey_words ?
		survey_words / words : 1;
	uint64_t	blocks = divide_up(keys.nrows, rows_per_thread * simple_threads);
	uint64_t	resident = static_cast<uint64_t>(queue.multiprocessors) *
		survey_blocks;

	return queue.launch<SurveyShared>("surveying the keys",
									  counts_digits ?
									  survey_keys<true> : survey_keys<false>,
									  blocks < resident ? blocks : resident,
									  simple_threads,
									  SurveyedKeys{keys, few},
									  rows_per_thread, counters, report);
}

/* Makes the order of keys that are in order, or in the opposite one. */
static inline bool
put_in_order(const Queue &queue, const Keys &keys, const KeySurvey &survey,
			 bool want_ties, const Order &order)
{
	return queue.launch("making an order of ordered keys", put_ordered,
						divide_up(keys.nrows, simple_threads), simple_threads,
						keys, survey.falls != 0,
						want_ties && survey.repeats != 0, order);
}

}								/* namespace gpusort */

#endif							/* GPUSORT_KEY_SURVEY_CUH */
