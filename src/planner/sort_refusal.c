/*-------------------------------------------------------------------------
 *
 * sort_refusal.c
 *	  Which sorts of a plan are left to PostgreSQL, and why.
 *
 * A sort is refused
 *	- in an Agg that drives its sorts itself (Agg->chain), or whose aggregates
 *	  sort their values, and if it is an IncrementalSort;
 *	- if its first column's type, collation or ordering has no key encoding;
 *	- if the estimates say that it is too small to gain;
 *	- if only a few first rows are wanted: core keeps these in a heap,
 *	  which takes less time (sort_choice.c);
 *	- if its rows are single numbers with few different values: core sorts
 *	  the values alone, and has little to compare;
 *	- if its rows are a few single values that core keeps in memory,
 *	  whatever the setting, and our sort would write them to files;
 *	- below a node of another extension, which may look at its children, and
 *	  knows nothing of a GpuSort.
 *
 * The decision depends only on the finished plan and the settings, so that
 * EXPLAIN finds the same reason as the planner (explain_refusal.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"

#include "cost/sort_choice.h"
#include "executor/gpusort_plan.h"
#include "executor/node_aggregate.h"
#include "executor/node_gpusort.h"
#include "executor/node_group_aggregate.h"
#include "executor/node_groups.h"
#include "executor/node_setop.h"
#include "executor/node_stream.h"
#include "executor/node_unique.h"
#include "executor/node_window.h"
#include "executor/value_aggregates.h"
#include "keys/sort_keys.h"
#include "planner/any_order.h"
#include "planner/sort_refusal.h"
#include "port/compat.h"
#include "settings.h"

/*
 * Custom scans of other extensions that, as their source says, only begin,
 * run, rescan and end the nodes below them.  All are TimescaleDB's.  Its
 * other nodes look for scans right below a Sort to exclude chunks.
 */
static const char *const bearing_nodes[] = {
	"HypertableModify",			/* above the ModifyTable of a hypertable */
	"ChunkDispatch",			/* below it, above the rows of an INSERT */
	"GapFill"					/* above a grouping by time, and its Sort */
};

/*
 * Does a node belong to another extension, to which the nodes below it may
 * matter?  A ForeignScan has a plan below it, which joins a locked row anew.
 */
static bool
may_mind(const Plan *plan)
{
	const CustomScan *scan = (const CustomScan *) plan;

	if (IsA(plan, ForeignScan))
		return true;
	if (!IsA(plan, CustomScan) || is_gpusort(plan) ||
		is_gpusort_groups(plan) || is_gpusort_aggregate(plan) ||
		is_gpusort_window(plan) || is_gpusort_group_aggregate(plan) ||
		is_gpusort_unique(plan) || is_gpusort_setop(plan) ||
		is_gpusort_receive(plan) || is_gpusort_send(plan))
		return false;
	for (int i = 0; i < lengthof(bearing_nodes); i++)
		if (strcmp(scan->methods->CustomName, bearing_nodes[i]) == 0)
			return false;
	return true;
}

/*
 * Sets the value of a LIMIT or OFFSET; false if it is not known before it
 * runs.
 */
static bool
is_known(const Node *number, double *value)
{
	const Const *constant = (const Const *) number;

	*value = 0;
	if (number == NULL)
		return true;
	if (!IsA(number, Const))
		return false;
	if (!constant->constisnull)
		*value = DatumGetInt64(constant->constvalue);
	return true;
}

/*
 * The number of rows that a Limit wants of its child, of those that there are.
 * If the number is not known before the Limit runs, the planner has only a
 * guess.  So the sort is taken over, and looks at the number when it runs
 * (sort_bound.c).
 */
static double
limit_bound(const Limit *limit)
{
	double		count;
	double		offset;

	if (limit->limitCount == NULL ||
		limit->limitOption != LIMIT_OPTION_COUNT ||
		!is_known(limit->limitCount, &count) ||
		!is_known(limit->limitOffset, &offset))
		return NO_BOUND;
	return limit->plan.plan_rows + offset;
}

/*
 * The number of rows after which a node may stop reading from its child.
 * Apart from a Limit, the nodes that pass a bound on are those of
 * ExecSetTupleBound().
 */
static double
bound_of_child(const Plan *plan, double bound)
{
	switch (nodeTag(plan))
	{
		case T_Limit:
			return limit_bound((const Limit *) plan);
		case T_Append:
		case T_MergeAppend:
		case T_Result:
		case T_Gather:
		case T_GatherMerge:
			return bound;
		case T_SubqueryScan:
			return plan->qual == NIL ? bound : NO_BOUND;
		default:
			return NO_BOUND;
	}
}

