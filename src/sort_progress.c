/*-------------------------------------------------------------------------
 *
 * sort_progress.c
 *	  How far the sorts of each process have come, for all processes to see.
 *
 * A process has one slot in shared memory, and is the only one to write it: at
 * changes of the phase, and after some thousand rows.  A counter of changes,
 * which is odd during a change, tells readers whether their copy is whole, as
 * with a backend's status in PostgreSQL.
 *
 * Each process has a list of its sorts, since one may take the rows of
 * another.  The slot shows the sort whose phase has changed last.  A sort that
 * emits rows is shown only if all sorts do.  So the slot shows the sort that
 * the query waits for.
 *
 * A sort leaves the list when it ends, or when its memory is freed, as after
 * every error.  In any case the list ends with the transaction, and with the
 * process.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"

#include "port/compat.h"
#include "sort_progress.h"

typedef struct ProgressSlot
{
	volatile uint32 changes;	/* odd while the sort changes */
	SortOfProcess sort;
} ProgressSlot;

static const char *const kind_names[] = {
	[PROGRESS_OF_SORT] = "sort",
	[PROGRESS_OF_INDEX_BUILD] = "index build"
};

static const char *const phase_names[] = {
	[PROGRESS_TAKING_ROWS] = "taking rows",
	[PROGRESS_SORTING] = "sorting",
	[PROGRESS_WRITING_RUN] = "writing run",
	[PROGRESS_MERGING_RUNS] = "merging runs",
	[PROGRESS_WAITING_FOR_LEADER] = "waiting for leader",
	[PROGRESS_EMITTING_ROWS] = "emitting rows",
	[PROGRESS_WRITING_INDEX] = "writing index"
};

static bool preloaded;			/* in shared_preload_libraries */
static ProgressSlot *slots;		/* of all processes, by their numbers */
static ProgressSlot *own_slot;	/* NULL before the first sort */

/* The sorts of this process; the one whose phase has changed last comes first. */
static dlist_head sorts = DLIST_STATIC_INIT(sorts);

static Size
slots_bytes(void)
{
	return mul_size(MaxBackends, sizeof(ProgressSlot));
}

void
sort_progress_request(void)
{
	preloaded = true;
	RequestAddinShmemSpace(slots_bytes());
}

/* Finds the slots, making them if this is the first process to; NULL: none. */
static ProgressSlot *
get_slots(void)
{
	bool		found;

	if (slots != NULL || !preloaded)
		return slots;
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	slots = ShmemInitStruct("gpusort progress", slots_bytes(), &found);
	if (!found)
		memset(slots, 0, slots_bytes());
	LWLockRelease(AddinShmemInitLock);
	return slots;
}

/* Writes figures to the slot; with NULL the slot shows nothing. */
static void
write_slot(const SortFigures *figures)
{
	SortOfProcess *sort = &own_slot->sort;

	own_slot->changes++;
	pg_write_barrier();
	if (figures == NULL)
		sort->pid = 0;
	else
	{
		sort->pid = MyProcPid;
		sort->database = MyDatabaseId;
		sort->role = GetSessionUserId();
		sort->figures = *figures;
	}
	pg_write_barrier();
	own_slot->changes++;
}

/* The sort to be shown; NULL if there is none. */
static SortProgress *
find_shown(void)
{
	SortProgress *emitting = NULL;
	dlist_iter	iter;

	dlist_foreach(iter, &sorts)
	{
		SortProgress *progress = dlist_container(SortProgress, node, iter.cur);

		if (progress->hidden)
			continue;
		if (progress->figures.phase != PROGRESS_EMITTING_ROWS)
			return progress;
		if (emitting == NULL)
			emitting = progress;
	}
	return emitting;
}

/* Updates the slot to the sort that has to be shown now. */
static void
show_one(void)
{
	SortProgress *shown;

	if (own_slot == NULL)
		return;
	shown = find_shown();
	write_slot(shown == NULL ? NULL : &shown->figures);
}

