/*-------------------------------------------------------------------------
 *
 * check.h
 *	  Whether a result is right.
 *
 * Of keys with row numbers: the rows are all there, each key is that of its
 * row, and none is smaller than the one before it.  Of keys alone: none is
 * smaller than the one before it, and the sum of a hash of each is that of the
 * input.  All of this is checked on the device.  HostCheck compares with
 * std::sort() as well, for what is wrong with the device's check.
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
 * Checks on the device.  Says in "fault" what is wrong, nothing if all is
 * right.  Returns false if it could not check.
 */
extern bool check_on_device(const Queue &queue, const Input &input,
							const Sorted &sorted, std::string *fault);

/* Copies the input's keys to the host, and sorts them there. */
class HostCheck
{
public:
	bool prepare(const Queue &queue, const Input &input);

	/* As check_on_device(). */
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
