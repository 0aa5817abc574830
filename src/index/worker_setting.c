/*-------------------------------------------------------------------------
 *
 * worker_setting.c
 *	  Lending max_parallel_maintenance_workers another value than 0.
 *
 * Core does not plan index builds where it is 0, and we would not learn of
 * them (index_hooks.c).  So for a statement that may build indexes it has
 * another value in that case.  Meanwhile expressions and functions are run that
 * can look at the setting and change it, and they, too, have to find 0:
 *	- What is shown of it is 0.
 *	- What they set stays, if it is to stay beyond the statement.
 *	- When their change ends, what it was before comes back.  That is kept in
 *	  the setting's stack, and is corrected there when the statement ends,
 *	  also by an error: transactions undo their changes after that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "postmaster/bgworker_internals.h"
#include "utils/guc_tables.h"

#include "index/worker_setting.h"
#include "port/compat.h"

/*
 * A value that nobody else gives it.  It is a valid one, since parallel workers
 * take it over.
 */
#define LENT_WORKERS	(MAX_PARALLEL_WORKER_LIMIT - 1)

static struct config_generic *setting;
static bool lending;

static const char *
show_workers(void)
{
	static char text[12];

	snprintf(text, sizeof(text), "%d",
			 worker_setting_is_lent() ? 0 : max_parallel_maintenance_workers);
	return text;
}

void
worker_setting_init(void)
{
	setting = find_setting("max_parallel_maintenance_workers");
	INTEGER_SETTING(setting)->show_hook = show_workers;
}

bool
worker_setting_is_lent(void)
{
	return (lending || IsParallelWorker()) &&
		max_parallel_maintenance_workers == LENT_WORKERS;
}

bool
worker_setting_lend(void)
{
	if (max_parallel_maintenance_workers != 0)
		return false;
	max_parallel_maintenance_workers = LENT_WORKERS;
	lending = true;
	return true;
}

static void
correct(int *value)
{
	if (*value == LENT_WORKERS)
		*value = 0;
}

void
worker_setting_take_back(void)
{
	lending = false;
	correct(&max_parallel_maintenance_workers);
	for (GucStack *entry = setting->stack; entry != NULL; entry = entry->prev)
	{
		correct(&entry->prior.val.intval);
		correct(&entry->masked.val.intval);
	}
}
