/*-------------------------------------------------------------------------
 *
 * device_launch.cuh
 *	  Launching kernels from kernels (dynamic parallelism).
 *
 * A source file that includes this must be compiled with -rdc=true, and the
 * program linked by nvcc with -lcudadevrt.  It takes the second kind of
 * dynamic parallelism, that of CUDA 12 and later; LINEAGE_DEVICE_LAUNCH says
 * whether there is one.
 *
 * A grid launched by launch_child() may start at once.  It sees all memory as
 * the launching thread does.  The grid that launches it counts as complete
 * when it is, so that streams and events of the host need no further care.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_DEVICE_LAUNCH_CUH
#define GPUSORT_LINEAGE_DEVICE_LAUNCH_CUH

#include "lineage.cuh"

#if defined(CUDA_ON_CPU) || CUDART_VERSION >= 12000
#define LINEAGE_DEVICE_LAUNCH 1
#else
#define LINEAGE_DEVICE_LAUNCH 0
#endif

#if LINEAGE_DEVICE_LAUNCH

namespace lineage
{

/*
 * Grids may be nested so deep, the one that the host launches included.  The
 * limit is one of earlier dynamic parallelism, and known for no other.
 */
constexpr unsigned max_nested_grids = 24;

/* Launches a kernel from a kernel; false if that failed. */
template <typename Shared, typename... Parameters, typename... Arguments>
static __device__ __forceinline__ bool
launch_child(void (*kernel) (Parameters...), unsigned blocks,
			 unsigned threads, Arguments... arguments)
{
	constexpr size_t shared_bytes = gpusort::SharedBytes<Shared>::value;

	static_assert(shared_bytes <= gpusort::default_shared_bytes,
				  "only the host can ask for more shared memory");
#ifdef CUDA_ON_CPU
	return cuda_on_cpu::launch_child(kernel, blocks, threads, shared_bytes,
									 arguments...) == cudaSuccess;
#else
	kernel<<<blocks, threads, shared_bytes, cudaStreamFireAndForget>>>(
		arguments...);
	return cudaGetLastError() == cudaSuccess;
#endif
}

/*
 * Lets at least this many launches from kernels wait for their start.  Raising
 * the limit, which the device must be idle for, costs time and memory; it
 * stays raised.
 */
static inline bool
allow_pending_launches(const Queue &queue, size_t launches)
{
	size_t		allowed = 0;

	if (!queue.did(cudaDeviceGetLimit(&allowed,
									  cudaLimitDevRuntimePendingLaunchCount),
				   "asking how many launches may wait"))
		return false;
	return allowed >= launches ||
		(queue.did(cudaStreamSynchronize(queue.stream),
				   "waiting for earlier work") &&
		 queue.did(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount,
									  launches),
				   "letting more launches wait"));
}

}								/* namespace lineage */

#endif							/* LINEAGE_DEVICE_LAUNCH */

#endif							/* GPUSORT_LINEAGE_DEVICE_LAUNCH_CUH */
