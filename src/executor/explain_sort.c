/*-------------------------------------------------------------------------
 *
 * explain_sort.c
 *	  What EXPLAIN shows of a sort: its keys and its report.
 *
 * Keys are shown as core shows the keys of a Sort.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/typcache.h"

#include "executor/explain_sort.h"
#include "port/compat.h"

/* Returns a sort column as EXPLAIN shows it, in the words of ORDER BY. */
static char *
describe_column(const SortColumn *column, Node *expr, List *context,
				bool use_prefix)
{
	StringInfoData text;
	Oid			type = exprType(expr);
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_LT_OPR |
											  TYPECACHE_GT_OPR);
	bool		descending = false;

	initStringInfo(&text);
	appendStringInfoString(&text, deparse_expression(expr, context,
													 use_prefix, true));

	/* name a collation that is not the type's own, as core does */
	if (OidIsValid(column->collation) &&
		column->collation != get_typcollation(type))
	{
		char	   *collation = get_collation_name(column->collation);

		if (collation == NULL)
			elog(ERROR, "cache lookup failed for collation %u",
				 column->collation);
		appendStringInfo(&text, " COLLATE %s", quote_identifier(collation));
	}

	if (column->sort_operator == entry->gt_opr)
	{
		appendStringInfoString(&text, " DESC");
		descending = true;
	}
	else if (column->sort_operator != entry->lt_opr)
	{
		char	   *operator = get_opname(column->sort_operator);

		if (operator == NULL)
			elog(ERROR, "cache lookup failed for operator %u",
				 column->sort_operator);
		appendStringInfo(&text, " USING %s", operator);
		(void) get_equality_op_for_ordering_op(column->sort_operator,
											   &descending);
	}

	if (column->nulls_first && !descending)
		appendStringInfoString(&text, " NULLS FIRST");
	else if (!column->nulls_first && descending)
		appendStringInfoString(&text, " NULLS LAST");
	return text.data;
}

List *
explain_sort_describe_keys(Plan *plan, const List *target_list,
						   const SortColumn *columns, int ncolumns,
						   List *ancestors, ExplainState *es)
{
	List	   *context = set_deparse_context_plan(es->deparse_cxt, plan,
												   ancestors);
	bool		use_prefix = EXPLAIN_TABLES(es) > 1 || es->verbose;
	List	   *descriptions = NIL;

	for (int i = 0; i < ncolumns; i++)
	{
		TargetEntry *entry = list_nth(target_list, columns[i].attno - 1);

		descriptions = lappend(descriptions,
							   describe_column(&columns[i],
											   (Node *) entry->expr, context,
											   use_prefix));
	}
	return descriptions;
}

void
explain_sort_keys(const char *name, const CustomScanState *node,
				  const SortColumn *columns, int ncolumns, List *ancestors,
				  ExplainState *es)
{
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	List	   *target_list = scan->scan.plan.targetlist;

	/* a node need not emit the columns by which it sorts */
	if (list_length(target_list) < list_length(scan->custom_scan_tlist))
		target_list = scan->custom_scan_tlist;
	ExplainPropertyList(name,
						explain_sort_describe_keys(&scan->scan.plan, target_list,
												   columns, ncolumns, ancestors,
												   es),
						es);
}

void
explain_sort_report(const RowSortReport *report, ExplainState *es)
{
	ExplainPropertyText("Sort Method", report->method, es);
	if (report->device[0] != '\0')
	{
		ExplainPropertyText("Device", report->device, es);
		ExplainPropertyInteger("Rows", NULL, report->nrows, es);
	}
	if (report->left_out_rows > 0)
		ExplainPropertyUInteger("Rows Left Out Early", NULL,
								report->left_out_rows, es);
	if (report->workers > 0)
		ExplainPropertyInteger("Sorted With Workers", NULL, report->workers,
							   es);
	if (report->workers_alone > 0)
		ExplainPropertyInteger("Sorts By Workers", NULL,
							   report->workers_alone, es);
	if (report->kept_rows > 0)
		ExplainPropertyInteger("Rows Written By Workers", NULL,
							   report->kept_rows, es);
	if (report->gathered_rows > 0)
		ExplainPropertyUInteger("Rows Gathered By Workers", NULL,
								report->gathered_rows, es);
	ExplainPropertyInteger(report->on_disk ? "Disk" : "Memory", "kB",
						   (report->memory + 1023) / 1024, es);
	if (es->timing)
	{
		ExplainPropertyFloat("Input Time", "ms",
							 report->fill_microseconds / 1000.0, 3, es);
		ExplainPropertyFloat("Sort Time", "ms",
							 report->sort_microseconds / 1000.0, 3, es);
		if (report->on_device)
			ExplainPropertyFloat("Device Time", "ms",
								 report->device_microseconds / 1000.0, 3, es);
	}
}
