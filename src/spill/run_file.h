/*-------------------------------------------------------------------------
 *
 * run_file.h
 *	  A temporary file of sorted runs, in pieces.
 *
 * A file is written and read in pieces of one size, a power of two.  All
 * pieces but the last are full.  When all readers of a piece have given it
 * back, the next piece that is filled overwrites it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_RUN_FILE_H
#define GPUSORT_RUN_FILE_H

#include "storage/sharedfileset.h"

typedef struct RunFile RunFile;

/*
 * A list of numbers, such as the pieces of a file; an empty list is all zeros.
 */
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
 * resource owner closes the file if nobody else does.  Allocates in the
 * current memory context.  All functions of a file raise the errors of the
 * file system.
 */
extern RunFile *run_file_create(Size limit);

/*
 * Does the same with pieces of this many bytes, or somewhat fewer, but not of
 * less than a page.
 */
extern RunFile *run_file_create_pieces(Size piece_bytes);

/*
 * run_file_create_shared() makes a file of one tape, with this name and number
 * in the set, for other processes to read.  run_file_open_shared() opens the
 * file in another process, and sets *bytes to its size.  "name" must stay.
 */
extern RunFile *run_file_create_shared(SharedFileSet *files,
									   const char *name, uint32 number,
									   Size limit);
extern RunFile *run_file_open_shared(SharedFileSet *files, const char *name,
									 uint32 number, Size limit,
									 uint64 *bytes);

/*
 * Return the bytes of a piece, which is written at once: for a sort with
 * "limit" bytes of memory, and for this file.
 */
extern Size run_file_limit_piece(Size limit);
extern Size run_file_piece_bytes(const RunFile *file);

/*
 * run_file_piece() returns the number of the piece that is being filled, and
 * sets *next and *end to its free memory.  run_file_fill() notes the memory
 * before "next" as filled, and writes the piece when it is full.
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
 * Gives back a piece, which the caller does not read again.  Each caller gives
 * back once what run_file_piece() has returned to it.
 */
extern void run_file_give_back(RunFile *file, uint64 piece);

/* Returns the largest number of bytes that the file has had. */
extern Size run_file_bytes(const RunFile *file);

/*
 * Returns the bytes that are free where the file is, in the fullest of its
 * tablespaces.
 */
extern uint64 run_file_free_bytes(const RunFile *file);

extern void run_file_close(RunFile *file);

/* Closes and deletes a file that another process has written. */
extern void run_file_delete(RunFile *file);

#endif							/* GPUSORT_RUN_FILE_H */
