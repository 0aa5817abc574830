/*-------------------------------------------------------------------------
 *
 * peak.h
 *	  The most that was in use of late, so that the rest can be given back.
 *
 * Time is cut into periods.  At the end of each, what was not needed in it is
 * not kept: so something is kept for a period at least, and for two at most.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_PEAK_H
#define GPUSORTD_PEAK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Peak
{
	uint64_t	most;			/* the most in this period so far */
	uint64_t	since;			/* the period's beginning, in microseconds */
} Peak;

/* So much is in use now. */
static inline void
peak_note(Peak *peak, uint64_t in_use)
{
	if (in_use > peak->most)
		peak->most = in_use;
}

/*
 * Begins the next period if this one has lasted for so long; then *needed is
 * the most that was in use in it.
 */
static inline bool
peak_ends(Peak *peak, uint64_t in_use, uint64_t now, uint64_t period,
		  uint64_t *needed)
{
	if (now - peak->since < period)
		return false;
	*needed = peak->most;
	*peak = (Peak) {.most = in_use, .since = now};
	return true;
}

#endif							/* GPUSORTD_PEAK_H */
