/*-------------------------------------------------------------------------
 *
 * known_order.h
 *	  What statistics tell of the order in which rows lie in a table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_KNOWN_ORDER_H
#define GPUSORT_KNOWN_ORDER_H

#include "nodes/pathnodes.h"

/*
 * Does this operator sort the rows of a table by this expression as they lie
 * there, all or almost?  Only if that is known.
 */
extern bool lies_in_order(PlannerInfo *root, Node *expr, Oid sort_operator,
						  Oid collation);

#endif							/* GPUSORT_KNOWN_ORDER_H */
