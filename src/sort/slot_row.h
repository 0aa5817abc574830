/*-------------------------------------------------------------------------
 *
 * slot_row.h
 *	  Storing the row of a slot as a minimal tuple.
 *
 * The row is copied once, straight from the slot's own form.  That is the
 * bytes of a tuple in a shared buffer, or the values of a virtual row, from
 * which the tuple is formed where it is stored.  Many virtual rows are only a
 * few numbers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SLOT_ROW_H
#define GPUSORT_SLOT_ROW_H

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "executor/tuptable.h"

#include "port/cache_lines.h"

/* How far behind a row memory is prefetched to be written. */
#define PREFETCH_WRITE_BYTES	1024

/*
 * The mark of a heap tuple that is a composite datum, in releases since
 * November 2026: two bits that no other tuple has both.  A tuple from
 * postgres_fdw may have the mark.  Code that finds the mark reads the tuple's
 * type, for which a minimal tuple has no room.
 */
#define DATUM_MARK				(HEAP_XMAX_COMMITTED | HEAP_XMAX_INVALID)

typedef struct SlotRow
{
	Size		bytes;			/* size of the minimal tuple */
	const char *tuple;			/* minimal tuple without its length, or NULL */
	bool		has_nulls;		/* a virtual row with NULLs */
	bool		by_value;		/* a virtual row of by-value columns, no NULLs */
} SlotRow;

/* Bytes of the header of a row without a NULL. */
#define PLAIN_HEADER_BYTES	MAXALIGN(SizeofMinimalTupleHeader)

/*
 * Computes the size of a row of by-value columns without a NULL; false for
 * other rows.
 */
static inline bool
slot_row_find_values(SlotRow *row, const TupleTableSlot *slot,
					 TupleDesc descriptor)
{
	Size		end = 0;

	for (int i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);

		if (!attribute->attbyval || slot->tts_isnull[i])
			return false;
		end = att_align_nominal(end, attribute->attalign) + attribute->attlen;
	}
	row->by_value = true;
	row->bytes = PLAIN_HEADER_BYTES + end;
	return true;
}

/* The form and size of the slot's row, which has this descriptor. */
static inline SlotRow
slot_row_find(TupleTableSlot *slot, TupleDesc descriptor)
{
	SlotRow		row = {0};
	Size		header_bytes = SizeofMinimalTupleHeader;

	/* a slot of a kind that holds a tuple may hold none */
	if (TTS_IS_BUFFERTUPLE(slot) || TTS_IS_HEAPTUPLE(slot))
	{
		HeapTuple	tuple = ((HeapTupleTableSlot *) slot)->tuple;

		/* a heap tuple holds a minimal tuple without its length */
		if (likely(tuple != NULL))
		{
			row.bytes = tuple->t_len - MINIMAL_TUPLE_OFFSET;
			row.tuple = (char *) tuple->t_data + MINIMAL_TUPLE_OFFSET;
			return row;
		}
	}
	else if (TTS_IS_MINIMALTUPLE(slot))
	{
		MinimalTuple tuple = ((MinimalTupleTableSlot *) slot)->mintuple;

		if (likely(tuple != NULL))
		{
			row.bytes = tuple->t_len;
			row.tuple = (char *) tuple;
			return row;
		}
	}

	slot_getallattrs(slot);
	if (slot_row_find_values(&row, slot, descriptor))
		return row;
	for (int i = 0; i < descriptor->natts && !row.has_nulls; i++)
		row.has_nulls = slot->tts_isnull[i];
	if (row.has_nulls)
		header_bytes += BITMAPLEN(descriptor->natts);
	row.bytes = MAXALIGN(header_bytes) +
		heap_compute_data_size(descriptor, slot->tts_values,
							   slot->tts_isnull);
	return row;
}

/* Writes a row of by-value columns. */
static inline void
slot_row_write_values(const SlotRow *row, const TupleTableSlot *slot,
					  TupleDesc descriptor, MinimalTuple place)
{
	char	   *data = (char *) place + PLAIN_HEADER_BYTES;
	Size		end = 0;

	/* clears the padding, too: a few whole words */
	for (Size i = 0; i < MAXALIGN(row->bytes) / sizeof(uint64); i++)
		((uint64 *) place)[i] = 0;
	place->t_len = row->bytes;
	HeapTupleHeaderSetNatts(place, descriptor->natts);
	place->t_hoff = PLAIN_HEADER_BYTES + MINIMAL_TUPLE_OFFSET;
	for (int i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);

		end = att_align_nominal(end, attribute->attalign);
		store_att_byval(data + end, slot->tts_values[i], attribute->attlen);
		end += attribute->attlen;
	}
}

/*
 * Writes the row to "place", which is MAXALIGNed and has room for its bytes in
 * whole words.
 */
static inline void
slot_row_write(const SlotRow *row, TupleTableSlot *slot, TupleDesc descriptor,
			   MinimalTuple place)
{
	Size		header_bytes = SizeofMinimalTupleHeader;

	if (likely(row->tuple != NULL))
	{
		memcpy(place, row->tuple, row->bytes);
		place->t_len = row->bytes;
		if (unlikely((place->t_infomask & DATUM_MARK) == DATUM_MARK))
			place->t_infomask &= ~DATUM_MARK;
		return;
	}
	if (likely(row->by_value))
	{
		slot_row_write_values(row, slot, descriptor, place);
		return;
	}

	/*
	 * as heap_form_minimal_tuple() does, since heap_fill_tuple() leaves
	 * padding
	 */
	memset(place, 0, row->bytes);
	if (row->has_nulls)
		header_bytes += BITMAPLEN(descriptor->natts);
	header_bytes = MAXALIGN(header_bytes);
	place->t_len = row->bytes;
	HeapTupleHeaderSetNatts(place, descriptor->natts);
	place->t_hoff = header_bytes + MINIMAL_TUPLE_OFFSET;
	heap_fill_tuple(descriptor, slot->tts_values, slot->tts_isnull,
					(char *) place + header_bytes, row->bytes - header_bytes,
					&place->t_infomask,
					row->has_nulls ? place->t_bits : NULL);
}

/*
 * Prefetches memory behind a row at this place, to be written, as the
 * processor's own prefetching ends at each 4 kB.
 */
#define PREFETCH_WRITE(place, bytes) \
	do { \
		for (Size line_ = 0; line_ < (bytes); line_ += CACHE_LINE_BYTES) \
			__builtin_prefetch((char *) (place) + PREFETCH_WRITE_BYTES + \
							   line_, 1); \
	} while (0)

#endif							/* GPUSORT_SLOT_ROW_H */
