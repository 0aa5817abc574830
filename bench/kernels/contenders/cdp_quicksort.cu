/*-------------------------------------------------------------------------
 *
 * cdp_quicksort.cu
 *	  CDP-quicksort as a contender.
 *
 *-------------------------------------------------------------------------
 */
#include "../../lineage/cdp_quicksort.cuh"

#include "lineage_contender.cuh"

namespace bench
{

static const LineageContender<lineage::CdpQuicksort> cdp_quicksort;

}								/* namespace bench */
