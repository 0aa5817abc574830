/*-------------------------------------------------------------------------
 *
 * known_order.c
 *	  What statistics tell of the order in which rows lie in a table.
 *
 * Of each column ANALYZE notes how the order of its values correlates with
 * that of the rows: 1 if they are the same.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "known_order.h"

/* The correlation of rows that are in order but for one in ten thousand. */
#define LEAST_CORRELATION	0.9999

/* What is noted of a column, under this collation; 0 if nothing is. */
static double
correlation(HeapTuple statistics, Oid sort_operator, Oid collation)
{
	const FormData_pg_statistic *form =
		(Form_pg_statistic) GETSTRUCT(statistics);
	AttStatsSlot slot;
	double		result = 0;

	/* nobody knows where NULLs are */
	if (form->stanullfrac > 0 ||
		!get_attstatsslot(&slot, statistics, STATISTIC_KIND_CORRELATION,
						  sort_operator, ATTSTATSSLOT_NUMBERS))
		return 0;
	if (slot.nnumbers == 1 && slot.stacoll == collation)
		result = slot.numbers[0];
	free_attstatsslot(&slot);
	return result;
}

bool
lies_in_order(PlannerInfo *root, Node *expr, Oid sort_operator, Oid collation)
{
	VariableStatData variable;
	bool		result = false;

	examine_variable(root, expr, 0, &variable);
	if (HeapTupleIsValid(variable.statsTuple) &&
		variable.rel->rtekind == RTE_RELATION)
		result = correlation(variable.statsTuple, sort_operator,
							 collation) >= LEAST_CORRELATION ||
			correlation(variable.statsTuple, get_commutator(sort_operator),
						collation) <= -LEAST_CORRELATION;
	ReleaseVariableStats(variable);
	return result;
}
