/*-------------------------------------------------------------------------
 *
 * runtime.cc
 *	  The emulated CUDA runtime: memory, streams, events, errors.
 *
 * A stream is a queue of things to do, done by the thread that waits for them.
 * Copies between pinned host memory and the device wait in the queue as any
 * other work.  From pageable memory CUDA takes the bytes before the call
 * returns, and to pageable memory it waits until the copy is done; so does
 * this file.  A wait that fails has waited all the same: the error that it
 * reports is of the work before.
 *
 * Freeing also happens in stream order, which AddressSanitizer then sees, and
 * so at once if nothing is left on the stream.  A stream may be destroyed with work left on it, which is done later: at a call
 * of usage(), or when memory is needed.
 *
 *-------------------------------------------------------------------------
 */
#include "machine.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

struct CudaOnCpuStream
{
	int			device;
	std::deque<std::function<void()>> work;
	uint64_t	enqueued = 0;
	uint64_t	done = 0;
};

using Clock = std::chrono::steady_clock;

struct CudaOnCpuEvent
{
	std::weak_ptr<CudaOnCpuStream> stream;
	uint64_t	after = 0;		/* things done on the stream */

	/* When the stream came to it; the event may be gone by then. */
	std::shared_ptr<Clock::time_point> time =
		std::make_shared<Clock::time_point>();
};

