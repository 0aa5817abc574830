/*-------------------------------------------------------------------------
 *
 * any_order.h
 *	  Aggregates to which the order of the rows does not matter.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_ANY_ORDER_H
#define GPUSORT_ANY_ORDER_H

#include "nodes/primnodes.h"

/*
 * Returns whether any order of the rows of a group gives exactly the same
 * result, as far as that is known.
 */
extern bool is_of_any_order(const Aggref *aggregate);

/*
 * Returns whether core's functions can make an aggregate beside aggregates of
 * sorted values.  With groups they read the rows in an order that is not core's.
 * Without groups they read the rows as these come.
 */
extern bool can_be_beside_values(const Aggref *aggregate, bool has_groups);

#endif							/* GPUSORT_ANY_ORDER_H */
