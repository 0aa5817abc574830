/*-------------------------------------------------------------------------
 *
 * entry_inserts.h
 *	  Inserting blocks of terms into an inverted index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ENTRY_INSERTS_H
#define GPUSORT_ENTRY_INSERTS_H

#include "inverted/term_block.h"

typedef struct EntryInserts EntryInserts;

/* Begins with an empty index.  Allocates in the current memory context. */
extern EntryInserts *entry_inserts_begin(Relation index, Terms *terms);

/* Inserts the terms of a sorted block, with their rows. */
extern void entry_inserts_put(EntryInserts *inserts, TermBlock *block);

/* Completes the index; returns the number of TIDs that were inserted. */
extern uint64 entry_inserts_finish(EntryInserts *inserts);

#endif							/* GPUSORT_ENTRY_INSERTS_H */
