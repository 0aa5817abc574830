/*-------------------------------------------------------------------------
 *
 * device.cuh
 *	  What jobs need to know of the devices.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DEVICE_CUH
#define GPUSORT_DEVICE_CUH

#include "failure.cuh"

namespace gpusort
{

/*
 * Makes "device" the calling thread's current one and, the first time in the
 * process, prepares it for jobs: context, memory pool, kernels loaded.
 * Returns its number of multiprocessors, or 0 on failure.
 */
extern unsigned use_device(int device, DeviceError *error);

/*
 * Loads the machine code of all kernels on the current device; fails if there
 * is none that runs on it.  In device_sort.cu, which has the kernels.
 */
extern cudaError_t load_kernels(void);

}								/* namespace gpusort */

#endif							/* GPUSORT_DEVICE_CUH */
