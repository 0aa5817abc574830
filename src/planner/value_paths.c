/*-------------------------------------------------------------------------
 *
 * value_paths.c
 *	  Paths for aggregates that are known by the places of sorted values.
 *
 * Percentiles and count(DISTINCT) of all rows need no more of these than one value
 * each, which are sorted; see node_aggregate.c.  The node takes the place of core's
 * Agg, in one process or below a Gather:
 *
 *		GpuSortAggregate -> path of the input
 *		Gather -> GpuSortAggregate -> partial path of the input
 *
 * All aggregates of the query have to be such, and of the same values in the same
 * order; the numbers of all rows and of all values may be beside them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/selfuncs.h"

#include "cost/sort_cost.h"
#include "executor/node_aggregate.h"
#include "planner/aggregate_paths.h"
#include "planner/sort_paths.h"
#include "planner/value_paths.h"
#include "port/compat.h"

/* Aggregates of a query that are looked at: each is compared with all others. */
#define MOST_AGGREGATES		256

/* The aggregates of a query, and what they are of. */
typedef struct ValueAggregates
{
	List	   *aggregates;		/* each once */
	Expr	   *value;
	const SortGroupClause *clause;	/* how it is sorted; NULL if it is not */
	List	   *pathkeys;
	int			nsorts;			/* sorts that core makes, of unsorted input */
	bool		counts_distinct;
} ValueAggregates;

/* Is an aggregate still made as core makes it, and not replaced? */
static bool
is_as_in_core(const PlannerInfo *root, const Aggref *aggregate)
{
	const AggInfo *info = list_nth(root->agginfos, aggregate->aggno);
	const AggTransInfo *transition = list_nth(root->aggtransinfos,
											  aggregate->aggtransno);

	if (transition->transfn_oid != value_aggregate_transition(aggregate) ||
		info->finalfn_oid != value_aggregate_final(aggregate))
		return false;
	return transition->transfn_oid == F_ORDERED_SET_TRANSITION ||
		(!transition->initValueIsNull &&
		 DatumGetInt64(transition->initValue) == 0);
}

/* Notes what an aggregate is of; false if that is something else. */
static bool
note_value(ValueAggregates *all, const Aggref *aggregate)
{
	const TargetEntry *argument;

	if (list_length(aggregate->args) != 1)
		return false;
	argument = linitial(aggregate->args);
	if (all->value != NULL)
		return equal(all->value, argument->expr);
	all->value = argument->expr;
	return !contain_volatile_functions((Node *) all->value) &&
		!contain_subplans((Node *) all->value);
}

/* Notes by what one sorts; false if it is in another order than others. */
static bool
note_order(PlannerInfo *root, ValueAggregates *all, const Aggref *aggregate)
{
	List	   *clauses = aggregate->aggdistinct != NIL ?
		aggregate->aggdistinct : aggregate->aggorder;
	List	   *pathkeys;

	if (list_length(clauses) != 1)
		return false;
	pathkeys = make_pathkeys_for_sortclauses(root, clauses, aggregate->args);
	all->nsorts++;
	if (all->clause != NULL)
		return compare_pathkeys(pathkeys, all->pathkeys) == PATHKEYS_EQUAL;
	all->clause = linitial(clauses);
	all->pathkeys = pathkeys;
	/* a value that is known to be a constant has no keys */
	return list_length(pathkeys) == 1;
}

/* Notes an aggregate; false if it is not like the others. */
static bool
note_aggregate(PlannerInfo *root, ValueAggregates *all, Aggref *aggregate)
{
	ValueAggregateKind kind = value_aggregate_kind(aggregate);

	all->aggregates = lappend(all->aggregates, aggregate);
	if (kind == NO_VALUE_AGGREGATE || aggregate->aggfilter != NULL ||
		!is_as_in_core(root, aggregate) ||
		contain_subplans((Node *) aggregate->aggdirectargs))
		return false;
	switch (kind)
	{
		case COUNT_ROWS:
			return aggregate->args == NIL;
		case COUNT_VALUES:
			return note_value(all, aggregate);
		default:
			all->counts_distinct |= kind == COUNT_DISTINCT_VALUES;
			return note_value(all, aggregate) &&
				note_order(root, all, aggregate);
	}
}

