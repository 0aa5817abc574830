/*-------------------------------------------------------------------------
 *
 * device.cu
 *	  The devices: counting, describing and preparing them; pinning memory.
 *
 * A process makes a device ready once, and the device stays ready.  Jobs take
 * their memory from the device's default memory pool.  The pool is told to
 * keep freed memory: to take it from the system anew would cost each job far
 * more than the sort itself.  Memory that no job has needed of late goes back,
 * see device_release().
 *
 * Kernels are loaded when a device is made ready, so that no job waits for
 * that, nor finds that there is no machine code or no memory for them.  From
 * 12.2 on CUDA loads a kernel when it is first used, unless the environment
 * says EAGER when CUDA is initialised; all toolkits from 11.7 on know this
 * setting.  With EAGER a query about one kernel of an object makes sure that
 * all kernels of the object, CUB's among them, are loaded on the device.  So
 * we ask about one kernel of each object.
 *
 *-------------------------------------------------------------------------
 */
#include "device.cuh"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace gpusort
{

/* More than any machine has. */
constexpr int max_devices = 64;

/*
 * Bytes of the driver's free memory that are left: the pool takes memory in
 * steps, and the driver takes some for itself.
 */
constexpr uint64_t spare_bytes = UINT64_C(64) << 20;

static std::mutex ready_mutex;
static std::atomic<unsigned> ready_multiprocessors[max_devices];	/* 0 if not ready */

/* The device that was made ready first, -1 if none is. */
static std::atomic<int> first_ready_device(-1);

static std::atomic<bool> lost(false);

/* Runs before main(), as CUDA may be initialised by any later call. */
static void __attribute__((constructor))
load_kernels_eagerly()
{
	(void) setenv("CUDA_MODULE_LOADING", "EAGER", 1);
}

bool
refuse(DeviceError *error, const char *reason)
{
	snprintf(error->text, sizeof(error->text), "%s", reason);
	error->is_full = false;
	return false;
}

/*
 * Whether the calling thread's device has been made ready or, if that cannot
 * be told any more, whether any device has.
 */
static bool
is_device_ready()
{
	int			device;

	return first_ready_device >= 0 &&
		(cudaGetDevice(&device) != cudaSuccess ||
		 ready_multiprocessors[device] != 0);
}

/*
 * Reports an error, and finds out whether it has poisoned the context.  Such
 * an error comes back from every call.  So once a device was ready, a query of
 * its default stream, which no job uses, tells it from an ordinary error.
 * Lack of memory is ordinary in any case.
 */
bool
succeeded(cudaError_t code, DeviceError *error, const char *what)
{
	if (code == cudaSuccess)
		return true;

	snprintf(error->text, sizeof(error->text), "%s: %s", what,
			 cudaGetErrorString(code));
	error->is_full = code == cudaErrorMemoryAllocation;
	(void) cudaGetLastError();

	if (!error->is_full && is_device_ready())
	{
		cudaError_t probe = cudaStreamQuery(nullptr);

		if (probe != cudaSuccess && probe != cudaErrorNotReady)
			lost = true;
		(void) cudaGetLastError();
	}
	return false;
}

/* Prepares the current device for jobs. */
static unsigned
prepare_device(int device, DeviceError *error)
{
	cudaMemPool_t pool;
	uint64_t	keep_all = UINT64_MAX;
	int			multiprocessors;
	int			has_pools;

	if (!succeeded(cudaDeviceGetAttribute(&has_pools,
										  cudaDevAttrMemoryPoolsSupported,
										  device), error,
				   "asking whether a device has memory pools"))
		return 0;
	if (!has_pools)
	{
		(void) refuse(error, "its driver has no memory pools");
		return 0;
	}
	if (!succeeded(probe_job_kernels(), error, "loading the kernels") ||
		!succeeded(probe_sort_kernels(), error, "loading the kernels") ||
		!succeeded(probe_radix_sort(), error, "loading the kernels") ||
		!prepare_joint_sorts(error) ||
		!succeeded(cudaDeviceGetDefaultMemPool(&pool, device), error,
				   "finding the device's memory pool") ||
		!succeeded(cudaMemPoolSetAttribute(pool,
										   cudaMemPoolAttrReleaseThreshold,
										   &keep_all), error,
				   "setting up the device's memory pool") ||
		!succeeded(cudaDeviceGetAttribute(&multiprocessors,
										  cudaDevAttrMultiProcessorCount,
										  device), error,
				   "counting the device's multiprocessors"))
		return 0;
	return static_cast<unsigned>(multiprocessors);
}

unsigned
use_device(int device, DeviceError *error)
{
	std::lock_guard<std::mutex> guard(ready_mutex);

	if (device < 0 || device >= max_devices)
	{
		(void) refuse(error, "there is no such device");
		return 0;
	}
	if (!succeeded(cudaSetDevice(device), error, "choosing the device"))
		return 0;
	if (ready_multiprocessors[device] == 0)
	{
		ready_multiprocessors[device] = prepare_device(device, error);
		if (ready_multiprocessors[device] != 0 && first_ready_device < 0)
			first_ready_device = device;
	}
	return ready_multiprocessors[device];
}

}								/* namespace gpusort */

