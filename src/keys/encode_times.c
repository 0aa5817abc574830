/*-------------------------------------------------------------------------
 *
 * encode_times.c
 *	  Keys of times that are more than one number.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/date.h"
#include "utils/timestamp.h"

#include "keys/encode.h"

/* Can a signed integer of this many bits hold the value? */
static inline bool
fits_bits(int64 value, int bits)
{
	return value >= -(INT64CONST(1) << (bits - 1)) &&
		value < INT64CONST(1) << (bits - 1);
}


/*
 * timetz
 *
 * The moment, as the time in Greenwich, compares first, then the zone, as
 * seconds west of Greenwich.  Both are small for all values that can be
 * written as a timetz.  But AT TIME ZONE takes intervals of any length.
 */
#define COMPACT_MOMENT_BITS	40
#define COMPACT_ZONE_BITS	24

static inline int64
timetz_moment(const TimeTzADT *timetz)
{
	return timetz->time + timetz->zone * USECS_PER_SEC;
}

bool
encode_timetz_compact(KeyWriter *writer, Datum value)
{
	const TimeTzADT *timetz = DatumGetTimeTzADTP(value);
	int64		moment = timetz_moment(timetz);

	if (unlikely(!fits_bits(moment, COMPACT_MOMENT_BITS) ||
				 !fits_bits(timetz->zone, COMPACT_ZONE_BITS)))
		return false;
	key_append(writer,
			   (moment + SIGN_BIT(COMPACT_MOMENT_BITS)) << COMPACT_ZONE_BITS |
			   (timetz->zone + SIGN_BIT(COMPACT_ZONE_BITS)), 64);
	return true;
}

bool
encode_timetz_general(KeyWriter *writer, Datum value)
{
	const TimeTzADT *timetz = DatumGetTimeTzADTP(value);

	key_append(writer, timetz_moment(timetz) ^ SIGN_BIT(64), 64);
	key_append(writer, (uint32) timetz->zone ^ SIGN_BIT(32), 32);
	return true;
}


/*
 * interval
 *
 * Intervals compare by their length, a month being 30 days and a day 24
 * hours.  In microseconds the length may exceed 64 bits, so it is taken as
 * whole days and a rest, which is never negative.  The infinities (17 and
 * later) have the least and the greatest values in all fields, so they need no
 * special care.
 */
#define REST_BITS			37	/* of a day's microseconds */
#define COMPACT_DAYS_BITS	(64 - REST_BITS)
#define GENERAL_BITS		40

StaticAssertDecl(USECS_PER_DAY < INT64CONST(1) << REST_BITS,
				 "the rest of a day fits its bits");

static inline int64
interval_days(const Interval *interval, int64 *rest)
{
	int64		days = interval->time / USECS_PER_DAY;

	*rest = interval->time % USECS_PER_DAY;
	if (*rest < 0)
	{
		*rest += USECS_PER_DAY;
		days--;
	}
	return days + interval->day + interval->month * INT64CONST(30);
}

bool
encode_interval_compact(KeyWriter *writer, Datum value)
{
	int64		rest;
	int64		days = interval_days(DatumGetIntervalP(value), &rest);

	if (unlikely(!fits_bits(days, COMPACT_DAYS_BITS)))
		return false;
	key_append(writer,
			   (days + SIGN_BIT(COMPACT_DAYS_BITS)) << REST_BITS | rest, 64);
	return true;
}

bool
encode_interval_general(KeyWriter *writer, Datum value)
{
	int64		rest;
	int64		days = interval_days(DatumGetIntervalP(value), &rest);

	key_append(writer, days + SIGN_BIT(GENERAL_BITS), GENERAL_BITS);
	key_append(writer, rest, GENERAL_BITS);
	return true;
}
