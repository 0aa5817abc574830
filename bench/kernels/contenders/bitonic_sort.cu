/*-------------------------------------------------------------------------
 *
 * bitonic_sort.cu
 *	  The bitonic sorts of the lineage as contenders.
 *
 *-------------------------------------------------------------------------
 */
#include "../../lineage/bitonic_sort.cuh"

#include "lineage_contender.cuh"

namespace bench
{

static const LineageContender<lineage::BitonicSort> bitonic_sort;
static const LineageContender<lineage::KModelBitonicSort> k_model_bitonic_sort;

}								/* namespace bench */
