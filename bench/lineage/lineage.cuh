/*-------------------------------------------------------------------------
 *
 * lineage.cuh
 *	  What the algorithms of gpusort's lineage have in common.
 *
 * Each header beside this one is one algorithm, written from its paper, for
 * the benchmark (../kernels/) and its tests.  Nothing here is installed;
 * the product's own sort is in ../../kernels/.
 *
 * An algorithm is a class template
 *
 *		template <typename Key, bool has_values> struct Algorithm
 *		{
 *			static constexpr const char *name = ...;
 *			static size_t extra_bytes(uint32_t n);
 *			static bool sort(const Queue &queue, Items<Key, has_values> items,
 *							 uint32_t n, void *extra);
 *		};
 *
 * for Key uint32_t and uint64_t.  sort() orders n items in place, keys
 * ascending, each with its value; "extra" is device memory of extra_bytes(n),
 * aligned to 256 bytes.  It may return while the device still works; false
 * says that a call failed, with the reason in queue.error.  Which of equal
 * keys comes first is not defined.  n is at most 2^30.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_LINEAGE_CUH
#define GPUSORT_LINEAGE_CUH

#include "../../kernels/launch.cuh"

namespace lineage
{

using gpusort::Queue;
using gpusort::block_shared;
using gpusort::divide_up;

/* Keys, and where has_values is true as many values, in device memory. */
template <typename Key, bool has_values>
struct Items
{
	Key		   *keys;
	uint32_t   *values;			/* null if there are none */
};

}								/* namespace lineage */

#endif							/* GPUSORT_LINEAGE_CUH */
