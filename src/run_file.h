/*-------------------------------------------------------------------------
 *
 * run_file.h
 *	  The temporary file that has the runs of a sort.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_RUN_FILE_H
#define GPUSORT_RUN_FILE_H

#include "storage/sharedfileset.h"

typedef struct RunFile RunFile;

/*
 * Makes an empty one, for a sort with so many bytes of memory.  It ends with
 * the current resource owner at the latest.  Allocates in the current memory
 * context.
 */
extern RunFile *run_file_create(Size limit);

/*
 * The same by a number, for one run, which another process will read; and for
 * that process, which is told how many bytes it has.
 */
extern RunFile *run_file_create_shared(SharedFileSet *files, uint32 number,
									   Size limit);
extern RunFile *run_file_open_shared(SharedFileSet *files, uint32 number,
									 Size limit, uint64 *bytes);

/*
 * Bytes that are written at once, at the most: a piece, by the sort's memory.
 * A power of two.
 */
extern Size run_file_limit_piece(Size limit);
extern Size run_file_piece_bytes(const RunFile *file);

/* Where a piece is put together, to be written. */
extern char *run_file_buffer(RunFile *file);

/* Writes so many bytes of that, and returns their place. */
extern uint64 run_file_write(RunFile *file, Size count);

/* Frees the memory of that, when nothing will be written for a while. */
extern void run_file_free_buffer(RunFile *file);

/* Reads from a place, all in one piece. */
extern void run_file_read(RunFile *file, uint64 place, char *bytes,
						  Size count);

/* Lets a full piece be overwritten. */
extern void run_file_give_back(RunFile *file, uint64 place);

/* Its size at the highest. */
extern Size run_file_bytes(const RunFile *file);

extern void run_file_close(RunFile *file);

#endif							/* GPUSORT_RUN_FILE_H */
