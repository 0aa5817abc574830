/*-------------------------------------------------------------------------
 *
 * external_sort.h
 *	  Sorting rows by their keys: in memory, or in runs if there are too many.
 *
 * The user puts each row into the store and into the order.  When the store is
 * full, the user spills its rows.  If keys cannot sort the rows, the user
 * gives up the sort and takes the rows back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_EXTERNAL_SORT_H
#define GPUSORT_EXTERNAL_SORT_H

#include "sort/group_limit.h"
#include "sort/row_batch.h"
#include "sort/row_store.h"
#include "sort_progress.h"
#include "spill/sorted_runs.h"

/* The form of the rows of a sort. */
typedef struct ExternalSortVariant
{
	RowColumnFunction column;	/* reads a column of a row in the store */
	const RunFormat *format;	/* form of the rows in runs */
	Size		least_row_bytes;	/* least bytes of a row in memory */
	bool		of_values;		/* see row_store_hold_values() */
} ExternalSortVariant;

/* Rows of queries. */
extern const ExternalSortVariant sort_of_minimal_tuples;

/*
 * Takes the runs of a sort that does not merge them itself.  add() writes the
 * rows of an order as a run.
 */
typedef struct RunWriter
{
	void		(*add) (struct RunWriter *writer, RowOrder *order);
} RunWriter;

/*
 * A sort, which is a part of its user's sort.  Users put rows into the store
 * and the order themselves, so that no call lies between.
 */
typedef struct ExternalSort
{
	MemoryContext context;		/* owns everything below */
	const ExternalSortVariant *variant; /* form of the rows */
	TupleDesc	descriptor;
	bool		spills;			/* rows may be spilled to runs */
	Size		limit;			/* bytes for rows and order */
	double		expected_rows;	/* estimate */
	GroupLimit *group_limit;	/* limits the rows of each group, or NULL */
	SortProgress *progress;		/* progress of the user */

	/* for runs; the user may set these before there is a run */
	Size		limit_of_merge; /* bytes while runs are merged */
	bool		random_access;	/* rows may be fetched backward or again */
	RunWriter  *writer;			/* takes the runs; NULL: the sort merges them */
	uint64		most_in_run;	/* the most rows of a run that are wanted */

	uint64		nnulls;			/* NULLs, which the user counts, and does not
								 * put */
	uint64		nleft_out;		/* rows that were not put, as nobody wants
								 * them */
	Size		other_bytes;	/* bytes that the user has beside the rows */
	RowStore   *store;			/* rows in memory, or NULL */
	uint64		most_rows;		/* most rows that the store may have */
	uint64		stop_rows;		/* rows of the store at which
								 * external_sort_go_on() is called next */
	RowOrder   *order;			/* order of the rows in memory */
	SortedRuns *runs;			/* runs; NULL: all rows are in the store, or
								 * in the writer's runs */
	int			nruns;			/* runs that were written */
	bool		given_up;		/* rows cannot be sorted by keys */

	/* while rows move to another store, to become smaller runs */
	RowStore   *moved;			/* store that the rows leave, or NULL */
	Size		moved_bytes;	/* bytes of the store that the rows leave */
	uint64		next_row;		/* next row to be moved, or to be taken back */

	/* report of the rows that have been sorted */
	uint64		nrows;			/* rows that have been sorted */
	uint64		rows_in_runs;	/* rows in all runs, which may leave some out */
	Size		memory;			/* most bytes in memory, or bytes in files */
	char		method[REPORT_TEXT_SIZE];	/* method of the last run */
	char		device[REPORT_TEXT_SIZE];	/* name of the device, or "host" */
	bool		on_device;		/* some rows were sorted by gpusortd */
	uint64		device_microseconds;	/* time of the sorts on the device */
} ExternalSort;

/*
 * Begins a sort of rows of this descriptor.  The columns and the descriptor
 * must stay.  "limit" is in bytes.  A sort that does not spill takes as many
 * rows as fit.  "progress" shows the sort up to its last row.  Returns false
 * if the first column cannot be encoded (sort_keys_create()).  Allocates in
 * the current memory context.
 */
extern bool external_sort_begin(ExternalSort *sort,
								const ExternalSortVariant *variant,
								TupleDesc descriptor, const SortColumn *columns,
								int ncolumns, Size limit,
								double expected_rows, bool spills,
								SortProgress *progress);