void
sort_progress_end(SortProgress *progress)
{
	if (!progress->listed)
		return;
	dlist_delete(&progress->node);
	progress->listed = false;
	if (!progress->hidden)
		show_one();
}

static void
end_with_memory(void *progress)
{
	sort_progress_end(progress);
}

static void
end_all(void)
{
	while (!dlist_is_empty(&sorts))
		sort_progress_end(dlist_head_element(SortProgress, node, &sorts));
}

static void
end_with_transaction(XactEvent event, void *argument)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
		case XACT_EVENT_PREPARE:
			end_all();
			break;
		default:
			break;
	}
}

static void
end_with_process(int code, Datum argument)
{
	end_all();
}

/* Before the first sort: finds the slot of this process, if there is one. */
static void
find_own_slot(void)
{
	if (own_slot != NULL || get_slots() == NULL ||
		MyProcNumber >= MaxBackends)
		return;
	own_slot = &slots[MyProcNumber];
	RegisterXactCallback(end_with_transaction, NULL);
	before_shmem_exit(end_with_process, (Datum) 0);
}

void
sort_progress_expect(SortProgress *progress, double rows)
{
	progress->figures.rows_expected =
		(uint64) Min(Max(rows, 0), (double) PG_INT32_MAX * PG_INT32_MAX);
}

/* Lists a sort that has not begun yet. */
static void
list_progress(SortProgress *progress, double expected_rows, bool at_once)
{
	sort_progress_expect(progress, expected_rows);
	dlist_push_head(&sorts, &progress->node);
	progress->listed = true;
	progress->hidden = !at_once;
	if (at_once)
		show_one();
}

SortProgress *
sort_progress_begin(ProgressKind kind, double expected_rows, bool at_once)
{
	SortProgress *progress = palloc0(sizeof(SortProgress));

	find_own_slot();
	progress->figures.kind = kind;
	progress->on_reset.func = end_with_memory;
	progress->on_reset.arg = progress;
	MemoryContextRegisterResetCallback(CurrentMemoryContext,
									   &progress->on_reset);
	list_progress(progress, expected_rows, at_once);
	return progress;
}

void
sort_progress_begin_again(SortProgress *progress, double expected_rows,
						  bool at_once)
{
	ProgressKind kind = progress->figures.kind;

	memset(&progress->figures, 0, sizeof(SortFigures));
	progress->figures.kind = kind;
	list_progress(progress, expected_rows, at_once);
}

void
sort_progress_enter(SortProgress *progress, ProgressPhase phase)
{
	progress->figures.phase = phase;
	if (progress->listed)
		dlist_move_head(&sorts, &progress->node);
	if (!progress->hidden)
		show_one();
}

void
sort_progress_show(SortProgress *progress)
{
	progress->hidden = false;
	if (own_slot != NULL && find_shown() == progress)
		write_slot(&progress->figures);
}

void
sort_progress_emitted(SortProgress *progress, uint64 nrows)
{
	progress->figures.emits = true;
	progress->figures.rows_emitted = nrows;
	sort_progress_show(progress);
}

void
sort_progress_set_device(SortProgress *progress, const char *device)
{
	strlcpy(progress->figures.device, device,
			sizeof(progress->figures.device));
}

int
sort_progress_processes(void)
{
	return get_slots() == NULL ? 0 : MaxBackends;
}

bool
sort_progress_read(int number, SortOfProcess *copy)
{
	const ProgressSlot *slot = &get_slots()[number];
	uint32		changes;

	for (;;)
	{
		changes = slot->changes;
		pg_read_barrier();
		*copy = slot->sort;
		pg_read_barrier();
		if (changes == slot->changes && changes % 2 == 0)
			return copy->pid != 0;
		CHECK_FOR_INTERRUPTS();
	}
}

const char *
progress_kind_name(ProgressKind kind)
{
	return kind_names[kind];
}

const char *
progress_phase_name(ProgressPhase phase)
{
	return phase_names[phase];
}
