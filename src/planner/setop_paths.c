/*-------------------------------------------------------------------------
 *
 * setop_paths.c
 *	  Paths of set operations over rows that are sorted together.
 *
 * Core hashes the rows of a UNION, INTERSECT or EXCEPT in one process, or
 * sorts them.  A GpuSortSetOp (node_setop.c) sorts the rows of all inputs
 * together, with the number of the input as the last sort column, and emits
 * groups of equal rows:
 *
 *		GpuSortSetOp -> Append -> paths of the inputs
 *
 * The inputs may be partial paths.  Then all processes emit whole groups, and
 * the nodes above may run in all of them, too.
 *
 * Nothing tells a hook what the operation of a relation is.  So it is taken
 * from core's own paths for the relation.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "utils/selfuncs.h"

#include "cost/sort_cost.h"
#include "executor/node_setop.h"
#include "executor/node_unique.h"
#include "planner/gather_paths.h"
#include "planner/group_paths.h"
#include "planner/repeated_work.h"
#include "planner/setop_paths.h"
#include "planner/sort_paths.h"
#include "port/compat.h"
#include "settings.h"

/*
 * A look-up of a set operation takes this part of a grouping's, which has
 * aggregates beside the row in its table.  EXCEPT of two tables of a million
 * different rows, hashed / sorted, one process, host engine: bigint 750 / 440
 * ms, text of 32 bytes 800 / 810, both and a numeric 930 / 1000.
 */
#define SETOP_HASH_PART		0.45

/* A set operation, as core's paths tell it. */
typedef struct PlannedSetop
{
	PlannerInfo *root;
	RelOptInfo *relation;
	SetOperationKind kind;		/* unless it is a UNION */
	const SetOpPath *setop;		/* core's path, unless it is a UNION */
	List	   *inputs;			/* relations of the inputs; rows of the first
								 * are emitted */
	int			ncolumns;		/* columns that are compared, the first ones */
	List	   *clause;			/* SortGroupClauses of them, or NIL */
	List	   *column_keys;	/* path keys of them, or NIL */
	double		rows;			/* rows that are emitted */
	PathTarget *emitted;		/* what core's paths emit */

	/* estimates */
	double		input_rows;		/* rows of all inputs */
	double		ngroups;		/* groups in all inputs */
	double		largest_part;	/* part of all rows that the largest group has */

	/* the order of all inputs together */
	List	   *columns;		/* columns by which rows are sorted */
	List	   *keys;			/* path keys of them */
} PlannedSetop;

/*
 * ---- the operation
 */

/* If it is not, the operation has to know the inputs of rows. */
static inline bool
is_union(const PlannedSetop *operation)
{
	return operation->setop == NULL;
}

static const Path *
below_projection(const Path *path)
{
	return IsA(path, ProjectionPath) ? ((const ProjectionPath *) path)->subpath :
		path;
}

/*
 * The relations of these paths; NIL if one of them is not known.  Before 17
 * core's paths for a UNION have another relation than the UNION.
 */
static List *
relations_of(const List *paths)
{
	List	   *relations = NIL;
	ListCell   *cell;

	foreach(cell, paths)
	{
		RelOptInfo *relation = ((const Path *) lfirst(cell))->parent;

		if (relation->cheapest_total_path == NULL)
			return NIL;
		relations = lappend(relations, relation);
	}
	return relations;
}

/*
 * The inputs that a path appends, perhaps below a sort and a Gather; NIL if it
 * does not.
 */
static List *
appended_inputs(const Path *path)
{
	if (IsA(path, SortPath))
		path = ((const SortPath *) path)->subpath;
	if (IsA(path, GatherPath))
		path = ((const GatherPath *) path)->subpath;
	if (IsA(path, AppendPath))
		return relations_of(((const AppendPath *) path)->subpaths);
	if (IsA(path, MergeAppendPath))
		return relations_of(((const MergeAppendPath *) path)->subpaths);
	return NIL;
}

static SetOperationKind
kind_of_command(SetOpCmd command)
{
	switch (command)
	{
		case SETOPCMD_INTERSECT:
			return SET_INTERSECT;
		case SETOPCMD_INTERSECT_ALL:
			return SET_INTERSECT_ALL;
		case SETOPCMD_EXCEPT:
			return SET_EXCEPT;
		case SETOPCMD_EXCEPT_ALL:
			return SET_EXCEPT_ALL;
	}
	pg_unreachable();
}

