/*-------------------------------------------------------------------------
 *
 * window_range.h
 *	  An end of a frame at a distance from the value of the present row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_WINDOW_RANGE_H
#define GPUSORT_WINDOW_RANGE_H

#include "window/window_rows.h"

/* What a plan says of such an end. */
typedef struct WindowRangeDefinition
{
	Oid			in_range;		/* function; InvalidOid: there is no such end */
	Oid			collation;
	bool		ascending;
	bool		nulls_first;
	AttrNumber	column;			/* column of the order, in sorted rows */
} WindowRangeDefinition;

typedef struct WindowRange
{
	WindowRangeDefinition definition;
	FmgrInfo	in_range;
	bool		preceding;		/* the distance is subtracted */
	Datum		distance;		/* set before the first row */
	int64		position;		/* where it is, up to the present row */
	int64		found_for;		/* row for which it was found, or -1 */
	WindowCursor *cursor;		/* row at the position */
	WindowCursor *present;		/* present row */
} WindowRange;

/*
 * Is a row, at the cursor's position, at or behind the beginning of the frame
 * of the present row; or behind the end of that frame?
 */
extern bool window_range_begins(WindowRange *range, WindowRows *rows,
								int64 row);
extern bool window_range_is_over(WindowRange *range, WindowRows *rows,
								 int64 row);

#endif							/* GPUSORT_WINDOW_RANGE_H */
