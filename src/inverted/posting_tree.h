/*-------------------------------------------------------------------------
 *
 * posting_tree.h
 *	  Writing the tree of lists of a term that has many rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_POSTING_TREE_H
#define GPUSORT_POSTING_TREE_H

#include "inverted/gin_pages.h"
#include "inverted/posting_rows.h"

typedef struct PostingTree PostingTree;

/*
 * Begins a tree.  Allocates in the current memory context, which has to be the
 * same in all later calls.
 */
extern PostingTree *posting_tree_begin(GinWriter *writer);

/*
 * Adds compressed lists, "bytes" bytes in all, whose TIDs come behind all TIDs
 * so far.  There is at least one list.
 */
extern void posting_tree_add(PostingTree *tree, const GinPostingList *lists,
							 Size bytes);

/* Completes the tree, and returns the number of its root. */
extern BlockNumber posting_tree_finish(PostingTree *tree);

#endif							/* GPUSORT_POSTING_TREE_H */