PlanPlace
place_of_child(const Plan *plan, PlanPlace place)
{
	/*
	 * the plan of a subquery is nobody's child, though EXPLAIN shows it below
	 * a node
	 */
	if (IsA(plan, SubPlan))
		return TOP_PLACE;
	place.bound = bound_of_child(plan, place.bound);
	place.below_foreign |= may_mind(plan);
	place.below_gather = IsA(plan, GatherMerge);
	return place;
}

/* The n-th expression that a sort orders by. */
static Node *
sort_column(const Sort *sort, int n)
{
	const TargetEntry *entry = list_nth(sort->plan.targetlist,
										sort->sortColIdx[n] - 1);

	return (Node *) entry->expr;
}

Refusal
refuse_size(const SortSize *size, double bound)
{
	if (size->rows < gpusort_min_rows)
		return REFUSAL_SMALL;
	return sort_choose(size, 1, bound) == SORT_NATIVELY ? REFUSAL_BOUNDED :
		REFUSAL_NONE;
}

/* Everything that the cost of a Sort depends on. */
static SortSize
size_of_sort(const Sort *sort, const List *range_table)
{
	List	   *attnos = NIL;

	for (int n = 0; n < sort->numCols; n++)
		attnos = lappend_int(attnos, sort->sortColIdx[n]);
	return sort_size_of_plan(&sort->plan, attnos, sort->sortOperators[0],
							 sort->collations[0], range_table);
}

/* Tells why a Sort of single values, of this size, is refused, if it is. */
static Refusal
refuse_values(const Sort *sort, const SortSize *size, const List *range_table)
{
	const Plan *input = sort->plan.lefttree;
	const Node *expr;

	if (sort->numCols > 1 || list_length(input->targetlist) != 1)
		return REFUSAL_NONE;
	expr = (const Node *) linitial_node(TargetEntry, input->targetlist)->expr;
	if (values_are_few(exprType(expr),
					   values_of_plan(input, expr, range_table)))
		return REFUSAL_VALUES;
	return values_are_kept(size, exprType(expr)) ? REFUSAL_KEPT_VALUES :
		REFUSAL_NONE;
}

/*
 * Tells why this Sort is refused, if it is.  Looks at its keys last, as that
 * takes longer than to sort a few rows.
 */
static Refusal
refuse_sort(const Sort *sort, PlanPlace place, const List *range_table)
{
	double		bound = place.bound;
	SortSize	size = {sort->plan.lefttree->plan_rows, sort->plan.plan_width};
	Refusal		refusal = refuse_size(&size, bound);

	if (refusal == REFUSAL_NONE)
		refusal = sort_keys_refuse(exprType(sort_column(sort, 0)),
								   sort->sortOperators[0],
								   sort->collations[0]);
	/* rows that processes sort together pass through no tuple queues */
	if (refusal == REFUSAL_NONE && !place.below_gather)
		refusal = refuse_values(sort, &size, range_table);

	/* the rest of the size matters only if just the first rows are wanted */
	if (refusal != REFUSAL_NONE || bound == NO_BOUND)
		return refusal;
	size = size_of_sort(sort, range_table);
	return refuse_size(&size, bound);
}

/* The number of sorts that grouping sets need beside the one below the Agg. */
static int
count_further_sorts(const Agg *agg)
{
	int			count = 0;
	ListCell   *cell;

	/* a grouping set that is hashed has no sort */
	foreach(cell, agg->chain)
		count += outerPlan(lfirst(cell)) != NULL;
	return count;
}

/* Does an aggregate sort its values itself? */
static bool
sorts_values(const Aggref *aggregate)
{
	return !AGG_IS_PRESORTED(aggregate) &&
		(AGGKIND_IS_ORDERED_SET(aggregate->aggkind) ||
		 aggregate->aggorder != NIL || aggregate->aggdistinct != NIL);
}

/* Can a GpuSortAggregate make an aggregate, as far as the plan tells? */
static bool
is_made_by_node(const Aggref *aggregate, bool has_groups)
{
	return value_aggregate_kind(aggregate) != NO_VALUE_AGGREGATE ||
		can_be_beside_values(aggregate, has_groups);
}

/* The aggregates of an Agg. */
typedef struct InnerSorts
{
	bool		has_groups;
	Bitmapset  *sorting;		/* numbers of those that sort their values */
	const Aggref *first;		/* the first of them */
	const Aggref *other;		/* the first that no GpuSortAggregate can
								 * compute */
} InnerSorts;

