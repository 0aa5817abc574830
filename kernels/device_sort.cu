/*-------------------------------------------------------------------------
 *
 * device_sort.cu
 *	  A sort job on a device: the functions of device_sort.h.
 *
 * A job is its stream, its memory (job_memory.cuh), the pushes that are under
 * way (push_tickets.cuh), and its stage: it takes keys until it is performed,
 * and then has an order. key_sort.cu sorts the keys.  This file allocates the
 * memory for the sort, or less if there is not enough, checks the order, and
 * frees memory that is not needed any more.  The order of few keys is checked
 * along with the sort.
 *
 * All work is on the job's own stream, so that a push waits for nothing, and
 * device_sort_perform() waits only where it reads counters.
 *
 *-------------------------------------------------------------------------
 */
#include <new>

#include "device.cuh"
#include "job_memory.cuh"
#include "kept_keys.cuh"
#include "key_sort.cuh"
#include "order_check.cuh"
#include "push_tickets.cuh"

using namespace gpusort;

struct DeviceSort
{
	DeviceSort(int job_device, unsigned job_multiprocessors,
			   const KeyShape &job_shape, DeviceAlgorithm job_algorithm)
		: device(job_device), multiprocessors(job_multiprocessors),
		  shape(job_shape), algorithm(job_algorithm), memory(job_shape)
	{
	}

	Queue
	queue(DeviceError *error) const
	{
		return {stream, multiprocessors, error};
	}

	bool
	is_in_place() const
	{
		return algorithm == DEVICE_SORT_BITONIC;
	}

	int			device;
	unsigned	multiprocessors;
	KeyShape	shape;
	DeviceAlgorithm algorithm;
	cudaStream_t stream = nullptr;
	JobMemory	memory;
	PushTickets	tickets;
	bool		keeps_keys = false;
	bool		performed = false;
	bool		has_order = false;
	const char *method = "none, no keys";
	KeptKeys	kept = {};		/* after the sort, if keys are kept */
	DeviceBlock gathered;		/* kept keys on their way to the host */
};

cudaError_t
gpusort::probe_job_kernels(void)
{
	return probe_kernel(gather_keys);
}

uint64_t
device_sort_memory(const KeyShape *shape, uint64_t nrows, uint64_t nwords)
{
	return JobMemory::bytes(*shape, nrows, nwords, false);
}

