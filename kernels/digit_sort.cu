/*-------------------------------------------------------------------------
 *
 * digit_sort.cu
 *	  A radix sort of keys whose digits the survey has counted.
 *
 * It is a pass for each digit, the lowest first (digit_pass.cuh).  CUB's radix
 * sort would read keys, write pairs, and read these once more to count their
 * digits.
 *
 *-------------------------------------------------------------------------
 */
#include "digit_pass.cuh"
#include "digit_sort.cuh"

namespace gpusort
{

/* The bits from the lowest of a plan's bits to the highest. */
static unsigned
whole_width(const WordPlan &plan)
{
	const Field &first = plan.fields[0];
	const Field &last = plan.fields[plan.nfields - 1];

	return static_cast<unsigned>(first.shift + first.width - last.shift);
}

/* The passes by the digits that a plan's bits reach. */
static unsigned
passes_for(const BitWindow &window, const WordPlan &plan)
{
	return static_cast<unsigned>(divide_up(whole_width(plan),
										   window.digit_bits));
}

bool
knows_digits(const BitWindow &window, const WordPlan &plan, uint64_t nrows)
{
	return window.digits > 0 &&
		window.shift == plan.fields[plan.nfields - 1].shift &&
		passes_for(window, plan) <= window.digits &&
		passes_for(window, plan) <= divide_up(plan.bits, digit_bits) &&
		nrows >= least_digit_rows && nrows < most_digit_rows;
}

/* Puts a pass on the queue. */
template <unsigned items, unsigned bits, typename Source, typename Target>
static bool
make_pass(const Queue &queue, const Source &source,
		  const DigitPass<bits> &pass, const Target &target)
{
	constexpr const char *what = "ordering by a digit";
	using Shared = DigitShared<bits, items>;
	auto		kernel = scatter_digits<bits, items, Source, Target>;
	uint64_t	tiles = divide_up(pass.nrows, items * digit_threads);

	return Source::is_first_pass ?
		queue.launch<Shared>(what, kernel, tiles, digit_threads, source, pass,
							 target) :
		queue.launch_behind<Shared>(what, kernel, tiles, digit_threads, source,
									pass, target);
}

/* A pass to the order, if it is the last and nobody asks for ties. */
template <unsigned items, unsigned bits, typename Source>
static bool
make_pass_or_last(const Queue &queue, const Source &source,
				  const DigitPass<bits> &pass, NarrowPair *pairs,
				  const Order &order, SortReport *report)
{
	return pass.next_states == nullptr && order.tie == 0 ?
		make_pass<items>(queue, source, pass,
						 RowTarget{order.entries, report}) :
		make_pass<items>(queue, source, pass, PairTarget{pairs});
}

/* Sorts by digits of a number of bits, with tiles of a size. */
template <unsigned bits, unsigned items>
static bool
sort_by_digits(const Queue &queue, const KeyPairs &keys, uint32_t nrows,
			   unsigned passes, const Workspace &space, const Order &order,
			   SortReport *report)
{
	NarrowPair *arrays[2] = {
		reinterpret_cast<NarrowPair *>(space.pairs[0].words),
		reinterpret_cast<NarrowPair *>(space.pairs[1].words)};
	TileState  *states[2] = {space.pairs[0].rows, space.pairs[1].rows};
	unsigned	ahead = queue.multiprocessors * digit_blocks(items) / 4;

	for (unsigned number = 0; number < passes; number++)
	{
		DigitPass<bits> pass = {space.digits, number, nrows, ahead,
			states[number % 2],
			number + 1 < passes ? states[(number + 1) % 2] : nullptr};
		NarrowPair *to = arrays[number % 2];

		if (number == 0 ?
			!make_pass_or_last<items>(queue, keys, pass, to, order, report) :
			!make_pass_or_last<items>(queue,
									  MovedPairs{arrays[(number + 1) % 2]},
									  pass, to, order, report))
			return false;
	}
	return order.tie == 0 ||
		queue.launch("marking ties", take_sorted_rows,
					 divide_up(nrows, simple_threads), simple_threads,
					 arrays[(passes + 1) % 2], nrows, order);
}

/* Sorts by digits of a number of bits. */
template <unsigned bits>
static bool
sort_by_tiles(const Queue &queue, const KeyPairs &keys, uint32_t nrows,
			  unsigned passes, const Workspace &space, const Order &order,
			  SortReport *report)
{
	auto		sort = nrows <= most_few_digit_rows ?
		sort_by_digits<bits, few_digit_items> :
		nrows <= most_medium_digit_rows ?
		sort_by_digits<bits, medium_digit_items> :
		sort_by_digits<bits, digit_items>;

	return sort(queue, keys, nrows, passes, space, order, report);
}

bool
digit_sort(const Queue &queue, const Keys &keys, const BitWindow &window,
		   const WordPlan &plan, const Workspace &space, const Order &order,
		   SortReport *report)
{
	KeyPairs	pairs = {FieldSource(keys, plan)};
	unsigned	passes = passes_for(window, plan);

	/* all of the plan's bits, and those in between */
	pairs.source.field.shift = static_cast<uint8_t>(window.shift);
	pairs.source.field.width = 32;
	return window.digit_bits == digit_bits ?
		sort_by_tiles<digit_bits>(queue, pairs, keys.nrows, passes, space,
								   order, report) :
		sort_by_tiles<wide_digit_bits>(queue, pairs, keys.nrows, passes,
										space, order, report);
}

}								/* namespace gpusort */
