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
 * One function for each object with kernels, in device_sort.cu, key_sort.cu
 * and radix_sort.cu.  It fails if the object has no machine code for the
 * current device.  It also loads all kernels of the object; device.cu says
 * why.
 */
extern cudaError_t probe_job_kernels(void);
extern cudaError_t probe_sort_kernels(void);
extern cudaError_t probe_radix_sort(void);

/* Allocates what sorts in one launch share, once for the process. */
extern bool prepare_joint_sorts(DeviceError *error);

}								/* namespace gpusort */

#endif							/* GPUSORT_DEVICE_CUH */
