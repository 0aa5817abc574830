/*-------------------------------------------------------------------------
 *
 * parts.h
 *	  Parts of the order of all rows, which the members of a team take in turn.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PARTS_H
#define GPUSORT_PARTS_H

#include "port/atomics.h"
#include "sort_progress.h"
#include "spill/row_check.h"
#include "spill/row_reader.h"
#include "team/leader_decision.h"
#include "team/shared_runs.h"

/* The most parts of a merge. */
#define MOST_MERGED_PARTS	1024

/* What all members share. */
typedef struct SharedParts
{
	LeaderDecision decision;	/* what members do with the parts */
	pg_atomic_uint32 nhelpers;	/* helpers: members that can write or send
								 * parts.  A member is counted before the
								 * collector knows of its last row */

	/* set by the collector before it decides */
	bool		of_runs;		/* parts are parts of the merge of all runs;
								 * otherwise slices of rows in shared memory */
	int			nparts;
	uint64		nrows;			/* rows of all parts */
	dsm_handle	stream;			/* stream through which parts are sent */

	pg_atomic_uint32 next;		/* first part that nobody has taken */

	/* if parts are written to files */
	pg_atomic_uint32 nwritten;	/* parts that are complete */
	ConditionVariable written;	/* signalled when all parts are complete */
	uint64		rows_written[MOST_MERGED_PARTS];	/* rows of each part */

	/* if all members emit parts, for EXPLAIN */
	pg_atomic_uint64 nemitted;	/* parts with rows */
	pg_atomic_uint32 nemitters; /* members that have emitted rows */
	pg_atomic_uint64 most_rows; /* most rows that one member has emitted */
} SharedParts;

/* Initializes the state, when no process uses it. */
extern void shared_parts_init(SharedParts *shared);

/*
 * shared_parts_offer() makes this process a helper: a member that has offered
 * to write or send parts.  shared_parts_helpers() returns the number of
 * helpers.
 */
extern void shared_parts_offer(SharedParts *shared);
extern int	shared_parts_helpers(SharedParts *shared);

/* Sets the parts, in the collector. */
extern void shared_parts_set(SharedParts *shared, bool of_runs, int nparts,
							 uint64 nrows);

/*
 * Makes the rows of parts that this process has taken, one part at a time.
 * Each kind of parts has its own maker.
 */
typedef struct PartMaker PartMaker;

typedef struct PartMakerMethods
{
	void		(*open) (PartMaker *maker, int part);
	void	   *(*next) (PartMaker *maker); /* the next row, valid until the
											 * next call; NULL after the last */
	void		(*close) (PartMaker *maker);

	/*
	 * If the maker tells ties: is the row that next() has returned equal to
	 * the one before it, by all sort columns?
	 */
	bool		(*is_tie) (const PartMaker *maker);

	/*
	 * Returns row "number" of a part, of which the sender has sent the bytes
	 * at "row".  NULL: rows are always sent as a whole.
	 */
	void	   *(*find) (PartMaker *maker, int part, uint64 number, void *row);
	void		(*end) (PartMaker *maker, bool at_end); /* ends the maker;
														 * at_end: all parts
														 * have been made */
} PartMakerMethods;

struct PartMaker
{
	const PartMakerMethods *methods;
	bool		tells_ties;

	/*
	 * Returns how many of a row's first bytes are sent: STREAM_MOST_ROW_BYTES
	 * at most.  Called with the bytes that have arrived, it returns the same.
	 */
	Size		(*row_bytes) (const void *row);
};

/*
 * Take parts, in a helper or in the collector, until all parts have been
 * taken.  parts_write() writes each part to a file in the set of the runs.
 * parts_send() sends each part to the collector, and also ends when no more
 * rows are wanted.
 */
extern void parts_write(SharedParts *shared, PartMaker *maker,
						SharedRuns *runs, const RunFormat *format);
extern void parts_send(SharedParts *shared, PartMaker *maker);

/* A reader of parts. */
typedef struct PartReader PartReader;

/*
 * The three functions below make a reader, in the current memory context.  The
 * reader owns the maker.
 *
 * part_reader_begin_taken() reads the parts that this member takes, in any
 * member, after the decision that all members emit parts.  "progress", which
 * must stay or is NULL, counts the rows.
 */
extern PartReader *part_reader_begin_taken(SharedParts *shared,
										   PartMaker *maker,
										   SortProgress *progress);

/*
 * Reads all parts in order, in the collector; begins before the decision that
 * members send parts.  If nobody has taken a part when its turn comes, the
 * collector makes it.  Each helper gets bytes_of_sender bytes of shared
 * memory.  Returns NULL if there is not enough; then the maker stays the
 * caller's.  With fetches_fast the collector stops waiting for others once it
 * would make the rows in less time.
 */
extern PartReader *part_reader_begin_sent(SharedParts *shared,
										  PartMaker *maker,
										  Size bytes_of_sender,
										  bool fetches_fast);

/*
 * Reads all parts in order, in the collector, after the decision that members
 * write parts, and after parts_write().  Waits until all parts are complete,
 * and ends the maker.  Reads buffer_bytes bytes of a file at once.
 */
extern PartReader *part_reader_begin_written(SharedParts *shared,
											 PartMaker *maker,
											 SharedRuns *runs,
											 const RunFormat *format,
											 Size buffer_bytes);

/* Returns what reads the rows of the parts. */
extern RowReader *part_reader_rows(PartReader *reader);

/*
 * Does each row stay where it is until the reader ends?  The rows of slices in
 * shared memory do, if this process makes all slices that it reads.
 */
extern bool part_reader_rows_stay(const PartReader *reader);

/*
 * Is it known of each row whether it is equal to the one before it?  Then the
 * second function returns that of the row read last.  It is known of slices
 * whose order tells it, if this process makes all slices that it reads.
 */
extern bool part_reader_tells_ties(const PartReader *reader);
extern bool part_reader_is_tie(const PartReader *reader);

/*
 * Lets the reader check the sequence of merged rows.  "order" compares rows.
 */
extern void part_reader_check(PartReader *reader, RunOrder order,
							  const RunFormat *format);

/*
 * The first function returns the number of rows read so far, the second how
 * many of these others have sent.
 */
extern uint64 part_reader_count(const PartReader *reader);
extern uint64 part_reader_sent(const PartReader *reader);

/* Tells the members that send parts that no more rows will be read. */
extern void part_reader_stop(PartReader *reader);

/*
 * Ends the reader, at any time.  Files of parts are deleted as they are read.
 */
extern void part_reader_end(PartReader *reader);

#endif							/* GPUSORT_PARTS_H */
