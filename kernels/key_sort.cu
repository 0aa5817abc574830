/*-------------------------------------------------------------------------
 *
 * key_sort.cu
 *	  Which algorithm sorts the keys of a job, and its steps.
 *
 * Few keys of one word are sorted and checked before the host knows more about
 * them, so that it waits for the device only once.  Otherwise the survey
 * decides.  Keys in order, or in the opposite order, need no sort.  If the
 * first working word has all bits that vary, and these are few, CUB's radix
 * sort takes the fewest moves.  Otherwise the quicksort sorts by the first
 * word, and then sorts tied rows by the next words.  If memory is short, the
 * bitonic sort in place compares all words at once.
 *
 * The kernels of all these sorts but CUB's are in this object.
 *
 *-------------------------------------------------------------------------
 */
#include "key_sort.cuh"

#include "device.cuh"
#include "device_quicksort.cuh"
#include "in_place_sort.cuh"
#include "key_survey.cuh"
#include "order_check.cuh"
#include "radix_sort.cuh"
#include "tie_rounds.cuh"

using namespace gpusort;

cudaError_t
gpusort::probe_sort_kernels(void)
{
	return probe_kernel(survey_keys<false>);
}

/* The method for keys that need no sort. */
static const char *const keys_in_order = "none, keys in order";

/* Whether to sort by CUB's radix sort. */
static bool
takes_radix_sort(DeviceAlgorithm algorithm, uint64_t nrows,
				 const WordPlan &plan, bool is_whole_key)
{
	return (algorithm == DEVICE_SORT_RADIX ||
			(algorithm == DEVICE_SORT_AUTO && is_whole_key &&
			 radix_sort_gains(nrows, plan.bits))) &&
		radix_sort_fits(nrows, plan.bits);
}

/*
 * Puts CUDA-quicksort of all rows by one working word on the queue.  If the
 * rows are few enough for a leaf, nothing is left to finish.
 */
static bool
start_quicksort(const Queue &queue, const Keys &keys, const WordPlan &plan,
				const Workspace &space, const Order &order)
{
	DeviceQuicksort quicksort(queue, space);
	uint64_t   *words = space.pairs[0].words;

	if (keys.nrows > leaf_rows && FieldSource::suffices(keys, plan))
		return quicksort.start(FieldSource(keys, plan), keys.nrows, order);
	return queue.launch("making working words", gather_words,
						divide_up(keys.nrows, simple_threads), simple_threads,
						PlanSource{keys, plan}, words) &&
		(keys.nrows > leaf_rows ?
		 quicksort.start(WordSource{words}, keys.nrows, order) :
		 quicksort.sort_few(keys.nrows, order));
}

/* Sorts all rows by one working word with CUDA-quicksort. */
static bool
quicksort_by_plan(const Queue &queue, const Keys &keys, const WordPlan &plan,
				  const Workspace &space, const Order &order)
{
	Control		control;

	return start_quicksort(queue, keys, plan, space, order) &&
		(keys.nrows <= leaf_rows ||
		 (read_control(queue, space, &control) &&
		  DeviceQuicksort(queue, space).finish(keys.nrows, order, &control)));
}

/*
 * Whether to sort before the survey is read.  With few keys, order and bits
 * that do not vary save less than the wait for the survey takes.
 */
static bool
sorts_at_once(const Keys &keys, DeviceAlgorithm algorithm)
{
	return keys.fixed_words == 1 && keys.nrows <= at_once_rows &&
		(algorithm == DEVICE_SORT_AUTO || algorithm == DEVICE_SORT_QUICKSORT);
}

/* Whether the survey may find that a radix sort of one word is taken. */
static bool
may_take_radix_sort(const Keys &keys, DeviceAlgorithm algorithm)
{
	return keys.fixed_words == 1 &&
		(algorithm == DEVICE_SORT_AUTO || algorithm == DEVICE_SORT_RADIX);
}

/* The plan for a word of which nothing is known. */
static const WordPlan whole_word = {{{0, 0, 64}}, 1, 64};

/* Puts a sort by the plan, for the whole key, and its check on the queue. */
static bool
start_with_check(const Queue &queue, const Keys &keys, const WordPlan &plan,
				 const Workspace &space, const Order &order)
{
	return start_quicksort(queue, keys, plan, space, order) &&
		check_order(queue, {keys, false, 0, false}, order.tie != 0,
					order.entries, &space.control->check);
}

/*
 * Completes that sort after the control block was read.  If levels were left,
 * the check has seen an unfinished order, and is made once more.
 */
