/*-------------------------------------------------------------------------
 *
 * functions.c
 *	  The SQL functions: the devices of gpusortd, the counters, and the
 *	  progress of sorts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "database_stats.h"
#include "device/device_client.h"
#include "device/launcher.h"
#include "port/shared_memory.h"
#include "settings.h"
#include "shared_state.h"
#include "sort_progress.h"

PG_FUNCTION_INFO_V1(gpusort_devices);
PG_FUNCTION_INFO_V1(gpusort_stats);
PG_FUNCTION_INFO_V1(gpusort_progress);
PG_FUNCTION_INFO_V1(gpusort_stat_database);
PG_FUNCTION_INFO_V1(gpusort_stat_database_reset);

/* Columns of gpusort_devices() */
enum
{
	DEVICE_NUMBER,
	DEVICE_NAME,
	DEVICE_UUID,
	DEVICE_MEMORY,
	DEVICE_CAPABILITY,
	DEVICE_DRIVER,
	DEVICE_STATE,
	DEVICE_REASON,
	DEVICE_MEMORY_USED,
	DEVICE_JOBS,
	DEVICE_SORTS,
	DEVICE_BUSY,
	DEVICE_COLUMNS
};

/* Columns of gpusort_progress() */
enum
{
	SORT_PID,
	SORT_DATABASE,
	SORT_KIND,
	SORT_PHASE,
	SORT_ROWS_PUT,
	SORT_ROWS_EXPECTED,
	SORT_RUNS_WRITTEN,
	SORT_ROWS_EMITTED,
	SORT_DEVICE,
	SORT_COLUMNS
};

/* What sorts still lack if a device is ready; NULL if nothing. */
static const char *
lack_of_sorts(void)
{
	int			nworkers = max_parallel_workers_per_gather;

	/* processes that sort together use the memory of all */
	return shared_memory_lack(nworkers == 0 ? 0 :
							  (nworkers + 1.0) * gpusort_memory_limit());
}

/* gpusort_devices() for one device that gpusortd has described. */
static void
put_device(ReturnSetInfo *result, const Message *message)
{
	Datum		values[DEVICE_COLUMNS];
	bool		nulls[DEVICE_COLUMNS] = {false};
	bool		is_gpu = message->u.device.driver_version > 0;
	DeviceState state = message->u.device.state;
	bool		is_used = state == DEVICE_READY || state == DEVICE_FAILED;
	const char *reason = state == DEVICE_READY ? lack_of_sorts() :
		state == DEVICE_UNUSED ? NULL : message->u.device.reason;

	values[DEVICE_NUMBER] = Int32GetDatum(message->u.device.number);
	values[DEVICE_NAME] = CStringGetTextDatum(message->u.device.name);
	values[DEVICE_UUID] = CStringGetTextDatum(message->u.device.uuid);
	nulls[DEVICE_UUID] = message->u.device.uuid[0] == '\0';
	values[DEVICE_MEMORY] = Int64GetDatum(message->u.device.memory_bytes);
	values[DEVICE_STATE] = CStringGetTextDatum(state == DEVICE_READY ? "ready" :
											   state == DEVICE_UNUSED ? "unused" :
											   state == DEVICE_FAILED ? "failed" :
											   "unusable");
	nulls[DEVICE_REASON] = reason == NULL;
	if (reason != NULL)
		values[DEVICE_REASON] = CStringGetTextDatum(reason);

	/* the host engine has neither */
	nulls[DEVICE_CAPABILITY] = nulls[DEVICE_DRIVER] = !is_gpu;
	values[DEVICE_CAPABILITY] =
		CStringGetTextDatum(psprintf("%d.%d",
									 message->u.device.capability_major,
									 message->u.device.capability_minor));
	values[DEVICE_DRIVER] =
		CStringGetTextDatum(psprintf("%d.%d",
									 message->u.device.driver_version / 1000,
									 message->u.device.driver_version % 1000 / 10));

	/* the others are not given sorts */
	nulls[DEVICE_MEMORY_USED] = nulls[DEVICE_JOBS] = nulls[DEVICE_SORTS] =
		nulls[DEVICE_BUSY] = !is_used;
	values[DEVICE_MEMORY_USED] = Int64GetDatum(message->u.device.reserved_bytes);
	values[DEVICE_JOBS] = Int32GetDatum(message->u.device.jobs);
	values[DEVICE_SORTS] = Int64GetDatum(message->u.device.sorts);
	values[DEVICE_BUSY] = Int64GetDatum(message->u.device.busy_microseconds);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* Puts a row that says why gpusortd does not answer. */
static void
put_no_device(ReturnSetInfo *result, const char *state, const char *reason)
{
	Datum		values[DEVICE_COLUMNS] = {0};
	bool		nulls[DEVICE_COLUMNS];

	memset(nulls, true, sizeof(nulls));
	values[DEVICE_STATE] = CStringGetTextDatum(state);
	nulls[DEVICE_STATE] = false;
	if (reason[0] != '\0')
	{
		values[DEVICE_REASON] = CStringGetTextDatum(reason);
		nulls[DEVICE_REASON] = false;
	}
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * The devices that gpusortd sees.  Starts gpusortd if it does not run.  As
 * long as it is not ready, the result is one row that says so.
 */
Datum
gpusort_devices(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	DaemonStatus status;
	List	   *devices;
	ListCell   *cell;
	const char *failure;

	InitMaterializedSRF(fcinfo, 0);
	launcher_start();
	status = shared_daemon_status();
	switch (status.state)
	{
		case DAEMON_NOT_STARTED:
		case DAEMON_STARTING:
			put_no_device(result, "starting", status.reason);
			break;
		case DAEMON_UNUSABLE:
			put_no_device(result, "unusable", status.reason);
			break;
		case DAEMON_SILENT:
		case DAEMON_FAILED:
			put_no_device(result, "failed", status.reason);
			break;
		case DAEMON_READY:
			if (!device_client_list_devices(&devices, &failure))
				put_no_device(result, "failed", failure);
			foreach(cell, devices)
				put_device(result, lfirst(cell));
			break;
	}
	return (Datum) 0;
}

/* All counters, since the server's start. */
Datum
gpusort_stats(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < STAT_COUNT; i++)
	{
		Datum		values[2];
		bool		nulls[2] = {false};

		values[0] = CStringGetTextDatum(shared_counter_name(i));
		values[1] = Int64GetDatum((int64) shared_counter(i));
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
	}
	return (Datum) 0;
}

/* Raises an error if the library is not preloaded, and so lacks the memory. */
static void
check_preloaded(int nplaces)
{
	if (nplaces == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("gpusort must be loaded via \"shared_preload_libraries\"")));
}

