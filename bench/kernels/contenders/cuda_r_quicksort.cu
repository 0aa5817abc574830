/*-------------------------------------------------------------------------
 *
 * cuda_r_quicksort.cu
 *	  CUDA-R-quicksort as a contender.
 *
 *-------------------------------------------------------------------------
 */
#include "../../lineage/cuda_r_quicksort.cuh"

#include "lineage_contender.cuh"

namespace bench
{

static const LineageContender<lineage::CudaRQuicksort> cuda_r_quicksort;

}								/* namespace bench */