static bool
note_aggregates(Node *node, InnerSorts *sorts)
{
	const Aggref *aggregate = (const Aggref *) node;

	if (node == NULL || !IsA(node, Aggref))
		return node != NULL &&
			expression_tree_walker(node, note_aggregates, (void *) sorts);
	if (sorts->other == NULL && !is_made_by_node(aggregate, sorts->has_groups))
		sorts->other = aggregate;
	if (sorts_values(aggregate))
	{
		if (sorts->first == NULL)
			sorts->first = aggregate;
		sorts->sorting = bms_add_member(sorts->sorting, aggregate->aggno);
	}
	return false;
}

/*
 * Does an Agg get its rows in an order that has more columns than its groups?
 * Then its aggregates find their values sorted, and spend little time on it
 * (aggregate_paths.c).
 */
static bool
gets_sorted_values(const Agg *agg)
{
	const Plan *child = outerPlan(agg);
	int			ncolumns = 0;

	if (IsA(child, Sort))
		ncolumns = ((const Sort *) child)->numCols;
	else if (is_gpusort(child) || is_gpusort_groups(child))
		ncolumns = planned_sort_read((const CustomScan *) child).ncolumns;
	return ncolumns > agg->numCols;
}

/* Finds the aggregates that sort the values of an Agg's rows. */
static InnerSorts
find_inner_sorts(const Agg *agg)
{
	InnerSorts	sorts = {agg->numCols > 0};

	if (!gets_sorted_values(agg))
		(void) note_aggregates((Node *) list_make2(agg->plan.targetlist,
												   agg->plan.qual), &sorts);
	return sorts;
}

/* The number of sorts that an Agg does itself; sets the reason. */
static int
count_sorts_inside(const Agg *agg, Refusal *refusal)
{
	int			nfurther = count_further_sorts(agg);

	*refusal = REFUSAL_AGGREGATE;
	if (nfurther == 0 && outerPlan(agg)->plan_rows < gpusort_min_rows)
		*refusal = REFUSAL_SMALL;
	return nfurther + bms_num_members(find_inner_sorts(agg).sorting);
}

int
count_refused(const Plan *plan, PlanPlace place, const List *range_table,
			  Refusal *refusal)
{
	switch (nodeTag(plan))
	{
		case T_Sort:
			*refusal = place.below_foreign ? REFUSAL_FOREIGN :
				refuse_sort((const Sort *) plan, place, range_table);
			return *refusal != REFUSAL_NONE;
		case T_IncrementalSort:
			*refusal = REFUSAL_INCREMENTAL;
			return 1;
		case T_Agg:
			return count_sorts_inside((const Agg *) plan, refusal);
		default:
			return 0;
	}
}

/* A collation's name, or its number if it has been dropped meanwhile. */
static char *
name_collation(Oid collation)
{
	char	   *name = get_collation_name(collation);

	return name == NULL ? psprintf("%u", collation) :
		(char *) quote_identifier(name);
}

/* Why an Agg does sorts itself. */
static char *
describe_inner_sorts(const Agg *agg)
{
	InnerSorts	sorts = find_inner_sorts(agg);
	const char *name;

	if (sorts.first == NULL)
		return pstrdup("the further sorts of grouping sets are the aggregate's own");
	name = get_func_name(sorts.first->aggfnoid);
	if (sorts.other != NULL && sorts.other->aggfnoid != sorts.first->aggfnoid)
		return psprintf("%s sorts its own values, as %s is computed beside it",
						name, get_func_name(sorts.other->aggfnoid));
	return psprintf("%s sorts its own values", name);
}

char *
describe_refusal(const Plan *plan, Refusal refusal)
{
	const Sort *sort = (const Sort *) plan;

	switch (refusal)
	{
		case REFUSAL_SMALL:
			return pstrdup("fewer rows are expected than gpusort.min_rows");
		case REFUSAL_BOUNDED:
			return pstrdup("only the first rows are wanted");
		case REFUSAL_VALUES:
			return pstrdup("few different values are expected");
		case REFUSAL_KEPT_VALUES:
			return pstrdup("PostgreSQL keeps its few values in memory");
		case REFUSAL_TYPE:
			return psprintf("there are no keys for the type %s",
							format_type_be(exprType(sort_column(sort, 0))));
		case REFUSAL_COLLATION:
			return psprintf("there are no keys for the collation %s",
							name_collation(sort->collations[0]));
		case REFUSAL_OPERATOR:
			return psprintf("there are no keys for the order of the operator %s",
							format_operator(sort->sortOperators[0]));
		case REFUSAL_INCREMENTAL:
			return pstrdup("the rows come sorted by the first columns");
		case REFUSAL_AGGREGATE:
			return describe_inner_sorts((const Agg *) plan);
		case REFUSAL_FOREIGN:
			return pstrdup("a node of another extension above it may look at it");
		case REFUSAL_NONE:
			break;
	}
	elog(ERROR, "unexpected reason %d", (int) refusal);
}
