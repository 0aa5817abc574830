/*-------------------------------------------------------------------------
 *
 * measure.cu
 *	  Measuring by the device's clock.
 *
 * Two events on the stream enclose a sort.  A contender whose host takes part
 * (to look how far it is, to launch what comes next) is timed with that.
 *
 * Before each sort its input is put back, which leaves the end of it in the
 * device's L2 cache: a small input is there completely, as if an operation
 * before had just made it.
 *
 *-------------------------------------------------------------------------
 */
#include "measure.h"

#include <algorithm>

namespace bench
{

#ifdef CUDA_ON_CPU

constexpr uint64_t copied_bytes = 1 << 16;

#else

/* Much more than any cache. */
constexpr uint64_t copied_bytes = UINT64_C(1) << 30;

#endif

constexpr const char *timing = "timing";

/* Takes the time between two points of a stream. */
class StreamTimer
{
public:
	explicit StreamTimer(const Queue &its_queue) : queue(its_queue)
	{
	}

	StreamTimer(const StreamTimer &) = delete;
	StreamTimer &operator=(const StreamTimer &) = delete;

	~StreamTimer()
	{
		for (cudaEvent_t event : events)
			(void) cudaEventDestroy(event);
	}

	bool
	prepare()
	{
		for (unsigned i = 0; i < 2; i++)
		{
			cudaEvent_t event;

			if (!queue.did(cudaEventCreateWithFlags(&event,
													cudaEventBlockingSync),
						   timing))
				return false;
			events.push_back(event);
		}
		return true;
	}

	bool
	start()
	{
		return queue.did(cudaStreamSynchronize(queue.stream), timing) &&
			queue.did(cudaEventRecord(events[0], queue.stream), timing);
	}

	/* Waits for what was started since. */
	bool
	stop(double *milliseconds)
	{
		float		elapsed = 0;

		if (!queue.did(cudaEventRecord(events[1], queue.stream), timing) ||
			!queue.did(cudaEventSynchronize(events[1]), timing) ||
			!queue.did(cudaEventElapsedTime(&elapsed, events[0], events[1]),
					   timing))
			return false;
		*milliseconds = elapsed;
		return true;
	}

private:
	Queue		queue;
	std::vector<cudaEvent_t> events;
};

/* Of an even number of times the mean of the middle two. */
static double
median_of(const std::vector<double> &ascending)
{
	size_t		count = ascending.size();

	return (ascending[(count - 1) / 2] + ascending[count / 2]) / 2;
}

double
Measurement::median() const
{
	return median_of(times);
}

/* Checks what a sort has left; describes in "fault" what is wrong. */
static bool
check_result(const Queue &queue, const Input &input, Job &job,
			 const HostCheck *host_check, std::string *fault)
{
	Sorted		sorted;

	return job.find_result(&sorted) &&
		check_on_device(queue, input, sorted, fault) &&
		(host_check == nullptr || !fault->empty() ||
		 host_check->check(queue, sorted, fault));
}

/* False on failure; a wrong result is no failure. */
static bool
run_job(const Queue &queue, const Input &input, Job &job,
		const HostCheck *host_check, unsigned repeats,
		Measurement *measurement)
{
	StreamTimer timer(queue);

	if (!timer.prepare() || !job.prepare())
		return false;
	for (unsigned i = 0; i <= repeats && measurement->reason.empty(); i++)
	{
		double		time;

		if (!job.restore() || !timer.start() || !job.sort() ||
			!timer.stop(&time) ||
			!check_result(queue, input, job, i == 0 ? host_check : nullptr,
						  &measurement->reason))
			return false;
		if (i > 0)
			measurement->times.push_back(time);
	}
	std::sort(measurement->times.begin(), measurement->times.end());
	return true;
}

/* Gives back what jobs have freed, so that the next one may have it whole. */
static bool
trim_memory(const Queue &queue)
{
	cudaMemPool_t pool;

	return queue.did(cudaStreamSynchronize(queue.stream), "freeing memory") &&
		queue.did(cudaDeviceGetDefaultMemPool(&pool, device),
				  "freeing memory") &&
		queue.did(cudaMemPoolTrimTo(pool, 0), "freeing memory");
}

Measurement
measure(const Queue &queue, const Contender &contender,
		std::unique_ptr<Job> job, const Input &input,
		const HostCheck *host_check, unsigned repeats)
{
	Measurement measurement = {&contender, Outcome::RIGHT, "",
		job->extra_bytes(), {}};

	if (!run_job(queue, input, *job, host_check, repeats, &measurement))
		measurement.reason = queue.error->text;
	job.reset();
	if (!trim_memory(queue) && measurement.reason.empty())
		measurement.reason = queue.error->text;

	if (measurement.reason.find("out of memory") != std::string::npos)
		measurement.outcome = Outcome::NO_MEMORY;
	else if (!measurement.reason.empty())
		measurement.outcome = Outcome::WRONG;
	return measurement;
}

double
measure_copy(const Queue &queue, unsigned repeats)
{
	DeviceArray<unsigned char> from(queue);
	DeviceArray<unsigned char> to(queue);
	StreamTimer timer(queue);
	std::vector<double> times;

	if (!timer.prepare() || !from.allocate(copied_bytes) ||
		!to.allocate(copied_bytes) ||
		!queue.did(cudaMemsetAsync(from.get(), 0, copied_bytes, queue.stream),
				   timing))
		return 0;
	for (unsigned i = 0; i <= repeats; i++)
	{
		double		time;

		if (!timer.start() ||
			!queue.did(cudaMemcpyAsync(to.get(), from.get(), copied_bytes,
									   cudaMemcpyDeviceToDevice, queue.stream),
					   timing) ||
			!timer.stop(&time))
			return 0;
		if (i > 0)
			times.push_back(time);
	}
	std::sort(times.begin(), times.end());
	return 2.0 * copied_bytes / (median_of(times) / 1000);
}

}								/* namespace bench */
