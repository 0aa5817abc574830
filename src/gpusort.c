/*-------------------------------------------------------------------------
 *
 * gpusort.c
 *	  Loading the extension.
 *
 * A row's way through the files, in order:
 *
 *		sort_paths.c		the planner learns what sorting costs (sort_cost.c)
 *		table_order.c		of rows that may lie in order
 *		plan_sort.c			the Sort in its plan becomes a GpuSort
 *		plan_columns.c		of rows that need not be formed for it
 *		node_gpusort.c		which takes rows from its child and hands them on
 *		sort_bound.c		as many as a LIMIT lets through
 *		row_sort.c			sorted
 *		row_store.c			the rows stay here
 *		spare_memory.c		in memory of earlier ones
 *		row_order.c			until their order is known
 *		sort_keys.c			for which keys are made, column by column
 *		key_encoders.c		each type in its own way, in encode_*.c
 *		collation.c			and strings as their collation has it
 *		icu_keys.c			mostly without asking ICU, if it is one of ICU
 *		sort_job.c			and sent to be sorted
 *		device_client.c		on the GPU, by gpusortd (daemon/, ../kernels/)
 *		host_sort.c			or on the CPU
 *		row_compare.c		what keys cannot decide is decided by comparing
 *		sorted_runs.c		what memory cannot hold goes to files, run by run,
 *		run_tape.c			a run on a tape,
 *		run_file.c			in files written by the piece,
 *		run_merge.c			and comes back merged,
 *		result_tape.c		to a tape if it may be wanted backward
 *		native_sort.c		or all is left to core's sort, so few first rows
 *
 * With parallel workers the rows come by shared_rows.c.
 *
 * The rows of an index build come another way:
 *
 *		index_hooks.c		the build of a B-tree index becomes ours
 *		index_build.c		which takes rows, in parallel_build.c by workers
 *		heap_scan.c			from the table
 *		index_rows.c		as they will be in the index
 *		row_store.c			and so on, until they are in order
 *		unique_check.c		which for a unique index has no two alike
 *		leaf_maker.c		when they are put on pages, in parallel_write.c by workers
 *		tree_writer.c		of which a tree is made
 *
 * Beside it: sort_refusal.c decides which sorts stay as they are, for plan_sort.c
 * and for explain_refusal.c, which says why; settings.c has the settings,
 * launcher.c keeps gpusortd running, shared_state.c knows how it is and counts,
 * functions.c shows both in SQL.
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
#include "utils/varlena.h"

#include "device/launcher.h"
#include "executor/node_gpusort.h"
#include "executor/sort_bound.h"
#include "index/index_hooks.h"
#include "planner/explain_refusal.h"
#include "planner/plan_sort.h"
#include "planner/sort_paths.h"
#include "settings.h"
#include "shared_state.h"
#include "sort/spare_memory.h"

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
	shared_state_init();
	plan_sort_init();
	sort_paths_init();
	sort_bound_init(&gpusort_exec_methods);
	explain_refusal_init();
	index_hooks_init();
	spare_memory_init();
	if (process_shared_preload_libraries_in_progress)
		launcher_register();
	else if (creating_extension &&
			 !names_this_library(session_preload_libraries_string) &&
			 !names_this_library(shared_preload_libraries_string))
		RegisterXactCallback(tell_how_to_preload, NULL);
}
