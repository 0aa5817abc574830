/*-------------------------------------------------------------------------
 *
 * tree_page.h
 *	  Building a page of a B-tree, of any level.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TREE_PAGE_H
#define GPUSORT_TREE_PAGE_H

#include "access/nbtree.h"

/* Initializes an empty page, with a free line pointer for the high key. */
static inline void
tree_page_begin(Page page, uint32 height)
{
	BTPageOpaque opaque;

	_bt_pageinit(page, BLCKSZ);
	((PageHeader) page)->pd_lower += sizeof(ItemIdData);
	opaque = BTPageGetOpaque(page);
	opaque->btpo_prev = P_NONE;
	opaque->btpo_next = P_NONE;
	opaque->btpo_level = height;
	opaque->btpo_flags = height == 0 ? BTP_LEAF : 0;
}

static inline IndexTuple
tree_page_tuple(Page page, OffsetNumber offset)
{
	return (IndexTuple) PageGetItem(page, PageGetItemId(page, offset));
}

/*
 * Makes room for a tuple of this many bytes at this offset, the next one on
 * the page.  The caller has checked that the page has room.
 */
static inline char *
tree_page_extend(Page page, OffsetNumber offset, Size bytes)
{
	PageHeader	header = (PageHeader) page;

	header->pd_upper -= bytes;
	ItemIdSetNormal(PageGetItemId(page, offset), header->pd_upper, bytes);
	header->pd_lower += sizeof(ItemIdData);
	return (char *) page + header->pd_upper;
}

/* Makes the last tuple on the page its high key. */
static inline void
tree_page_last_to_high_key(Page page, OffsetNumber last)
{
	ItemId		item = PageGetItemId(page, last);

	*PageGetItemId(page, P_HIKEY) = *item;
	ItemIdSetUnused(item);
	((PageHeader) page)->pd_lower -= sizeof(ItemIdData);
}

/* Removes the line pointer for the high key, from the last page of a level. */
static inline void
tree_page_remove_high_key(Page page)
{
	PageHeader	header = (PageHeader) page;

	memmove(PageGetItemId(page, P_HIKEY), PageGetItemId(page, P_FIRSTKEY),
			(PageGetMaxOffsetNumber(page) - P_HIKEY) * sizeof(ItemIdData));
	header->pd_lower -= sizeof(ItemIdData);
}

#endif							/* GPUSORT_TREE_PAGE_H */
