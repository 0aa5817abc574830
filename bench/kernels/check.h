/*-------------------------------------------------------------------------
 *
 * check.h
 *	  A check that a result is right.
 *
 * Keys with row numbers are right if all rows are there, each key is the key
 * of its row, and no key is smaller than the one before it.  Keys alone are
 * right if no key is smaller than the one before it, and the sum of a hash of
 * each key is the same as for the input.  All of this is checked on the
 * device.  HostCheck compares with std::sort() as well, in case the check on
 * the device is wrong.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BENCH_CHECK_H
#define GPUSORT_BENCH_CHECK_H

#include <string>
#include <vector>

#include "device_array.cuh"
#include "key_array.cuh"

namespace bench
{

/* What a contender has made of its input, in device memory. */
struct Sorted
{
	const void *keys;			/* null if it only gives row numbers */
	const uint32_t *rows;		/* null for keys alone */
};

/*
 * Checks a result on the device.  Says in "fault" what is wrong, and nothing
 * if all is right.  Returns false if it could not check.
 */
extern bool check_on_device(const Queue &queue, const Input &input,
							const Sorted &sorted, std::string *fault);

/* Copies the input's keys to the host, and sorts them there. */
class HostCheck
{
public:
	bool prepare(const Queue &queue, const Input &input);

	/* Checks a result as check_on_device() does. */
	bool check(const Queue &queue, const Sorted &sorted,
			   std::string *fault) const;

private:
	Input		input;			/* in the host's memory */
	std::vector<unsigned char> keys;
	std::vector<uint64_t> ends;
	std::vector<uint32_t> order;
};

}								/* namespace bench */

#endif							/* GPUSORT_BENCH_CHECK_H */
