/*-------------------------------------------------------------------------
 *
 * key_sort.cu
 *	  Which algorithm sorts the keys of a job, and its steps.
 *
 * Few keys of fixed width are sorted in one launch, and the host waits for the
 * device only once.  Otherwise, or if that gives up, the survey decides.  Keys
 * in order, or in the opposite order, need no sort.  If the first working word
 * has all bits that vary, and these are few, a radix sort takes the fewest
 * moves.  Otherwise the quicksort sorts by the first word, and then sorts tied
 * rows by the next words.  If memory is short, the bitonic sort in place
 * compares all words at once.
 *
 * The kernels of all these sorts but the radix sorts are in this object.
 *
 *-------------------------------------------------------------------------
 */
#include "key_sort.cuh"

#include "device.cuh"
#include "device_quicksort.cuh"
#include "digit_sort.cuh"
#include "in_place_sort.cuh"
#include "joint_sort.cuh"
#include "key_survey.cuh"
#include "order_check.cuh"
#include "radix_sort.cuh"
#include "ranged_sort.cuh"
#include "tie_rounds.cuh"

using namespace gpusort;

cudaError_t
gpusort::probe_sort_kernels(void)
{
	return probe_kernel(survey_keys<false>);
}

static JointSeats seats;

bool
gpusort::prepare_joint_sorts(DeviceError *error)
{
	return seats.prepare(error);
}

/* The method for keys that need no sort. */
static const char *const keys_in_order = "none, keys in order";

/* Whether to sort by a radix sort. */
static bool
takes_radix_sort(DeviceAlgorithm algorithm, uint64_t nrows,
				 const KeySurvey &survey, const WordPlan &plan,
				 bool is_whole_key)
{
	return (algorithm == DEVICE_SORT_RADIX ||
			(algorithm == DEVICE_SORT_AUTO && is_whole_key &&
			 radix_sort_gains(nrows, plan.bits))) &&
		(knows_digits(survey.window, plan, nrows) ||
		 radix_sort_fits(nrows, plan.bits));
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

/* Whether the survey may find that a radix sort of one word is taken. */
static bool
may_take_radix_sort(const Keys &keys, DeviceAlgorithm algorithm)
{
	return keys.fixed_words == 1 &&
		(algorithm == DEVICE_SORT_AUTO || algorithm == DEVICE_SORT_RADIX);
}

/*
 * Sorts few rows by a plan for the whole key, and checks the order, before it
 * waits.  If levels were left, the check has seen an unfinished order, and is
 * made once more.
 */
static bool
quicksort_few_rows(const Queue &queue, const Keys &keys, const WordPlan &plan,
				   const Workspace &space, const Order &order,
				   SortOutcome *outcome)
{
	DeviceQuicksort quicksort(queue, space);
	Control		control;

	if (!start_quicksort(queue, keys, plan, space, order) ||
		!check_order(queue, {keys, false, 0, false}, order.tie != 0,
					 order.entries, &space.control->check) ||
		!read_control(queue, space, &control))
		return false;
	outcome->is_checked = !quicksort.is_unfinished(control, keys.nrows);
	outcome->check = control.check;
	return outcome->is_checked ||
		(queue.did(cudaMemsetAsync(&space.control->check, 0,
								   sizeof(OrderCheck), queue.stream),
				   "clearing counters") &&
		 quicksort.finish(keys.nrows, order, &control));
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
	outcome->keys.is_simple = takes_radix_sort(algorithm, keys.nrows,
											   survey, plan, is_whole_key);
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
gpusort::takes_joint_sort(const Queue &queue, const KeyShape &shape,
						  uint64_t nrows, uint64_t nwords,
						  DeviceAlgorithm algorithm)
{
	return shape.fixed_words != 0 && nrows <= most_joint_rows(queue) &&
		nwords <= max_few_slabs * slab_words &&
		(algorithm == DEVICE_SORT_AUTO || algorithm == DEVICE_SORT_QUICKSORT);
}

/*
 * Waits for the report of a sort in one launch.  It comes some microseconds
 * before the stream is known to be idle.
 */
static bool
wait_for_report(const Queue &queue, const JointReport *report)
{
	for (unsigned looks = 0; looks < report_looks; looks++)
		if ((report->findings & JOINT_DONE) != 0)
			return true;
	return queue.did(cudaStreamSynchronize(queue.stream),
					 "sorting in one launch");
}

/*
 * Waits for a sort in one launch, and takes its report.  The seat is not given
 * back before that, see joint_seats.cuh.
 */
static bool
take_report(const Queue &queue, unsigned seat, uint32_t *findings)
{
	const JointReport *report = seats.report(seat);
	bool		has_waited = wait_for_report(queue, report);

	*findings = report->findings;
	if ((*findings & JOINT_DONE) == 0)
		return has_waited && refuse(queue.error, "a sort has not reported");
	seats.give_back(seat);
	return has_waited;
}

/* Puts the sort in one launch that suits the number of rows on the queue. */
static bool
start_sort_in_one_launch(const Queue &queue, const JointJob &job,
						 const Pairs &pairs)
{
	return takes_ranged_sort(queue, job.keys.nrows) ?
		start_ranged_sort(queue, job) : start_joint_sort(queue, job, pairs);
}

bool
gpusort::sort_few_keys(const Queue &queue, const FewKeys &keys, bool want_ties,
					   const Pairs &pairs, uint32_t *entries, bool *is_sorted,
					   SortOutcome *outcome)
{
	Order		order = {entries, want_ties ? ORDER_TIE : 0, nullptr};
	uint32_t	findings;
	unsigned	seat;

	*is_sorted = false;
	if (!seats.take(&seat))
		return true;
	if (!start_sort_in_one_launch(queue, {keys, order, seats.report(seat),
										  seat}, pairs))
	{
		seats.give_back(seat);
		return false;
	}
	if (!take_report(queue, seat, &findings))
		return false;
	*is_sorted = (findings & JOINT_GIVEN_UP) == 0;
	*outcome = {are_ordered(findings) ? keys_in_order : "quicksort", {}, {},
		true, {findings & JOINT_EXCESS, findings & JOINT_DISORDER}, true};
	return true;
}

bool
gpusort::sort_keys(const Queue &queue, const Keys &keys, bool want_ties,
				   DeviceAlgorithm algorithm, const Workspace &space,
				   uint32_t *entries, SortOutcome *outcome)
{
	Order		order = {entries, want_ties ? ORDER_TIE : 0,
		&space.control->has_ties};
	Control		control;

	if (!survey(queue, keys, space, may_take_radix_sort(keys, algorithm)) ||
		!read_survey(queue, space, &control))
		return false;
	*outcome = {keys_in_order, {keys, false, 0, true}, {}, false, {}, false};
	if (control.survey.are_ordered())
		return put_in_order(queue, keys, control.survey, want_ties, order);
	return sort_surveyed(queue, keys, control.survey, want_ties, algorithm,
						 space, order, outcome);
}
