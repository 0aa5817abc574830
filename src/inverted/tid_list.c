/*-------------------------------------------------------------------------
 *
 * tid_list.c
 *	  Lists of row identifiers (TIDs) in ascending order.
 *
 * Rows come almost in the order of their TIDs.  Where a HOT chain leads to a
 * row, its TID is the root's, which may lie before the last one on the page.
 * Lists of several processes are in order each.  So a list consists of a few
 * ascending stretches, which are merged: two neighbours at a time, as in a
 * natural merge sort (Knuth, The Art of Computer Programming, volume 3,
 * section 5.2.4).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "inverted/tid_list.h"

/* Returns where the ascending stretch that begins at "start" ends. */
static uint64
end_of_stretch(const ItemPointerData *tids, uint64 start, uint64 count)
{
	uint64		end = start + 1;

	while (end < count && tid_number(&tids[end - 1]) < tid_number(&tids[end]))
		end++;
	return Min(end, count);
}

bool
tid_list_ascends(const ItemPointerData *tids, uint64 count)
{
	return end_of_stretch(tids, 0, count) == count;
}

/*
 * Merges two ascending lists to "merged", without duplicates; returns the
 * number of TIDs there.
 */
static uint64
merge(const ItemPointerData *a, uint64 na, const ItemPointerData *b, uint64 nb,
	  ItemPointerData *merged)
{
	ItemPointerData *next = merged;

	while (na > 0 && nb > 0)
	{
		uint64		first = tid_number(a);
		uint64		second = tid_number(b);

		*next++ = first <= second ? *a : *b;
		if (first <= second)
		{
			a++;
			na--;
		}
		if (second <= first)
		{
			b++;
			nb--;
		}
	}
	memcpy(next, a, na * sizeof(ItemPointerData));
	next += na;
	memcpy(next, b, nb * sizeof(ItemPointerData));
	return next + nb - merged;
}

/*
 * Merges each two neighbouring stretches of a list to "merged"; returns the
 * number of TIDs there.
 */
static uint64
merge_neighbours(const ItemPointerData *tids, uint64 count,
				 ItemPointerData *merged)
{
	uint64		start = 0;
	uint64		total = 0;

	while (start < count)
	{
		uint64		middle = end_of_stretch(tids, start, count);
		uint64		end = middle < count ?
			end_of_stretch(tids, middle, count) : middle;

		CHECK_FOR_INTERRUPTS();
		total += merge(tids + start, middle - start,
					   tids + middle, end - middle, merged + total);
		start = end;
	}
	return total;
}

uint64
tid_list_sort(ItemPointerData *tids, uint64 count)
{
	ItemPointerData *space;
	ItemPointerData *from = tids;
	ItemPointerData *to;

	if (tid_list_ascends(tids, count))
		return count;
	space = palloc_extended(count * sizeof(ItemPointerData), MCXT_ALLOC_HUGE);
	to = space;
	do
	{
		ItemPointerData *merged = to;

		count = merge_neighbours(from, count, merged);
		to = from;
		from = merged;
	} while (!tid_list_ascends(from, count));
	if (from != tids)
		memcpy(tids, from, count * sizeof(ItemPointerData));
	pfree(space);
	return count;
}

uint64
tid_list_before(const ItemPointerData *tids, uint64 count,
				const ItemPointerData *tid)
{
	uint64		low = 0;
	uint64		high = count;

	while (low < high)
	{
		uint64		middle = low + (high - low) / 2;

		if (tid_number(&tids[middle]) < tid_number(tid))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
