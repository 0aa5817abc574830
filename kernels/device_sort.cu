/*-------------------------------------------------------------------------
 *
 * device_sort.cu
 *	  A sort job on a device: the functions of device_sort.h.
 *
 * Three things of a job are in device memory, and each has its own time: the
 * keys, from their push until the end of run; the workspace, only during run;
 * the order, from run until the job ends.  While the order is being fetched,
 * which may take as long as a client likes, a job holds 4 bytes a row; and its
 * keys if it keeps them (kept_keys.cuh).  Where memory is short, the keys and
 * the order are also what is worked on, and the workspace is next to nothing
 * (in_place_sort.cuh).
 *
 * All is done on the job's own stream, so that a push needs to wait for
 * nothing, and run only where it looks at counters.
 *
 *-------------------------------------------------------------------------
 */
#include <cstddef>
#include <deque>
#include <new>
#include <vector>

#include "device.cuh"
#include "device_quicksort.cuh"
#include "in_place_sort.cuh"
#include "kept_keys.cuh"
#include "key_survey.cuh"
#include "order_check.cuh"
#include "radix_sort.cuh"
#include "tie_groups.cuh"

using namespace gpusort;

struct DeviceSort
{
	int			device;
	unsigned	multiprocessors;
	KeyShape	shape;
	DeviceAlgorithm algorithm;
	cudaStream_t stream;
	SlabArray	words;
	SlabArray	ends;
	uint64_t	nrows;
	bool		keeps_keys;
	bool		has_run;
	bool		has_order;
	const char *method;
	FirstWords	first_words;	/* when it has run */
	KeptKeys	kept;
	DeviceBlock workspace;		/* afterwards the tables of kept keys */
	DeviceBlock order;
	DeviceBlock gathered;		/* kept keys on their way to the host */

	/* One event a push that nobody has waited for, oldest first. */
	std::deque<cudaEvent_t> pushes;
	std::vector<cudaEvent_t> idle_events;
	uint64_t	last_ticket;

	Queue
	queue(DeviceError *error) const
	{
		return {stream, multiprocessors, error};
	}
};

cudaError_t
gpusort::load_kernels(void)
{
	static const void *const kernels[] = {
		reinterpret_cast<const void *>(survey_keys),
		reinterpret_cast<const void *>(put_ordered),
		reinterpret_cast<const void *>(gather_words),
		reinterpret_cast<const void *>(open_leaf),
		reinterpret_cast<const void *>(open_whole),
		reinterpret_cast<const void *>(open_ranges),
		reinterpret_cast<const void *>(choose_splitters<FieldSource>),
		reinterpret_cast<const void *>(choose_splitters<WordSource>),
		reinterpret_cast<const void *>(choose_splitters<PairSource>),
		reinterpret_cast<const void *>(count_buckets<FieldSource>),
		reinterpret_cast<const void *>(count_buckets<WordSource>),
		reinterpret_cast<const void *>(count_buckets<PairSource>),
		reinterpret_cast<const void *>(open_buckets),
		reinterpret_cast<const void *>(scatter_tiles<FieldSource>),
		reinterpret_cast<const void *>(scatter_tiles<WordSource>),
		reinterpret_cast<const void *>(scatter_tiles<PairSource>),
		reinterpret_cast<const void *>(sort_tiny_leaves),
		reinterpret_cast<const void *>(sort_leaves<small_leaf_rows,
									   small_leaf_threads>),
		reinterpret_cast<const void *>(sort_leaves<medium_leaf_rows,
									   medium_leaf_threads>),
		reinterpret_cast<const void *>(sort_leaves<large_leaf_rows,
									   large_leaf_threads>),
		reinterpret_cast<const void *>(sort_leaves<huge_leaf_rows,
									   huge_leaf_threads>),
		reinterpret_cast<const void *>(mark_group_starts),
		reinterpret_cast<const void *>(collect_tie_groups),
		reinterpret_cast<const void *>(load_next_words),
		reinterpret_cast<const void *>(clear_ties),
		reinterpret_cast<const void *>(check_entries),
		reinterpret_cast<const void *>(place_words),
		reinterpret_cast<const void *>(sort_parts<false>),
		reinterpret_cast<const void *>(sort_parts<true>),
		reinterpret_cast<const void *>(make_superstep<false>),
		reinterpret_cast<const void *>(make_superstep<true>),
		reinterpret_cast<const void *>(mark_ties<false>),
		reinterpret_cast<const void *>(mark_ties<true>),
		reinterpret_cast<const void *>(gather_keys),
	};

	for (const void *kernel : kernels)
	{
		cudaFuncAttributes attributes;
		cudaError_t code = cudaFuncGetAttributes(&attributes, kernel);

		if (code != cudaSuccess)
			return code;
	}
	return cudaSuccess;
}

