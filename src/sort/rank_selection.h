/*-------------------------------------------------------------------------
 *
 * rank_selection.h
 *	  The rows at single places of an order that is never made.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_RANK_SELECTION_H
#define GPUSORT_RANK_SELECTION_H

typedef struct RankSelection RankSelection;

/*
 * Prepares to select among rows whose keys are one word each; words[i] is that
 * of row i.  The words stay the caller's, and must not change.  Allocates in
 * the current memory context.
 */
extern RankSelection *rank_selection_begin(const uint64 *words, uint64 nrows);

/*
 * Sets *row to a row that may stand at this place of the order, from 0; which
 * one of rows with equal keys is not defined.  False if places have been asked
 * for so often that a sort takes less time.
 */
extern bool rank_selection_find(RankSelection *selection, uint64 place,
								uint32 *row);

extern void rank_selection_end(RankSelection *selection);

#endif							/* GPUSORT_RANK_SELECTION_H */
