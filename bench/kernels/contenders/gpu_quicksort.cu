/*-------------------------------------------------------------------------
 *
 * gpu_quicksort.cu
 *	  GPU-Quicksort as a contender, in both of its variants.
 *
 *-------------------------------------------------------------------------
 */
#include "../../lineage/gpu_quicksort.cuh"

#include "lineage_contender.cuh"

namespace bench
{

static const LineageContender<lineage::GpuQuicksort> gpu_quicksort;
static const LineageContender<lineage::GpuQuicksortAtomic>
gpu_quicksort_atomic;

}								/* namespace bench */
