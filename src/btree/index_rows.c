/*-------------------------------------------------------------------------
 *
 * index_rows.c
 *	  Forming the rows of an index, to be stored and sorted.
 *
 * A row is stored as the index tuple that it will be, formed in its final
 * place in memory.  Its sort columns are the index's key columns and, last,
 * its place in the table, so no two rows are equal.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/nbtree.h"
#include "catalog/pg_index.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "utils/lsyscache.h"

#include "btree/index_rows.h"
#include "port/compat.h"
#include "port/copy_bytes.h"

/*
 * The operator that orders a key column, if a sort by that operator compares
 * as the index does.  An operator can be in several families, which may have
 * comparators of their own.
 */
static Oid
ordering_operator(Relation index, int column)
{
	bool		descending = (index->rd_indoption[column] &
							  INDOPTION_DESC) != 0;
	Oid			type = index->rd_opcintype[column];
	Oid			operator =
		get_opfamily_member(index->rd_opfamily[column], type, type,
							descending ? BTGreaterStrategyNumber :
							BTLessStrategyNumber);
	Oid			family;
	Oid			operand_type;
	CompareType direction;

	if (!get_ordering_op_properties(operator, &family, &operand_type,
									&direction) ||
		family != index->rd_opfamily[column] || operand_type != type)
		return InvalidOid;
	return operator;
}

SortColumn *
index_columns(Relation index, int *ncolumns)
{
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	SortColumn *columns = palloc0((nkeys + 1) * sizeof(SortColumn));

	for (int i = 0; i < nkeys; i++)
	{
		columns[i].attno = i + 1;
		columns[i].sort_operator = ordering_operator(index, i);
		columns[i].collation = index->rd_indcollation[i];
		columns[i].nulls_first = (index->rd_indoption[i] &
								  INDOPTION_NULLS_FIRST) != 0;
	}
	columns[nkeys].attno = IndexRelationGetNumberOfAttributes(index) + 1;
	columns[nkeys].sort_operator = TIDLessOperator;
	*ncolumns = nkeys + 1;
	return columns;
}

Oid
index_column_type(Relation index, int column)
{
	Oid			type = TupleDescAttr(RelationGetDescr(index), column)->atttypid;

	/* names are stored without padding; encoders read no more than that */
	return type == CSTRINGOID ? index->rd_opcintype[column] : type;
}

/* Describes rows: the columns of the index, and one for the row's place. */
static TupleDesc
describe_rows(Relation index)
{
	TupleDesc	of_index = RelationGetDescr(index);
	TupleDesc	result = CreateTemplateTupleDesc(of_index->natts + 1);

	for (int i = 0; i < of_index->natts; i++)
	{
		TupleDescCopyEntry(result, i + 1, of_index, i + 1);
		if (i < IndexRelationGetNumberOfKeyAttributes(index))
			TupleDescAttr(result, i)->atttypid =
				index_column_type(index, i);
	}
	TupleDescInitEntry(result, result->natts, "ctid", TIDOID, -1, 0);
	TupleDescFinalize(result);
	return result;
}

/*
 * Does what index_getattr() does, for a row that must not be taken for a
 * tuple.  Walks over the columns one by one, up to the wanted one.
 */
static pg_noinline Datum
dead_row_column(const IndexRow *row, AttrNumber attno, TupleDesc descriptor,
				bool *isnull)
{
	char	   *data = (char *) row + IndexInfoFindDataOffset(row->info);
	uint8	   *nulls = (uint8 *) row + sizeof(IndexRow);
	Size		offset = 0;

	for (int i = 0; i < attno; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
		char	   *value;

		*isnull = index_row_has_nulls(row) && att_isnull(i, nulls);
		if (*isnull)
			continue;
		offset = att_align_pointer(offset, attribute->attalign,
								   attribute->attlen, data + offset);
		value = data + offset;
		if (i == attno - 1)
			return fetchatt(attribute, value);
		offset = att_addlength_pointer(offset, attribute->attlen, value);
	}
	return (Datum) 0;
}