/* Takes the operation from one of core's paths; false if that is no such path. */
static bool
take_path(PlannedSetop *operation, const Path *path)
{
	operation->setop = NULL;
	operation->clause = NIL;
	operation->column_keys = NIL;
	operation->rows = path->rows;
	if (IsA(path, SetOpPath))
	{
		const SetOpPath *setop = (const SetOpPath *) path;

		operation->setop = setop;
		operation->kind = kind_of_command(setop->cmd);
		operation->clause = SETOP_CLAUSE(setop);
		operation->inputs = relations_of(SETOP_PATHS(setop));
		operation->ncolumns = list_length(operation->clause);
	}
	else if (IsA(path, AggPath))
	{
		const AggPath *agg = (const AggPath *) path;

		operation->clause = agg->groupClause;
		operation->inputs = appended_inputs(agg->subpath);
		operation->ncolumns = list_length(operation->clause);
	}
	else if (IsA(path, UniquePath))
	{
		const UniquePath *unique = (const UniquePath *) path;

		operation->column_keys = unique->subpath->pathkeys;
		operation->inputs = appended_inputs(unique->subpath);
		operation->ncolumns = list_length(operation->column_keys);
	}
	else
		return false;
	return operation->inputs != NIL && operation->ncolumns > 0;
}

/* Finds the operation of a relation; false if it has none of ours. */
static bool
find_operation(PlannedSetop *operation, PlannerInfo *root,
			   RelOptInfo *relation)
{
	ListCell   *cell;

	operation->root = root;
	operation->relation = relation;
	foreach(cell, relation->pathlist)
	{
		const Path *path = lfirst(cell);

		operation->emitted = path->pathtarget;
		if (take_path(operation, below_projection(path)))
			break;
	}
	if (cell == NULL)
		return false;
	/* before 18 INTERSECT and EXCEPT emit a column that nobody looks at */
	return operation->ncolumns == list_length(relation->reltarget->exprs) -
		(is_union(operation) ? 0 : SETOP_INPUT_COLUMNS) &&
		(operation->clause == NIL || grouping_is_sortable(operation->clause));
}

/*
 * ---- what is expected of the inputs
 */

/* The expressions that a subquery emits. */
static List *
emitted_expressions(const PlannerInfo *subroot)
{
	return get_tlist_exprs(subroot->parse->targetList, false);
}

/* Are all rows that the subquery emits different? */
static bool
emits_groups(const PlannerInfo *subroot)
{
	const Query *query = subroot->parse;

	return query->groupClause != NIL || query->groupingSets != NIL ||
		query->distinctClause != NIL || query->setOperations != NULL ||
		query->hasAggs || subroot->hasHavingQual;
}

/*
 * Adds what is expected of one input to the operation's estimates: groups, and
 * the part of this input's rows that the largest group has.  False if statistics
 * do not tell.
 */
static bool
estimate_input(const RelOptInfo *input, double *ngroups, double *largest_part)
{
	PlannerInfo *subroot = input->subroot;
	double		rows = Max(input->cheapest_total_path->rows, 1);
	double		part = 1;
	List	   *columns;
	ListCell   *cell;

	*ngroups = rows;
	*largest_part = 1 / rows;
	if (subroot == NULL || emits_groups(subroot))
		return true;
	columns = emitted_expressions(subroot);
	if (!sort_paths_know_values(subroot, columns))
		return false;
	*ngroups = estimate_num_groups(subroot, columns, rows, NULL, NULL);
	foreach(cell, columns)
	{
		if (!IsA(lfirst(cell), Const))
			part = Min(part, group_paths_largest_part(subroot, lfirst(cell)));
	}
	*largest_part = part;
	return true;
}

static double
count_rows(const List *inputs)
{
	double		rows = 0;
	ListCell   *cell;

	foreach(cell, inputs)
		rows += ((const RelOptInfo *) lfirst(cell))->cheapest_total_path->rows;
	return rows;
}

/* Sets the estimates of groups; false if statistics do not tell. */
static bool
estimate_groups(PlannedSetop *operation)
{
	double		largest_rows = 0;
	ListCell   *cell;

	operation->ngroups = 0;
	foreach(cell, operation->inputs)
	{
		const RelOptInfo *input = lfirst(cell);
		double		ngroups;
		double		largest_part;

		if (!estimate_input(input, &ngroups, &largest_part))
			return false;
		operation->ngroups += ngroups;
		largest_rows += input->cheapest_total_path->rows * largest_part;
	}
	operation->largest_part = largest_rows / Max(operation->input_rows, 1);
	return true;
}

