/*-------------------------------------------------------------------------
 *
 * gpusort.c
 *	  Loading the extension: its settings, hooks and launcher.
 *
 * A row's way through the files, in order:
 *
 *		plan_sort.c			the Sort in its plan becomes a GpuSort
 *		node_gpusort.c		which takes rows from its child and hands them on
 *		row_sort.c			sorted
 *		row_store.c			the rows stay here
 *		sort_keys.c			while their keys are made, column by column
 *		key_encoders.c		each type in its own way
 *		sort_job.c			and sent to be sorted
 *		device_client.c		on the GPU, by gpusortd (daemon/, ../kernels/)
 *		host_sort.c			or on the CPU
 *		row_compare.c		what keys cannot decide is decided by comparing
 *
 * Beside it: launcher.c keeps gpusortd running, shared_state.c knows how it
 * is and counts, functions.c shows both in SQL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/xact.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/varlena.h"

#include "../kernels/device_sort.h"
#include "gpusort.h"
#include "launcher.h"
#include "plan_sort.h"
#include "protocol.h"
#include "shared_state.h"

PG_MODULE_MAGIC;

bool		gpusort_enable = true;
bool		gpusort_enable_sort = true;
int			gpusort_device = DEVICE_AUTO;
int			gpusort_min_rows = 10000;
int			gpusort_work_mem = -1;
int			gpusort_algorithm = DEVICE_SORT_AUTO;
bool		gpusort_verify = false;
int			gpusort_daemon_engine = ENGINE_AUTO;
int			gpusort_staging_memory = 64;
int			gpusort_device_memory = 90;

static const struct config_enum_entry device_options[] = {
	{"auto", DEVICE_AUTO, false},
	{"cuda", DEVICE_CUDA, false},
	{"host", DEVICE_HOST, false},
	{NULL, 0, false}
};

static const struct config_enum_entry engine_options[] = {
	{"auto", ENGINE_AUTO, false},
	{"cuda", ENGINE_CUDA, false},
	{"host", ENGINE_HOST, false},
	{NULL, 0, false}
};

static const struct config_enum_entry algorithm_options[] = {
	{"auto", DEVICE_SORT_AUTO, false},
	{"quicksort2", DEVICE_SORT_QUICKSORT2, false},
	{NULL, 0, false}
};

PGDLLEXPORT void _PG_init(void);

/* Bytes that a sort may use. */
Size
gpusort_memory_limit(void)
{
	int			kilobytes = gpusort_work_mem >= 0 ? gpusort_work_mem : work_mem;

	return (Size) kilobytes * 1024;
}

/* The value of gpusort.daemon_engine. */
const char *
gpusort_engine_name(void)
{
	return engine_options[gpusort_daemon_engine].name;
}

/* gpusort.work_mem is -1 or at least what work_mem is at least. */
static bool
check_work_mem(int *value, void **extra, GucSource source)
{
	if (*value == -1 || *value >= 64)
		return true;
	GUC_check_errdetail("It must be -1, for the value of work_mem, or at least 64kB.");
	return false;
}

static void
define_settings(void)
{
	DefineCustomBoolVariable("gpusort.enable",
							 "Enables sorting by gpusort.",
							 "Off, every plan is made and run as without the extension.",
							 &gpusort_enable, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpusort.enable_sort",
							 "Enables taking over Sort nodes of plans.",
							 NULL,
							 &gpusort_enable_sort, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("gpusort.device",
							 "Chooses what sorts.",
							 "\"auto\" takes the GPU where there is one and the rows are enough to gain, "
							 "\"cuda\" takes gpusortd for any number of rows, "
							 "\"host\" sorts in the backend.",
							 &gpusort_device, DEVICE_AUTO, device_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.min_rows",
							"Sorts of fewer estimated rows are left native.",
							NULL,
							&gpusort_min_rows, 10000, 0, INT_MAX,
							PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.work_mem",
							"Memory for the rows of one sort.",
							"-1 takes the value of work_mem.",
							&gpusort_work_mem, -1, -1, MAX_KILOBYTES,
							PGC_USERSET, GUC_UNIT_KB,
							check_work_mem, NULL, NULL);
	DefineCustomEnumVariable("gpusort.algorithm",
							 "Chooses how the device sorts.",
							 "For experts; \"auto\" takes the fastest that is known for the input.",
							 &gpusort_algorithm, DEVICE_SORT_AUTO,
							 algorithm_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpusort.verify",
							 "Checks the order of all rows that are handed on.",
							 "Each row is compared with the one before it; an error is raised if they are out of order.",
							 &gpusort_verify, false,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("gpusort.daemon_engine",
							 "Chooses what gpusortd sorts with.",
							 "\"auto\" is \"cuda\" where there is a usable device, and no gpusortd otherwise; "
							 "\"host\" lets the whole path be used without a GPU.",
							 &gpusort_daemon_engine, ENGINE_AUTO,
							 engine_options,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.staging_memory",
							"Memory through which one sort exchanges keys and order with gpusortd.",
							"It is pinned for the device.",
							&gpusort_staging_memory, 64, 8, LARGEST_RING_MB,
							PGC_SIGHUP, GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.device_memory",
							"Percentage of the memory of a device that may be used.",
							NULL,
							&gpusort_device_memory, 90, 1, 100,
							PGC_SIGHUP, 0, NULL, NULL, NULL);
	MarkGUCPrefixReserved("gpusort");
}

/* Is this library named in the value of a *_preload_libraries setting? */
static bool
names_this_library(const char *libraries)
{
	List	   *names;
	ListCell   *cell;

	if (libraries == NULL ||
		!SplitDirectoriesString(pstrdup(libraries), ',', &names))
		return false;
	foreach(cell, names)
	{
		const char *name = last_dir_separator(lfirst(cell));

		if (strcmp(name != NULL ? name + 1 : lfirst(cell), "gpusort") == 0)
			return true;
	}
	return false;
}

/*
 * At the end of the transaction of CREATE EXTENSION, since notices during it
 * are not shown: tells how to have the library in every session.
 */
static void
tell_how_to_preload(XactEvent event, void *argument)
{
	const char *libraries = session_preload_libraries_string;
	static bool done = false;

	if (event == XACT_EVENT_PRE_COMMIT && !done)
		ereport(NOTICE,
				(errmsg("gpusort acts in this session; other sessions have to load it"),
				 errhint("ALTER DATABASE %s SET session_preload_libraries = %s;",
						 quote_identifier(get_database_name(MyDatabaseId)),
						 quote_literal_cstr(libraries != NULL && libraries[0] != '\0' ?
											psprintf("%s, gpusort", libraries) :
											"gpusort"))));
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_ABORT)
		done = true;
}

void
_PG_init(void)
{
	define_settings();
	shared_state_init();
	plan_sort_init();
	if (process_shared_preload_libraries_in_progress)
		launcher_register();
	else if (creating_extension &&
			 !names_this_library(session_preload_libraries_string) &&
			 !names_this_library(shared_preload_libraries_string))
		RegisterXactCallback(tell_how_to_preload, NULL);
}
