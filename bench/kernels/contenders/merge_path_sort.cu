/*-------------------------------------------------------------------------
 *
 * merge_path_sort.cu
 *	  The lineage's merge sort as a contender.
 *
 *-------------------------------------------------------------------------
 */
#include "../../lineage/merge_path_sort.cuh"

#include "lineage_contender.cuh"

namespace bench
{

static const LineageContender<lineage::MergePathSort> merge_path_sort;

}								/* namespace bench */