/*
 * ---- what is sorted
 */

/*
 * A column of this number, as an entry of a target list.  Core labels the
 * columns of set operations by their numbers.
 */
static TargetEntry *
labelled_column(Expr *expr, AttrNumber number)
{
	TargetEntry *entry = makeTargetEntry(expr, number, NULL, false);

	entry->ressortgroupref = number;
	return entry;
}

/* The columns by which the rows of all inputs are sorted. */
static List *
sorted_columns(const PlannedSetop *operation)
{
	List	   *columns = NIL;
	int			number = 0;
	ListCell   *cell;

	foreach(cell, operation->relation->reltarget->exprs)
	{
		if (number < operation->ncolumns)
			columns = lappend(columns,
							  labelled_column(lfirst(cell), ++number));
	}
	/* core has a column like this, of the same number, before 18 */
	number++;
	if (!is_union(operation))
		columns = lappend(columns,
						  labelled_column((Expr *) makeVar(0, number, INT4OID, -1,
														   InvalidOid, 0),
										  number));
	return columns;
}

/* The path keys of the columns by which the rows are sorted. */
static List *
make_keys(const PlannedSetop *operation)
{
	List	   *columns = operation->columns;
	List	   *keys = operation->column_keys;
	SortGroupClause *input;

	if (keys == NIL)
		keys = make_pathkeys_for_sortclauses(operation->root,
											 operation->clause, columns);
	if (is_union(operation))
		return keys;
	input = makeNode(SortGroupClause);
	input->tleSortGroupRef = operation->ncolumns + 1;
	input->eqop = Int4EqualOperator;
	input->sortop = Int4LessOperator;
	return list_concat_copy(keys,
							make_pathkeys_for_sortclauses(operation->root,
														  list_make1(input),
														  columns));
}

/* A path of an input, with the input's number behind the first columns. */
static Path *
number_input(const PlannedSetop *operation, Path *path, int number)
{
	Const	   *input = makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
								  Int32GetDatum(number), false, true);
	List	   *columns = NIL;
	ListCell   *cell;

	foreach(cell, path->pathtarget->exprs)
	{
		int			column = foreach_current_index(cell) + 1;

		if (column <= operation->ncolumns)
			columns = lappend(columns, makeTargetEntry(lfirst(cell), column,
													   NULL, false));
	}
	columns = lappend(columns, makeTargetEntry((Expr *) input,
											   operation->ncolumns + 1, NULL,
											   false));
	path = (Path *)
		create_projection_path(operation->root, path->parent, path,
							   create_pathtarget(operation->root, columns));
	/* core expects that the node of a subquery does nothing, and goes */
	path->total_cost += cpu_tuple_cost * path->rows;
	return path;
}

/*
 * The path that appends these paths of the inputs.  Partial paths are appended
 * as core does it for a UNION ALL.
 */
static Path *
append_inputs(const PlannedSetop *operation, List *paths, bool partial)
{
	int			nworkers = 0;
	ListCell   *cell;
	Path	   *path;

	foreach(cell, paths)
	{
		if (!is_union(operation))
			lfirst(cell) = number_input(operation, lfirst(cell),
										foreach_current_index(cell));
		nworkers = Max(nworkers,
					   ((const Path *) lfirst(cell))->parallel_workers);
	}
	if (partial && enable_parallel_append)
		nworkers = Min(Max(nworkers,
						   ceil(log2(list_length(paths) + 1))),
					   max_parallel_workers_per_gather);
	path = (Path *)
		CREATE_APPEND_PATH(operation->root, operation->relation,
						   partial ? NIL : paths, partial ? paths : NIL,
						   nworkers, partial && enable_parallel_append);
	path->pathtarget = create_pathtarget(operation->root, operation->columns);
	return path;
}

/* The cheapest paths of the inputs, or the partial ones; NIL if one has none. */
static List *
input_paths(const PlannedSetop *operation, bool partial)
{
	List	   *paths = NIL;
	ListCell   *cell;

	foreach(cell, operation->inputs)
	{
		const RelOptInfo *input = lfirst(cell);

		if (!partial)
			paths = lappend(paths, input->cheapest_total_path);
		else if (input->consider_parallel && input->partial_pathlist != NIL)
			paths = lappend(paths, linitial(input->partial_pathlist));
		else
			return NIL;
	}
	return paths;
}