using namespace gpusort;

/*
 * Says what is wrong with the driver, if that is the reason.  CUDA has one
 * error for both, no driver and a driver that is too old.
 */
static void
explain_driver(cudaError_t code, DeviceError *error)
{
	int			driver;
	int			toolkit;

	if (cudaDriverGetVersion(&driver) != cudaSuccess ||
		cudaRuntimeGetVersion(&toolkit) != cudaSuccess)
		(void) cudaGetLastError();
	else if (driver == 0)
		(void) refuse(error, "No NVIDIA driver is installed");
	else if (code == cudaErrorInsufficientDriver)
		snprintf(error->text, sizeof(error->text),
				 "the NVIDIA driver is for CUDA %d.%d at most, and gpusort was built with CUDA %d.%d",
				 driver / 1000, driver % 1000 / 10,
				 toolkit / 1000, toolkit % 1000 / 10);
}

int
device_count(DeviceError *error)
{
	int			count = 0;
	cudaError_t code = cudaGetDeviceCount(&count);

	if (!succeeded(code, error, "counting devices"))
	{
		explain_driver(code, error);
		return 0;
	}
	if (count == 0)
		(void) refuse(error, "there is no device");
	return count < max_devices ? count : max_devices;
}

/* Writes a UUID as nvidia-smi does. */
static void
write_uuid(const cudaUUID_t &uuid, char *text)
{
	char	   *end = text + sprintf(text, "GPU-");

	for (int i = 0; i < 16; i++)
		end += sprintf(end, "%s%02x", i >= 4 && i <= 10 && i % 2 == 0 ? "-" : "",
					   static_cast<unsigned char>(uuid.bytes[i]));
}

bool
device_describe(int device, DeviceInfo *info, DeviceError *error)
{
	cudaDeviceProp properties;

	memset(info, 0, sizeof(*info));
	if (!succeeded(cudaGetDeviceProperties(&properties, device), error,
				   "asking for a device's properties") ||
		!succeeded(cudaDriverGetVersion(&info->driver_version), error,
				   "asking for the driver's version"))
		return false;

	snprintf(info->name, sizeof(info->name), "%.*s", DEVICE_NAME_SIZE - 1,
			 properties.name);
	write_uuid(properties.uuid, info->uuid);
	info->memory_bytes = properties.totalGlobalMem;
	info->capability_major = properties.major;
	info->capability_minor = properties.minor;
	return true;
}

bool
device_start(int device, DeviceError *error)
{
	return use_device(device, error) != 0;
}

bool
device_is_lost(void)
{
	return lost;
}

/*
 * Asks for the pool's memory first, so that memory that goes to the pool in
 * between is not counted twice.
 */
bool
device_memory(int device, uint64_t *bytes, DeviceError *error)
{
	cudaMemPool_t pool;
	uint64_t	pool_bytes;
	size_t		free_bytes;
	size_t		total_bytes;

	if (!succeeded(cudaSetDevice(device), error, "choosing a device") ||
		!succeeded(cudaDeviceGetDefaultMemPool(&pool, device), error,
				   "finding the device's memory pool") ||
		!succeeded(cudaMemPoolGetAttribute(pool,
										   cudaMemPoolAttrReservedMemCurrent,
										   &pool_bytes), error,
				   "asking for the size of the device's memory pool") ||
		!succeeded(cudaMemGetInfo(&free_bytes, &total_bytes), error,
				   "asking for the device's free memory"))
		return false;
	*bytes = pool_bytes;
	if (free_bytes > spare_bytes)
		*bytes += free_bytes - spare_bytes;
	return true;
}

/* Ignores failure: memory that does not go back is there for the next job. */
void
device_release(int device, uint64_t kept_bytes)
{
	cudaMemPool_t pool;
	DeviceError ignored;

	(void) (succeeded(cudaSetDevice(device), &ignored, "choosing a device") &&
			succeeded(cudaDeviceGetDefaultMemPool(&pool, device), &ignored,
					  "finding the device's memory pool") &&
			succeeded(cudaMemPoolTrimTo(pool, kept_bytes), &ignored,
					  "giving memory back"));
}

/*
 * Pinning needs a context.  It uses the context of a device in use; otherwise
 * CUDA would make a context on a device that nobody wants.
 */
bool
device_pin(void *memory, size_t bytes, DeviceError *error)
{
	if (first_ready_device >= 0 &&
		!succeeded(cudaSetDevice(first_ready_device), error,
				   "choosing a device to pin memory for"))
		return false;
	return succeeded(cudaHostRegister(memory, bytes, cudaHostRegisterPortable),
					 error, "pinning memory");
}

void
device_unpin(void *memory)
{
	DeviceError ignored;

	(void) succeeded(cudaHostUnregister(memory), &ignored, "unpinning memory");
}