Datum
index_row_column(const void *row, AttrNumber attno, TupleDesc descriptor,
				 bool *isnull)
{
	const IndexRow *index_row = row;

	if (attno == descriptor->natts)
	{
		*isnull = false;
		return PointerGetDatum(&index_row->place);
	}
	if (unlikely(index_row_is_dead(index_row)))
		return dead_row_column(index_row, attno, descriptor, isnull);
	return index_getattr(index_row_tuple(index_row), attno, descriptor,
						 isnull);
}

/*
 * Notes the fixed places of columns.  If all columns are of fixed width, rows
 * without a NULL are of fixed width, too.
 */
static void
find_fixed_places(IndexRows *rows)
{
	TupleDesc	descriptor = RelationGetDescr(rows->index);
	Size		end = 0;

	for (int i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);

		if (attribute->attlen < 0)
			return;
		end = att_align_nominal(end, attribute->attalign);
		rows->fixed_places[i] = end;
		end += attribute->attlen;
	}
	end = MAXALIGN(IndexInfoFindDataOffset(0) + end);
	if (end <= INDEX_SIZE_MASK)
		rows->fixed_bytes = end;
}

IndexRows *
index_rows_begin(Relation index)
{
	IndexRows  *rows = palloc0(sizeof(IndexRows));

	rows->index = index;
	rows->descriptor = describe_rows(index);
	rows->columns = index_columns(index, &rows->ncolumns);
	find_fixed_places(rows);
	rows->one_varlena = RelationGetDescr(index)->natts == 1 &&
		TupleDescAttr(RelationGetDescr(index), 0)->attlen == -1;

	/* filled once; afterwards only its values change */
	rows->slot = MakeSingleTupleTableSlot(rows->descriptor, &TTSOpsVirtual);
	ExecStoreAllNullTuple(rows->slot);
	rows->slot->tts_isnull[rows->descriptor->natts - 1] = false;
	return rows;
}

void
index_rows_end(IndexRows *rows)
{
	ExecDropSingleTupleTableSlot(rows->slot);
}

/*
 * Stores a row that index_form_tuple() forms, which fetches values that are
 * stored elsewhere, compresses large ones, and raises core's error for a row
 * too large for an index.  NULL if there is no room.
 */
static IndexRow *
store_toasted_row(IndexRows *rows, Datum *values, bool *isnull,
				  IndexRowSpace space, void *owner)
{
	IndexTuple	formed = index_form_tuple(RelationGetDescr(rows->index),
										  values, isnull);
	Size		bytes = IndexTupleSize(formed);
	IndexRow   *row = space(owner, bytes);

	if (row != NULL)
		memcpy(row, formed, bytes);
	pfree(formed);
	return row;
}

/* Stores a row of fixed width without a NULL; NULL if there is no room. */
static inline IndexRow *
store_fixed_row(IndexRows *rows, Datum *values, IndexRowSpace space,
				void *owner)
{
	TupleDesc	descriptor = RelationGetDescr(rows->index);
	IndexRow   *row = space(owner, rows->fixed_bytes);
	char	   *data;

	if (unlikely(row == NULL))
		return NULL;
	memset(row, 0, rows->fixed_bytes);
	row->info = rows->fixed_bytes;
	data = (char *) row + IndexInfoFindDataOffset(0);
	for (int i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);

		if (attribute->attbyval)
			store_att_byval(data + rows->fixed_places[i], values[i],
							attribute->attlen);
		else
			memcpy(data + rows->fixed_places[i], DatumGetPointer(values[i]),
				   attribute->attlen);
	}
	return row;
}

/*
 * Is the row one value with a header of one byte?  In tables numerics and
 * short strings have such a header.
 */
static inline bool
is_short_row(const IndexRows *rows, const Datum *values, const bool *isnull)
{
	return rows->one_varlena && !isnull[0] &&
		VARATT_IS_SHORT(DatumGetPointer(values[0])) &&
		!VARATT_IS_EXTERNAL(DatumGetPointer(values[0]));
}

