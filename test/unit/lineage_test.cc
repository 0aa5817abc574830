/*-------------------------------------------------------------------------
 *
 * lineage_test.cc
 *	  Tests of the algorithms of bench/lineage/ on the emulator.
 *
 *-------------------------------------------------------------------------
 */
#include "lineage_test.h"

#include "../../bench/lineage/bitonic_sort.cuh"
#include "../../bench/lineage/bucket_sort.cuh"
#include "../../bench/lineage/cuda_quicksort.cuh"
#include "../../bench/lineage/sample_sort.cuh"

int
main()
{
	bool		good = true;

	good &= lineage_test::test_algorithm<lineage::BitonicSort>({128, 1000});
	good &= lineage_test::test_algorithm<lineage::KModelBitonicSort>(
		{32, 128, 256, 512, 1024, 3000});
	good &= lineage_test::test_algorithm<lineage::CudaQuicksort>(
		{128, 192, 384, 3000});
	good &= lineage_test::test_algorithm<lineage::CudaQuicksortAtomicsOnly>(
		{128, 192, 1500});
	good &= lineage_test::test_algorithm<lineage::CudaQuicksortCoalescedOnly>(
		{128, 192, 1500});
	good &= lineage_test::test_algorithm<lineage::BucketSort>(
		{64, 192, 384, 1000, 6000});
	good &= lineage_test::test_algorithm<lineage::SampleSort>(
		{16, 48, 160, 192, 384, 1000, 6000});

	return good ? 0 : 1;
}