static bool
finish_with_check(const Queue &queue, const Keys &keys, const Order &order,
				  const Workspace &space, Control *control,
				  SortOutcome *outcome)
{
	DeviceQuicksort quicksort(queue, space);

	outcome->method = "quicksort";
	outcome->keys.is_simple = false;
	outcome->is_checked = !quicksort.is_unfinished(*control, keys.nrows);
	outcome->check = control->check;
	return outcome->is_checked ||
		(queue.did(cudaMemsetAsync(&space.control->check, 0,
								   sizeof(OrderCheck), queue.stream),
				   "clearing counters") &&
		 quicksort.finish(keys.nrows, order, control));
}

/* Sorts few rows by a plan for the whole key, and waits once. */
static bool
quicksort_few_rows(const Queue &queue, const Keys &keys, const WordPlan &plan,
				   const Workspace &space, const Order &order,
				   SortOutcome *outcome)
{
	Control		control;

	return start_with_check(queue, keys, plan, space, order) &&
		read_control(queue, space, &control) &&
		finish_with_check(queue, keys, order, space, &control, outcome);
}

/* Where the first words of keys are after a sort in place. */
static FirstWords
placed_words(const KeySurvey &survey, const WordPlan &plan)
{
	return {true, plan.last_word() > 0, plan, ~survey.all_but[0]};
}

/* Sorts all rows by the first working word. */
static bool
sort_by_word(const Queue &queue, const Keys &keys, const KeySurvey &survey,
			 const WordPlan &plan, bool is_whole_key,
			 DeviceAlgorithm algorithm, const Workspace &space,
			 const Order &order, SortOutcome *outcome)
{
	outcome->keys.is_simple = takes_radix_sort(algorithm, keys.nrows, plan,
											   is_whole_key);
	outcome->method = outcome->keys.is_simple ? "radix sort" : "quicksort";
	if (!outcome->keys.is_simple && is_whole_key && keys.nrows <= few_rows)
		return quicksort_few_rows(queue, keys, plan, space, order, outcome);
	return outcome->keys.is_simple ?
		radix_sort(queue, keys, survey, plan, space, order) :
		quicksort_by_plan(queue, keys, plan, space, order);
}

/* Sorts rows that are tied by the first working word by the other words. */
static bool
sort_ties(const Queue &queue, const Keys &keys, WordPlanner &planner,
		  const WordPlan &next_plan, bool want_ties, const Workspace &space,
		  const Order &order)
{
	Control		control;

	if (!read_control(queue, space, &control))
		return false;
	if (control.has_ties == 0)
		return true;
	return refine_ties(queue, keys, planner, next_plan, space, order) &&
		(want_ties ||
		 queue.launch("clearing ties", clear_ties,
					  divide_up(keys.nrows, simple_threads), simple_threads,
					  order.entries, keys.nrows));
}

/* Sorts keys that are not in order, by what the survey tells. */
static bool
sort_surveyed(const Queue &queue, const Keys &keys, const KeySurvey &survey,
			  bool want_ties, DeviceAlgorithm algorithm,
			  const Workspace &space, Order order, SortOutcome *outcome)
{
	WordPlanner planner(survey);
	WordPlan	plan;
	WordPlan	next_plan;
	bool		has_next;

	(void) planner.next(&plan);
	has_next = planner.next(&next_plan);
	if (algorithm == DEVICE_SORT_BITONIC)
	{
		outcome->method = "bitonic sort, in place";
		outcome->keys = {keys, true,
			has_next ? next_plan.first_word() : KEY_MAX_WORDS, false};
		outcome->first_words = placed_words(survey, plan);
		return sort_in_place(queue, keys, plan,
							 has_next ? &next_plan : nullptr, want_ties,
							 order.entries);
	}
	if (has_next)
		order.tie = ORDER_TIE;
	return sort_by_word(queue, keys, survey, plan, !has_next, algorithm, space,
						order, outcome) &&
		(!has_next || sort_ties(queue, keys, planner, next_plan, want_ties,
								space, order));
}

bool
gpusort::sort_keys(const Queue &queue, const Keys &keys, bool want_ties,
				   DeviceAlgorithm algorithm, const Workspace &space,
				   uint32_t *entries, SortOutcome *outcome)
{
	Order		order = {entries, want_ties ? ORDER_TIE : 0,
		&space.control->has_ties};
	bool		at_once = sorts_at_once(keys, algorithm);
	Control		control;

	if (!survey(queue, keys, space,
				may_take_radix_sort(keys, algorithm) && !at_once ?
				radix_sort_pairs(space, entries) : NarrowPairs{}) ||
		(at_once &&
		 !start_with_check(queue, keys, whole_word, space, order)) ||
		!read_survey(queue, space, &control))
		return false;
	*outcome = {keys_in_order, {keys, false, 0, true}, {}, false, {}};
	if (control.survey.are_ordered())
		return put_in_order(queue, keys, control.survey, want_ties, order);
	return at_once ?
		finish_with_check(queue, keys, order, space, &control, outcome) :
		sort_surveyed(queue, keys, control.survey, want_ties, algorithm, space,
					  order, outcome);
}
