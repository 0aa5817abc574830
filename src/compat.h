/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Differences between PostgreSQL 15, 16, 17 and 18.
 *
 * Everything else in the extension is written as for the newest of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_COMPAT_H
#define GPUSORT_COMPAT_H

#include "postgres.h"

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "utils/wait_event.h"

/* 17 gave extensions wait events with names of their own. */
#if PG_VERSION_NUM < 170000
#define WaitEventExtensionNew(name) PG_WAIT_EXTENSION
#endif

/* 17 has what EXPLAIN of a query does when no extension has a hook there. */
#if PG_VERSION_NUM < 170000
#include "executor/instrument.h"
#include "tcop/tcopprot.h"

static inline void
standard_ExplainOneQuery(Query *query, int cursor_options, IntoClause *into,
						 ExplainState *es, const char *query_string,
						 ParamListInfo parameters,
						 QueryEnvironment *environment)
{
	PlannedStmt *plan;
	instr_time	begin;
	instr_time	duration;
	BufferUsage before = pgBufferUsage;
	BufferUsage used = {0};

	INSTR_TIME_SET_CURRENT(begin);
	plan = pg_plan_query(query, query_string, cursor_options, parameters);
	INSTR_TIME_SET_CURRENT(duration);
	INSTR_TIME_SUBTRACT(duration, begin);
	BufferUsageAccumDiff(&used, &pgBufferUsage, &before);

	ExplainOnePlan(plan, into, es, query_string, parameters, environment,
				   &duration, es->buffers ? &used : NULL);
}
#endif

/* 18 does not count the range table entry of a GROUP BY among the tables. */
#if PG_VERSION_NUM >= 180000
#define EXPLAIN_TABLES(es) ((es)->rtable_size)
#else
#define EXPLAIN_TABLES(es) list_length((es)->rtable)
#endif

/*
 * Key encoders: varlena headers, comparison types, collations.
 */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif
#include "utils/pg_locale.h"

#if PG_VERSION_NUM >= 180000
#define COLLATION_IS_C(collation) \
	(pg_newlocale_from_collation(collation)->collate_is_c)
#else
#define COLLATION_IS_C(collation) lc_collate_is_c(collation)

/* 18 gave btree's strategy numbers names that no access method owns. */
#define CompareType int16
#define COMPARE_GT BTGreaterStrategyNumber
#endif

/*
 * Index builds: what core's sort has in memory ahead of each index tuple.  17
 * puts them one behind the other, and before 16 such headers were larger.
 */
#if PG_VERSION_NUM >= 170000
#define CORE_TUPLE_HEADER_BYTES 0
#elif PG_VERSION_NUM >= 160000
#define CORE_TUPLE_HEADER_BYTES 8
#else
#define CORE_TUPLE_HEADER_BYTES 24
#endif

#endif							/* GPUSORT_COMPAT_H */