/* Finds the aggregates of a query; false if they are others. */
static bool
find_aggregates(PlannerInfo *root, const RelOptInfo *grouped,
				const GroupPathExtraData *extra, ValueAggregates *all)
{
	List	   *exprs = list_make2(grouped->reltarget->exprs, extra->havingQual);
	List	   *found = pull_var_clause((Node *) exprs,
										PVC_INCLUDE_AGGREGATES |
										PVC_RECURSE_WINDOWFUNCS |
										PVC_INCLUDE_PLACEHOLDERS);
	ListCell   *cell;

	memset(all, 0, sizeof(ValueAggregates));
	foreach(cell, found)
	{
		Aggref	   *aggregate = lfirst(cell);

		if (!IsA(aggregate, Aggref))
			return false;
		if (list_member(all->aggregates, aggregate))
			continue;
		if (list_length(all->aggregates) == MOST_AGGREGATES ||
			!note_aggregate(root, all, aggregate))
			return false;
	}
	return all->clause != NULL;
}

/* Of an input all that is needed. */
static Path *
project_value(PlannerInfo *root, Path *input, const ValueAggregates *all)
{
	PathTarget *target = create_empty_pathtarget();

	add_column_to_pathtarget(target, (Expr *) copyObject(all->value), 0);
	return (Path *)
		create_projection_path(root, input->parent, input,
							   set_pathtarget_cost_width(root, target));
}

static Plan *
plan_aggregate(PlannerInfo *root, RelOptInfo *relation, CustomPath *path,
			   List *target_list, List *clauses, List *custom_plans)
{
	return &aggregate_make_plan(linitial_node(Sort, custom_plans), target_list,
								lsecond(path->custom_private),
								linitial(path->custom_private),
								linitial_oid(lthird(path->custom_private)))->scan.plan;
}

static const CustomPathMethods aggregate_path_methods = {
	.CustomName = "GpuSortAggregate",
	.PlanCustomPath = plan_aggregate
};

/*
 * The path of the aggregates of sorted values.  The Sort stays a child of it only
 * for the plan to get the columns.
 */
static Path *
make_aggregate(PlannerInfo *root, RelOptInfo *grouped, Path *sort,
			   const ValueAggregates *all, const GroupPathExtraData *extra,
			   Cost cost)
{
	CustomPath *path = makeNode(CustomPath);
	QualCost	having;

	cost_qual_eval(&having, (List *) extra->havingQual, root);
	path->path.pathtype = T_CustomScan;
	path->path.parent = grouped;
	path->path.pathtarget = grouped->reltarget;
	path->path.rows = 1;
	path->path.startup_cost = cost + having.startup + having.per_tuple +
		grouped->reltarget->cost.startup;
	path->path.total_cost = path->path.startup_cost +
		grouped->reltarget->cost.per_tuple;
	path->path.parallel_safe = grouped->consider_parallel &&
		sort->parallel_safe;
	path->path.parallel_workers = sort->parallel_workers;
	COPY_DISABLED_NODES(&path->path, sort);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(sort);
	path->custom_private = list_make3(all->aggregates, extra->havingQual,
									  list_make1_oid(all->clause->eqop));
	path->methods = &aggregate_path_methods;
	return &path->path;
}

/* In one process; NULL if the sort is none of ours. */
static Path *
make_alone(PlannerInfo *root, RelOptInfo *grouped, Path *input,
		   const ValueAggregates *all, const GroupPathExtraData *extra)
{
	Path	   *sort = sort_paths_make(root, input->parent,
									   project_value(root, input, all),
									   all->pathkeys, NO_BOUND);

	return sort == NULL ? NULL :
		make_aggregate(root, grouped, sort, all, extra,
					   sort->startup_cost +
					   (all->counts_distinct ? cost_counting(input->rows) : 0));
}