/* Makes a path emit what core's paths do: the number of an input above this one. */
static Path *
project_result(const PlannedSetop *operation, Path *path)
{
	if (equal(path->pathtarget->exprs, operation->emitted->exprs))
		return path;
	return (Path *)
		create_projection_path(operation->root, operation->relation, path,
							   operation->emitted);
}

/*
 * ---- paths for one process
 */

/* An input in the order of its columns.  Sets *sorts if it is one of our sorts. */
static Path *
order_input(const PlannedSetop *operation, Path *input, bool *sorts)
{
	List	   *columns = NIL;
	List	   *keys;
	Path	   *sort;
	ListCell   *cell;

	foreach(cell, input->pathtarget->exprs)
		columns = lappend(columns, labelled_column(lfirst(cell),
												   list_length(columns) + 1));
	keys = make_pathkeys_for_sortclauses(operation->root, operation->clause,
										 columns);
	if (pathkeys_contained_in(keys, input->pathkeys))
		return input;
	sort = sort_paths_make(operation->root, input->parent, input, keys,
						   NO_BOUND);
	*sorts |= sort != NULL;
	return sort != NULL ? sort : (Path *)
		create_sort_path(operation->root, input->parent, input, keys, NO_BOUND);
}

/* Core's SetOp over sorted inputs; NULL if none of the sorts is ours. */
static Path *
make_setop_alone(const PlannedSetop *operation)
{
	SetOpPath  *setop = makeNode(SetOpPath);
	bool		sorts = false;
	List	   *inputs;
	ListCell   *cell;

	/* a copy has all fields of this version of the server */
	*setop = *operation->setop;
	inputs = SETOP_INPUTS(setop);
	setop->strategy = SETOP_SORTED;
	setop->path.startup_cost = 0;
	setop->path.total_cost = cpu_operator_cost *
		(operation->input_rows * operation->ncolumns + operation->rows);
	foreach(cell, inputs)
	{
		Path	   *input = order_input(operation, lfirst(cell), &sorts);

		lfirst(cell) = input;
		setop->path.startup_cost += input->startup_cost;
		setop->path.total_cost += input->total_cost;
	}
	if (!sorts)
		return NULL;
	setop->path.pathkeys = ((Path *) linitial(inputs))->pathkeys;
	SET_SETOP_INPUTS(setop, inputs);
	return &setop->path;
}

/* A Unique over all rows in order; NULL if the sort is not ours. */
static Path *
make_union_alone(const PlannedSetop *operation)
{
	Path	   *input = append_inputs(operation, input_paths(operation, false),
									  false);
	Path	   *sort = sort_paths_make(operation->root, operation->relation,
									   input, operation->keys, NO_BOUND);

	return sort == NULL ? NULL : (Path *)
		create_unique_path(operation->root, operation->relation, sort,
						   list_length(operation->keys), operation->rows);
}

static Path *
make_alone(const PlannedSetop *operation)
{
	Path	   *path = is_union(operation) ?
		make_union_alone(operation) : make_setop_alone(operation);

	return path == NULL ? NULL : project_result(operation, path);
}

/*
 * ---- paths for all processes
 */

static Plan *
plan_setop(PlannerInfo *root, RelOptInfo *relation, CustomPath *path,
		   List *target_list, List *clauses, List *custom_plans)
{
	return &setop_make_plan(linitial_node(Sort, custom_plans), target_list,
							linitial_int(path->custom_private))->scan.plan;
}

static const CustomPathMethods setop_path_methods = {
	.CustomName = "GpuSortSetOp",
	.PlanCustomPath = plan_setop
};

static Plan *
plan_union(PlannerInfo *root, RelOptInfo *relation, CustomPath *path,
		   List *target_list, List *clauses, List *custom_plans)
{
	return &unique_make_plan(linitial_node(Sort, custom_plans),
							 target_list)->scan.plan;
}

static const CustomPathMethods union_path_methods = {
	.CustomName = "GpuSortUnique",
	.PlanCustomPath = plan_union
};

/*
 * The path of the node in the place of this Sort.  "busiest" is the part of all
 * rows that the busiest process has.
 */
