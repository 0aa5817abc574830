/*-------------------------------------------------------------------------
 *
 * worker_setting.c
 *	  Lending max_parallel_maintenance_workers another value than 0.
 *
 * Core does not plan index builds where it is 0, and we would not learn of
 * them (take_builds.c).  So for a statement that may build indexes it has
 * another value in that case.  Meanwhile expressions and functions are run that
 * can look at the setting and change it, and they, too, have to find 0:
 *	- What is shown of it is 0.
 *	- What they set stays, if it is to stay beyond the statement.
 *	- When their change ends, what it was before comes back.  That is kept in
 *	  the setting's stack, and is corrected there when the statement ends,
 *	  also by an error: transactions undo their changes after that.
 *
 * Any value may also be a user's.  The lent one is told by the role that has set
 * it, which core notes with each value, also in the stack and for parallel workers:
 * nobody has set it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/pg_authid_d.h"
#include "miscadmin.h"
#include "postmaster/bgworker_internals.h"
#include "utils/guc_tables.h"

#include "index/worker_setting.h"
#include "port/compat.h"

/* It is a valid value, since parallel workers take it over. */
#define LENT_WORKERS	1

/* The role that has set it. */
#define LENDER			InvalidOid

static struct config_generic *setting;

/* The role that had set it to 0. */
static Oid	borrower = BOOTSTRAP_SUPERUSERID;

bool
worker_setting_is_lent(void)
{
	return setting->srole == LENDER;
}

bool
worker_setting_lend(void)
{
	if (max_parallel_maintenance_workers != 0)
		return false;
	max_parallel_maintenance_workers = LENT_WORKERS;
	borrower = setting->srole;
	setting->srole = LENDER;
	return true;
}

static void
correct(int *value, Oid *role)
{
	if (*role != LENDER)
		return;
	*value = 0;
	*role = borrower;
}

void
worker_setting_take_back(void)
{
	correct(&max_parallel_maintenance_workers, &setting->srole);
	for (GucStack *entry = setting->stack; entry != NULL; entry = entry->prev)
	{
		correct(&entry->prior.val.intval, &entry->srole);
		if (entry->state == GUC_SET_LOCAL)
			correct(&entry->masked.val.intval, &entry->masked_srole);
	}
}

/*
 * A parallel worker needs no lent value, and gives back the one that it has from its
 * leader, before anyone sees it.
 */
static const char *
show_workers(void)
{
	static char text[12];

	if (IsParallelWorker())
	{
		worker_setting_take_back();
		correct(&INTEGER_SETTING(setting)->reset_val, &setting->reset_srole);
	}
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
