/*-------------------------------------------------------------------------
 *
 * cuda_quicksort.cu
 *	  CUDA-quicksort as a contender, whole and with either half of its gain.
 *
 *-------------------------------------------------------------------------
 */
#include "../../lineage/cuda_quicksort.cuh"

#include "lineage_contender.cuh"

namespace bench
{

static const LineageContender<lineage::CudaQuicksort> cuda_quicksort;
static const LineageContender<lineage::CudaQuicksortAtomicsOnly>
cuda_quicksort_atomics_only;
static const LineageContender<lineage::CudaQuicksortCoalescedOnly>
cuda_quicksort_coalesced_only;

}								/* namespace bench */
