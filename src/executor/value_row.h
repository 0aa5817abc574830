/*-------------------------------------------------------------------------
 *
 * value_row.h
 *	  Rows of a group and one value, made of rows with several values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_VALUE_ROW_H
#define GPUSORT_VALUE_ROW_H

#include "executor/parallel_sort.h"

/*
 * Returns a maker of such rows, and sets their descriptor.  The first
 * ngroup_columns columns of the node's child make the group.  The value is in
 * another column, and is cast by this function, unless that is InvalidOid.
 */
extern RowMaker *value_row_maker(CustomScanState *node, int ngroup_columns,
								 AttrNumber value_column, Oid cast,
								 TupleDesc *descriptor);

#endif							/* GPUSORT_VALUE_ROW_H */
