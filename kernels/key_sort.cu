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

#include <atomic>

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

static SortSeats seats;

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
			 const Order &order, const SortSeat &seat, SortOutcome *outcome)
{
	outcome->keys.is_simple = takes_radix_sort(algorithm, keys.nrows,
											   survey, plan, is_whole_key);
	if (outcome->keys.is_simple &&
		radix_sort_reports(survey, plan, keys.nrows, order))
		outcome->seat = seat;	/* or none */
	outcome->method = outcome->keys.is_simple ? "radix sort" : "quicksort";
	if (!outcome->keys.is_simple && is_whole_key && keys.nrows <= few_rows)
		return quicksort_few_rows(queue, keys, plan, space, order, outcome);
	return outcome->keys.is_simple ?
		radix_sort(queue, keys, survey, plan, space, order,
				   outcome->seat.report) :
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
			  const Workspace &space, Order order, const SortSeat &seat,
			  SortOutcome *outcome)
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
						order, seat, outcome) &&
		(!has_next || sort_ties(queue, keys, planner, next_plan, want_ties,
								space, order));
}

bool
gpusort::takes_joint_sort(const Queue &queue, const KeyShape &shape,
						  uint64_t nrows, uint64_t nwords,
						  DeviceAlgorithm algorithm, bool seem_narrow)
{
	if (seem_narrow && nrows > most_narrow_joint_rows &&
		algorithm == DEVICE_SORT_AUTO && !shape.mark_ties)
		return false;
	return shape.fixed_words != 0 && nrows <= most_joint_rows(queue) &&
		nwords <= max_few_slabs * slab_words &&
		(algorithm == DEVICE_SORT_AUTO || algorithm == DEVICE_SORT_QUICKSORT);
}

/*
 * Waits until a kernel has written a word of a report.  It comes some
 * microseconds before the stream is known to be idle.
 */
static bool
wait_for_report(const Queue &queue, const volatile uint32_t &word)
{
	for (unsigned looks = 0; looks < report_looks; looks++)
		if (word != 0)
		{
			std::atomic_thread_fence(std::memory_order_acquire);
			return true;
		}
	return queue.did(cudaStreamSynchronize(queue.stream), "sorting") &&
		(word != 0 || refuse(queue.error, "a sort has not reported"));
}

/*
 * Waits for the end of a sort, and takes its report.  The seat is not given back
 * before that, see sort_seats.cuh.
 */
static bool
take_report(const Queue &queue, const SortSeat &seat, uint32_t *findings)
{
	if (!wait_for_report(queue, seat.report->findings))
		return false;
	*findings = seat.report->findings;
	seats.give_back(seat);
	return true;
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
	SortSeat	seat = seats.take();
	uint32_t	findings;

	*is_sorted = false;
	if (seat.report == nullptr)
		return true;
	if (!start_sort_in_one_launch(queue, {keys, order, seat.report,
										  seat.number}, pairs))
	{
		seats.give_back(seat);
		return false;
	}
	if (!take_report(queue, seat, &findings))
		return false;
	*is_sorted = (findings & SORT_GIVEN_UP) == 0;
	*outcome = {are_ordered(findings) ? keys_in_order : "quicksort", {}, {},
		true, {findings & SORT_EXCESS, findings & SORT_DISORDER}, true, {}};
	return true;
}

/* Waits for the survey.  Without a report it is read from the control block. */
static bool
read_survey(const Queue &queue, const Workspace &space,
			const SortReport *report, KeySurvey *survey)
{
	Control		control;

	if (report != nullptr ? !wait_for_report(queue, report->is_surveyed) :
		!read_control(queue, space, &control))
		return false;
	*survey = report != nullptr ? report->survey : control.survey;
	return true;
}

bool
gpusort::start_survey(const Queue &queue, const Keys &keys, const FewSlabs &few,
					  DeviceAlgorithm algorithm, Counters *counters,
					  SortSeat *seat)
{
	*seat = seats.take();
	if (survey(queue, keys, few, may_take_radix_sort(keys, algorithm),
			   counters, seat->report))
		return true;
	seats.give_back(*seat);
	return false;
}

void
gpusort::abandon_survey(const Queue &queue, const SortSeat &seat)
{
	if (seat.report != nullptr && wait_for_report(queue, seat.report->is_surveyed))
		seats.give_back(seat);
}

bool
gpusort::sort_keys(const Queue &queue, const Keys &keys, bool want_ties,
				   DeviceAlgorithm algorithm, const Workspace &space,
				   uint32_t *entries, const SortSeat &seat,
				   SortOutcome *outcome)
{
	Order		order = {entries, want_ties ? ORDER_TIE : 0,
		&space.control->has_ties};
	KeySurvey	survey;
	bool		is_started;

	if (!read_survey(queue, space, seat.report, &survey))
		return false;
	*outcome = {keys_in_order, {keys, false, 0, true}, {}, false, {}, false, {}};
	is_started = survey.is_broken != 0 ?
		refuse(queue.error, "the keys do not end where they are said to") :
		survey.are_ordered() ?
		put_in_order(queue, keys, survey, want_ties, order) :
		sort_surveyed(queue, keys, survey, want_ties, algorithm, space, order,
					  seat, outcome);
	if (outcome->seat.report == nullptr)
		seats.give_back(seat);
	return is_started;
}

bool
gpusort::finish_sort(const Queue &queue, SortOutcome *outcome)
{
	uint32_t	findings;

	if (outcome->is_done)
		return true;
	if (outcome->seat.report == nullptr)
		return queue.did(cudaStreamSynchronize(queue.stream), "sorting");
	if (!take_report(queue, outcome->seat, &findings))
		return false;
	outcome->is_checked = true;
	outcome->check = {findings & SORT_EXCESS, 0};
	return true;
}
