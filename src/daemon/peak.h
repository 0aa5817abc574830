/*-------------------------------------------------------------------------
 *
 * peak.h
 *	  The highest use of a resource in a period, so that the rest can be freed.
 *
 * Time is divided into periods.  At the end of each period the owner of the
 * resource frees all beyond the highest use in it.  So a free unit is kept for
 * one period at least and for two at the most.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_PEAK_H
#define GPUSORTD_PEAK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Peak
{
	uint64_t	most;			/* highest use in this period so far */
	uint64_t	since;			/* beginning of the period, microseconds */
} Peak;

/* Notes the present use. */
static inline void
peak_note(Peak *peak, uint64_t in_use)
{
	if (in_use > peak->most)
		peak->most = in_use;
}

/*
 * Ends the period if it has lasted for "period" microseconds: sets *needed to the
 * highest use in it, begins the next one, and returns true.
 */
static inline bool
peak_ends(Peak *peak, uint64_t in_use, uint64_t now, uint64_t period,
		  uint64_t *needed)
{
	if (now - peak->since < period)
		return false;
	*needed = peak->most;
	peak->most = in_use;
	peak->since = now;
	return true;
}

#endif							/* GPUSORTD_PEAK_H */
