/*-------------------------------------------------------------------------
 *
 * device.cu
 *	  The devices: how many, what they are, making one ready, pinning memory.
 *
 * A device is made ready once a process and stays so.  Its default memory
 * pool, from which jobs take their memory, is told to keep what is freed:
 * taking it from the system anew would cost each job far more than the sort
 * itself.
 *
 *-------------------------------------------------------------------------
 */
#include "device.cuh"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace gpusort
{

/* More than any machine has. */
constexpr int max_devices = 64;

static std::mutex ready_mutex;
static std::atomic<unsigned> ready_multiprocessors[max_devices];	/* 0 if not ready */

/* The device that was made ready first, -1 if none is. */
static std::atomic<int> first_ready_device(-1);

static std::atomic<bool> lost(false);

bool
refuse(DeviceError *error, const char *reason)
{
	snprintf(error->text, sizeof(error->text), "%s", reason);
	return false;
}

/*
 * Whether the calling thread's device has been made ready; if that cannot be
 * told any more, whether any has.
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
 * An error that has poisoned a context comes back from every call, whatever
 * it does.  So once a device was ready, asking after its default stream,
 * which we never use, tells such an error from an ordinary one.
 */
bool
succeeded(cudaError_t code, DeviceError *error, const char *what)
{
	if (code == cudaSuccess)
		return true;

	snprintf(error->text, sizeof(error->text), "%s: %s", what,
			 cudaGetErrorString(code));
	(void) cudaGetLastError();

	if (is_device_ready())
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
	if (!succeeded(load_kernels(), error, "loading the kernels") ||
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

int
device_count(DeviceError *error)
{
	int			count = 0;

	if (!succeeded(cudaGetDeviceCount(&count), error, "counting devices"))
		return 0;
	if (count == 0)
		(void) refuse(error, "there is no device");
	return count < max_devices ? count : max_devices;
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
 * Pinning needs a context.  It takes that of a device in use, so that none is
 * made on a device that nobody wants.
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
