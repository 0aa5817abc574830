/*-------------------------------------------------------------------------
 *
 * merged_runs.c
 *	  The rows of all runs that the members of a team have written, in order.
 *
 * The collector divides the merge of the runs of all members into parts
 * (part_merge.c).  Either helpers send the parts while the collector emits
 * rows; or helpers and collector write the parts to files before the collector
 * emits rows; or all members emit parts.  If none of that pays or is possible,
 * the collector merges the runs by itself, as a single process does
 * (sorted_runs.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "settings.h"
#include "spill/run_merge.h"
#include "team/merged_runs.h"

void
merged_runs_begin(MergedRuns *runs, SharedRuns *shared, SharedParts *parts,
				  RunOrder order, const RunFormat *format, Size limit)
{
	memset(runs, 0, sizeof(MergedRuns));
	runs->shared = shared;
	runs->parts = parts;
	runs->order = order;
	runs->format = format;
	runs->limit = limit;
	runs->work = WORK_NONE;
}

/* Returns the maker of the parts of a merge, with the wrapper if there is one. */
static PartMaker *
make_parts(PartMerge *merge, PartWrapper *wrapper)
{
	PartMaker  *maker = part_merge_maker(merge);

	return wrapper != NULL ? wrapper->wrap(wrapper, maker) : maker;
}

/*
 * Begins to read parts that helpers will send; false if there is no shared
 * memory for that.
 */
static bool
begin_to_receive(MergedRuns *runs)
{
	runs->reader = part_reader_begin_sent(runs->parts,
										  make_parts(runs->merge, runs->wrapper),
										  runs->shared->stream_memory, false);
	return runs->reader != NULL;
}

bool
merged_runs_prepare(MergedRuns *runs, TeamWork work, int nmembers)
{
	runs->merge = part_merge_begin(runs->shared, runs->parts, runs->order,
								   runs->format, NULL);
	if (part_merge_divide(runs->merge, work, nmembers) &&
		(work != WORK_SEND_PARTS || begin_to_receive(runs)))
	{
		runs->work = work;
		return true;
	}
	part_merge_end(runs->merge);
	runs->merge = NULL;
	return false;
}

/* Merges the runs in this process. */
static void
merge_alone(MergedRuns *runs)
{
	runs->alone = sorted_runs_create(runs->order, runs->format,
									 runs->shared->limit, runs->limit, false);
	shared_runs_import(runs->shared, runs->alone, runs->format);
	sorted_runs_merge(runs->alone);
}

/* Writes parts, as the helpers do, and begins to read all parts. */
static void
write_parts(MergedRuns *runs)
{
	PartMaker  *maker = make_parts(runs->merge, runs->wrapper);
	Size		buffer_bytes = run_merge_read_bytes(runs->shared->limit, 1,
													runs->shared->longest_row);

	parts_write(runs->parts, maker, runs->shared, runs->format);
	runs->reader = part_reader_begin_written(runs->parts, maker, runs->shared,
											 runs->format, buffer_bytes);
}

void
merged_runs_announce(MergedRuns *runs)
{
	/* EXPLAIN does not show the merge of an index build */
	if (runs->work == WORK_SEND_PARTS)
		ereport(DEBUG1,
				(errmsg_internal("gpusort: merging %d runs in %d streamed parts",
								 shared_runs_count(runs->shared),
								 runs->parts->nparts)));
	leader_decision_make(&runs->parts->decision, runs->work);
	switch (runs->work)
	{
		case WORK_EMIT_PARTS:
			part_merge_end(runs->merge);
			break;
		case WORK_WRITE_PARTS:
			write_parts(runs);
			break;
		case WORK_SEND_PARTS:
			break;
		default:
			merge_alone(runs);
			break;
	}
	runs->merge = NULL;
	if (runs->reader != NULL && runs->wrapper == NULL && gpusort_verify)
		part_reader_check(runs->reader, runs->order, runs->format);
}

RowReader *
merged_runs_rows(const MergedRuns *runs)
{
	if (runs->reader != NULL)
		return part_reader_rows(runs->reader);
	return runs->alone != NULL ? sorted_runs_reader(runs->alone) : NULL;
}

Size
merged_runs_disk(const MergedRuns *runs)
{
	return runs->shared->disk +
		(runs->alone != NULL ? sorted_runs_disk(runs->alone) : 0);
}

void
merged_runs_stop(MergedRuns *runs)
{
	if (runs->reader != NULL)
		part_reader_stop(runs->reader);
}

void
merged_runs_end(MergedRuns *runs)
{
	if (runs->reader != NULL)
		part_reader_end(runs->reader);
	else if (runs->merge != NULL)
		part_merge_end(runs->merge);
	if (runs->alone != NULL)
		sorted_runs_end(runs->alone);
	runs->reader = NULL;
	runs->merge = NULL;
	runs->alone = NULL;
}

void
merged_runs_help(SharedRuns *shared, SharedParts *parts, TeamWork work,
				 RunOrder order, const RunFormat *format, PartWrapper *wrapper)
{
	PartMerge  *merge = part_merge_begin(shared, parts, order, format, NULL);
	PartMaker  *maker = make_parts(merge, wrapper);

	if (work == WORK_WRITE_PARTS)
		parts_write(parts, maker, shared, format);
	else
		parts_send(parts, maker);
	maker->methods->end(maker, false);
}
