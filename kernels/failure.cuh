/*-------------------------------------------------------------------------
 *
 * failure.cuh
 *	  How the host side reports what went wrong.
 *
 * The result of every CUDA call goes through succeeded(), which writes the
 * reason as "<what we did>: <what CUDA says>" and clears the runtime's error,
 * so that an ordinary error (out of memory) does not show up again in a later
 * call that went well.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_FAILURE_CUH
#define GPUSORT_FAILURE_CUH

#include <cuda_runtime.h>

#include "device_sort.h"

namespace gpusort
{

/* True if "code" is success; otherwise reports it and returns false. */
extern bool succeeded(cudaError_t code, DeviceError *error, const char *what);

/* Reports a failure that is not CUDA's; returns false. */
extern bool refuse(DeviceError *error, const char *reason);

}								/* namespace gpusort */

#endif							/* GPUSORT_FAILURE_CUH */
