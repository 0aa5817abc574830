/*-------------------------------------------------------------------------
 *
 * launch.cuh
 *	  Launching kernels, on a device or on the emulator of the unit tests.
 *
 * This is the only file that knows the difference: nvcc's <<<>>> and "extern
 * __shared__" have no counterpart in C++, and the emulator provides all else
 * under CUDA's own names.
 *
 * A kernel takes its shared memory as one structure, here called Shared, that
 * is named where the kernel is launched and again where the memory is used.
 * It is always dynamic shared memory, so it may exceed the 48 KiB to which
 * static variables are limited.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LAUNCH_CUH
#define GPUSORT_LAUNCH_CUH

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "failure.cuh"
#include "tuning.cuh"

namespace gpusort
{

/* Toolkits from 12.0 on know launches before the end of the kernel before. */
#if !defined(CUDA_ON_CPU) && CUDART_VERSION >= 12000
#define GPUSORT_HAS_DEPENDENT_LAUNCH
#endif

/* For kernels without shared memory. */
struct NoShared
{
};

template <typename Shared>
struct SharedBytes
{
	static constexpr size_t value = sizeof(Shared);
};

template <>
struct SharedBytes<NoShared>
{
	static constexpr size_t value = 0;
};

/* Shared memory that every kernel gets without asking. */
constexpr size_t default_shared_bytes = 48 * 1024;

/* The calling block's shared memory. */
template <typename Shared>
static __device__ __forceinline__ Shared &
block_shared()
{
#ifdef CUDA_ON_CPU
	return *static_cast<Shared *>(cuda_on_cpu::dynamic_shared(sizeof(Shared)));
#else
	extern __shared__ __align__(16) unsigned char dynamic_shared[];

	return *reinterpret_cast<Shared *>(dynamic_shared);
#endif
}

/*
 * The queue of a job's work: its stream, on the current device of the calling
 * thread, and the place where it reports failure.
 */
struct Queue
{
	cudaStream_t stream;
	unsigned	multiprocessors;
	DeviceError *error;

	bool
	did(cudaError_t code, const char *what) const
	{
		return succeeded(code, error, what);
	}

	/* Launches a kernel; no blocks is allowed and does nothing. */
	template <typename Shared = NoShared, typename... Parameters,
			  typename... Arguments>
	bool
	launch(const char *what, void (*kernel) (Parameters...), uint64_t blocks,
		   unsigned threads, Arguments... arguments) const
	{
		constexpr size_t shared_bytes = SharedBytes<Shared>::value;
		unsigned	grid = static_cast<unsigned>(blocks);

		if (blocks == 0)
			return true;
		if (!allow_shared<Shared>(what, kernel))
			return false;
#ifdef CUDA_ON_CPU
		cuda_on_cpu::launch(kernel, grid, threads, shared_bytes, stream,
							arguments...);
#else
		kernel<<<grid, threads, shared_bytes, stream>>>(arguments...);
#endif
		return did(cudaGetLastError(), what);
	}

	/*
	 * Launches a kernel whose blocks run at the same time, and so may wait for
	 * each other by grid_barrier(): a cooperative launch.  There may be no more
	 * of them than the device holds at once.
	 */
	template <typename Shared, typename... Parameters, typename... Arguments>
	bool
	launch_together(const char *what, void (*kernel) (Parameters...),
					unsigned blocks, unsigned threads,
					Arguments... arguments) const
	{
		constexpr size_t shared_bytes = SharedBytes<Shared>::value;

		if (!allow_shared<Shared>(what, kernel))
			return false;
#ifdef CUDA_ON_CPU
		cuda_on_cpu::launch_together(kernel, blocks, threads, shared_bytes,
									 stream, arguments...);
		return did(cudaGetLastError(), what);
#else
		cudaLaunchConfig_t config = {};
		cudaLaunchAttribute attribute = {};

		attribute.id = cudaLaunchAttributeCooperative;
		attribute.val.cooperative = 1;
		config.gridDim = blocks;
		config.blockDim = threads;
		config.dynamicSmemBytes = shared_bytes;
		config.stream = stream;
		config.attrs = &attribute;
		config.numAttrs = 1;
		return did(cudaLaunchKernelEx(&config, kernel, arguments...), what);
#endif
	}

