/*-------------------------------------------------------------------------
 *
 * slot_row.h
 *	  Storing the row of a slot as a minimal tuple.
 *
 * The row is copied once, straight from the slot's own form.  That is the
 * bytes of a tuple in a shared buffer, or the values of a virtual row, from
 * which the tuple is formed where it is stored.  Many virtual rows are only a
 * few numbers and short strings, or NULLs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SLOT_ROW_H
#define GPUSORT_SLOT_ROW_H

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "executor/tuptable.h"

#include "port/cache_lines.h"
#include "port/compat.h"
#include "port/copy_bytes.h"

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
	bool		is_plain;		/* a virtual row of nothing but by-value
								 * columns, short strings and NULLs */
	bool		has_strings;	/* a plain row has strings */
} SlotRow;

/* Bytes of the header of a row without a NULL. */
#define PLAIN_HEADER_BYTES	MAXALIGN(SizeofMinimalTupleHeader)

/* Bytes of the header of a virtual row. */
static inline Size
slot_row_header_bytes(const SlotRow *row, TupleDesc descriptor)
{
	return likely(!row->has_nulls) ? PLAIN_HEADER_BYTES :
		MAXALIGN(SizeofMinimalTupleHeader + BITMAPLEN(descriptor->natts));
}

/*
 * Computes the size of a row of by-value columns, short strings and NULLs; false
 * for other rows.  Short strings, and numerics, are those that a table stores
 * with a header of one byte.
 */
static inline bool
slot_row_find_plain(SlotRow *row, const TupleTableSlot *slot,
					TupleDesc descriptor)
{
	Size		end = 0;

	for (int i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
		const char *string = DatumGetPointer(slot->tts_values[i]);

		if (slot->tts_isnull[i])
			row->has_nulls = true;
		else if (attribute->attbyval)
			end = att_align_nominal(end, attribute->attalign) +
				attribute->attlen;
		else if (attribute->attlen == -1 && VARATT_IS_SHORT(string) &&
				 !VARATT_IS_EXTERNAL(string))
		{
			row->has_strings = true;
			end += VARSIZE_SHORT(string);
		}
		else
			return false;
	}
	row->is_plain = true;
	row->bytes = slot_row_header_bytes(row, descriptor) + end;
	return true;
}

/* The form and size of the slot's row, which has this descriptor. */
static inline SlotRow
slot_row_find(TupleTableSlot *slot, TupleDesc descriptor)
{
	SlotRow		row = {0};

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
	if (slot_row_find_plain(&row, slot, descriptor))
		return row;
	for (int i = 0; i < descriptor->natts && !row.has_nulls; i++)
		row.has_nulls = slot->tts_isnull[i];
	row.bytes = slot_row_header_bytes(&row, descriptor) +
		heap_compute_data_size(descriptor, slot->tts_values,
							   slot->tts_isnull);
	return row;
}

/* Writes a plain row. */
static inline void
slot_row_write_plain(const SlotRow *row, const TupleTableSlot *slot,
					 TupleDesc descriptor, MinimalTuple place)
{
	Size		header_bytes = slot_row_header_bytes(row, descriptor);
	char	   *data = (char *) place + header_bytes;
	Size		end = 0;

	/* clears the padding, too: a few whole words */
	for (Size i = 0; i < MAXALIGN(row->bytes) / sizeof(uint64); i++)
		((uint64 *) place)[i] = 0;
	place->t_len = row->bytes;
	HeapTupleHeaderSetNatts(place, descriptor->natts);
	place->t_hoff = header_bytes + MINIMAL_TUPLE_OFFSET;
	place->t_infomask = (row->has_strings ? HEAP_HASVARWIDTH : 0) |
		(row->has_nulls ? HEAP_HASNULL : 0);
	for (int i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
		Datum		value = slot->tts_values[i];

		if (unlikely(slot->tts_isnull[i]))
			continue;
		if (unlikely(row->has_nulls))
			place->t_bits[i / 8] |= 1 << (i % 8);
		if (attribute->attbyval)
		{
			end = att_align_nominal(end, attribute->attalign);
			store_att_byval(data + end, value, attribute->attlen);
			end += attribute->attlen;
		}
		else
		{
			Size		bytes = VARSIZE_SHORT(DatumGetPointer(value));

			copy_few_bytes(data + end, DatumGetPointer(value), bytes);
			end += bytes;
		}
	}
}

#ifdef USE_ASSERT_CHECKING
/* Checks that core forms the same row. */
static inline void
slot_row_check(const SlotRow *row, const TupleTableSlot *slot,
			   TupleDesc descriptor, const MinimalTupleData *place)
{
	MinimalTuple formed = heap_form_minimal_tuple(descriptor, slot->tts_values,
												  slot->tts_isnull, 0);

	Assert(formed->t_len == row->bytes);
	Assert(memcmp(formed, place, row->bytes) == 0);
	pfree(formed);
}
#endif

/*
 * Writes the row to "place", which is MAXALIGNed and has room for its bytes in
 * whole words.
 */
static inline void
slot_row_write(const SlotRow *row, TupleTableSlot *slot, TupleDesc descriptor,
			   MinimalTuple place)
{
	Size		header_bytes;

	if (likely(row->tuple != NULL))
	{
		memcpy(place, row->tuple, row->bytes);
		place->t_len = row->bytes;
		if (unlikely((place->t_infomask & DATUM_MARK) == DATUM_MARK))
			place->t_infomask &= ~DATUM_MARK;
		return;
	}
	if (likely(row->is_plain))
	{
		slot_row_write_plain(row, slot, descriptor, place);
#ifdef USE_ASSERT_CHECKING
		slot_row_check(row, slot, descriptor, place);
#endif
		return;
	}

	/*
	 * as heap_form_minimal_tuple() does, since heap_fill_tuple() leaves
	 * padding
	 */
	memset(place, 0, row->bytes);
	header_bytes = slot_row_header_bytes(row, descriptor);
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
