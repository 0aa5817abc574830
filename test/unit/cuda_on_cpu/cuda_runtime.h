/*-------------------------------------------------------------------------
 *
 * cuda_runtime.h
 *	  Stands in for the CUDA runtime's header of this name; cuda_on_cpu.h
 *	  says how that works and what it is for.
 *
 * It has what the kernels and their tests use, under CUDA's names and with
 * CUDA's meaning.  Two things without a counterpart in C++ differ: kernels are
 * launched by cuda_on_cpu::launch() and launch_child(), and all shared memory
 * is dynamic and comes from cuda_on_cpu::dynamic_shared().
 *
 *-------------------------------------------------------------------------
 */
#ifndef CUDA_ON_CPU_RUNTIME_H
#define CUDA_ON_CPU_RUNTIME_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#define CUDA_ON_CPU 1

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__

/* Errors, with CUDA's numbers. */
enum cudaError_t
{
	cudaSuccess = 0,
	cudaErrorInvalidValue = 1,
	cudaErrorMemoryAllocation = 2,
	cudaErrorInvalidConfiguration = 9,
	cudaErrorInsufficientDriver = 35,
	cudaErrorNoDevice = 100,
	cudaErrorInvalidDevice = 101,
	cudaErrorNotReady = 600,
	cudaErrorIllegalAddress = 700,
	cudaErrorLaunchOutOfResources = 701,
	cudaErrorLaunchFailure = 719,
	cudaErrorUnknown = 999
};

enum cudaMemcpyKind
{
	cudaMemcpyHostToDevice = 1,
	cudaMemcpyDeviceToHost = 2,
	cudaMemcpyDeviceToDevice = 3
};

enum cudaDeviceAttr
{
	cudaDevAttrMultiProcessorCount = 16,
	cudaDevAttrMemoryPoolsSupported = 115
};

enum cudaMemPoolAttr
{
	cudaMemPoolAttrReleaseThreshold = 4,
	cudaMemPoolAttrReservedMemCurrent = 5
};

enum cudaLimit
{
	cudaLimitDevRuntimePendingLaunchCount = 4
};

enum cudaFuncAttribute
{
	cudaFuncAttributeMaxDynamicSharedMemorySize = 8
};

constexpr unsigned cudaStreamNonBlocking = 1;
constexpr unsigned cudaEventBlockingSync = 1;
constexpr unsigned cudaEventDisableTiming = 2;
constexpr unsigned cudaHostRegisterPortable = 1;

struct cudaUUID_t
{
	char		bytes[16];
};

struct cudaDeviceProp
{
	char		name[256];
	cudaUUID_t	uuid;
	size_t		totalGlobalMem;
	int			major;
	int			minor;
	int			multiProcessorCount;
};

struct cudaFuncAttributes
{
	int			numRegs;
};

typedef struct CudaOnCpuStream *cudaStream_t;
typedef struct CudaOnCpuEvent *cudaEvent_t;
typedef struct CudaOnCpuPool *cudaMemPool_t;

extern const char *cudaGetErrorString(cudaError_t error);
extern cudaError_t cudaGetLastError();

extern cudaError_t cudaGetDeviceCount(int *count);
extern cudaError_t cudaSetDevice(int device);
extern cudaError_t cudaGetDevice(int *device);
extern cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties,
										   int device);
extern cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute,
										  int device);
extern cudaError_t cudaDriverGetVersion(int *version);
extern cudaError_t cudaRuntimeGetVersion(int *version);
extern cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool,
											   int device);
extern cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool,
										   cudaMemPoolAttr attribute,
										   void *value);
extern cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool,
										   cudaMemPoolAttr attribute,
										   void *value);
extern cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
extern cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep_bytes);

extern cudaError_t cudaDeviceGetLimit(size_t *value, cudaLimit limit);
extern cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value);

extern cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes,
										 const void *kernel);
extern cudaError_t cudaFuncSetAttribute(const void *kernel,
										cudaFuncAttribute attribute,
										int value);

extern cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream,
											 unsigned flags);
