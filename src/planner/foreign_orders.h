/*-------------------------------------------------------------------------
 *
 * foreign_orders.h
 *	  Paths that rely on the order of strings in which a foreign server sends rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_FOREIGN_ORDERS_H
#define GPUSORT_FOREIGN_ORDERS_H

#include "nodes/pathnodes.h"

/* May a join of this query, or of one that it is a part of, rely on such an order? */
extern bool foreign_orders_may_be_joined(PlannerInfo *root);

/*
 * Is there such a path of this relation of a later stage, or may there be one of
 * a query that this one is a part of?
 */
extern bool foreign_orders_compete(PlannerInfo *root,
								   const RelOptInfo *output);

#endif							/* GPUSORT_FOREIGN_ORDERS_H */
