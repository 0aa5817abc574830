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
	LeaderDecision decision;	/* what is done with the parts */
	pg_atomic_uint32 nhelpers;	/* members that can write or send parts, noted
								 * before the collector knows of their last
								 * row */

	/* set by the collector before it decides */
	bool		of_runs;		/* parts are merged of runs; otherwise they
								 * are slices of rows in shared memory */
	int			nparts;
	uint64		nrows;			/* rows of all parts */
	dsm_handle	stream;			/* through which parts are sent */

	pg_atomic_uint32 next;		/* next part that nobody has taken */

	/* of parts in files */
	pg_atomic_uint32 nwritten;	/* parts that are complete */
	ConditionVariable written;	/* signalled when all are */
	uint64		rows_written[MOST_MERGED_PARTS];	/* rows of each part */

	/* of parts that all members emit, for EXPLAIN */
	pg_atomic_uint64 nemitted;	/* parts with rows */
	pg_atomic_uint32 nemitters; /* members that have emitted rows */
	pg_atomic_uint64 most_rows; /* most rows that one of them has emitted */
} SharedParts;

/* Initializes the state, when no process uses it. */
extern void shared_parts_init(SharedParts *shared);

/* Says that this process can write or send parts. */
extern void shared_parts_offer(SharedParts *shared);
extern int	shared_parts_helpers(SharedParts *shared);

/* In the collector: sets the parts. */
extern void shared_parts_set(SharedParts *shared, bool of_runs, int nparts,
							 uint64 nrows);

/*
 * What makes the rows of a part, in a process that has taken it: one part at a time.
 * Each kind of parts has its own.
 */
typedef struct PartMaker PartMaker;

typedef struct PartMakerMethods
{
	void		(*open) (PartMaker *maker, int part);
	void	   *(*next) (PartMaker *maker); /* the next row, valid until the
											 * next call; NULL after the last */
	void		(*close) (PartMaker *maker);

	/*
	 * The row of which this is sent, row "number" of a part; NULL if all rows
	 * are sent as a whole.
	 */
	void	   *(*find) (PartMaker *maker, int part, uint64 number, void *row);
	void		(*end) (PartMaker *maker, bool at_end); /* with at_end all parts
														 * are made */
} PartMakerMethods;

struct PartMaker
{
	const PartMakerMethods *methods;

	/*
	 * The first bytes of a row that are sent: STREAM_MOST_ROW_BYTES at most.
	 * The same where the row has come.
	 */
	Size		(*row_bytes) (const void *row);
};

/*
 * In a member that has offered it: writes parts to files of the runs' set, or sends
 * parts, until every part has been taken by some member, or no more rows are wanted.
 */
extern void parts_write(SharedParts *shared, PartMaker *maker,
						SharedRuns *runs, const RunFormat *format);
extern void parts_send(SharedParts *shared, PartMaker *maker);

/* A reader of parts. */
typedef struct PartReader PartReader;

/*
 * Each function makes a reader, in the current memory context, which owns the maker:
 *
 * In any member, after the decision that all emit parts: reads those that this member
 * takes.  The progress, which has to stay, or is NULL, gets their rows.
 */
extern PartReader *part_reader_begin_taken(SharedParts *shared,
										   PartMaker *maker,
										   SortProgress *progress);

/*
 * In the collector, before the decision that others send parts: reads all parts in
 * order.  It takes those itself that nobody else has taken when their turn comes.  Each
 * of the others has bytes_of_sender of shared memory; NULL without that, and the maker
 * stays.  With fetches_fast this process ceases to wait for others if it would have made
 * the rows itself in less time.
 */
extern PartReader *part_reader_begin_sent(SharedParts *shared,
										  PartMaker *maker,
										  Size bytes_of_sender,
										  bool fetches_fast);

/*
 * In the collector, after the decision that parts are written, and after it has written
 * some itself: waits until all are, ends the maker, and reads the parts, buffer_bytes at
 * once.
 */
extern PartReader *part_reader_begin_written(SharedParts *shared,
											 PartMaker *maker,
											 SharedRuns *runs,
											 const RunFormat *format,
											 Size buffer_bytes);

/* The rows of the parts. */
extern RowReader *part_reader_rows(PartReader *reader);

/* Lets the reader check that merged rows come in order, which "order" compares. */
extern void part_reader_check(PartReader *reader, RowOrder *order,
							  const RunFormat *format);

/* The number of rows read so far, and of those that others have sent. */
extern uint64 part_reader_count(const PartReader *reader);
extern uint64 part_reader_sent(const PartReader *reader);

/* Tells others, if they send parts, that no more rows will be read. */
extern void part_reader_stop(PartReader *reader);

/* Ends the reader at any time.  Files of parts are deleted as they are read. */
extern void part_reader_end(PartReader *reader);

#endif							/* GPUSORT_PARTS_H */
