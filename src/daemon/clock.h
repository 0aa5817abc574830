/*-------------------------------------------------------------------------
 *
 * clock.h
 *	  A clock that only goes forward.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_CLOCK_H
#define GPUSORTD_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t
microseconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

#endif							/* GPUSORTD_CLOCK_H */
