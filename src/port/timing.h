/*-------------------------------------------------------------------------
 *
 * timing.h
 *	  Clocks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TIMING_H
#define GPUSORT_TIMING_H

#include <time.h>

#include "portability/instr_time.h"

static inline uint64
microseconds_since(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_MICROSEC(now);
}

/* A clock that only goes forward, the same one for all processes. */
static inline uint64
milliseconds_now(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_MICROSEC(now) / 1000;
}

/* The processor time that this process has taken. */
static inline uint64
processor_microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * UINT64CONST(1000000) + now.tv_nsec / 1000;
}

#endif							/* GPUSORT_TIMING_H */
