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
#include "../../bench/lineage/cdp_quicksort.cuh"
#include "../../bench/lineage/cuda_quicksort.cuh"
#include "../../bench/lineage/cuda_r_quicksort.cuh"
#include "../../bench/lineage/gpu_quicksort.cuh"
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
	good &= lineage_test::test_algorithm<lineage::CdpQuicksort>(
		{64, 128, 1500});
	good &= lineage_test::test_algorithm<lineage::CudaRQuicksort>(
		{64, 192, 1500});
	good &= lineage_test::test_algorithm<lineage::GpuQuicksort>(
		{64, 128, 3000});
	good &= lineage_test::test_algorithm<lineage::GpuQuicksortAtomic>(
		{64, 128, 3000});
	good &= lineage_test::test_algorithm<lineage::SampleSort>(
		{16, 48, 160, 192, 384, 1000, 6000});

	good &= lineage_test::test_failures<lineage::BitonicSort>(100);
	good &= lineage_test::test_failures<lineage::KModelBitonicSort>(500);
	good &= lineage_test::test_failures<lineage::BucketSort>(1000);
	good &= lineage_test::test_failures<lineage::CdpQuicksort>(500);
	good &= lineage_test::test_failures<lineage::CudaRQuicksort>(500);
	good &= lineage_test::test_failures<lineage::GpuQuicksort>(500);
	good &= lineage_test::test_failures<lineage::GpuQuicksortAtomic>(500);
	good &= lineage_test::test_failures<lineage::SampleSort>(1000);

	return good ? 0 : 1;
}
