/*-------------------------------------------------------------------------
 *
 * row_compare.c
 *	  Comparing rows by their types' own comparators.
 *
 * Keys decide almost everything.  Comparators are needed where keys are only
 * prefixes, for rows whose keys are equal, and to verify an order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "port/compat.h"
#include "sort/row_compare.h"

/*
 * The comparator of documents, with PostgreSQL's as "ssup_extra".  Documents of
 * the same bytes are equal: jsonb_cmp() walks both alike, and each value is
 * equal to itself.  So values that are stored alike, maybe compressed, are
 * neither decompressed nor walked.
 */
static int
compare_documents(Datum a, Datum b, SortSupport support)
{
	SortSupport own = support->ssup_extra;
	Size		size = VARSIZE_ANY(DatumGetPointer(a));

	if (size == VARSIZE_ANY(DatumGetPointer(b)) &&
		memcmp(DatumGetPointer(a), DatumGetPointer(b), size) == 0)
		return 0;
	return own->comparator(a, b, own);
}

/* Do values of a column compare by jsonb_cmp()? */
static bool
is_of_documents(const SortColumn *column)
{
	Oid			family;
	Oid			type;
	CompareType direction;

	return get_ordering_op_properties(column->sort_operator, &family, &type,
									  &direction) &&
		type == JSONBOID &&
		get_opfamily_proc(family, type, type, BTORDER_PROC) == F_JSONB_CMP;
}

RowComparator *
row_comparator_create(TupleDesc descriptor, RowColumnFunction column,
					  const SortColumn *columns, int ncolumns)
{
	RowComparator *comparator = palloc(sizeof(RowComparator));

	comparator->descriptor = descriptor;
	comparator->column = column;
	comparator->ncolumns = ncolumns;
	comparator->columns = palloc0(ncolumns * sizeof(SortSupportData));
	for (int i = 0; i < ncolumns; i++)
	{
		SortSupport support = &comparator->columns[i];

		support->ssup_cxt = CurrentMemoryContext;
		support->ssup_collation = columns[i].collation;
		support->ssup_nulls_first = columns[i].nulls_first;
		support->ssup_attno = columns[i].attno;
		PrepareSortSupportFromOrderingOp(columns[i].sort_operator, support);
		if (is_of_documents(&columns[i]))
		{
			SortSupport own = palloc(sizeof(SortSupportData));

			*own = *support;
			support->ssup_extra = own;
			support->comparator = compare_documents;
		}
	}
	return comparator;
}

Datum
minimal_tuple_column(const void *row, AttrNumber attno, TupleDesc descriptor,
					 bool *isnull)
{
	/* the heap tuple of which the minimal tuple is the body */
	HeapTupleData tuple = {
		.t_len = ((MinimalTuple) row)->t_len + MINIMAL_TUPLE_OFFSET,
		.t_data = (HeapTupleHeader) ((char *) row - MINIMAL_TUPLE_OFFSET)
	};

	return heap_getattr(&tuple, attno, descriptor, isnull);
}

Datum
single_value_column(const void *row, AttrNumber attno, TupleDesc descriptor,
					bool *isnull)
{
	*isnull = false;
	return *(const Datum *) row;
}

int
row_compare(const RowComparator *comparator, const void *a, const void *b)
{
	return row_compare_from(comparator, 0, a, b);
}

int
row_compare_from(const RowComparator *comparator, int first,
				 const void *a, const void *b)
{
	for (int i = first; i < comparator->ncolumns; i++)
	{
		SortSupport support = &comparator->columns[i];
		bool		null_a;
		bool		null_b;
		Datum		value_a = comparator->column(a, support->ssup_attno,
												 comparator->descriptor,
												 &null_a);
		Datum		value_b = comparator->column(b, support->ssup_attno,
												 comparator->descriptor,
												 &null_b);
		int			result = ApplySortComparator(value_a, null_a,
												 value_b, null_b, support);

		if (result != 0)
			return result;
	}
	return 0;
}