/* May the user see more of a role's sorts than that the sorts exist? */
static bool
may_look_at(Oid role)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
		has_privs_of_role(GetUserId(), role);
}

/* gpusort_progress() for the sort of one process. */
static void
put_sort(ReturnSetInfo *result, const SortOfProcess *sort)
{
	const SortFigures *figures = &sort->figures;
	Datum		values[SORT_COLUMNS] = {0};
	bool		nulls[SORT_COLUMNS];

	memset(nulls, !may_look_at(sort->role), sizeof(nulls));
	nulls[SORT_PID] = nulls[SORT_DATABASE] = false;
	values[SORT_PID] = Int32GetDatum(sort->pid);
	values[SORT_DATABASE] = ObjectIdGetDatum(sort->database);
	values[SORT_KIND] =
		CStringGetTextDatum(progress_kind_name(figures->kind));
	values[SORT_PHASE] = CStringGetTextDatum(progress_phase_name(figures->phase));
	values[SORT_ROWS_PUT] = Int64GetDatum((int64) figures->rows_put);
	values[SORT_ROWS_EXPECTED] = Int64GetDatum((int64) figures->rows_expected);
	nulls[SORT_ROWS_EXPECTED] |= figures->rows_expected == 0;
	values[SORT_RUNS_WRITTEN] = Int64GetDatum((int64) figures->runs_written);
	values[SORT_ROWS_EMITTED] = Int64GetDatum((int64) figures->rows_emitted);
	nulls[SORT_ROWS_EMITTED] |= !figures->emits;
	values[SORT_DEVICE] = CStringGetTextDatum(figures->device);
	nulls[SORT_DEVICE] |= figures->device[0] == '\0';
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * The sorts of all processes.  For sorts of other roles it shows only the
 * process and the database, as the views of PostgreSQL do.
 */
Datum
gpusort_progress(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	int			nprocesses = sort_progress_processes();
	SortOfProcess sort;

	check_preloaded(nprocesses);
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < nprocesses; i++)
	{
		if (sort_progress_read(i, &sort))
			put_sort(result, &sort);
	}
	return (Datum) 0;
}

/* The counters of each database: the database, the counters, the last reset. */
Datum
gpusort_stat_database(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	int			nplaces = database_stats_places();
	DatabaseStats stats;

	check_preloaded(nplaces);
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < nplaces; i++)
	{
		Datum		values[DATABASE_STATISTICS + 2];
		bool		nulls[DATABASE_STATISTICS + 2] = {false};

		if (!database_stats_read(i, &stats))
			continue;
		values[0] = ObjectIdGetDatum(stats.database);
		for (int j = 0; j < DATABASE_STATISTICS; j++)
			values[j + 1] = Int64GetDatum((int64) stats.counters[j]);
		values[DATABASE_STATISTICS + 1] = TimestampTzGetDatum(stats.reset);
		nulls[DATABASE_STATISTICS + 1] = stats.reset == 0;
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
	}
	return (Datum) 0;
}

/* Resets the counters of the present database. */
Datum
gpusort_stat_database_reset(PG_FUNCTION_ARGS)
{
	check_preloaded(database_stats_places());
	database_stats_reset();
	PG_RETURN_VOID();
}