/* Ends that are pushed along with nrows keys. */
static uint64_t
count_ends(const KeyShape *shape, uint64_t nrows)
{
	return shape->fixed_words == 0 ? nrows : 0;
}

static uint64_t
order_bytes(uint64_t nrows)
{
	return divide_up(nrows * sizeof(uint32_t), 256) * 256;
}

/* Bytes of all but the workspace. */
static uint64_t
lasting_bytes(uint64_t nrows, uint64_t nwords, uint64_t nends)
{
	return SlabArray::bytes(nwords) + SlabArray::bytes(nends) +
		order_bytes(nrows);
}

uint64_t
device_sort_memory(const KeyShape *shape, uint64_t nrows, uint64_t nwords)
{
	uint64_t	nends = count_ends(shape, nrows);
	Workspace	space;

	return lasting_bytes(nrows, nwords, nends) +
		space.lay_out(nullptr, nrows, nwords, nends);
}

uint64_t
device_sort_memory_in_place(const KeyShape *shape, uint64_t nrows,
							uint64_t nwords)
{
	uint64_t	nends = count_ends(shape, nrows);
	Workspace	space;

	return lasting_bytes(nrows, nwords, nends) +
		space.lay_out_in_place(nullptr, nwords, nends);
}

uint64_t
device_sort_memory_kept(const KeyShape *shape, uint64_t nrows, uint64_t nwords)
{
	return device_sort_memory_in_place(shape, nrows, nwords) +
		kept_buffer_words * sizeof(uint64_t);
}

DeviceSort *
device_sort_begin(int device, const KeyShape *shape,
				  DeviceAlgorithm algorithm, DeviceError *error)
{
	unsigned	multiprocessors = use_device(device, error);
	DeviceSort *sort;

	if (multiprocessors == 0)
		return nullptr;
	if (algorithm > DEVICE_SORT_BITONIC)
	{
		(void) refuse(error, "there is no such algorithm");
		return nullptr;
	}

	sort = new (std::nothrow) DeviceSort();
	if (sort == nullptr)
	{
		(void) refuse(error, "out of memory");
		return nullptr;
	}
	sort->device = device;
	sort->multiprocessors = multiprocessors;
	sort->shape = *shape;
	sort->algorithm = algorithm;
	sort->method = "none, no keys";
	if (!succeeded(cudaStreamCreateWithFlags(&sort->stream,
											 cudaStreamNonBlocking),
				   error, "creating a stream"))
	{
		delete sort;
		return nullptr;
	}
	return sort;
}

/* Makes the job's device the calling thread's current one. */
static bool
enter(const DeviceSort *sort, DeviceError *error)
{
	return succeeded(cudaSetDevice(sort->device), error,
					 "choosing the job's device");
}

/* Records that a push is complete when all work put on the stream so far is. */
static bool
record_push(DeviceSort *sort, DeviceError *error)
{
	cudaEvent_t event;

	if (sort->idle_events.empty())
	{
		/* Room first, for each place it may ever be in. */
		sort->idle_events.reserve(sort->pushes.size() + 1);
		if (!succeeded(cudaEventCreateWithFlags(&event,
												cudaEventDisableTiming |
												cudaEventBlockingSync),
					   error, "creating an event"))
			return false;
		sort->idle_events.push_back(event);
	}

	event = sort->idle_events.back();
	if (!succeeded(cudaEventRecord(event, sort->stream), error,
				   "recording an event"))
		return false;
	sort->pushes.push_back(event);
	sort->idle_events.pop_back();
	return true;
}

bool
device_sort_push(DeviceSort *sort, const uint64_t *words, uint64_t nwords,
				 const uint64_t *ends, uint32_t nrows, uint64_t *ticket,
				 DeviceError *error)
{
	Queue		queue = sort->queue(error);
	uint32_t	fixed_words = sort->shape.fixed_words;

	if (sort->has_run)
		return refuse(error, "keys were added to a sort that has run");
	if (nrows > SORT_MAX_ROWS - sort->nrows)
		return refuse(error, "too many rows for one sort");
	if (fixed_words != 0 && nwords != static_cast<uint64_t>(nrows) * fixed_words)
		return refuse(error, "keys of fixed width with a wrong number of words");
	if (!enter(sort, error))
		return false;

	try
	{
		if (!sort->words.append(queue, words, nwords) ||
			!sort->ends.append(queue, ends, count_ends(&sort->shape, nrows)) ||
			!record_push(sort, error))
			return false;
	}
	catch (const std::bad_alloc &)
	{
		return refuse(error, "out of memory");
	}
	sort->nrows += nrows;
	*ticket = ++sort->last_ticket;
	return true;
}