static Path *
make_node(const PlannedSetop *operation, SortPath *sort,
		  const SortSize *size, double members, double busiest)
{
	CustomPath *path = group_paths_above(sort, size, members, busiest);

	path->path.pathtarget = operation->relation->reltarget;
	path->path.rows = clamp_row_est(operation->rows / members);
	path->path.total_cost += cpu_operator_cost *
		(size->rows * busiest * operation->ncolumns + path->path.rows);
	path->path.pathkeys = list_truncate(list_copy(sort->path.pathkeys),
										operation->ncolumns);
	if (is_union(operation))
		path->methods = &union_path_methods;
	else
	{
		path->methods = &setop_path_methods;
		path->custom_private = list_make1_int(operation->kind);
	}
	return &path->path;
}

/* The cost of what processes repeat below the inputs' partial paths. */
static Cost
cost_repeated(const PlannedSetop *operation, double members)
{
	Cost		cost = 0;
	ListCell   *cell;

	foreach(cell, operation->inputs)
	{
		const RelOptInfo *input = lfirst(cell);

		cost += repeated_work_cost(linitial(input->partial_pathlist),
								   members, input->cheapest_total_path);
	}
	return cost;
}

/* The partial path; NULL if gpusort does not do the sort. */
static Path *
make_together(const PlannedSetop *operation)
{
	RelOptInfo *relation = operation->relation;
	List	   *paths = input_paths(operation, true);
	Path	   *input;
	SortSize	size;
	double		members;
	double		busiest;
	Cost		repeated;
	Path	   *path;

	if (paths == NIL || !sort_paths_join_equals(operation->keys))
		return NULL;
	/* core finds INTERSECT and EXCEPT without workers */
	relation->consider_parallel = true;
	input = append_inputs(operation, paths, true);
	if (!sort_paths_share(operation->root, input, operation->keys,
						  operation->input_rows, &size))
		return NULL;
	members = Max(operation->input_rows / Max(input->rows, 1), 1);
	busiest = group_paths_busiest_share(operation->ngroups,
										operation->largest_part,
										members);
	path = make_node(operation,
					 create_sort_path(operation->root, relation, input,
									  operation->keys, NO_BOUND),
					 &size, members, busiest);
	repeated = cost_repeated(operation, members);
	path->startup_cost += repeated;
	path->total_cost += repeated;
	return project_result(operation, path);
}

/*
 * ---- hashing
 */

/* The cost of hashing in core's path beyond what core expects. */
static Cost
hashing_more(const PlannedSetop *operation, const Path *path)
{
	int			width = path->pathtarget->width;

	path = below_projection(path);
	if (IsA(path, AggPath))
		return cost_hashing_more(operation->input_rows, operation->ngroups,
								 width);
	if (IsA(path, SetOpPath) &&
		((const SetOpPath *) path)->strategy == SETOP_HASHED)
		return SETOP_HASH_PART *
			cost_hashing_more(operation->input_rows,
							  ((const SetOpPath *) path)->numGroups, width);
	return 0;
}

/* Charges all paths of the relation for hashing. */
static void
charge_hashing(const PlannedSetop *operation)
{
	RelOptInfo *relation = operation->relation;
	List	   *paths = relation->pathlist;
	ListCell   *cell;

	/* they are in the order of their costs */
	relation->pathlist = NIL;
	foreach(cell, paths)
	{
		Path	   *path = lfirst(cell);
		Cost		more = hashing_more(operation, path);

		path->startup_cost += more;
		path->total_cost += more;
		add_path(relation, path);
	}
}

void
setop_paths_add(PlannerInfo *root, RelOptInfo *relation)
{
	PlannedSetop operation;
	Path	   *alone;
	Path	   *together;

	if (!find_operation(&operation, root, relation))
		return;
	operation.input_rows = count_rows(operation.inputs);
	if (operation.input_rows < gpusort_min_rows ||
		!estimate_groups(&operation))
		return;
	operation.columns = sorted_columns(&operation);
	operation.keys = make_keys(&operation);

	/* what core has found so far, and this path, stay without workers */
	alone = make_alone(&operation);
	together = make_together(&operation);
	if (alone == NULL && together == NULL)
		return;

	charge_hashing(&operation);
	if (alone != NULL)
		add_path(relation, alone);
	if (together != NULL)
		gather_paths_add(root, relation, together, operation.rows);
}

void
setop_paths_init(void)
{
	RegisterCustomScanMethods(&setop_scan_methods);
}
