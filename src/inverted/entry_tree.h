/*-------------------------------------------------------------------------
 *
 * entry_tree.h
 *	  Writing an inverted index from its terms in order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ENTRY_TREE_H
#define GPUSORT_ENTRY_TREE_H

#include "inverted/posting_rows.h"

typedef struct EntryTree EntryTree;

/*
 * Begins to write an index, whose file is empty.  Allocates in the current
 * memory context.
 */
extern EntryTree *entry_tree_begin(Relation index);

/*
 * Adds a row: the next term in order, with its entry, or more lists of the
 * last term, which come behind its lists so far.
 */
extern void entry_tree_put(EntryTree *tree, const PostingRow *row);

/*
 * Completes the index, and writes it to the WAL if necessary.  Returns the
 * number of TIDs in all lists.
 */
extern uint64 entry_tree_finish(EntryTree *tree);

#endif							/* GPUSORT_ENTRY_TREE_H */