/* In all processes that run this partial path; NULL as above. */
static Path *
make_together(PlannerInfo *root, RelOptInfo *grouped, Path *partial,
			  double rows, const ValueAggregates *all,
			  const GroupPathExtraData *extra)
{
	Path	   *values = project_value(root, partial, all);
	double		participants = Max(rows / Max(partial->rows, 1), 1);
	SortSize	size;
	Cost		startup;
	Cost		total;
	Path	   *path;

	if (!sort_paths_share(root, values, all->pathkeys, rows, &size))
		return NULL;
	cost_sort_in_groups(&size, participants, 1 / participants, &startup,
						&total);
	path = make_aggregate(root, grouped,
						  (Path *) create_sort_path(root, values->parent, values,
													all->pathkeys, NO_BOUND),
						  all, extra,
						  values->total_cost + startup +
						  (all->counts_distinct ?
						   cost_counting(rows / participants) : 0));
	path->parallel_aware = true;
	rows = 1;
	path = (Path *) create_gather_path(root, grouped, path, path->pathtarget,
									   NULL, &rows);
	return path;
}

/* What a value is cast of. */
static Node *
skip_casts(Node *value)
{
	for (;;)
	{
		const FuncExpr *call = (const FuncExpr *) value;

		if (IsA(value, RelabelType))
			value = (Node *) ((RelabelType *) value)->arg;
		else if (IsA(value, FuncExpr) &&
				 (call->funcformat == COERCE_IMPLICIT_CAST ||
				  call->funcformat == COERCE_EXPLICIT_CAST))
			value = linitial(call->args);
		else
			return value;
	}
}

/*
 * How many values differ; where there are no statistics one, since core's sort takes
 * least where they are few.
 */
static double
estimate_values(PlannerInfo *root, const ValueAggregates *all)
{
	VariableStatData variable;
	bool		is_default;
	double		count;

	examine_variable(root, skip_casts((Node *) all->value), 0, &variable);
	count = get_variable_numdistinct(&variable, &is_default);
	ReleaseVariableStats(variable);
	return is_default ? 1 : count;
}

/*
 * What core's sorts of this input inside its Agg cost, which it takes to cost
 * nothing.
 */
static Cost
cost_of_core(PlannerInfo *root, const ValueAggregates *all, const Path *input)
{
	InnerSize	size = {input->rows, input->rows};

	if (aggregate_paths_are_presorted(root))
		return 0;
	/* values in order are hardly compared */
	size.group_values = sort_paths_come_in_order(root, input, all->pathkeys) ?
		1 : Min(estimate_values(root, all), input->rows);
	return all->nsorts * cost_sorts_inside(&size, exprType((Node *) all->value),
										   exprCollation((Node *) all->value));
}

void
value_paths_add(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped,
				const GroupPathExtraData *extra)
{
	Path	   *cheapest = input->cheapest_total_path;
	ValueAggregates all;
	Cost		spared;
	Path	   *alone;
	Path	   *together = NULL;

	if (!root->parse->hasAggs || root->parse->groupClause != NIL ||
		root->parse->groupingSets != NIL || root->parse->hasTargetSRFs ||
		root->numOrderedAggs == 0 || IS_OTHER_REL(grouped) ||
		!find_aggregates(root, grouped, extra, &all))
		return;
	alone = make_alone(root, grouped, cheapest, &all, extra);
	if (grouped->consider_parallel && input->partial_pathlist != NIL)
		together = make_together(root, grouped,
								 linitial(input->partial_pathlist),
								 cheapest->rows, &all, extra);
	if (alone == NULL && together == NULL)
		return;
	spared = cost_of_core(root, &all, cheapest);
	if (alone != NULL)
		aggregate_paths_add_sparing(root, grouped, alone, spared);
	if (together != NULL)
		aggregate_paths_add_sparing(root, grouped, together, spared);
}

void
value_paths_init(void)
{
	RegisterCustomScanMethods(&aggregate_scan_methods);
}