namespace cuda_on_cpu
{

constexpr int runtime_version = 13000;
constexpr int device_count = 2;
constexpr int multiprocessors = 2;
constexpr size_t device_bytes = size_t(1) << 30;
constexpr size_t allocation_alignment = 256;
constexpr unsigned char memory_pattern = 0xcd;

/* CUDA's is 2048. */
constexpr size_t default_pending_launches = 4;

/* What jobs of different threads share. */
static std::mutex mutex;
static std::map<void *, size_t> allocations;
static std::map<const char *, size_t> pinned;
static std::map<cudaStream_t, std::shared_ptr<CudaOnCpuStream>> streams;
static std::vector<std::shared_ptr<CudaOnCpuStream>> destroyed_streams;
static uint64_t live_bytes;
static uint64_t peak_bytes;
static uint64_t pool_bytes;
static uint64_t memory_limit = UINT64_MAX;
static unsigned live_events;
static uint64_t calls;
static uint64_t failing_call;
static cudaError_t failing_code;
static cudaError_t lost_code = cudaSuccess;
static size_t pending_launches = default_pending_launches;
static bool device_present = true;
static int	driver_version = runtime_version;

static thread_local cudaError_t last_error = cudaSuccess;
static thread_local int current_device = 0;

static cudaError_t
result(cudaError_t code)
{
	if (code != cudaSuccess)
		last_error = code;
	return code;
}

/* Whether this call of a function that can fail is to fail. */
static cudaError_t
fault()
{
	std::lock_guard<std::mutex> guard(mutex);

	if (lost_code != cudaSuccess)
		return lost_code;
	if (++calls == failing_call)
		return failing_code;
	return device_present ? cudaSuccess : cudaErrorNoDevice;
}

/* What is given to a stream must be given on its device. */
static void
check_device(cudaStream_t stream)
{
	if (stream->device != current_device)
	{
		fprintf(stderr, "cuda_on_cpu: a stream of device %d is used on device %d\n",
				stream->device, current_device);
		abort();
	}
}

static void
enqueue(cudaStream_t stream, std::function<void()> work)
{
	check_device(stream);
	stream->work.push_back(std::move(work));
	stream->enqueued++;
}

static void
do_until(CudaOnCpuStream &stream, uint64_t done)
{
	while (stream.done < done)
	{
		std::function<void()> work = std::move(stream.work.front());

		stream.work.pop_front();
		stream.done++;
		work();
	}
}

/* Does what was left on streams when they were destroyed. */
static void
do_leftovers()
{
	std::vector<std::shared_ptr<CudaOnCpuStream>> leftovers;

	{
		std::lock_guard<std::mutex> guard(mutex);

		leftovers.swap(destroyed_streams);
	}
	for (const std::shared_ptr<CudaOnCpuStream> &stream : leftovers)
		do_until(*stream, stream->enqueued);
}

static bool
is_pinned(const void *memory, size_t bytes)
{
	std::lock_guard<std::mutex> guard(mutex);
	const char *start = static_cast<const char *>(memory);
	auto		range = pinned.upper_bound(start);

	if (range == pinned.begin())
		return false;
	--range;
	return start + bytes <= range->first + range->second;
}

static cudaError_t
pin(const void *memory, size_t bytes)
{
	std::lock_guard<std::mutex> guard(mutex);
	bool		is_new = pinned.emplace(static_cast<const char *>(memory),
										bytes).second;

	return is_new ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t
unpin(const void *memory)
{
	std::lock_guard<std::mutex> guard(mutex);

	return pinned.erase(static_cast<const char *>(memory)) == 1 ?
		cudaSuccess : cudaErrorInvalidValue;
}

static void
free_now(void *memory)
{
	std::lock_guard<std::mutex> guard(mutex);
	auto		allocation = allocations.find(memory);

	if (allocation == allocations.end())
	{
		fprintf(stderr, "cuda_on_cpu: freeing what is not device memory\n");
		abort();
	}
	live_bytes -= allocation->second;
	allocations.erase(allocation);
	free(memory);
}

void
launch_body(std::function<void()> body, unsigned blocks, unsigned threads,
			size_t shared_bytes, bool together, cudaStream_t stream)
{
	if (result(fault()) != cudaSuccess)
		return;
	enqueue(stream, [=] {
		if ((together ? run_together : run_grid) (body, blocks, threads,
												  shared_bytes) != cudaSuccess)
		{
			fprintf(stderr, "cuda_on_cpu: a launch of %u blocks of %u threads "
					"with %zu bytes of shared memory\n", blocks, threads,
					shared_bytes);
			abort();
		}
	});
}

cudaError_t
check_child_launch(size_t pending)
{
	cudaError_t code = fault();
	std::lock_guard<std::mutex> guard(mutex);

	return code == cudaSuccess && pending >= pending_launches ?
		cudaErrorLaunchOutOfResources : code;
}

Usage
usage()
{
	do_leftovers();

	std::lock_guard<std::mutex> guard(mutex);

	return {live_bytes, peak_bytes, static_cast<unsigned>(allocations.size()),
		static_cast<unsigned>(streams.size()), live_events,
		static_cast<unsigned>(pinned.size()), pool_bytes};
}

void
reset_peak()
{
	do_leftovers();

	std::lock_guard<std::mutex> guard(mutex);

	peak_bytes = live_bytes;
}

void
limit_memory(uint64_t bytes)
{
	std::lock_guard<std::mutex> guard(mutex);

	memory_limit = bytes;
}

void
fail_call(uint64_t nth, cudaError_t code)
{
	std::lock_guard<std::mutex> guard(mutex);

	calls = 0;
	failing_call = nth;
	failing_code = code;
}

uint64_t
calls_made()
{
	std::lock_guard<std::mutex> guard(mutex);

	return calls;
}

void
lose_context(cudaError_t code)
{
	std::lock_guard<std::mutex> guard(mutex);

	lost_code = code;
}

void
set_device_present(bool present)
{
	std::lock_guard<std::mutex> guard(mutex);

	device_present = present;
}

void
set_driver(int version)
{
	std::lock_guard<std::mutex> guard(mutex);

	driver_version = version;
}

}								/* namespace cuda_on_cpu */

using namespace cuda_on_cpu;

const char *
cudaGetErrorString(cudaError_t error)
{
	switch (error)
	{
		case cudaSuccess:
			return "no error";
		case cudaErrorInvalidValue:
			return "invalid argument";
		case cudaErrorMemoryAllocation:
			return "out of memory";
		case cudaErrorInvalidConfiguration:
			return "invalid configuration argument";
		case cudaErrorInsufficientDriver:
			return "CUDA driver version is insufficient for CUDA runtime version";
		case cudaErrorNoDevice:
			return "no CUDA-capable device is detected";
		case cudaErrorInvalidDevice:
			return "invalid device ordinal";
		case cudaErrorNotReady:
			return "device not ready";
		case cudaErrorIllegalAddress:
			return "an illegal memory access was encountered";
		case cudaErrorLaunchOutOfResources:
			return "too many resources requested for launch";
		case cudaErrorLaunchFailure:
			return "unspecified launch failure";
		case cudaErrorUnknown:
			break;
	}
	return "unknown error";
}

cudaError_t
cudaGetLastError()
{
	cudaError_t error = last_error;

	last_error = cudaSuccess;
	return error;
}

cudaError_t
cudaGetDeviceCount(int *count)
{
	*count = device_count;
	return result(driver_version < runtime_version ?
				  cudaErrorInsufficientDriver : fault());
}

cudaError_t
cudaSetDevice(int device)
{
	cudaError_t code = fault();

	if (code == cudaSuccess && (device < 0 || device >= device_count))
		code = cudaErrorInvalidDevice;
	if (code == cudaSuccess)
		current_device = device;
	return result(code);
}

cudaError_t
cudaGetDevice(int *device)
{
	*device = current_device;
	return result(fault());
}

cudaError_t
cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
	cudaError_t code = fault();

