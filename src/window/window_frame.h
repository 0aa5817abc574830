/*-------------------------------------------------------------------------
 *
 * window_frame.h
 *	  The partition, the peers and the frame of a row in a window.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_WINDOW_FRAME_H
#define GPUSORT_WINDOW_FRAME_H

#include "nodes/parsenodes.h"

#include "window/window_range.h"

/* The first row of a group of peers. */
typedef struct PeerGroup
{
	int64		position;		/* its row, or the end of the partition */
	int64		number;			/* number in the partition, from 0 */
} PeerGroup;

/* A window, at its present row.  All positions are among all rows. */
typedef struct WindowFrame
{
	WindowRows *rows;

	/* what the plan says */
	int			npartition_columns; /* first columns of the keys, which make a
									 * partition */
	int			npeer_columns;	/* first columns, which make peers */
	int			options;		/* FRAMEOPTION_ flags */
	int64		start_offset;	/* numbers of rows or groups, set before the
								 * first row */
	int64		end_offset;

	int64		row;			/* present row */
	bool		new_partition;	/* it is the first row of its partition */
	int64		start;			/* first row of the partition */
	int64		peers_start;	/* first of the peers */
	int64		peers_number;	/* number of the peers in the partition, from
								 * 0 */

	/* what was found behind the row */
	int64		partition_end;	/* -1: not known yet */
	int64		partition_scan; /* rows before it are in the partition */
	int64		peers_end;		/* -1: not known yet */
	int64		peers_scan;		/* rows before it are peers */
	PeerGroup	head_group;		/* group that begins the frame */
	PeerGroup	end_group;		/* group behind the frame */
	WindowRange head_range;		/* if the frame begins, or ends, at a distance
								 * of values */
	WindowRange end_range;
} WindowFrame;

/* Are rows near the present one left out of the frame? */
static inline bool
window_frame_excludes(int options)
{
	return (options & FRAMEOPTION_EXCLUSION) != 0;
}

/* Does it take the peers of the present row to tell which? */
static inline bool
window_frame_excludes_peers(int options)
{
	return (options & (FRAMEOPTION_EXCLUDE_GROUP |
					   FRAMEOPTION_EXCLUDE_TIES)) != 0;
}

/* Has a frame an end at a distance of values? */
static inline bool
window_frame_has_range(int options)
{
	return (options & FRAMEOPTION_RANGE) != 0 &&
		(options & (FRAMEOPTION_START_OFFSET | FRAMEOPTION_END_OFFSET)) != 0;
}

/* Does the frame consist of all rows up to the present one? */
static inline bool
window_frame_grows_by_row(int options)
{
	const int	to_row = FRAMEOPTION_START_UNBOUNDED_PRECEDING |
		FRAMEOPTION_ROWS | FRAMEOPTION_END_CURRENT_ROW;

	return (options & to_row) == to_row && !window_frame_excludes(options);
}

/* Does the first row of the frame ever change within a partition? */
static inline bool
window_frame_head_moves(int options)
{
	return (options & FRAMEOPTION_START_UNBOUNDED_PRECEDING) == 0;
}

/* Forgets all rows. */
extern void window_frame_reset(WindowFrame *frame);

/* Enters the row behind the present one, which has been reached. */
static inline void
window_frame_enter(WindowFrame *frame, int64 row, int difference)
{
	frame->row = row;
	frame->new_partition = difference < frame->npartition_columns;
	if (frame->new_partition || difference < frame->npeer_columns)
	{
		frame->peers_start = row;
		frame->peers_number++;
		frame->peers_end = -1;
	}
	if (frame->new_partition)
	{
		frame->start = row;
		frame->peers_number = 0;
		frame->partition_end = -1;
		frame->head_group.position = row;
		frame->head_group.number = 0;
		frame->end_group = frame->head_group;
		frame->head_range.position = row;
		frame->end_range.position = row;
	}
}

/* Is a row in the partition, if it is not before its first row? */
extern bool window_frame_partition_has(WindowFrame *frame, int64 row);

/* The first row behind the partition, and behind the peers. */
extern int64 window_frame_partition_end(WindowFrame *frame);
extern int64 window_frame_peers_end(WindowFrame *frame);

/*
 * The first row of the frame, and the first row behind it, which need not be
 * behind the first one.  Both are in the partition, or are its end.  Rows that
 * are excluded count as rows of the frame.
 */
extern int64 window_frame_head(WindowFrame *frame);
extern int64 window_frame_end(WindowFrame *frame);

/* The first row at which the ends are looked for when a later row is present. */
extern int64 window_frame_first_row(const WindowFrame *frame);

/*
 * Does the frame end behind this row, which is not before the frame?  Looks
 * ahead no further than it has to.
 */
extern bool window_frame_ends_behind(WindowFrame *frame, int64 row);

/*
 * The position of the row with this number, from 0, among the rows of the frame
 * that are not excluded, and of the last one of them.  As in core the row may
 * turn out not to be in the frame, which window_frame_has() tells.
 */
extern int64 window_frame_nth_row(WindowFrame *frame, int64 number);
extern int64 window_frame_last_row(WindowFrame *frame);

/* Is a row in the frame, and not excluded?  The frame has to exclude rows. */
extern bool window_frame_has(WindowFrame *frame, int64 row);

/* Is a row excluded, if it is between the ends of the frame? */
extern bool window_frame_leaves_out(WindowFrame *frame, int64 row);

#endif							/* GPUSORT_WINDOW_FRAME_H */