bool
device_sort_wait_pushed(DeviceSort *sort, uint64_t ticket, DeviceError *error)
{
	uint64_t	waited_for = sort->last_ticket - sort->pushes.size();

	if (ticket <= waited_for)
		return true;
	if (ticket > sort->last_ticket)
		return refuse(error, "there was no such push");
	if (!enter(sort, error) ||
		!succeeded(cudaEventSynchronize(sort->pushes[ticket - waited_for - 1]),
				   error, "copying keys to the device"))
		return false;
	for (; waited_for < ticket; waited_for++)
	{
		sort->idle_events.push_back(sort->pushes.front());
		sort->pushes.pop_front();
	}
	return true;
}

/*
 * Finds out about the keys, and refuses those that make no sense; the control
 * block is cleared before.
 */
static bool
survey(const Queue &queue, const Keys &keys, const Workspace &space,
	   Control *control)
{
	unsigned	words = keys.fixed_words != 0 ? keys.fixed_words :
		static_cast<unsigned>(keys.nwords / keys.nrows) + 1;
	unsigned	rows_per_thread = words <= survey_words ?
		survey_words / words : 1;
	uint64_t	blocks = divide_up(keys.nrows, rows_per_thread * simple_threads);
	uint64_t	resident = queue.multiprocessors * 8;

	if (!queue.did(cudaMemsetAsync(space.control, 0, sizeof(Control),
								   queue.stream), "clearing counters") ||
		!queue.launch<SurveyShared>("looking at the keys", survey_keys,
									blocks < resident ? blocks : resident,
									simple_threads, keys, rows_per_thread,
									&space.control->survey) ||
		!read_control(queue, space, control))
		return false;
	return control->survey.is_broken == 0 ||
		refuse(queue.error, "the keys do not end where they are said to");
}

/* The method for keys that need no sort. */
static const char *const keys_in_order = "none, keys in order";

/* Whether keys are in order already, or in the opposite one. */
static bool
are_ordered(const KeySurvey &survey)
{
	return survey.falls == 0 || survey.rises == 0;
}

/* Makes the order of such keys. */
static bool
put_in_order(const Queue &queue, const Keys &keys, const KeySurvey &survey,
			 bool want_ties, const Order &order)
{
	return queue.launch("making an order of ordered keys", put_ordered,
						divide_up(keys.nrows, simple_threads), simple_threads,
						keys, survey.falls != 0,
						want_ties && survey.repeats != 0, order);
}

/*
 * Sorts runs by their next working words, for as long as there are such and
 * the order has ties.
 */
static bool
refine_ties(const Queue &queue, const Keys &keys, WordPlanner &planner,
			WordPlan plan, const Workspace &space, Order order)
{
	DeviceQuicksort quicksort(queue, space);
	TieGroupLists	runs = space.tie_group_lists(keys.nrows);
	uint64_t	start_tiles = divide_up(keys.nrows, starts_tile_rows);
	uint64_t	row_blocks = divide_up(keys.nrows, simple_threads);
	Control		control;
	bool		is_first = true;

	do
	{
		if (!queue.launch<StartsShared>("finding runs", mark_group_starts,
										start_tiles, simple_threads,
										order.entries, keys.nrows, is_first,
										space.starts, space.first_starts) ||
			!queue.did(cudaMemsetAsync(&space.control->tie_groups, 0,
									   sizeof(TieGroupCounts), queue.stream),
					   "clearing counters") ||
			!queue.did(cudaMemsetAsync(order.has_ties, 0, sizeof(uint32_t),
									   queue.stream), "clearing counters") ||
			!queue.launch<StartsShared>("collecting runs", collect_tie_groups,
										start_tiles, simple_threads, keys,
										plan.first_word(), order.entries,
										space.starts, space.first_starts, runs,
										&space.control->tie_groups) ||
			!read_control(queue, space, &control))
			return false;
		if (control.tie_groups.none())
			return true;
		if (!queue.launch("loading the next words", load_next_words,
						  row_blocks, simple_threads, keys, plan,
						  order.entries, space.starts, space.pairs[0]) ||
			!quicksort.sort_tie_groups(control.tie_groups, keys.nrows, order) ||
			!read_control(queue, space, &control))
			return false;
		is_first = false;
	} while (control.has_ties != 0 && planner.next(&plan));
	return true;
}

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