	if (code == cudaSuccess && (device < 0 || device >= device_count))
		code = cudaErrorInvalidDevice;
	if (code == cudaSuccess)
	{
		*properties = {};
		snprintf(properties->name, sizeof(properties->name), "CUDA on CPU");
		for (int i = 0; i < 16; i++)
			properties->uuid.bytes[i] = static_cast<char>(device + 17 * i);
		properties->totalGlobalMem = device_bytes;
		properties->major = 9;
		properties->multiProcessorCount = multiprocessors;
	}
	return result(code);
}

cudaError_t
cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int)
{
	*value = attribute == cudaDevAttrMultiProcessorCount ? multiprocessors : 1;
	return result(fault());
}

cudaError_t
cudaDriverGetVersion(int *version)
{
	*version = driver_version;
	return result(fault());
}

cudaError_t
cudaRuntimeGetVersion(int *version)
{
	*version = runtime_version;
	return result(fault());
}

cudaError_t
cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int)
{
	*pool = nullptr;
	return result(fault());
}

cudaError_t
cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *value)
{
	cudaError_t code = fault();
	std::lock_guard<std::mutex> guard(mutex);

	*static_cast<uint64_t *>(value) = pool_bytes;
	return result(code);
}

cudaError_t
cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
	cudaError_t code = fault();
	std::lock_guard<std::mutex> guard(mutex);
	uint64_t	left = memory_limit < device_bytes ? memory_limit : device_bytes;

	*total_bytes = device_bytes;
	*free_bytes = left > pool_bytes ? left - pool_bytes : 0;
	return result(code);
}

/* Memory does not go back if nobody has waited for its freeing. */
cudaError_t
cudaMemPoolTrimTo(cudaMemPool_t, size_t keep_bytes)
{
	cudaError_t code = fault();
	std::lock_guard<std::mutex> guard(mutex);

	if (code == cudaSuccess && pool_bytes > keep_bytes)
		pool_bytes = live_bytes > keep_bytes ? live_bytes : keep_bytes;
	return result(code);
}

cudaError_t
cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *)
{
	return result(fault());
}

cudaError_t
cudaDeviceGetLimit(size_t *value, cudaLimit)
{
	cudaError_t code = fault();
	std::lock_guard<std::mutex> guard(mutex);

	*value = pending_launches;
	return result(code);
}

cudaError_t
cudaDeviceSetLimit(cudaLimit, size_t value)
{
	cudaError_t code = fault();

	if (code == cudaSuccess)
	{
		std::lock_guard<std::mutex> guard(mutex);

		pending_launches = value;
	}
	return result(code);
}

cudaError_t
cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *)
{
	*attributes = {};
	return result(fault());
}

cudaError_t
cudaFuncSetAttribute(const void *, cudaFuncAttribute, int)
{
	return result(fault());
}

cudaError_t
cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
	cudaError_t code = fault();

	if (code == cudaSuccess)
	{
		std::lock_guard<std::mutex> guard(mutex);
		std::shared_ptr<CudaOnCpuStream> made =
			std::make_shared<CudaOnCpuStream>();

		made->device = current_device;
		*stream = made.get();
		streams[*stream] = made;
	}
	return result(code);
}

cudaError_t
cudaStreamDestroy(cudaStream_t stream)
{
	std::lock_guard<std::mutex> guard(mutex);

	destroyed_streams.push_back(streams.at(stream));
	streams.erase(stream);
	return cudaSuccess;
}

cudaError_t
cudaStreamQuery(cudaStream_t stream)
{
	std::lock_guard<std::mutex> guard(mutex);

	if (lost_code != cudaSuccess)
		return result(lost_code);
	return stream == nullptr || stream->work.empty() ? cudaSuccess :
		cudaErrorNotReady;
}

cudaError_t
cudaStreamSynchronize(cudaStream_t stream)
{
	cudaError_t code = fault();

	do_until(*stream, stream->enqueued);
	return result(code);
}