/*
 * Limits the store to most_rows rows.  Has to be called before the first row.
 */
extern void external_sort_limit_rows(ExternalSort *sort, uint64 most_rows);

/*
 * Limits the order and the runs to the first rows of each group, where it pays
 * to leave out the others.  Has to be called right after
 * external_sort_begin().  "limit" must stay.
 */
extern void external_sort_limit_groups(ExternalSort *sort,
									   GroupLimit *limit);

/*
 * Returns the bytes that are taken beside the store: of keys, of moved rows,
 * and by the user.
 */
static inline Size
external_sort_memory(const ExternalSort *sort)
{
	return row_order_memory(sort->order) + sort->moved_bytes +
		sort->other_bytes;
}

/*
 * Shows the progress at a stop.  Returns false if the store may have no more
 * rows.
 */
extern bool external_sort_go_on(ExternalSort *sort);

/*
 * Returns whether the store may have another row.  Shows the progress at a
 * stop.  Rows between stops take no time for that, as the number of rows is
 * compared anyway.
 */
static inline bool
external_sort_takes_row(ExternalSort *sort)
{
	return likely(sort->store->nrows < sort->stop_rows) ||
		external_sort_go_on(sort);
}

/* Counts a row that is not put, as nobody wants it. */
static inline void
external_sort_leave_out(ExternalSort *sort)
{
	/* the next row may take long to come, and the progress is to go on */
	if (unlikely(++sort->nleft_out % PROGRESS_ROWS == 0))
		(void) external_sort_go_on(sort);
}

/*
 * Takes the rows of a batch of another process, as row_batch_take() does.
 * Returns the number of rows for which there was room.
 */
extern uint32 external_sort_take_batch(ExternalSort *sort,
									   const RowBatch *batch, char *base);

/*
 * Returns space in the store for a row of this many bytes; NULL if the store
 * is full.
 */
static inline void *
external_sort_reserve(ExternalSort *sort, Size bytes)
{
	if (unlikely(!external_sort_takes_row(sort)))
		return NULL;
	return row_store_reserve(sort->store, bytes, external_sort_memory(sort));
}

/*
 * Puts the key of the row that came to the store last.  If there is no room
 * for the key, takes the row back from the store, and returns false.
 */
static inline bool
external_sort_put_key(ExternalSort *sort, TupleTableSlot *slot)
{
	if (likely(row_order_add(sort->order, slot)))
		return true;
	row_store_take_back(sort->store);
	return false;
}

/* Puts a row, a minimal tuple; false if there is no room. */
static inline bool
external_sort_put(ExternalSort *sort, TupleTableSlot *slot)
{
	return likely(external_sort_takes_row(sort) &&
				  row_store_add(sort->store, slot,
								external_sort_memory(sort))) &&
		external_sort_put_key(sort, slot);
}

/*
 * Writes the rows in the store as a sorted run, and empties the store.
 * Returns false if the sort has to be given up.
 */
extern bool external_sort_spill(ExternalSort *sort);

/*
 * Changes the limit, in bytes, while the store is empty.  From then on the
 * store's directory, and rows in other memory, do not count any more.
 */
extern void external_sort_set_limit(ExternalSort *sort, Size limit);

/*
 * Sorts, after the last row: makes the order of the store, or begins to merge
 * the runs.  Returns false if the sort has to be given up.  Must not be called
 * if a writer has taken runs.
 */
extern bool external_sort_perform(ExternalSort *sort);

/*
 * Frees all memory but what comparing rows takes, when all rows are in runs.
 */
extern void external_sort_free_rows(ExternalSort *sort);

/*
 * external_sort_give_up() gives up the sort, at any time before rows are
 * fetched, and drops the keys.  Runs that a writer has stay as they are.  Then
 * external_sort_take_back() returns the rows, in any order, one a call, and
 * NULL after the last one.  A row is valid until the next call.
 * external_sort_drop_rows() gives up the sort and drops the rows, too.
 */
extern void external_sort_give_up(ExternalSort *sort);
extern void *external_sort_take_back(ExternalSort *sort);
extern void external_sort_drop_rows(ExternalSort *sort);

/* Ends the sort, at any time: closes files.  Its context frees the memory. */
extern void external_sort_end(ExternalSort *sort);

#endif							/* GPUSORT_EXTERNAL_SORT_H */
