/*-------------------------------------------------------------------------
 *
 * sample_sort.cu
 *	  The lineage's sample sort as a contender.
 *
 *-------------------------------------------------------------------------
 */
#include "../../lineage/sample_sort.cuh"

#include "lineage_contender.cuh"

namespace bench
{

static const LineageContender<lineage::SampleSort> sample_sort;

}								/* namespace bench */
