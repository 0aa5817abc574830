/*-------------------------------------------------------------------------
 *
 * run_file.h
 *	  A temporary file of sorted runs, in pieces.
 *
 * A file is written and read in pieces of one size, a power of two; all but
 * the last are full.  A piece that all of its readers have given back is
 * overwritten by the next piece that is filled.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_RUN_FILE_H
#define GPUSORT_RUN_FILE_H

#include "storage/sharedfileset.h"

typedef struct RunFile RunFile;

/* A list of numbers, as of pieces of a file; an empty one is all zeros. */
typedef struct NumberList
{
	uint64	   *numbers;
	uint32		count;
	uint32		max;
} NumberList;

/* Adds a number to a list, which is allocated in this context. */
extern void number_list_add(NumberList *list, MemoryContext context,
							uint64 number);

/*
 * Makes an empty file, for a sort with "limit" bytes of memory.  The current
 * resource owner closes the file, if nobody else does.  Allocates in the
 * current memory context.  This and the functions below raise errors of the
 * file system.
 */
extern RunFile *run_file_create(Size limit);

/*
 * The first function makes a file of one tape, with this name and number in
 * the set, for other processes to read.  The second opens it in another
 * process, and sets *bytes to its size.  The name must stay.
 */
extern RunFile *run_file_create_shared(SharedFileSet *files,
									   const char *name, uint32 number,
									   Size limit);
extern RunFile *run_file_open_shared(SharedFileSet *files, const char *name,
									 uint32 number, Size limit,
									 uint64 *bytes);

/*
 * Bytes of a piece, which are written at once: for a sort with "limit" bytes
 * of memory, or of this file.
 */
extern Size run_file_limit_piece(Size limit);
extern Size run_file_piece_bytes(const RunFile *file);

/*
 * Returns the number of the piece that is being filled, and sets *next and *end to
 * its free memory.  run_file_fill() notes the memory before "next" as filled, and
 * writes the piece when it is full.
 */
extern uint64 run_file_piece(RunFile *file, char **next, char **end);
extern void run_file_fill(RunFile *file, char *next);

/* Writes the last piece, full or not, so that all pieces can be read. */
extern void run_file_flush(RunFile *file);

/* Frees the memory for writing, after the last piece. */
extern void run_file_end_write(RunFile *file);

/* Reads "count" bytes from this offset of a piece to "bytes". */
extern void run_file_read(RunFile *file, uint64 piece, Size offset,
						  char *bytes, Size count);

/*
 * Gives back a piece, which the caller does not read again.  Each caller that has
 * got the piece from run_file_piece() gives it back once.
 */
extern void run_file_give_back(RunFile *file, uint64 piece);

/* The largest number of bytes that the file has had. */
extern Size run_file_bytes(const RunFile *file);

/* Bytes that are free where the file is, in the fullest of its tablespaces. */
extern uint64 run_file_free_bytes(const RunFile *file);

extern void run_file_close(RunFile *file);

/* Closes and deletes a file that another process has written. */
extern void run_file_delete(RunFile *file);

#endif							/* GPUSORT_RUN_FILE_H */