extern cudaError_t cudaStreamDestroy(cudaStream_t stream);
extern cudaError_t cudaStreamQuery(cudaStream_t stream);
extern cudaError_t cudaStreamSynchronize(cudaStream_t stream);

extern cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event,
											unsigned flags);
extern cudaError_t cudaEventDestroy(cudaEvent_t event);
extern cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
extern cudaError_t cudaEventSynchronize(cudaEvent_t event);
extern cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin,
										cudaEvent_t end);

extern cudaError_t cudaMallocAsync(void **memory, size_t bytes,
								   cudaStream_t stream);
extern cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream);
extern cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
								   cudaMemcpyKind kind, cudaStream_t stream);
extern cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes,
								   cudaStream_t stream);

extern cudaError_t cudaMallocHost(void **memory, size_t bytes);
extern cudaError_t cudaFreeHost(void *memory);
extern cudaError_t cudaHostRegister(void *memory, size_t bytes,
									unsigned flags);
extern cudaError_t cudaHostUnregister(void *memory);

namespace cuda_on_cpu
{

struct Index
{
	unsigned	x;
};

/* Functions that the lanes of a warp perform together. */
enum Collective
{
	SYNCWARP,
	BALLOT,
	MATCH_ANY,
	SHUFFLE
};

/* Where the calling CUDA thread is. */
extern Index thread_index();
extern Index block_index();
extern Index block_size();
extern Index grid_size();

extern void block_barrier();

/* Of a grid that was launched by launch_together(). */
extern void grid_barrier();

extern uint64_t warp_collective(Collective collective, unsigned mask,
								uint64_t value, unsigned source_lane);

/* The calling block's shared memory, of which it uses this many bytes. */
extern void *dynamic_shared(size_t bytes);

/* Launches a grid whose blocks run one after another, or all together. */
extern void launch_body(std::function<void()> body, unsigned blocks,
						unsigned threads, size_t shared_bytes, bool together,
						cudaStream_t stream);

template <typename... Parameters, typename... Arguments>
void
launch(void (*kernel) (Parameters...), unsigned blocks, unsigned threads,
	   size_t shared_bytes, cudaStream_t stream, Arguments... arguments)
{
	launch_body([=] { kernel(static_cast<Parameters>(arguments)...); },
				blocks, threads, shared_bytes, false, stream);
}

/* The same for a grid whose blocks meet at barriers. */
template <typename... Parameters, typename... Arguments>
void
launch_together(void (*kernel) (Parameters...), unsigned blocks,
				unsigned threads, size_t shared_bytes, cudaStream_t stream,
				Arguments... arguments)
{
	launch_body([=] { kernel(static_cast<Parameters>(arguments)...); },
				blocks, threads, shared_bytes, true, stream);
}

extern cudaError_t launch_child_body(std::function<void()> body,
									 unsigned blocks, unsigned threads,
									 size_t shared_bytes);

/* Launches a kernel from within one, as into cudaStreamFireAndForget. */
template <typename... Parameters, typename... Arguments>
cudaError_t
launch_child(void (*kernel) (Parameters...), unsigned blocks,
			 unsigned threads, size_t shared_bytes, Arguments... arguments)
{
	return launch_child_body([=] {
		kernel(static_cast<Parameters>(arguments)...);
	}, blocks, threads, shared_bytes);
}

/* Values travel between lanes as 64 bits. */
template <typename Value>
uint64_t
to_bits(Value value)
{
	uint64_t	bits = 0;

	static_assert(sizeof(Value) <= sizeof(bits), "at most 64 bits");
	memcpy(&bits, &value, sizeof(value));
	return bits;
}

template <typename Value>
Value
from_bits(uint64_t bits)
{
	Value		value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

}								/* namespace cuda_on_cpu */

#define threadIdx (cuda_on_cpu::thread_index())
#define blockIdx (cuda_on_cpu::block_index())
#define blockDim (cuda_on_cpu::block_size())
#define gridDim (cuda_on_cpu::grid_size())

inline void
__syncthreads()
{
	cuda_on_cpu::block_barrier();
}

inline void
__syncwarp(unsigned mask = 0xffffffffu)
{
	(void) cuda_on_cpu::warp_collective(cuda_on_cpu::SYNCWARP, mask, 0, 0);
}

inline unsigned
__ballot_sync(unsigned mask, int predicate)
{
	return static_cast<unsigned>(cuda_on_cpu::warp_collective(
		cuda_on_cpu::BALLOT, mask, predicate != 0, 0));
}

inline int
__any_sync(unsigned mask, int predicate)
{
	return __ballot_sync(mask, predicate) != 0;
}

inline int
__all_sync(unsigned mask, int predicate)
{
	return __ballot_sync(mask, !predicate) == 0;
}

template <typename Value>
unsigned
__match_any_sync(unsigned mask, Value value)
{
	static_assert(sizeof(Value) == 4 || sizeof(Value) == 8,
				  "32 or 64 bits");
	return static_cast<unsigned>(cuda_on_cpu::warp_collective(
		cuda_on_cpu::MATCH_ANY, mask, cuda_on_cpu::to_bits(value), 0));
}

template <typename Value>
Value
__shfl_sync(unsigned mask, Value value, int lane, int width = 32)
{
	unsigned	own = threadIdx.x % 32;
	unsigned	group = own - own % width;

	return cuda_on_cpu::from_bits<Value>(cuda_on_cpu::warp_collective(
		cuda_on_cpu::SHUFFLE, mask, cuda_on_cpu::to_bits(value),
		group + static_cast<unsigned>(lane) % width));
}

/* A source outside the group of "width" lanes means the lane itself. */
template <typename Value>
Value
__shfl_up_sync(unsigned mask, Value value, unsigned distance, int width = 32)
{
	unsigned	own = threadIdx.x % 32;
	unsigned	source = own % width >= distance ? own - distance : own;

	return cuda_on_cpu::from_bits<Value>(cuda_on_cpu::warp_collective(
		cuda_on_cpu::SHUFFLE, mask, cuda_on_cpu::to_bits(value), source));
}

template <typename Value>
Value
__shfl_down_sync(unsigned mask, Value value, unsigned distance, int width = 32)
{
	unsigned	own = threadIdx.x % 32;
	unsigned	source = own % width + distance < static_cast<unsigned>(width) ?
		own + distance : own;

	return cuda_on_cpu::from_bits<Value>(cuda_on_cpu::warp_collective(
		cuda_on_cpu::SHUFFLE, mask, cuda_on_cpu::to_bits(value), source));
}

template <typename Value>
Value
__shfl_xor_sync(unsigned mask, Value value, unsigned lane_bits, int width = 32)
{
	unsigned	own = threadIdx.x % 32;
	unsigned	source = own ^ lane_bits;

	if (source / width > own / width)
		source = own;
	return cuda_on_cpu::from_bits<Value>(cuda_on_cpu::warp_collective(
		cuda_on_cpu::SHUFFLE, mask, cuda_on_cpu::to_bits(value), source));
}

/* Blocks never run at the same time. */
inline void
__threadfence()
{
}

inline void
__threadfence_system()
{
}

/* For the same reason plain operations are enough. */
template <typename Value>
Value
atomicAdd(Value *address, std::common_type_t<Value> value)
{
	return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

template <typename Value>
Value
atomicOr(Value *address, std::common_type_t<Value> value)
{
	return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}

template <typename Value>
Value
atomicMin(Value *address, std::common_type_t<Value> value)
{
	Value		old = *address;

	if (value < old)
		*address = value;
	return old;
}

template <typename Value>
Value
atomicMax(Value *address, std::common_type_t<Value> value)
{
	Value		old = *address;

	if (value > old)
		*address = value;
	return old;
}

inline int
__popc(unsigned value)
{
	return __builtin_popcount(value);
}

inline int
__ffs(unsigned value)
{
	return __builtin_ffs(static_cast<int>(value));
}

inline int
__clz(unsigned value)
{
	return value == 0 ? 32 : __builtin_clz(value);
}

inline int
__clzll(long long value)
{
	return value == 0 ? 64 :
		__builtin_clzll(static_cast<unsigned long long>(value));
}

#endif							/* CUDA_ON_CPU_RUNTIME_H */
