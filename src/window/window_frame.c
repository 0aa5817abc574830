/*-------------------------------------------------------------------------
 *
 * window_frame.c
 *	  The partition, the peers and the frame of a row in a window.
 *
 * Everything follows from the first column in which each row differs from the
 * row before: a partition ends where one of its columns differs, and peers end
 * where one of theirs does.  What lies behind the present row is looked for
 * only when it is asked for, and no further than it has to, since rows may have
 * to be read and kept for that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"

#include "window/window_frame.h"

void
window_frame_reset(WindowFrame *frame)
{
	frame->row = -1;
	frame->start = 0;
	frame->peers_start = 0;
	frame->peers_number = 0;
	frame->partition_end = -1;
	frame->partition_scan = 0;
	frame->peers_end = -1;
	frame->peers_scan = 0;
	memset(&frame->head_group, 0, sizeof(PeerGroup));
	memset(&frame->end_group, 0, sizeof(PeerGroup));
	frame->head_range.position = 0;
	frame->head_range.found_for = -1;
	frame->end_range.position = 0;
	frame->end_range.found_for = -1;
}

/*
 * Rows up to the present one are in the partition, and rows before it may have
 * been released.
 */
bool
window_frame_partition_has(WindowFrame *frame, int64 row)
{
	if (frame->partition_end < 0)
		frame->partition_scan = Max(frame->partition_scan, frame->row + 1);
	while (frame->partition_end < 0 && frame->partition_scan <= row)
	{
		if (!window_rows_reach(frame->rows, frame->partition_scan) ||
			window_rows_difference(frame->rows, frame->partition_scan) <
			frame->npartition_columns)
			frame->partition_end = frame->partition_scan;
		else
			frame->partition_scan++;
	}
	return frame->partition_end < 0 || row < frame->partition_end;
}

int64
window_frame_partition_end(WindowFrame *frame)
{
	(void) window_frame_partition_has(frame, PG_INT64_MAX);
	return frame->partition_end;
}

int64
window_frame_peers_end(WindowFrame *frame)
{
	if (frame->peers_end < 0)
		frame->peers_scan = Max(frame->peers_scan, frame->row + 1);
	while (frame->peers_end < 0)
	{
		if (!window_rows_reach(frame->rows, frame->peers_scan) ||
			window_rows_difference(frame->rows, frame->peers_scan) <
			frame->npeer_columns)
			frame->peers_end = frame->peers_scan;
		else
			frame->peers_scan++;
	}
	return frame->peers_end;
}

/*
 * The row that is this many rows behind the present one, or before it; the
 * first row of the partition, or its end, if there is no such row in it.
 */
static int64
shifted_row(WindowFrame *frame, int64 offset)
{
	int64		row;

	if (pg_add_s64_overflow(frame->row, offset, &row))
		return window_frame_partition_end(frame);
	if (row <= frame->row)
		return Max(row, frame->start);
	/* the end may be behind all rows, so the row before is looked at */
	return window_frame_partition_has(frame, row - 1) ? row :
		window_frame_partition_end(frame);
}

/*
 * Moves a group forward to the group of this number, or to the end of the
 * partition; returns its first row.
 */
static int64
seek_group(WindowFrame *frame, PeerGroup *group, int64 number)
{
	while (group->number < number &&
		   window_frame_partition_has(frame, group->position))
	{
		group->position++;
		if (!window_frame_partition_has(frame, group->position))
			break;
		group->number += window_rows_difference(frame->rows, group->position) <
			frame->npeer_columns;
	}
	return group->position;
}

/* The first row of the group that is this many groups behind the peers. */
static int64
shifted_group(WindowFrame *frame, PeerGroup *group, int64 offset)
{
	int64		number;

	if (pg_add_s64_overflow(frame->peers_number, offset, &number))
		return window_frame_partition_end(frame);
	return seek_group(frame, group, number);
}

/* The first row in the range that begins the frame. */
static int64
seek_range_head(WindowFrame *frame)
{
	WindowRange *range = &frame->head_range;

	if (range->found_for == frame->row)
		return range->position;
	while (window_frame_partition_has(frame, range->position) &&
		   !window_range_begins(range, frame->rows, frame->row))
		range->position++;
	range->found_for = frame->row;
	return range->position;
}

/* The first row behind the range that ends the frame. */
static int64
seek_range_end(WindowFrame *frame)
{
	WindowRange *range = &frame->end_range;

	if (range->found_for == frame->row)
		return range->position;
	while (window_frame_partition_has(frame, range->position) &&
		   !window_range_is_over(range, frame->rows, frame->row))
		range->position++;
	range->found_for = frame->row;
	return range->position;
}

