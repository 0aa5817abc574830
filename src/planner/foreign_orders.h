/*-------------------------------------------------------------------------
 *
 * foreign_orders.h
 *	  Paths that rely on a foreign server's order of strings.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_FOREIGN_ORDERS_H
#define GPUSORT_FOREIGN_ORDERS_H

#include "nodes/pathnodes.h"

/*
 * May a join of this query, or of a query around it, rely on a foreign
 * order?
 */
extern bool foreign_orders_may_be_joined(PlannerInfo *root);

/*
 * Does this relation of a later stage have a path that relies on a foreign
 * order, or may a query around this query have such a path?
 */
extern bool foreign_orders_compete(PlannerInfo *root,
								   const RelOptInfo *output);

#endif							/* GPUSORT_FOREIGN_ORDERS_H */