/* Stores a row of one short value; NULL if there is no room. */
static inline IndexRow *
store_short_row(Datum value, IndexRowSpace space, void *owner)
{
	const char *varlena = DatumGetPointer(value);
	Size		header_bytes = IndexInfoFindDataOffset(0);
	Size		data_bytes = VARSIZE_SHORT(varlena);
	Size		bytes = MAXALIGN(header_bytes + data_bytes);
	IndexRow   *row = space(owner, bytes);

	if (unlikely(row == NULL))
		return NULL;
	/* clears the padding, which is in the last word */
	*(uint64 *) ((char *) row + bytes - sizeof(uint64)) = 0;
	copy_few_bytes((char *) row + header_bytes, varlena, data_bytes);
	row->info = INDEX_VAR_MASK | bytes;
	return row;
}

/* Would index_form_tuple() do more with this value than copy it? */
static inline bool
needs_toasting(Datum value)
{
	struct varlena *varlena = (struct varlena *) DatumGetPointer(value);

	return VARATT_IS_EXTERNAL(varlena) ||
		VARSIZE_ANY(varlena) > TOAST_INDEX_TARGET;
}

/*
 * Stores a row as index_form_tuple() would form it, in its final place, but
 * without its place in the table.  NULL if there is no room.  Sets *toasted if
 * the stored row has other values than the given ones; its key has to be made
 * from the stored values.
 */
static inline IndexRow *
store_row(IndexRows *rows, Datum *values, bool *isnull, IndexRowSpace space,
		  void *owner, bool *toasted)
{
	TupleDesc	descriptor = RelationGetDescr(rows->index);
	uint16		info = 0;
	uint16		infomask = 0;
	Size		header_bytes;
	Size		data_bytes;
	Size		bytes;
	IndexRow   *row;

	*toasted = false;
	if (is_short_row(rows, values, isnull))
		return store_short_row(values[0], space, owner);
	for (int i = 0; i < descriptor->natts; i++)
	{
		if (isnull[i])
			info = INDEX_NULL_MASK;
		else if (TupleDescAttr(descriptor, i)->attlen == -1 &&
				 needs_toasting(values[i]))
			*toasted = true;
	}
	if (info == 0 && rows->fixed_bytes > 0)
		return store_fixed_row(rows, values, space, owner);

	header_bytes = IndexInfoFindDataOffset(info);
	data_bytes = heap_compute_data_size(descriptor, values, isnull);
	bytes = MAXALIGN(header_bytes + data_bytes);
	if (unlikely(*toasted || bytes > INDEX_SIZE_MASK))
		return store_toasted_row(rows, values, isnull, space, owner);

	row = space(owner, bytes);
	if (unlikely(row == NULL))
		return NULL;

	/* heap_fill_tuple() leaves the padding as it is */
	memset(row, 0, bytes);
	heap_fill_tuple(descriptor, values, isnull,
					(char *) row + header_bytes, data_bytes, &infomask,
					info != 0 ?
					(uint8 *) ((char *) row + sizeof(IndexTupleData)) : NULL);
	if ((infomask & HEAP_HASVARWIDTH) != 0)
		info |= INDEX_VAR_MASK;
	row->info = info | bytes;
	return row;
}

IndexRow *
index_rows_store(IndexRows *rows, ItemPointer tid, Datum *values, bool *isnull,
				 IndexRowSpace space, void *owner)
{
	TupleDesc	descriptor = RelationGetDescr(rows->index);
	TupleTableSlot *slot = rows->slot;
	bool		toasted;
	IndexRow   *row = store_row(rows, values, isnull, space, owner,
								&toasted);

	if (unlikely(row == NULL))
		return NULL;
	row->place = *tid;

	if (unlikely(toasted))
		index_deform_tuple(index_row_tuple(row), descriptor, slot->tts_values,
						   slot->tts_isnull);
	else
	{
		for (int i = 0; i < descriptor->natts; i++)
		{
			slot->tts_values[i] = values[i];
			slot->tts_isnull[i] = isnull[i];
		}
	}
	slot->tts_values[descriptor->natts] = PointerGetDatum(tid);
	return row;
}