int64
window_frame_head(WindowFrame *frame)
{
	int			options = frame->options;
	int64		offset = frame->start_offset;

	if ((options & FRAMEOPTION_START_UNBOUNDED_PRECEDING) != 0)
		return frame->start;
	if ((options & FRAMEOPTION_START_OFFSET_PRECEDING) != 0)
		offset = -offset;
	if ((options & FRAMEOPTION_ROWS) != 0)
		return (options & FRAMEOPTION_START_CURRENT_ROW) != 0 ? frame->row :
			shifted_row(frame, offset);
	if ((options & FRAMEOPTION_START_CURRENT_ROW) != 0)
		return frame->peers_start;
	if ((options & FRAMEOPTION_RANGE) != 0)
		return seek_range_head(frame);
	return shifted_group(frame, &frame->head_group, offset);
}

int64
window_frame_end(WindowFrame *frame)
{
	int			options = frame->options;
	int64		offset = frame->end_offset;

	if ((options & FRAMEOPTION_END_OFFSET_PRECEDING) != 0)
		offset = -offset;
	if ((options & FRAMEOPTION_END_UNBOUNDED_FOLLOWING) != 0 ||
		offset == PG_INT64_MAX)
		return window_frame_partition_end(frame);
	if ((options & FRAMEOPTION_ROWS) != 0)
		return (options & FRAMEOPTION_END_CURRENT_ROW) != 0 ? frame->row + 1 :
			shifted_row(frame, offset + 1);
	if ((options & FRAMEOPTION_END_CURRENT_ROW) != 0)
		return window_frame_peers_end(frame);
	if ((options & FRAMEOPTION_RANGE) != 0)
		return seek_range_end(frame);
	return shifted_group(frame, &frame->end_group, offset + 1);
}

bool
window_frame_ends_behind(WindowFrame *frame, int64 row)
{
	int			options = frame->options;

	if ((options & FRAMEOPTION_END_UNBOUNDED_FOLLOWING) != 0)
		return window_frame_partition_has(frame, row);
	if ((options & FRAMEOPTION_END_CURRENT_ROW) != 0 && row <= frame->row)
		return true;
	return row < window_frame_end(frame);
}

/* Rows that are excluded: all in a row, or all of these but the present one. */
typedef struct ExcludedRows
{
	int64		start;
	int64		end;
	bool		but_present;
} ExcludedRows;

static ExcludedRows
find_excluded(WindowFrame *frame)
{
	ExcludedRows excluded = {
		.start = frame->row,
		.end = frame->row + 1,
		.but_present = (frame->options & FRAMEOPTION_EXCLUDE_TIES) != 0
	};

	if (window_frame_excludes_peers(frame->options))
	{
		excluded.start = frame->peers_start;
		excluded.end = window_frame_peers_end(frame);
	}
	return excluded;
}

int64
window_frame_nth_row(WindowFrame *frame, int64 number)
{
	ExcludedRows excluded = find_excluded(frame);
	int64		head = window_frame_head(frame);
	int64		first = Max(excluded.start, head);
	int64		row = head + number;

	if (row < first || excluded.end <= head)
		return row;
	if (!excluded.but_present)
		return row + excluded.end - first;
	return row == first ? frame->row : row + excluded.end - first - 1;
}

int64
window_frame_last_row(WindowFrame *frame)
{
	ExcludedRows excluded = find_excluded(frame);
	int64		end = window_frame_end(frame);

	if (end > excluded.end || end <= excluded.start)
		return end - 1;
	return excluded.but_present ? frame->row : excluded.start - 1;
}

bool
window_frame_leaves_out(WindowFrame *frame, int64 row)
{
	ExcludedRows excluded = find_excluded(frame);

	return row >= excluded.start && row < excluded.end &&
		!(excluded.but_present && row == frame->row);
}

bool
window_frame_has(WindowFrame *frame, int64 row)
{
	return row >= window_frame_head(frame) &&
		window_frame_ends_behind(frame, row) &&
		!window_frame_leaves_out(frame, row);
}

int64
window_frame_first_row(const WindowFrame *frame)
{
	int			options = frame->options;
	bool		has_range = (options & FRAMEOPTION_RANGE) != 0;
	int64		first = frame->row;

	if ((options & FRAMEOPTION_ROWS) != 0)
		return first;
	if ((options & FRAMEOPTION_START_OFFSET) != 0)
		first = Min(first, has_range ? frame->head_range.position :
					frame->head_group.position);
	if ((options & FRAMEOPTION_END_OFFSET) != 0)
		first = Min(first, has_range ? frame->end_range.position :
					frame->end_group.position);
	return first;
}
