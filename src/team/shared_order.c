/*-------------------------------------------------------------------------
 *
 * shared_order.c
 *	  The order of rows in shared memory, for all processes that sort together.
 *
 * The rows of all processes lie where each process has put them
 * (row_deposit.c).  The collector has the order of the rows: their numbers.
 * It copies the order to shared memory, with a table of the rows' places by
 * row number.  The table also has the rows that the order leaves out.  So no
 * process has to look at all rows to find them, which takes a cache miss for
 * each row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/shared_memory.h"
#include "team/shared_order.h"

/*
 * Returns the bytes of an order of nrows rows.  The places of the rows follow
 * it in the segment.
 */
static Size
order_bytes(uint64 nrows)
{
	return MAXALIGN(nrows * sizeof(uint32));
}

bool
shared_order_copy(SharedOrder *shared, RowOrder *order,
				  const RowCollector *collector, Size limit)
{
	uint64		nrows = order->nentries;
	uint64		nplaced = order->store->nrows;
	Size		bytes = order_bytes(nrows) + nplaced * sizeof(uint64);
	Size		used = order->store->memory + nplaced * sizeof(uint32);
	dsm_segment *segment;
	char	   *address;

	shared->nrows = nrows;
	shared->row_bytes = row_store_row_bytes(order->store);
	if (nrows == 0)
		return true;

	if (used + bytes > limit)
		return false;
	segment = shared_memory_create(bytes);
	if (segment == NULL)
		return false;
	/* ordered_rows_map() finds it */
	dsm_unpin_mapping(segment);
	shared->segment = dsm_segment_handle(segment);
	address = dsm_segment_address(segment);
	memcpy(address, order->entries, nrows * sizeof(uint32));
	row_collector_places(collector, order->store,
						 (uint64 *) (address + order_bytes(nrows)));
	return true;
}

void
shared_order_drop(SharedOrder *shared)
{
	dsm_segment *segment = dsm_find_mapping(shared->segment);

	if (segment != NULL)
		dsm_detach(segment);
}

bool
ordered_rows_map(OrderedRows *rows, SharedOrder *shared,
				 RowSegments *segments)
{
	memset(rows, 0, sizeof(OrderedRows));
	rows->segments = segments;
	if (shared->nrows == 0)
		return true;

	/* the process that has made the segment has it mapped already */
	rows->segment = dsm_find_mapping(shared->segment);
	if (rows->segment == NULL)
		rows->segment = dsm_attach(shared->segment);
	if (rows->segment == NULL || !row_segments_map(segments))
	{
		ordered_rows_unmap(rows);
		return false;
	}
	rows->order = dsm_segment_address(rows->segment);
	rows->places = (uint64 *)
		((char *) rows->order + order_bytes(shared->nrows));
	return true;
}

void
ordered_rows_unmap(OrderedRows *rows)
{
	if (rows->segment != NULL)
		dsm_detach(rows->segment);
	rows->segment = NULL;
}
