/*-------------------------------------------------------------------------
 *
 * row_reader.h
 *	  Rows that are read one after the other, once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ROW_READER_H
#define GPUSORT_ROW_READER_H

/*
 * A part of everything that rows are read from.  next() returns the next row
 * as it lies, valid until the next call; NULL after the last row.
 */
typedef struct RowReader
{
	void	   *(*next) (struct RowReader *reader);
} RowReader;

#endif							/* GPUSORT_ROW_READER_H */