/* Sorts all rows by one working word with CUDA-quicksort. */
static bool
quicksort_by_plan(const Queue &queue, const Keys &keys, const WordPlan &plan,
				  const Workspace &space, const Order &order)
{
	DeviceQuicksort quicksort(queue, space);
	uint64_t   *words = space.pairs[0].words;

	if (keys.nrows > leaf_rows && FieldSource::suffices(keys, plan))
		return quicksort.sort_all(FieldSource(keys, plan), keys.nrows, order);
	return queue.launch("making working words", gather_words,
						divide_up(keys.nrows, simple_threads), simple_threads,
						PlanSource{keys, plan}, words) &&
		(keys.nrows > leaf_rows ?
		 quicksort.sort_all(WordSource{words}, keys.nrows, order) :
		 quicksort.sort_few(keys.nrows, order));
}

/* How keys were sorted, and where they are then. */
struct SortOutcome
{
	const char *method;
	SortedKeys	keys;
	FirstWords	first_words;
};

/* Where the first words are that a sort in place has left. */
static FirstWords
placed_words(const KeySurvey &survey, const WordPlan &plan)
{
	return {true, plan.last_word() > 0, plan, ~survey.all_but[0]};
}

/* Makes the order of the keys. */
static bool
sort_keys(const Queue &queue, const Keys &keys, bool want_ties,
		  DeviceAlgorithm algorithm, const Workspace &space, uint32_t *entries,
		  SortOutcome *outcome)
{
	Order		order = {entries, ORDER_TIE, &space.control->has_ties};
	Control		control;
	WordPlan	plan;
	WordPlan	next_plan;
	bool		has_next;

	if (!survey(queue, keys, space, &control))
		return false;
	*outcome = {keys_in_order, {keys, false, 0, true}, {}};
	if (are_ordered(control.survey))
		return put_in_order(queue, keys, control.survey, want_ties, order);

	WordPlanner planner(control.survey);

	(void) planner.next(&plan);
	has_next = planner.next(&next_plan);
	if (algorithm == DEVICE_SORT_BITONIC)
	{
		outcome->method = "bitonic sort, in place";
		outcome->keys = {keys, true,
			has_next ? next_plan.first_word() : KEY_MAX_WORDS, false};
		outcome->first_words = placed_words(control.survey, plan);
		return sort_in_place(queue, keys, plan,
							 has_next ? &next_plan : nullptr, want_ties,
							 entries);
	}
	if (!has_next && !want_ties)
		order.tie = 0;
	outcome->keys.is_simple = takes_radix_sort(algorithm, keys.nrows, plan,
											   !has_next);
	if (outcome->keys.is_simple)
	{
		outcome->method = "radix sort";
		if (!radix_sort(queue, keys, plan, space, order))
			return false;
	}
	else
	{
		outcome->method = "quicksort";
		if (!quicksort_by_plan(queue, keys, plan, space, order))
			return false;
	}
	if (!has_next)
		return true;
	if (!read_control(queue, space, &control))
		return false;
	if (control.has_ties == 0)
		return true;
	return refine_ties(queue, keys, planner, next_plan, space, order) &&
		(want_ties ||
		 queue.launch("clearing ties", clear_ties,
					  divide_up(keys.nrows, simple_threads), simple_threads,
					  entries, keys.nrows));
}

/* Lays out a workspace as the job's algorithm needs it. */
static uint64_t
lay_out(Workspace &space, void *base, const DeviceSort *sort)
{
	uint64_t	nwords = sort->words.size();
	uint64_t	nends = sort->ends.size();

	return sort->algorithm == DEVICE_SORT_BITONIC ?
		space.lay_out_in_place(base, nwords, nends) :
		space.lay_out(base, sort->nrows, nwords, nends);
}

/* Copies the tables of the keys to a workspace. */
static bool
store_tables(const DeviceSort *sort, const Queue &queue,
			 const Workspace &space)
{
	return sort->words.store_table(queue, space.word_slabs) &&
		sort->ends.store_table(queue, space.end_slabs);
}

