/*-------------------------------------------------------------------------
 *
 * run_file.c
 *	  A temporary file of sorted runs, in pieces.
 *
 * Runs are written one behind the other, and many are read at a time.  Core's
 * logtape.c and buffile.c do the same for core's sorts.  They pass a page with
 * each call of the operating system, after copying it twice, and a call takes
 * as long as some ten rows.  So here each call passes a whole piece: as many
 * pages as there is memory for, written from where they are filled.  Pieces
 * are aligned in the file as in memory, so that the system's own cache keeps
 * many pages as one.
 *
 * The files are core's (fd.c).  So temp_tablespaces, temp_file_limit,
 * log_temp_files and the statistics apply to them, and they end with the
 * query, however it ends.  As with core, each file has at most a gigabyte.
 *
 * Pieces that have been read are overwritten, so that a merge that writes
 * takes little more room than the rows.  A piece with the end of one run and
 * the beginning of the next is overwritten when both have been read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/statvfs.h>

#include "commands/tablespace.h"
#include "executor/instrument.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "spill/run_file.h"

#define SEGMENT_BYTES		((uint64) 1 << 30)

/* A piece takes 1/PIECE_PART of the sort's memory, within limits. */
#define PIECE_PART			32
#define MOST_PIECE_BYTES	((Size) 256 * 1024)

/* Pieces for which there is room at first: most runs have no more pieces. */
#define FIRST_MAX_PIECES	64

struct RunFile
{
	MemoryContext context;		/* holds everything below */
	ResourceOwner owner;
	SharedFileSet *shared;		/* set that has the files; NULL: the files are
								 * this process's */
	const char *name;			/* name in the set, along with the number */
	uint32		number;

	File	   *segments;		/* core's files of which this file consists */
	int			nsegments;
	int			max_segments;
	uint64		bytes;			/* bytes in all files */

	Size		piece_bytes;
	uint64		npieces;
	uint64		max_pieces;
	uint32	   *users;			/* users of each piece: readers that have not
								 * given it back, and the writer */
	uint64		piece;			/* number of the piece that is being filled */
	char	   *buffer;			/* memory of the piece that is being filled,
								 * or NULL */
	Size		filled;			/* filled bytes of that piece; 0: no piece is
								 * being filled */
	NumberList	unused;			/* pieces that all readers have given back */
};

void
number_list_add(NumberList *list, MemoryContext context, uint64 number)
{
	if (list->count == list->max)
	{
		list->max = Max(FIRST_MAX_PIECES, list->max * 2);
		list->numbers = list->numbers == NULL ?
			MemoryContextAlloc(context, list->max * sizeof(uint64)) :
			repalloc_huge(list->numbers, list->max * sizeof(uint64));
	}
	list->numbers[list->count++] = number;
}

/* Returns the bytes of a piece that takes at most this many, if possible. */
static Size
piece_within(Size bytes)
{
	return pg_prevpower2_size_t(Min(Max(bytes, BLCKSZ), MOST_PIECE_BYTES));
}

Size
run_file_limit_piece(Size limit)
{
	return piece_within(limit / PIECE_PART);
}

RunFile *
run_file_create(Size limit)
{
	return run_file_create_pieces(limit / PIECE_PART);
}

RunFile *
run_file_create_pieces(Size piece_bytes)
{
	RunFile    *file = palloc0(sizeof(RunFile));

	file->context = CurrentMemoryContext;
	file->owner = CurrentResourceOwner;
	file->piece_bytes = piece_within(piece_bytes);
	return file;
}

RunFile *
run_file_create_shared(SharedFileSet *files, const char *name, uint32 number,
					   Size limit)
{
	RunFile    *file = run_file_create(limit);

	file->shared = files;
	file->name = name;
	file->number = number;
	return file;
}

static void
add_segment(RunFile *file, File segment)
{
	if (file->nsegments == file->max_segments)
	{
		file->max_segments = Max(4, file->max_segments * 2);
		file->segments = file->segments == NULL ?
			MemoryContextAlloc(file->context,
							   file->max_segments * sizeof(File)) :
			repalloc(file->segments, file->max_segments * sizeof(File));
	}
	file->segments[file->nsegments++] = segment;
}

