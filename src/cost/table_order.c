/*-------------------------------------------------------------------------
 *
 * table_order.c
 *	  What statistics tell of a column: how far rows lie in its order, and what
 *	  its values are.
 *
 * Statistics have the correlation of a column's values with the places of
 * their rows, which is the order in which a sequential scan returns the rows.
 * Rows that come in order replace none in core's heap of the first rows.
 * Neighbouring rows with the same value look up an entry of a hash table that
 * is still in the caches.
 *
 * The correlation leaves out NULLs.  So nothing is known of a column that
 * has NULLs.
 *
 * The number of different values is known of expressions, too, if an index
 * or a statistics object has statistics of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_statistic_ext.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "statistics/statistics.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "cost/table_order.h"

/*
 * The number of these rows that have the same value; 1 if few rows are left.
 */
static double
rows_of_value(const FormData_pg_statistic *statistic, double rows)
{
	if (statistic->stadistinct < 0)
		return -1 / statistic->stadistinct;
	return statistic->stadistinct == 0 ? rows :
		Max(rows / statistic->stadistinct, 1);
}

/* Is this a number cast to double precision?  The cast keeps the order. */
static bool
is_cast_number(const Node *expr)
{
	if (!IsA(expr, FuncExpr))
		return false;
	switch (((const FuncExpr *) expr)->funcid)
	{
		case F_FLOAT8_INT2:
		case F_FLOAT8_INT4:
		case F_FLOAT8_INT8:
		case F_FLOAT8_FLOAT4:
		case F_FLOAT8_NUMERIC:
			return true;
		default:
			return false;
	}
}

/* The statistics of this column; NULL if there are none. */
static HeapTuple
find_statistics(const Node *expr, Index table, const RangeTblEntry *entry)
{
	const Var  *variable = (const Var *) expr;

	if (!IsA(expr, Var) || variable->varno != table ||
		entry->rtekind != RTE_RELATION)
		return NULL;
	return SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(entry->relid),
						   Int16GetDatum(variable->varattno),
						   BoolGetDatum(false));
}

/*
 * The order of a table by this column, or by the column that is cast here, in
 * a scan of this many rows.
 */
static bool
order_by_variable(const Node *expr, Index table, const RangeTblEntry *entry,
				  double rows, TableOrder *order)
{
	bool		is_cast = is_cast_number(expr);
	HeapTuple	tuple = find_statistics(is_cast ?
										linitial(((const FuncExpr *) expr)->args) :
										expr, table, entry);
	const FormData_pg_statistic *statistic;
	AttStatsSlot slot;
	bool		is_known;

	if (!HeapTupleIsValid(tuple))
		return false;
	statistic = (const FormData_pg_statistic *) GETSTRUCT(tuple);
	is_known = statistic->stanullfrac == 0 &&
		get_attstatsslot(&slot, tuple, STATISTIC_KIND_CORRELATION, InvalidOid,
						 ATTSTATSSLOT_NUMBERS);
	if (is_known)
	{
		order->sort_operator = is_cast ? Float8LessOperator : slot.staop;
		order->collation = slot.stacoll;
		order->correlation = slot.numbers[0];
		order->group_rows = rows_of_value(statistic, rows);
		free_attstatsslot(&slot);
	}
	ReleaseSysCache(tuple);
	return is_known;
}

bool
order_of_path(PlannerInfo *root, const Path *path, const Node *expr,
			  TableOrder *order)
{
	if (IsA(path, ProjectionPath))
		path = ((const ProjectionPath *) path)->subpath;
	return path->pathtype == T_SeqScan &&
		order_by_variable(expr, path->parent->relid,
						  planner_rt_fetch(path->parent->relid, root),
						  path->rows, order);
}

bool
order_of_plan(const Plan *plan, const Node *expr, const List *range_table,
			  TableOrder *order)
{
	Index		table;

	if (!IsA(plan, SeqScan))
		return false;
	table = ((const Scan *) plan)->scanrelid;
	return order_by_variable(expr, table, rt_fetch(table, range_table),
							 plan->plan_rows, order);
}

static const ColumnValues unknown_values = {0};

/* The position of an expression in a list, -1 if it is not there. */
static int
find_expression(const Node *expr, const List *list)
{
	ListCell   *cell;

	foreach(cell, list)
	{
		if (equal(expr, lfirst(cell)))
			return foreach_current_index(cell);
	}
	return -1;
}

/* A copy of an index's statistics of an expression; NULL if there are none. */
static HeapTuple
find_index_statistics(const Node *expr, Oid index)
{
	Relation	relation = index_open(index, AccessShareLock);
	int			wanted = find_expression(expr,
										 RelationGetIndexExpressions(relation));
	HeapTuple	tuple = NULL;

	for (int i = 0; i < relation->rd_index->indnkeyatts && wanted >= 0; i++)
	{
		if (relation->rd_index->indkey.values[i] == 0 && wanted-- == 0)
			tuple = SearchSysCacheCopy3(STATRELATTINH, ObjectIdGetDatum(index),
										Int16GetDatum(i + 1),
										BoolGetDatum(false));
	}
	index_close(relation, AccessShareLock);
	return tuple;
}