/* Makes the workspace, with the tables of the keys. */
static bool
open_workspace(DeviceSort *sort, const Queue &queue, Workspace *space)
{
	if (!sort->workspace.allocate(queue, lay_out(*space, nullptr, sort),
								  "allocating device memory to sort in"))
		return false;
	(void) lay_out(*space, sort->workspace.address(), sort);
	return store_tables(sort, queue, *space);
}

/* The same; if there is less memory than was thought, that of a sort in place. */
static bool
open_possible_workspace(DeviceSort *sort, const Queue &queue, Workspace *space)
{
	if (open_workspace(sort, queue, space))
		return true;
	if (!queue.error->is_full || sort->algorithm == DEVICE_SORT_BITONIC)
		return false;
	sort->algorithm = DEVICE_SORT_BITONIC;
	sort->workspace.release(queue.stream);
	return open_workspace(sort, queue, space);
}

/* The job's keys, by the tables of a workspace. */
static Keys
keys_of(const DeviceSort *sort, const Workspace &space)
{
	return {{space.word_slabs}, {space.end_slabs}, sort->words.size(),
		static_cast<uint32_t>(sort->nrows), sort->shape.fixed_words};
}

static void
release_keys(DeviceSort *sort)
{
	sort->words.release(sort->stream);
	sort->ends.release(sort->stream);
}

/*
 * Waits for the check of the order.  Meanwhile what the job does not need any
 * more is released, which takes some time if there are many slabs.
 */
static bool
pass_check(DeviceSort *sort, const Queue &queue, const SortedKeys &sorted,
		   const Workspace &space)
{
	const uint32_t *entries =
		static_cast<const uint32_t *>(sort->order.address());
	Control		control;

	if (sorted.is_simple)
		return true;
	if (!check_order(queue, sorted, sort->shape.mark_ties, entries,
					 &space.control->check))
		return false;
	if (!sort->keeps_keys)
		release_keys(sort);
	if (!read_control(queue, space, &control))
		return false;
	if (control.check.excess != 0)
		return refuse(queue.error,
					  "the order failed its check: not every row is there once");
	if (control.check.disorder != 0)
		return refuse(queue.error,
					  "the order failed its check: keys are out of order");
	return true;
}

/* Sorts the keys, and checks the order. */
static bool
sort_job(DeviceSort *sort, const Queue &queue)
{
	Workspace	space;
	SortOutcome outcome;

	if (!sort->order.allocate(queue, order_bytes(sort->nrows),
							  "allocating device memory for the order") ||
		!open_possible_workspace(sort, queue, &space) ||
		!sort_keys(queue, keys_of(sort, space), sort->shape.mark_ties,
				   sort->algorithm, space,
				   static_cast<uint32_t *>(sort->order.address()), &outcome))
		return false;
	sort->method = outcome.method;
	sort->first_words = outcome.first_words;
	return pass_check(sort, queue, outcome.keys, space);
}

/*
 * Keeps the keys of a sorted job, with no more memory than their tables take
 * beside.
 */
static bool
keep_keys(DeviceSort *sort, const Queue &queue)
{
	uint64_t	nwords = sort->words.size();
	uint64_t	nends = sort->ends.size();
	Workspace	space;

	sort->workspace.release(sort->stream);
	if (!queue.did(cudaStreamSynchronize(queue.stream), "sorting") ||
		!sort->workspace.allocate(queue,
								  space.lay_out_in_place(nullptr, nwords,
														 nends),
								  "allocating device memory to keep keys"))
		return false;
	(void) space.lay_out_in_place(sort->workspace.address(), nwords, nends);
	sort->kept = {keys_of(sort, space), sort->first_words,
		static_cast<const uint32_t *>(sort->order.address())};
	return store_tables(sort, queue, space);
}

void
device_sort_keep_keys(DeviceSort *sort)
{
	sort->keeps_keys = true;
}

bool
device_sort_run(DeviceSort *sort, uint64_t memory, DeviceError *error)
{
	Queue		queue = sort->queue(error);
	uint64_t	nrows = sort->nrows;
	uint64_t	nwords = sort->words.size();

	if (sort->has_run)
		return refuse(error, "a sort runs only once");
	sort->has_run = true;
	if (nrows == 0)
	{
		sort->has_order = true;
		return true;
	}
	if (device_sort_memory_in_place(&sort->shape, nrows, nwords) > memory)
		return refuse(error, "the sort needs more memory than it may use");
	if (!enter(sort, error))
		return false;
	if (device_sort_memory(&sort->shape, nrows, nwords) > memory)
		sort->algorithm = DEVICE_SORT_BITONIC;
	if (!sort_job(sort, queue))
		return false;

	if (sort->keeps_keys)
	{
		if (!keep_keys(sort, queue))
			return false;
	}
	else
	{
		release_keys(sort);
		sort->workspace.release(sort->stream);
	}
	sort->has_order = succeeded(cudaStreamSynchronize(sort->stream), error,
								"sorting");
	return sort->has_order;
}