/* Sets the name of a segment of a shared file. */
static void
name_segment(const RunFile *file, int segment, char *name)
{
	snprintf(name, MAXPGPATH, "%s%u.%d", file->name, file->number, segment);
}

RunFile *
run_file_open_shared(SharedFileSet *files, const char *name, uint32 number,
					 Size limit, uint64 *bytes)
{
	RunFile    *file = run_file_create_shared(files, name, number, limit);

	for (;;)
	{
		char		path[MAXPGPATH];
		File		segment;

		name_segment(file, file->nsegments, path);
		segment = FileSetOpen(&files->fs, path, O_RDONLY);
		if (segment <= 0)
			break;
		add_segment(file, segment);
		file->bytes += FileSize(segment);
	}
	if (file->nsegments == 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("gpusort: could not open the temporary file of %s %u: %m",
						name, number)));
	*bytes = file->bytes;
	return file;
}

/* Adds an empty segment. */
static void
create_segment(RunFile *file)
{
	ResourceOwner caller_owner = CurrentResourceOwner;
	File		segment;

	CurrentResourceOwner = file->owner;
	if (file->shared != NULL)
	{
		char		name[MAXPGPATH];

		/*
		 * a process that opens the file must not find a segment that a crash
		 * has left
		 */
		name_segment(file, file->nsegments + 1, name);
		(void) FileSetDelete(&file->shared->fs, name, false);
		name_segment(file, file->nsegments, name);
		segment = FileSetCreate(&file->shared->fs, name);
	}
	else
	{
		PrepareTempTablespaces();
		segment = OpenTemporaryFile(false);
	}
	CurrentResourceOwner = caller_owner;
	add_segment(file, segment);
}

Size
run_file_piece_bytes(const RunFile *file)
{
	return file->piece_bytes;
}

/* Finds where a piece begins, in a segment that is there. */
static File
find_place(const RunFile *file, uint64 piece, off_t *place)
{
	uint64		bytes = piece * file->piece_bytes;

	Assert(bytes / SEGMENT_BYTES < file->nsegments);
	*place = bytes % SEGMENT_BYTES;
	return file->segments[bytes / SEGMENT_BYTES];
}

/* Adds segments up to the one in which a piece begins. */
static void
make_place(RunFile *file, uint64 piece)
{
	while (file->nsegments <= piece * file->piece_bytes / SEGMENT_BYTES)
		create_segment(file);
}

/* Raises an error if the file does not have these bytes of a piece. */
static void
check_place(const RunFile *file, uint64 piece, Size offset, Size count)
{
	uint64		begin = piece * file->piece_bytes + offset;

	if (unlikely(begin > file->bytes || count > file->bytes - begin))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("gpusort: a temporary file is too short")));
}

/* Returns the number of pages of this many bytes. */
static int64
count_pages(Size bytes)
{
	return (bytes + BLCKSZ - 1) / BLCKSZ;
}

/* Returns the time, if track_io_timing is on. */
static instr_time
io_clock(void)
{
	instr_time	now;

	if (track_io_timing)
		INSTR_TIME_SET_CURRENT(now);
	else
		INSTR_TIME_SET_ZERO(now);
	return now;
}

static void
add_io_time(instr_time *sum, instr_time start)
{
	instr_time	now = io_clock();

	INSTR_TIME_ACCUM_DIFF(*sum, now, start);
}

/* Writes the filled bytes of the present piece. */
static void
write_piece(RunFile *file)
{
	Size		count = file->filled;
	Size		done = 0;
	off_t		place;
	File		segment;
	instr_time	start = io_clock();

	make_place(file, file->piece);
	segment = find_place(file, file->piece, &place);
	while (done < count)
	{
		ssize_t		written = FileWrite(segment, file->buffer + done,
										count - done,
										place + done,
										WAIT_EVENT_BUFFILE_WRITE);

		if (written <= 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not write to file \"%s\": %m",
							FilePathName(segment))));
		done += written;
	}
	add_io_time(&pgBufferUsage.temp_blk_write_time, start);
	pgBufferUsage.temp_blks_written += count_pages(count);
	file->bytes = Max(file->bytes, file->piece * file->piece_bytes + count);
}

