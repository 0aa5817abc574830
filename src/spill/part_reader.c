/*-------------------------------------------------------------------------
 *
 * part_reader.c
 *	  The rows of merged parts, one part after the other, in the leader.
 *
 * Either all parts have been merged, and are in files.  Or they are being
 * merged: then another process has taken the next part, and sends it, or none
 * has, and the leader merges it itself, as it reads.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "spill/part_reader.h"

/* Where the rows of the present part come from. */
typedef enum PartSource
{
	NO_PART,
	PART_IN_FILE,
	PART_IN_STREAM,				/* another process sends it */
	PART_IS_MERGED				/* this process merges it */
} PartSource;

struct PartReader
{
	SharedRuns *shared;
	const RunFormat *format;
	int			next_part;		/* part to be opened next */
	PartSource	source;

	/* of parts in files */
	Size		buffer_bytes;
	RunFile    *file;			/* file of the present part */
	RunTape    *tape;

	/* of a stream */
	PartReceiver *receiver;		/* NULL: parts are in files */
	PartMerge  *merge;
	RunMerge   *rows;			/* rows of the present part; NULL: it has none */
};

PartReader *
part_reader_begin_files(SharedRuns *shared, const RunFormat *format,
						Size buffer_bytes)
{
	PartReader *reader = palloc0(sizeof(PartReader));

	reader->shared = shared;
	reader->format = format;
	reader->buffer_bytes = buffer_bytes;
	return reader;
}

PartReader *
part_reader_begin_stream(SharedRuns *shared, const RunFormat *format,
						 PartMerge *merge, PartReceiver *receiver)
{
	PartReader *reader = palloc0(sizeof(PartReader));

	reader->shared = shared;
	reader->format = format;
	reader->merge = merge;
	reader->receiver = receiver;
	(void) shared_runs_take_this_part(shared, 0);
	return reader;
}

/* Opens the next part, in a file, unless it has no rows. */
static void
open_file(PartReader *reader, int part)
{
	SharedRuns *shared = reader->shared;
	uint64		bytes;

	if (shared->part_rows[part] == 0)
		return;
	reader->file = run_file_open_shared(&shared->files, PART_FILE_NAME, part,
										shared->limit, &bytes);
	reader->tape = run_tape_open(reader->file, reader->format, bytes);
	run_tape_begin_read(reader->tape, reader->buffer_bytes);
	reader->source = PART_IN_FILE;
}

/* Opens the next part of a stream. */
static void
open_streamed(PartReader *reader, int part)
{
	if (part == 0 || shared_runs_take_this_part(reader->shared, part))
	{
		reader->rows = part_merge_open(reader->merge, part);
		reader->source = PART_IS_MERGED;
	}
	else
		reader->source = PART_IN_STREAM;
}

/* Opens the next part; false if there is none. */
static bool
open_next_part(PartReader *reader)
{
	int			part = reader->next_part;

	if (part == reader->shared->nparts)
		return false;
	reader->next_part++;
	if (reader->receiver != NULL)
		open_streamed(reader, part);
	else
		open_file(reader, part);
	return true;
}

/* The next row of the present part; NULL at its end. */
static inline void *
next_of_part(PartReader *reader)
{
	switch (reader->source)
	{
		case PART_IN_STREAM:
			return part_receiver_next(reader->receiver, reader->next_part - 1,
									  reader->format->bytes);
		case PART_IN_FILE:
			return run_tape_read(reader->tape);
		case PART_IS_MERGED:
			return reader->rows != NULL ? run_merge_next(reader->rows) : NULL;
		default:
			return NULL;
	}
}

/* Closes the present part; its file is deleted. */
static void
close_part(PartReader *reader)
{
	if (reader->source == PART_IN_FILE)
	{
		run_tape_close(reader->tape);
		run_file_delete(reader->file);
	}
	if (reader->source == PART_IS_MERGED)
		part_merge_close(reader->merge, reader->rows);
	reader->source = NO_PART;
}

void *
part_reader_next(PartReader *reader)
{
	CHECK_FOR_INTERRUPTS();
	for (;;)
	{
		void	   *row = next_of_part(reader);

		if (likely(row != NULL))
			return row;
		close_part(reader);
		if (!open_next_part(reader))
			return NULL;
	}
}

bool
part_reader_is_streamed(const PartReader *reader)
{
	return reader->receiver != NULL;
}

void
part_reader_stop(PartReader *reader)
{
	if (reader->receiver != NULL)
		part_receiver_stop(reader->receiver);
}

void
part_reader_end(PartReader *reader)
{
	bool		at_end = reader->next_part == reader->shared->nparts &&
		reader->source == NO_PART;

	close_part(reader);
	if (reader->receiver != NULL)
	{
		part_receiver_end(reader->receiver);
		/* a process that merges a part reads the runs */
		part_merge_end(reader->merge, at_end);
	}
	pfree(reader);
}
