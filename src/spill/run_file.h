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

/* Numbers of pieces of a file; empty if it is all zeros. */
typedef struct PieceList
{
	uint64	   *numbers;
	uint32		count;
	uint32		max;
} PieceList;

/* Adds one, allocating in this memory context. */
extern void piece_list_add(PieceList *list, MemoryContext context,
						   uint64 piece);

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
 * Bytes of a piece, which is what is written at once, by the sort's memory.  A
 * power of two.  All pieces of a file are full but the last.
 */
extern Size run_file_limit_piece(Size limit);
extern Size run_file_piece_bytes(const RunFile *file);

/*
 * The piece that is to be filled, by its number, and where there is room for
 * that; and how far it has been filled, with which it may be written.
 */
extern uint64 run_file_piece(RunFile *file, char **next, char **end);
extern void run_file_fill(RunFile *file, char *next);

/* Writes a piece that is not full too, so that all there is can be read. */
extern void run_file_flush(RunFile *file);

/* Frees memory, when nothing more will be written. */
extern void run_file_end_write(RunFile *file);

/* Reads from a piece. */
extern void run_file_read(RunFile *file, uint64 piece, Size offset,
						  char *bytes, Size count);

/*
 * Tells that one of those for whom a piece was filled, by run_file_piece(),
 * will not read it again.  After the last of them it is overwritten by another.
 */
extern void run_file_give_back(RunFile *file, uint64 piece);

/* Its size at the highest. */
extern Size run_file_bytes(const RunFile *file);

extern void run_file_close(RunFile *file);

/* The same for one that another process has written; it is wanted no more. */
extern void run_file_delete(RunFile *file);

#endif							/* GPUSORT_RUN_FILE_H */
