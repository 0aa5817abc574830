/*-------------------------------------------------------------------------
 *
 * refusal.c
 *	  Why a sort or an index build is left to PostgreSQL, and how often.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "refusal.h"
#include "shared_state.h"

/* Counters of each reason; index builds have no others than these. */
static const struct
{
	Statistic	sorts;
	Statistic	index_builds;
}			counters[] = {
	[REFUSAL_SMALL] = {STAT_NATIVE_SMALL, STAT_INDEX_NATIVE_SMALL},
	[REFUSAL_BOUNDED] = {STAT_NATIVE_BOUNDED},
	[REFUSAL_VALUES] = {STAT_NATIVE_SMALL},
	[REFUSAL_TYPE] = {STAT_NATIVE_TYPE, STAT_INDEX_NATIVE_TYPE},
	[REFUSAL_COLLATION] = {STAT_NATIVE_COLLATION, STAT_INDEX_NATIVE_COLLATION},
	[REFUSAL_OPERATOR] = {STAT_NATIVE_OPERATOR, STAT_INDEX_NATIVE_OPERATOR},
	[REFUSAL_INCREMENTAL] = {STAT_NATIVE_INCREMENTAL},
	[REFUSAL_AGGREGATE] = {STAT_NATIVE_AGGREGATE},
	[REFUSAL_FOREIGN] = {STAT_NATIVE_FOREIGN}
};

void
refusal_count_sorts(Refusal refusal, int count)
{
	shared_count(counters[refusal].sorts, count);
}

void
refusal_count_index_build(Refusal refusal)
{
	shared_count(counters[refusal].index_builds, 1);
}