/* Adds a piece to the file; returns its number. */
static uint64
add_piece(RunFile *file)
{
	if (file->npieces == file->max_pieces)
	{
		file->max_pieces = Max(FIRST_MAX_PIECES, file->max_pieces * 2);
		file->users = file->users == NULL ?
			MemoryContextAlloc(file->context,
							   file->max_pieces * sizeof(uint32)) :
			repalloc_huge(file->users, file->max_pieces * sizeof(uint32));
	}
	file->users[file->npieces] = 0;
	return file->npieces++;
}

/*
 * Begins to fill a piece: one that was given back, if there is any, or a new
 * one.
 */
static void
begin_piece(RunFile *file)
{
	file->piece = file->unused.count > 0 ?
		file->unused.numbers[--file->unused.count] : add_piece(file);
	file->users[file->piece]++;
}

/* Ends the present piece, when it has been written. */
static void
end_piece(RunFile *file)
{
	file->filled = 0;
	run_file_give_back(file, file->piece);
}

uint64
run_file_piece(RunFile *file, char **next, char **end)
{
	if (file->buffer == NULL)
		file->buffer = MemoryContextAlloc(file->context, file->piece_bytes);
	/* the next tape is aligned as if it were alone */
	run_file_fill(file, file->buffer + MAXALIGN(file->filled));
	if (file->filled == 0)
		begin_piece(file);
	file->users[file->piece]++;
	*next = file->buffer + file->filled;
	*end = file->buffer + file->piece_bytes;
	return file->piece;
}

void
run_file_fill(RunFile *file, char *next)
{
	file->filled = next - file->buffer;
	if (file->filled == file->piece_bytes)
	{
		write_piece(file);
		end_piece(file);
	}
}

void
run_file_flush(RunFile *file)
{
	if (file->filled > 0)
		write_piece(file);
}

void
run_file_end_write(RunFile *file)
{
	run_file_flush(file);
	if (file->filled > 0)
		end_piece(file);
	if (file->buffer != NULL)
		pfree(file->buffer);
	file->buffer = NULL;
}

void
run_file_read(RunFile *file, uint64 piece, Size offset, char *bytes,
			  Size count)
{
	Size		done = 0;
	off_t		place;
	File		segment;
	instr_time	start = io_clock();

	check_place(file, piece, offset, count);
	segment = find_place(file, piece, &place);
	while (done < count)
	{
		ssize_t		have = FileRead(segment, bytes + done, count - done,
									place + offset + done,
									WAIT_EVENT_BUFFILE_READ);

		if (have < 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read file \"%s\": %m",
							FilePathName(segment))));
		if (have == 0)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("gpusort: temporary file \"%s\" is too short",
							FilePathName(segment))));
		done += have;
	}
	add_io_time(&pgBufferUsage.temp_blk_read_time, start);
	pgBufferUsage.temp_blks_read += count_pages(count);
}

void
run_file_give_back(RunFile *file, uint64 piece)
{
	/* nothing is written to a file of another process */
	if (file->users != NULL && --file->users[piece] == 0)
		number_list_add(&file->unused, file->context, piece);
}

Size
run_file_bytes(const RunFile *file)
{
	return file->bytes;
}

uint64
run_file_free_bytes(const RunFile *file)
{
	uint64		least = PG_UINT64_MAX;

	for (int segment = 0; segment < file->nsegments; segment++)
	{
		struct statvfs space;

		if (statvfs(FilePathName(file->segments[segment]), &space) != 0)
			return 0;
		least = Min(least, (uint64) space.f_bavail * space.f_frsize);
	}
	return least;
}

void
run_file_close(RunFile *file)
{
	for (int segment = 0; segment < file->nsegments; segment++)
		FileClose(file->segments[segment]);
	if (file->buffer != NULL)
		pfree(file->buffer);
	if (file->segments != NULL)
		pfree(file->segments);
	if (file->users != NULL)
		pfree(file->users);
	if (file->unused.numbers != NULL)
		pfree(file->unused.numbers);
	pfree(file);
}

void
run_file_delete(RunFile *file)
{
	for (int segment = 0; segment < file->nsegments; segment++)
	{
		char		name[MAXPGPATH];

		name_segment(file, segment, name);
		(void) FileSetDelete(&file->shared->fs, name, false);
	}
	run_file_close(file);
}
