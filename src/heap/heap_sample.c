/*-------------------------------------------------------------------------
 *
 * heap_sample.c
 *	  What a few pages tell of a heap that has no statistics.
 *
 * A table that has just been loaded has no statistics, and a restore builds its
 * indexes then.  Core's estimates take a text for 32 bytes wherever nothing is
 * known, so the number of rows can be a third of what it is, or ten times as
 * many.  A build that expects too few rows shares memory that does not suffice,
 * and has to scan the table once more.  One that expects too many writes files
 * that it does not need.
 *
 * Some pages, at equal distances, tell both numbers well enough.  They are in
 * memory, if the table has just been loaded, or are read a moment later anyway.
 * All rows count, as nothing but their number is asked.  But values are only
 * those of rows whose transaction has not been rolled back (inserted_rows.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "heap/heap_sample.h"
#include "heap/inserted_rows.h"

#define SAMPLED_PAGES	32

typedef struct HeapSample
{
	Relation	heap;
	AttrNumber	column;			/* its values are measured; 0: none are */
	TransactionId inserter;		/* the last transaction that was found to have
								 * inserted live rows */
	uint64		nrows;			/* rows on the pages of the sample */
	uint64		nvalues;		/* values in these that were measured */
	uint64		bytes;			/* bytes of these values */
} HeapSample;

/* Can the row be read by the columns that the table has? */
static bool
is_readable(HeapSample *sample, HeapTupleHeader row)
{
	TransactionId inserter = HeapTupleHeaderGetRawXmin(row);

	if (HeapTupleHeaderXminCommitted(row))
		return true;
	if ((row->t_infomask & (HEAP_XMIN_INVALID | HEAP_MOVED)) != 0)
		return false;
	if (!TransactionIdEquals(inserter, sample->inserter))
	{
		if (!inserted_live_rows(inserter))
			return false;
		sample->inserter = inserter;
	}
	return true;
}

/* The bytes of a row's value in the measured column. */
static Size
value_bytes(const HeapSample *sample, HeapTuple row)
{
	TupleDesc	descriptor = RelationGetDescr(sample->heap);
	int16		length = TupleDescAttr(descriptor, sample->column - 1)->attlen;
	bool		isnull;
	Datum		value = heap_getattr(row, sample->column, descriptor, &isnull);

	if (isnull)
		return 0;
	if (length > 0)
		return length;
	return length == -1 ? toast_datum_size(value) :
		strlen(DatumGetCString(value)) + 1;
}

/* Adds the rows of a page. */
static void
add_page(HeapSample *sample, Page page)
{
	OffsetNumber end = PageGetMaxOffsetNumber(page);

	for (OffsetNumber offset = FirstOffsetNumber; offset <= end; offset++)
	{
		ItemId		item = PageGetItemId(page, offset);
		HeapTupleData row = {.t_tableOid = RelationGetRelid(sample->heap)};

		if (!ItemIdIsNormal(item))
			continue;
		sample->nrows++;
		if (sample->column == 0)
			continue;
		row.t_data = (HeapTupleHeader) PageGetItem(page, item);
		row.t_len = ItemIdGetLength(item);
		if (!is_readable(sample, row.t_data))
			continue;
		sample->nvalues++;
		sample->bytes += value_bytes(sample, &row);
	}
}

/* Adds the rows of some pages; returns the number of rows for each page. */
static double
add_pages(HeapSample *sample, BlockNumber npages)
{
	BlockNumber nsampled = Min(npages, SAMPLED_PAGES);

	for (BlockNumber i = 0; i < nsampled; i++)
	{
		/* from the middle of each of equal parts of the heap */
		BlockNumber block = ((uint64) npages * (2 * i + 1)) / (2 * nsampled);
		Buffer		buffer = ReadBuffer(sample->heap, block);

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		add_page(sample, BufferGetPage(buffer));
		UnlockReleaseBuffer(buffer);
	}
	return sample->nrows / Max((double) nsampled, 1);
}

double
heap_sample_rows(Relation heap)
{
	HeapSample	sample = {.heap = heap};
	BlockNumber npages = RelationGetNumberOfBlocks(heap);

	return add_pages(&sample, npages) * npages;
}

double
heap_sample_width(Relation heap, AttrNumber column)
{
	HeapSample	sample = {.heap = heap,.column = column};

	(void) add_pages(&sample, RelationGetNumberOfBlocks(heap));
	return sample.bytes / Max((double) sample.nvalues, 1);
}