	/*
	 * Launches a kernel whose blocks may begin before the kernel before it has
	 * ended (programmatic dependent launch, on devices from 9.0 on).  They call
	 * wait_for_kernel_before() before they read or write what it writes or reads.
	 */
	template <typename Shared, typename... Parameters, typename... Arguments>
	bool
	launch_behind(const char *what, void (*kernel) (Parameters...),
				  uint64_t blocks, unsigned threads,
				  Arguments... arguments) const
	{
#ifdef GPUSORT_HAS_DEPENDENT_LAUNCH
		cudaLaunchConfig_t config = {};
		cudaLaunchAttribute attribute = {};

		if (!allow_shared<Shared>(what, kernel))
			return false;
		attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
		attribute.val.programmaticStreamSerializationAllowed = 1;
		config.gridDim = static_cast<unsigned>(blocks);
		config.blockDim = threads;
		config.dynamicSmemBytes = SharedBytes<Shared>::value;
		config.stream = stream;
		config.attrs = &attribute;
		config.numAttrs = 1;
		return did(cudaLaunchKernelEx(&config, kernel, arguments...), what);
#else
		return launch<Shared>(what, kernel, blocks, threads, arguments...);
#endif
	}

private:
	/* Lets a kernel have its shared memory, however much that is. */
	template <typename Shared, typename... Parameters>
	bool
	allow_shared(const char *what, void (*kernel) (Parameters...)) const
	{
		constexpr size_t shared_bytes = SharedBytes<Shared>::value;

		return shared_bytes <= default_shared_bytes ||
			did(cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel),
									 cudaFuncAttributeMaxDynamicSharedMemorySize,
									 static_cast<int>(shared_bytes)), what);
	}
};

/*
 * Waits until all blocks of a grid are here, and see what the others wrote
 * before.  Called by all threads of all blocks, with a counter that is 0 when
 * the kernel is launched, and with the number of the barrier, from 1 on.
 */
static __device__ __forceinline__ void
grid_barrier(uint32_t *arrived, uint32_t number)
{
#ifdef CUDA_ON_CPU
	(void) arrived;
	(void) number;
	cuda_on_cpu::grid_barrier();
#else
	__syncthreads();
	if (threadIdx.x == 0)
	{
		volatile uint32_t *seen = arrived;

		__threadfence();
		atomicAdd(arrived, 1u);
		while (*seen < number * gridDim.x)
			;
		__threadfence();
	}
	__syncthreads();
#endif
}

/*
 * Whether all other blocks of the grid have called this before.  If so, the block
 * sees what they wrote before.  Called by all threads of all blocks, with a
 * counter that is 0 when the kernel is launched, and with shared memory for the
 * answer.
 */
static __device__ __forceinline__ bool
is_last_block(uint32_t *finished, bool &is_last)
{
	__syncthreads();
	if (threadIdx.x == 0)
	{
		__threadfence();
		is_last = atomicAdd(finished, 1u) == gridDim.x - 1;
		__threadfence();
	}
	__syncthreads();
	return is_last;
}

/* Waits until the kernel before has ended, see Queue::launch_behind(). */
static __device__ __forceinline__ void
wait_for_kernel_before()
{
#if defined(GPUSORT_HAS_DEPENDENT_LAUNCH) && __CUDA_ARCH__ >= 900
	cudaGridDependencySynchronize();
#endif
}

/* Lets the next kernel begin once all blocks of this one are here. */
static __device__ __forceinline__ void
let_next_kernel_begin()
{
#if defined(GPUSORT_HAS_DEPENDENT_LAUNCH) && __CUDA_ARCH__ >= 900
	cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/*
 * Has memory read into the L2 cache, without waiting for it.  Called by all
 * lanes of a warp.
 */
static __device__ __forceinline__ void
prefetch_into_cache(const void *from, uint64_t bytes)
{
#ifdef CUDA_ON_CPU
	(void) from;
	(void) bytes;
#else
	constexpr unsigned line_bytes = 128;
	const char *memory = static_cast<const char *>(from);

	for (uint64_t at = threadIdx.x % warp_threads * line_bytes; at < bytes;
		 at += warp_threads * line_bytes)
		asm volatile("prefetch.global.L2 [%0];" : : "l"(memory + at));
#endif
}

/*
 * Success if the object of a kernel has machine code for the current device.
 */
template <typename... Parameters>
static inline cudaError_t
probe_kernel(void (*kernel) (Parameters...))
{
	cudaFuncAttributes attributes;

	return cudaFuncGetAttributes(&attributes,
								 reinterpret_cast<const void *>(kernel));
}

/* Blocks (or tiles, or warps) of "size" that cover "count". */
static constexpr __host__ __device__ uint64_t
divide_up(uint64_t count, uint64_t size)
{
	return (count + size - 1) / size;
}

}								/* namespace gpusort */

#endif							/* GPUSORT_LAUNCH_CUH */
