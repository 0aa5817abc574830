/*-------------------------------------------------------------------------
 *
 * bucket_sort.cu
 *	  The lineage's bucket sort as a contender.
 *
 *-------------------------------------------------------------------------
 */
#include "../../lineage/bucket_sort.cuh"

#include "lineage_contender.cuh"

namespace bench
{

static const LineageContender<lineage::BucketSort> bucket_sort;

}								/* namespace bench */