/* The expressions of a statistics object, in the planner's form. */
static List *
extended_expressions(Oid object)
{
	HeapTuple	tuple = SearchSysCache1(STATEXTOID, ObjectIdGetDatum(object));
	List	   *expressions = NIL;
	bool		isnull = true;
	Datum		value;

	if (!HeapTupleIsValid(tuple))
		return NIL;
	value = SysCacheGetAttr(STATEXTOID, tuple, Anum_pg_statistic_ext_stxexprs,
							&isnull);
	if (!isnull)
	{
		expressions = (List *)
			eval_const_expressions(NULL,
								   stringToNode(TextDatumGetCString(value)));
		fix_opfuncids((Node *) expressions);
	}
	ReleaseSysCache(tuple);
	return expressions;
}

/* The same of a statistics object. */
static HeapTuple
find_extended_statistics(const Node *expr, Oid object)
{
	int			wanted = find_expression(expr, extended_expressions(object));
	HeapTuple	data;
	bool		is_built;

	if (wanted < 0)
		return NULL;
	data = SearchSysCache2(STATEXTDATASTXOID, ObjectIdGetDatum(object),
						   BoolGetDatum(false));
	if (!HeapTupleIsValid(data))
		return NULL;
	is_built = statext_is_kind_built(data, STATS_EXT_EXPRESSIONS);
	ReleaseSysCache(data);
	return is_built ? statext_expressions_load(object, false, wanted) : NULL;
}

/* The same for a table, from its indexes and its statistics objects. */
static HeapTuple
find_expression_statistics(const Node *expr, Index table,
						   const RangeTblEntry *entry)
{
	HeapTuple	tuple = NULL;
	Node	   *own;
	Relation	relation;
	ListCell   *cell;

	if (entry->rtekind != RTE_RELATION || IsA(expr, Const))
		return NULL;
	own = copyObject((Node *) expr);
	ChangeVarNodes(own, table, 1, 0);
	/* it is locked, since a query of it is being planned or explained */
	relation = table_open(entry->relid, NoLock);
	foreach(cell, RelationGetIndexList(relation))
	{
		if (!HeapTupleIsValid(tuple))
			tuple = find_index_statistics(own, lfirst_oid(cell));
	}
	foreach(cell, RelationGetStatExtList(relation))
	{
		if (!HeapTupleIsValid(tuple))
			tuple = find_extended_statistics(own, lfirst_oid(cell));
	}
	table_close(relation, NoLock);
	return tuple;
}

/* What statistics tell about the values in a scan of this many rows. */
static ColumnValues
values_by_statistics(HeapTuple tuple, double rows)
{
	const FormData_pg_statistic *statistic =
		(const FormData_pg_statistic *) GETSTRUCT(tuple);
	ColumnValues values = {.null_part = statistic->stanullfrac};

	if (statistic->stadistinct != 0)
		values.different = Max(rows / rows_of_value(statistic, rows), 1);
	return values;
}

/* Like values_of_path(), for a scan of this many rows. */
static ColumnValues
values_of_variable(const Node *expr, Index table, const RangeTblEntry *entry,
				   double rows)
{
	bool		is_variable = IsA(expr, Var);
	HeapTuple	tuple = is_variable ? find_statistics(expr, table, entry) :
		find_expression_statistics(expr, table, entry);
	ColumnValues values = unknown_values;

	if (!HeapTupleIsValid(tuple))
		return values;
	values = values_by_statistics(tuple, rows);
	if (is_variable)
		ReleaseSysCache(tuple);
	else
		heap_freetuple(tuple);
	return values;
}

ColumnValues
values_of_path(PlannerInfo *root, const Path *path, const Node *expr)
{
	if (IsA(path, ProjectionPath))
		path = ((const ProjectionPath *) path)->subpath;
	if (path->pathtype != T_SeqScan && path->pathtype != T_IndexScan &&
		path->pathtype != T_BitmapHeapScan)
		return unknown_values;
	return values_of_variable(expr, path->parent->relid,
							  planner_rt_fetch(path->parent->relid, root),
							  path->rows);
}

ColumnValues
values_of_plan(const Plan *plan, const Node *expr, const List *range_table)
{
	Index		table;

	if (!IsA(plan, SeqScan) && !IsA(plan, IndexScan) &&
		!IsA(plan, BitmapHeapScan))
		return unknown_values;
	table = ((const Scan *) plan)->scanrelid;
	return values_of_variable(expr, table, rt_fetch(table, range_table),
							  plan->plan_rows);
}

double
table_order_correlation(const TableOrder *order, Oid sort_operator,
						Oid collation)
{
	if (order->collation != collation)
		return 0;
	if (order->sort_operator == sort_operator)
		return order->correlation;
	return order->sort_operator == get_commutator(sort_operator) ?
		-order->correlation : 0;
}
