/*-------------------------------------------------------------------------
 *
 * entry_tree.h
 *	  Completing an inverted index from its leaves in order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ENTRY_TREE_H
#define GPUSORT_ENTRY_TREE_H

#include "inverted/entry_leaves.h"
#include "inverted/terms.h"

typedef struct EntryTree EntryTree;

/*
 * Begins an index, whose file is empty.  This comes before all other writing,
 * in any process.  Allocates in the current memory context, which has to be
 * the same in all later calls.
 */
extern EntryTree *entry_tree_begin(GinWriter *writer, Terms *terms);

/* Adds the next leaf in order. */
extern void entry_tree_put(EntryTree *tree, LeafRow *leaf);

/* Completes the index.  Returns the number of TIDs in all lists. */
extern uint64 entry_tree_finish(EntryTree *tree);

#endif							/* GPUSORT_ENTRY_TREE_H */
