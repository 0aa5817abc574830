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

/* Counters of each reason; index builds have no other reasons. */
static const struct
{
	Statistic	sorts;
	Statistic	index_builds;
}			counters[] = {
	[REFUSAL_SMALL] = {STAT_REFUSED_SMALL, STAT_INDEX_REFUSED_SMALL},
	[REFUSAL_BOUNDED] = {STAT_REFUSED_BOUNDED},
	[REFUSAL_VALUES] = {STAT_REFUSED_SMALL},
	[REFUSAL_KEPT_VALUES] = {STAT_REFUSED_SMALL},
	[REFUSAL_TYPE] = {STAT_REFUSED_TYPE, STAT_INDEX_REFUSED_TYPE},
	[REFUSAL_COLLATION] = {STAT_REFUSED_COLLATION, STAT_INDEX_REFUSED_COLLATION},
	[REFUSAL_OPERATOR] = {STAT_REFUSED_OPERATOR, STAT_INDEX_REFUSED_OPERATOR},
	[REFUSAL_INCREMENTAL] = {STAT_REFUSED_INCREMENTAL},
	[REFUSAL_AGGREGATE] = {STAT_REFUSED_AGGREGATE},
	[REFUSAL_FOREIGN] = {STAT_REFUSED_FOREIGN}
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