const char *
device_sort_method(const DeviceSort *sort)
{
	return sort->method;
}

bool
device_sort_pull(DeviceSort *sort, uint64_t first, uint32_t count,
				 uint32_t *order, DeviceError *error)
{
	const uint32_t *from = static_cast<const uint32_t *>(sort->order.address());

	if (!sort->has_order || first > sort->nrows || count > sort->nrows - first)
		return refuse(error, "there is no such part of the order");
	if (count == 0)
		return true;
	return enter(sort, error) &&
		succeeded(cudaMemcpyAsync(order, from + first,
								  count * sizeof(uint32_t),
								  cudaMemcpyDeviceToHost, sort->stream),
				  error, "copying the order from the device") &&
		succeeded(cudaStreamSynchronize(sort->stream), error,
				  "copying the order from the device");
}

/* Gathers kept keys in the buffer, which has room for them, and copies them. */
static bool
copy_keys(DeviceSort *sort, uint32_t first, uint32_t step, uint32_t count,
		  uint32_t key_words, uint64_t *words, DeviceError *error)
{
	Queue		queue = sort->queue(error);
	uint64_t   *gathered = static_cast<uint64_t *>(sort->gathered.address());
	uint64_t	nwords = static_cast<uint64_t>(count) * key_words;

	return queue.launch("gathering keys", gather_keys,
						divide_up(nwords, simple_threads), simple_threads,
						sort->kept, first, step, count, key_words,
						gathered) &&
		queue.did(cudaMemcpyAsync(words, gathered, nwords * sizeof(uint64_t),
								  cudaMemcpyDeviceToHost, queue.stream),
				  "copying keys from the device");
}

bool
device_sort_pull_keys(DeviceSort *sort, uint64_t first, uint32_t step,
					  uint32_t count, uint32_t key_words, uint64_t *words,
					  DeviceError *error)
{
	Queue		queue = sort->queue(error);
	uint32_t	most;

	if (count == 0)
		return true;
	if (!sort->has_order || !sort->keeps_keys || key_words == 0 ||
		key_words > KEY_MAX_WORDS || first >= sort->nrows ||
		static_cast<uint64_t>(count - 1) * step >= sort->nrows - first)
		return refuse(error, "there are no such keys");
	most = kept_buffer_words / key_words;
	if (!enter(sort, error))
		return false;
	if (sort->gathered.address() == nullptr &&
		!sort->gathered.allocate(queue, kept_buffer_words * sizeof(uint64_t),
								 "allocating device memory to gather keys"))
		return false;
	while (count > 0)
	{
		uint32_t	part = count < most ? count : most;

		if (!copy_keys(sort, static_cast<uint32_t>(first), step, part,
					   key_words, words, error))
			return false;
		first += static_cast<uint64_t>(part) * step;
		words += static_cast<uint64_t>(part) * key_words;
		count -= part;
	}
	return succeeded(cudaStreamSynchronize(sort->stream), error,
					 "copying keys from the device");
}

/*
 * The stream is waited for, since copies under way may still read from memory
 * that the caller is about to unpin; and what is freed can go back to the driver
 * only when it is known here to be free.  Nothing here can do anything about a
 * failure: if the context is gone, so is all that was in it.
 */
void
device_sort_end(DeviceSort *sort)
{
	DeviceError ignored;

	if (sort == nullptr)
		return;
	(void) enter(sort, &ignored);
	release_keys(sort);
	sort->gathered.release(sort->stream);
	sort->workspace.release(sort->stream);
	sort->order.release(sort->stream);
	(void) succeeded(cudaStreamSynchronize(sort->stream), &ignored,
					 "ending a job");
	while (!sort->pushes.empty())
	{
		(void) cudaEventDestroy(sort->pushes.front());
		sort->pushes.pop_front();
	}
	for (cudaEvent_t event : sort->idle_events)
		(void) cudaEventDestroy(event);
	(void) cudaStreamDestroy(sort->stream);
	(void) cudaGetLastError();
	delete sort;
}
