/*-------------------------------------------------------------------------
 *
 * any_order.c
 *	  Aggregates to which the order of the rows does not matter.
 *
 * These are core's counts, sums of integers and numerics and what follows from
 * such sums, and the least and greatest of values of which equal ones look the
 * same.  It matters to sums of floating-point numbers, which round, to the
 * greatest of zero and minus zero, and to all that list values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "planner/any_order.h"

/* Do all numerics of an aggregate's argument have the same scale? */
static bool
has_one_scale(const Aggref *aggregate)
{
	const TargetEntry *argument = linitial_node(TargetEntry, aggregate->args);

	return exprTypmod((const Node *) argument->expr) >= 0;
}

bool
is_of_any_order(const Aggref *aggregate)
{
	if (aggregate->aggdistinct != NIL || aggregate->aggorder != NIL)
		return false;
	switch (aggregate->aggfnoid)
	{
		case F_COUNT_:
		case F_COUNT_ANY:
		case F_SUM_INT2:
		case F_SUM_INT4:
		case F_SUM_INT8:
		case F_SUM_NUMERIC:
		case F_AVG_INT2:
		case F_AVG_INT4:
		case F_AVG_INT8:
		case F_AVG_NUMERIC:
		case F_VARIANCE_INT2:
		case F_VARIANCE_INT4:
		case F_VARIANCE_INT8:
		case F_VARIANCE_NUMERIC:
		case F_VAR_POP_INT2:
		case F_VAR_POP_INT4:
		case F_VAR_POP_INT8:
		case F_VAR_POP_NUMERIC:
		case F_VAR_SAMP_INT2:
		case F_VAR_SAMP_INT4:
		case F_VAR_SAMP_INT8:
		case F_VAR_SAMP_NUMERIC:
		case F_STDDEV_INT2:
		case F_STDDEV_INT4:
		case F_STDDEV_INT8:
		case F_STDDEV_NUMERIC:
		case F_STDDEV_POP_INT2:
		case F_STDDEV_POP_INT4:
		case F_STDDEV_POP_INT8:
		case F_STDDEV_POP_NUMERIC:
		case F_STDDEV_SAMP_INT2:
		case F_STDDEV_SAMP_INT4:
		case F_STDDEV_SAMP_INT8:
		case F_STDDEV_SAMP_NUMERIC:
		case F_MIN_INT2:
		case F_MIN_INT4:
		case F_MIN_INT8:
		case F_MIN_OID:
		case F_MIN_DATE:
		case F_MIN_TIME:
		case F_MIN_TIMESTAMP:
		case F_MIN_TIMESTAMPTZ:
		case F_MAX_INT2:
		case F_MAX_INT4:
		case F_MAX_INT8:
		case F_MAX_OID:
		case F_MAX_DATE:
		case F_MAX_TIME:
		case F_MAX_TIMESTAMP:
		case F_MAX_TIMESTAMPTZ:
		case F_BOOL_AND:
		case F_BOOL_OR:
		case F_EVERY:
		case F_BIT_AND_INT2:
		case F_BIT_AND_INT4:
		case F_BIT_AND_INT8:
		case F_BIT_OR_INT2:
		case F_BIT_OR_INT4:
		case F_BIT_OR_INT8:
			return true;
		case F_MIN_NUMERIC:
		case F_MAX_NUMERIC:
			return has_one_scale(aggregate);
		case F_MIN_TEXT:
		case F_MAX_TEXT:
			/* if it is unknown, a comparison raises the error */
			return OidIsValid(aggregate->inputcollid) &&
				get_collation_isdeterministic(aggregate->inputcollid);
		default:
			return false;
	}
}

bool
can_be_beside_values(const Aggref *aggregate, bool has_groups)
{
	return is_of_any_order(aggregate) ||
		(!has_groups && aggregate->aggkind == AGGKIND_NORMAL &&
		 aggregate->aggdistinct == NIL && aggregate->aggorder == NIL);
}
