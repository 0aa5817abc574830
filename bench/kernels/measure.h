/*-------------------------------------------------------------------------
 *
 * measure.h
 *	  The times, memory and correctness of a contender.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BENCH_MEASURE_H
#define GPUSORT_BENCH_MEASURE_H

#include "contender.h"

namespace bench
{

enum class Outcome
{
	RIGHT,
	WRONG,						/* the result is not right, or sorting failed */
	NO_MEMORY					/* it does not fit onto this device */
};

struct Measurement
{
	const Contender *contender;
	Outcome		outcome;
	std::string reason;			/* if not right */
	uint64_t	extra_bytes;
	std::vector<double> times;	/* in milliseconds, ascending */

	double		median() const;
};

/*
 * Lets a contender's job sort the input, once to warm up and then "repeats"
 * times.  Checks every result, the first also by "host_check" if there is one.
 */
extern Measurement measure(const Queue &queue, const Contender &contender,
						   std::unique_ptr<Job> job, const Input &input,
						   const HostCheck *host_check, unsigned repeats);

/*
 * Returns the bytes a second that a copy within the device's memory reads and
 * writes; 0 on failure.
 */
extern double measure_copy(const Queue &queue, unsigned repeats);

}								/* namespace bench */

#endif							/* GPUSORT_BENCH_MEASURE_H */