cudaError_t
cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
	cudaError_t code = fault();

	if (code == cudaSuccess)
	{
		std::lock_guard<std::mutex> guard(mutex);

		*event = new CudaOnCpuEvent();
		live_events++;
	}
	return result(code);
}

cudaError_t
cudaEventDestroy(cudaEvent_t event)
{
	std::lock_guard<std::mutex> guard(mutex);

	delete event;
	live_events--;
	return cudaSuccess;
}

cudaError_t
cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	cudaError_t code = fault();

	if (code == cudaSuccess)
	{
		std::lock_guard<std::mutex> guard(mutex);

		event->stream = streams.at(stream);
		enqueue(stream, [time = event->time] { *time = Clock::now(); });
		event->after = stream->enqueued;
	}
	return result(code);
}

cudaError_t
cudaEventSynchronize(cudaEvent_t event)
{
	cudaError_t code = fault();
	std::shared_ptr<CudaOnCpuStream> stream = event->stream.lock();

	if (code == cudaSuccess && stream != nullptr)
		do_until(*stream, event->after);
	return result(code);
}

cudaError_t
cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end)
{
	cudaError_t code = fault();

	for (cudaEvent_t event : {begin, end})
	{
		std::shared_ptr<CudaOnCpuStream> stream = event->stream.lock();

		if (code == cudaSuccess && stream != nullptr &&
			stream->done < event->after)
			code = cudaErrorNotReady;
	}
	if (code == cudaSuccess)
		*milliseconds = std::chrono::duration<float, std::milli>(
			*end->time - *begin->time).count();
	return result(code);
}

cudaError_t
cudaMallocAsync(void **memory, size_t bytes, cudaStream_t stream)
{
	cudaError_t code = fault();

	check_device(stream);
	do_leftovers();

	std::lock_guard<std::mutex> guard(mutex);

	if (code == cudaSuccess &&
		(live_bytes > memory_limit || bytes > memory_limit - live_bytes))
		code = cudaErrorMemoryAllocation;
	if (code == cudaSuccess &&
		posix_memalign(memory, allocation_alignment, bytes) != 0)
		code = cudaErrorMemoryAllocation;
	if (code == cudaSuccess)
	{
		memset(*memory, memory_pattern, bytes);
		allocations[*memory] = bytes;
		live_bytes += bytes;
		if (peak_bytes < live_bytes)
			peak_bytes = live_bytes;
		if (pool_bytes < live_bytes)
			pool_bytes = live_bytes;
	}
	return result(code);
}

cudaError_t
cudaFreeAsync(void *memory, cudaStream_t stream)
{
	enqueue(stream, [=] { free_now(memory); });
	if (stream->work.size() == 1)
		do_until(*stream, stream->enqueued);
	return cudaSuccess;
}

cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
				cudaStream_t stream)
{
	cudaError_t code = fault();
	bool		to_host = kind == cudaMemcpyDeviceToHost;

	if (code != cudaSuccess || bytes == 0)
		return result(code);

	if (kind == cudaMemcpyDeviceToDevice ||
		is_pinned(to_host ? to : from, bytes))
		enqueue(stream, [=] { memcpy(to, from, bytes); });
	else if (to_host)
	{
		do_until(*stream, stream->enqueued);
		memcpy(to, from, bytes);
	}
	else
	{
		const unsigned char *start = static_cast<const unsigned char *>(from);
		std::vector<unsigned char> taken(start, start + bytes);

		enqueue(stream, [=] { memcpy(to, taken.data(), bytes); });
	}
	return cudaSuccess;
}

cudaError_t
cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
	cudaError_t code = fault();

	if (code == cudaSuccess)
		enqueue(stream, [=] { memset(memory, value, bytes); });
	return result(code);
}

cudaError_t
cudaMallocHost(void **memory, size_t bytes)
{
	cudaError_t code = fault();

	if (code == cudaSuccess &&
		posix_memalign(memory, allocation_alignment, bytes) != 0)
		code = cudaErrorMemoryAllocation;
	if (code == cudaSuccess)
		code = pin(*memory, bytes);
	return result(code);
}

cudaError_t
cudaFreeHost(void *memory)
{
	cudaError_t code = unpin(memory);

	if (code == cudaSuccess)
		free(memory);
	return result(code);
}

cudaError_t
cudaHostRegister(void *memory, size_t bytes, unsigned)
{
	cudaError_t code = fault();

	return result(code == cudaSuccess ? pin(memory, bytes) : code);
}

cudaError_t
cudaHostUnregister(void *memory)
{
	return result(unpin(memory));
}