uint64_t
device_sort_memory_in_place(const KeyShape *shape, uint64_t nrows,
							uint64_t nwords)
{
	return JobMemory::bytes(*shape, nrows, nwords, true);
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

	sort = new (std::nothrow) DeviceSort(device, multiprocessors, *shape,
										 algorithm);
	if (sort == nullptr)
	{
		(void) refuse(error, "out of memory");
		return nullptr;
	}
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

/* Whether the keys that are there now would be sorted in one launch. */
static bool
takes_one_launch(const DeviceSort *sort, const Queue &queue)
{
	const JobMemory &memory = sort->memory;

	return takes_joint_sort(queue, sort->shape, memory.rows(),
							memory.key_words(), sort->algorithm,
							memory.seems_narrow());
}

bool
device_sort_push(DeviceSort *sort, const uint64_t *words, uint64_t nwords,
				 const uint64_t *ends, uint32_t nrows, uint64_t *ticket,
				 DeviceError *error)
{
	Queue		queue = sort->queue(error);
	uint32_t	fixed_words = sort->shape.fixed_words;

	if (sort->performed)
		return refuse(error, "keys were added to a sort that was performed");
	if (nrows > SORT_MAX_ROWS - sort->memory.rows())
		return refuse(error, "too many rows for one sort");
	if (fixed_words != 0 && nwords != static_cast<uint64_t>(nrows) * fixed_words)
		return refuse(error, "keys of fixed width with a wrong number of words");
	if (!enter(sort, error))
		return false;

	try
	{
		if (!sort->memory.append(queue, words, nwords, ends, nrows) ||
			(!takes_one_launch(sort, queue) &&
			 !sort->memory.allocate_counters(queue)) ||
			!sort->tickets.record(queue))
			return false;
	}
	catch (const std::bad_alloc &)
	{
		return refuse(error, "out of memory");
	}
	*ticket = sort->tickets.last();
	return true;
}

bool
device_sort_wait_pushed(DeviceSort *sort, uint64_t ticket, DeviceError *error)
{
	if (sort->tickets.is_complete(ticket))
		return true;
	if (ticket > sort->tickets.last())
		return refuse(error, "there was no such push");
	return enter(sort, error) &&
		sort->tickets.wait(sort->queue(error), ticket);
}

/* Makes the workspace, or one for a sort in place if memory is too little. */
static bool
allocate_workspace(DeviceSort *sort, const Queue &queue, Workspace *space)
{
	if (sort->memory.allocate_workspace(queue, sort->is_in_place(), space))
		return true;
	if (!queue.error->is_full || sort->is_in_place())
		return false;
	sort->algorithm = DEVICE_SORT_BITONIC;
	sort->memory.release_workspace(queue.stream);
	return sort->memory.allocate_workspace(queue, true, space);
}

/*
 * Checks the order, and waits for the result.  Meanwhile releases memory that
 * the job does not need any more, which takes some time if there are many
 * slabs.
 */
static bool
make_check(DeviceSort *sort, const Queue &queue, const Workspace &space,
		   SortOutcome *outcome)
{
	Control		control;

	if (!check_order(queue, outcome->keys, sort->shape.mark_ties,
					 sort->memory.entries(), &space.control->check))
		return false;
	if (!sort->keeps_keys)
		sort->memory.release_keys(queue.stream);
	if (!read_control(queue, space, &control))
		return false;
	outcome->check = control.check;
	return true;
}

/* Whether the order is right, as far as its check can tell. */
static bool
is_right(const Queue &queue, const OrderCheck &check)
{
	if (check.excess != 0)
		return refuse(queue.error,
					  "the order failed its check: not every row is there once");
	if (check.disorder != 0)
		return refuse(queue.error,
					  "the order failed its check: keys are out of order");
	return true;
}

/* Makes the check, unless the order is simple or was checked. */
static bool
pass_check(DeviceSort *sort, const Queue &queue, const Workspace &space,
		   SortOutcome *outcome)
{
	if (outcome->keys.is_simple)
		return true;
	return (outcome->is_checked ||
			make_check(sort, queue, space, outcome)) &&
		is_right(queue, outcome->check);
}

/* Waits for the end of the sort, which may tell more about the order. */
static bool
finish(const Queue &queue, SortOutcome *outcome)
{
	return finish_sort(queue, outcome) &&
		(!outcome->is_checked || is_right(queue, outcome->check));
}

/*
 * Sorts the keys in one launch, if they are few.  Says whether that was done;
 * it is not if memory is short.
 */
static bool
sort_if_few(DeviceSort *sort, const Queue &queue, bool *is_sorted,
			SortOutcome *outcome)
{
	JobMemory  &memory = sort->memory;
	Pairs		pairs;
	bool		was_possible;

	*is_sorted = false;
	if (!takes_one_launch(sort, queue))
		return true;
	if (!memory.allocate_order(queue))
		return false;
	if (!memory.allocate_pairs(queue, &pairs))
		return queue.error->is_full;
	was_possible = sort_few_keys(queue, memory.few_keys(),
								 sort->shape.mark_ties, pairs,
								 memory.entries(), is_sorted, outcome);
	memory.release_workspace(queue.stream);
	return was_possible;
}

/* Sorts the keys by what a survey tells. */
static bool
sort_in_workspace(DeviceSort *sort, const Queue &queue, Workspace *space,
				  SortOutcome *outcome)
{
	JobMemory  &memory = sort->memory;
	SortSeat	seat;

	if (!memory.allocate_counters(queue) || !memory.make_tables(queue) ||
		!start_survey(queue, memory.keys(), memory.few_slabs(),
					  sort->algorithm, memory.all_counters(), &seat))
		return false;
	if (!memory.allocate_order(queue) ||
		!allocate_workspace(sort, queue, space))
	{
		abandon_survey(queue, seat);
		return false;
	}
	return sort_keys(queue, memory.keys(), sort->shape.mark_ties,
					 sort->algorithm, *space, memory.entries(), seat, outcome);
}

/* Sorts the keys, and checks the order. */
static bool
sort_and_check(DeviceSort *sort, const Queue &queue, SortOutcome *outcome)
{
	Workspace	space;
	bool		is_sorted;

	if (!sort_if_few(sort, queue, &is_sorted, outcome) ||
		(!is_sorted && !sort_in_workspace(sort, queue, &space, outcome)))
		return false;
	sort->method = outcome->method;
	return pass_check(sort, queue, space, outcome);
}

/*
 * Keeps the keys of a sorted job and their tables, and frees all other memory
 * beside the order.
 */
static bool
keep_keys(DeviceSort *sort, const Queue &queue, SortOutcome *outcome)
{
	sort->memory.release_workspace(queue.stream);
	if (!finish(queue, outcome) ||
		!queue.did(cudaStreamSynchronize(queue.stream), "sorting") ||
		!sort->memory.keep_tables(queue))
		return false;
	sort->kept = {sort->memory.keys(), outcome->first_words,
		sort->memory.entries()};
	return true;
}

void
device_sort_keep_keys(DeviceSort *sort)
{
	sort->keeps_keys = true;
}

bool
device_sort_perform(DeviceSort *sort, uint64_t memory, DeviceError *error)
{
	Queue		queue = sort->queue(error);
	uint64_t	nrows = sort->memory.rows();
	uint64_t	nwords = sort->memory.key_words();
	SortOutcome outcome;

	if (sort->performed)
		return refuse(error, "a sort is performed only once");
	sort->performed = true;
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
	if (!sort_and_check(sort, queue, &outcome))
		return false;

	if (sort->keeps_keys)
		sort->has_order = keep_keys(sort, queue, &outcome);
	else
	{
		sort->memory.release_keys(queue.stream);
		sort->memory.release_counters(queue.stream);
		sort->memory.release_workspace(queue.stream);
		sort->has_order = finish(queue, &outcome);
	}
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
	Queue		queue = sort->queue(error);
	uint64_t	nrows = sort->memory.rows();

	if (!sort->has_order || first > nrows || count > nrows - first)
		return refuse(error, "there is no such part of the order");
	if (count == 0)
		return true;
	return enter(sort, error) &&
		queue.did(cudaMemcpyAsync(order, sort->memory.entries() + first,
								  count * sizeof(uint32_t),
								  cudaMemcpyDeviceToHost, queue.stream),
				  "copying the order from the device") &&
		queue.did(cudaStreamSynchronize(queue.stream),
				  "copying the order from the device");
}

/* Whether a job has kept "count" keys that are "step" places apart. */
static bool
has_keys(const DeviceSort *sort, uint64_t first, uint32_t step, uint32_t count)
{
	uint64_t	nrows = sort->memory.rows();

	return sort->has_order && sort->keeps_keys && first < nrows &&
		static_cast<uint64_t>(count - 1) * step < nrows - first;
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
	if (key_words == 0 || key_words > KEY_MAX_WORDS ||
		!has_keys(sort, first, step, count))
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

		if (!copy_kept_keys(queue, sort->kept, static_cast<uint32_t>(first),
							step, part, key_words,
							static_cast<uint64_t *>(sort->gathered.address()),
							words))
			return false;
		first += static_cast<uint64_t>(part) * step;
		words += static_cast<uint64_t>(part) * key_words;
		count -= part;
	}
	return queue.did(cudaStreamSynchronize(queue.stream),
					 "copying keys from the device");
}

/*
 * Waits for the stream, since copies under way may still read from memory that
 * the caller is about to unpin, and since freed memory can go back to the
 * driver only when it is known to be free.  A failure changes nothing: if the
 * context is gone, so is all that was in it.
 */
void
device_sort_end(DeviceSort *sort)
{
	DeviceError ignored;

	if (sort == nullptr)
		return;
	(void) enter(sort, &ignored);
	sort->gathered.release(sort->stream);
	sort->memory.release(sort->stream);
	(void) succeeded(cudaStreamSynchronize(sort->stream), &ignored,
					 "ending a job");
	sort->tickets.release();
	(void) cudaStreamDestroy(sort->stream);
	(void) cudaGetLastError();
	delete sort;
}
