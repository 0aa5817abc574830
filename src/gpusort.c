/*-------------------------------------------------------------------------
 *
 * gpusort.c
 *	  Loading the extension.
 *
 * A row's way through the folders, in order:
 *
 *		planner/	paths with the costs (cost/) of our sorts; Sort becomes GpuSort
 *		executor/	the node takes rows and emits them, row_sort.c sorts them
 *		spill/		external_sort.c: rows that exceed the memory become runs
 *		sort/		rows are stored, and put in order
 *		keys/		a key is made of each row, column by column
 *		device/		keys are sent to gpusortd (daemon/, ../kernels/)
 *		common/		or are sorted on the CPU, in this process (host_sort.c)
 *		spill/		runs are written to tapes, and merged
 *
 * Where parallel processes sort together, team/ lies between executor/ and spill/: it
 * takes the rows of all, and hands out their order in parts.
 *
 * Index builds go another way: index/ takes them over, heap/ scans the table,
 * and btree/ and inverted/ have the phases of a build.  These take rows through
 * spill/ and the folders below, put the sorted rows on leaf pages, and write
 * the tree above these.
 *
 * In this folder: hooks.c has all hooks of the server, settings.c the settings,
 * shared_state.c the counters and the status of gpusortd, database_stats.c
 * counters of each database, sort_progress.c how far sorts have come, functions.c
 * the functions in SQL, refusal.c the reasons why a sort is left to core.  port/
 * has what differs between servers and systems.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"

#include "device/launcher.h"
#include "executor/node_gpusort.h"
#include "executor/sort_bound.h"
#include "hooks.h"
#include "index/worker_setting.h"
#include "planner/gather_paths.h"
#include "planner/group_paths.h"
#include "planner/plan_consumers.h"
#include "planner/plan_sort.h"
#include "planner/setop_paths.h"
#include "planner/value_paths.h"
#include "settings.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

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
	settings_define();
	worker_setting_init();
	plan_sort_init();
	gather_paths_init();
	group_paths_init();
	setop_paths_init();
	value_paths_init();
	plan_consumers_init();
	sort_bound_init(&gpusort_exec_methods);
	hooks_install();
	if (process_shared_preload_libraries_in_progress)
		launcher_register();
	else if (creating_extension &&
			 !names_this_library(session_preload_libraries_string) &&
			 !names_this_library(shared_preload_libraries_string))
		RegisterXactCallback(tell_how_to_preload, NULL);
}
