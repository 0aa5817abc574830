/*-------------------------------------------------------------------------
 *
 * device_sort_tests.h
 *	  What the files of device_sort_test have for its main().
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DEVICE_SORT_TESTS_H
#define GPUSORT_DEVICE_SORT_TESTS_H

#include <cstdint>
#include <vector>

/* order_check_test.cc */
extern void test_right_orders();
extern void test_missing_rows();
extern void test_disorder_of_few();
extern void test_disorder_of_many();
extern void test_failed_check();

/*
 * device_sort_soak.cc: does this many jobs, up to the first one that goes
 * wrong.
 */
extern void run_soak(uint64_t jobs, uint64_t seed);

/* device_sort_failures.cc, on the emulator only */
extern void test_no_device();
extern void test_failing_calls();
extern void test_failing_calls_with_kept_keys();
extern void test_memory_exhaustion();
extern void test_memory_bound();
extern void test_monotonic_bounds();
extern void test_bound_in_place();
extern void test_memory_after_run();
extern void test_memory_of_kept_keys();
extern void test_lost_context();
extern void check_nothing_left(const char *what);

/* device_sort_times.cc, on a device only: of uniform keys, and of all kinds */
extern void time_uniform(const std::vector<uint64_t> &row_counts);
extern void time_sorts();

#endif							/* GPUSORT_DEVICE_SORT_TESTS_H */
