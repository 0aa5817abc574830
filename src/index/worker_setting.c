/*-------------------------------------------------------------------------
 *
 * worker_setting.c
 *	  Lending max_parallel_maintenance_workers a value other than 0.
 *
 * If the setting is 0, core does not plan index builds, and gpusort does not
 * learn of them (take_builds.c).  So then the setting has another value during
 * a statement that may build indexes.  Meanwhile expressions and functions may
 * look at the setting and change it, and have to find 0:
 *	- The value shown is 0.
 *	- A value that expressions or functions set stays if it is meant to outlast
 *	  the statement.
 *	- When such a change ends, the value before it comes back.  That value is
 *	  in the setting's stack, where it is corrected when the statement ends,
 *	  also by an error: transactions undo their changes after that.
 *
 * A user may set any value, too.  But with each value core notes the role that
 * has set it, also in the stack and for parallel workers.  The lent value is
 * the one that no role has set.
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

/* The lent value: a valid one, since parallel workers take it over. */
#define LENT_WORKERS	1

/* The role that has set the lent value. */
#define LENDER			InvalidOid

static struct config_generic *setting;

/* The role that had set the setting to 0. */
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
 * Shows 0 for the lent value.  A parallel worker needs no lent value, and
 * takes back the one that it got from its leader.
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
