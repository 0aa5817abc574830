/*-------------------------------------------------------------------------
 *
 * database_stats.h
 *	  Counters of each database.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DATABASE_STATS_H
#define GPUSORT_DATABASE_STATS_H

#include "datatype/timestamp.h"

typedef enum DatabaseStatistic
{
	DATABASE_SORTS_DEVICE,		/* sorts, by the engine */
	DATABASE_SORTS_HOST,
	DATABASE_SORTS_NATIVE,		/* taken over, then given to core's sort */
	DATABASE_SORTS_SPILLED,		/* sorts of the first two that were in files */
	DATABASE_ROWS,
	DATABASE_BYTES,
	DATABASE_INDEXES,			/* index builds */
	DATABASE_STATISTICS
} DatabaseStatistic;

/* The counters of a database, a copy. */
typedef struct DatabaseStats
{
	Oid			database;
	TimestampTz reset;			/* time of the last reset; 0: there was none */
	uint64		counters[DATABASE_STATISTICS];
} DatabaseStats;

/*
 * Reserves the shared memory, if the library is in shared_preload_libraries.
 * Otherwise nothing is counted.
 */
/* Asks for the shared memory and the lock of the counters. */
extern void database_stats_request(void);

/* When the postmaster has made shared memory, at its start or after a crash. */
extern void database_stats_make(void);

/* Adds to a counter of the database of this process. */
extern void database_stats_count(DatabaseStatistic statistic, uint64 amount);

/* Resets the counters of this database. */
extern void database_stats_reset(void);

/* How many databases can be counted; 0 if nothing is counted. */
extern int	database_stats_places(void);

/* Copies the counters at a place; false if there are none. */
extern bool database_stats_read(int place, DatabaseStats *copy);

#endif							/* GPUSORT_DATABASE_STATS_H */
