/*-------------------------------------------------------------------------
 *
 * take_builds.c
 *	  Taking over the builds of B-tree and GIN indexes.
 *
 * Everything that builds an index (CREATE INDEX, REINDEX, constraints, CLUSTER
 * and others, CONCURRENTLY or not) ends in core's index_build().  That plans
 * the number of parallel workers, as the planner would plan a query, and then
 * calls the access method's ambuild.
 *
 * So a hook of the planner is called with the table just before every build.
 * It looks for the table's open index, and puts gpusort's function in the
 * place of the access method's in that index's relcache entry.  The entry may
 * outlive the build; the function can always call the access method's.
 * Before 18 core plans no builds of GIN indexes, so these stay native.
 *
 * A build stays native
 *	- if the table is too small to gain;
 *	- of a B-tree, if its first column's type, collation or operator class has
 *	  no key encoding, or another column cannot be compared.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/gin_private.h"
#include "access/nbtree.h"
#include "access/transam.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "tcop/utility.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "index/index_build.h"
#include "index/index_rows.h"
#include "index/inverted_build.h"
#include "index/take_builds.h"
#include "index/worker_setting.h"
#include "port/compat.h"
#include "refusal.h"
#include "settings.h"

/* Returns why core has to build a B-tree, or REFUSAL_NONE. */
static Refusal
refuse_btree(Relation index, double rows)
{
	int			ncolumns;
	SortColumn *columns = index_columns(index, &ncolumns);
	Refusal		refusal = sort_keys_refuse(index_column_type(index, 0),
										   columns[0].sort_operator,
										   columns[0].collation);

	/* rows are compared by the other columns, which takes operators */
	for (int i = 0; i < ncolumns && refusal == REFUSAL_NONE; i++)
	{
		if (!OidIsValid(columns[i].sort_operator))
			refusal = REFUSAL_OPERATOR;
	}
	pfree(columns);

	if (refusal == REFUSAL_NONE && rows < gpusort_min_rows)
		refusal = REFUSAL_SMALL;
	return refusal;
}

/* Returns about how many rows a table has. */
static double
estimate_rows(Relation heap)
{
	BlockNumber pages;
	double		rows;
	double		visible;

	estimate_rel_size(heap, NULL, &pages, &rows, &visible);
	return rows;
}

/* Replaces btbuild(). */
static IndexBuildResult *
build_btree(Relation heap, Relation index, IndexInfo *info)
{
	double		rows;
	Refusal		refusal;

	if (!gpusort_enable || !gpusort_enable_index_build)
		return btbuild(heap, index, info);

	rows = estimate_rows(heap);
	refusal = refuse_btree(index, rows);
	if (refusal != REFUSAL_NONE)
	{
		refusal_count_index_build(refusal);
		return btbuild(heap, index, info);
	}
	return index_build_perform(heap, index, info, rows);
}

/* Replaces ginbuild(). */
static IndexBuildResult *
build_gin(Relation heap, Relation index, IndexInfo *info)
{
	double		rows;

	if (!gpusort_enable || !gpusort_enable_index_build)
		return ginbuild(heap, index, info);

	rows = estimate_rows(heap);
	if (rows < gpusort_min_rows)
	{
		refusal_count_index_build(REFUSAL_SMALL);
		return ginbuild(heap, index, info);
	}
	return inverted_build_perform(heap, index, info, rows);
}

/*
 * Gives an entry a copy of its methods, since it may share them with other
 * entries.
 */
static void
use_own_build(Relation index, ambuild_function build)
{
	IndexAmRoutine *methods = MemoryContextAlloc(index->rd_indexcxt,
												 sizeof(IndexAmRoutine));

	*methods = *index->rd_indam;
	methods->ambuild = build;
	index->rd_indam = methods;
}

/* Takes over the builds of a table's open indexes. */
static void
take_builds_of_table(Oid table)
{
	Relation	heap = RelationIdGetRelation(table);
	List	   *indexes;
	ListCell   *cell;

	if (heap == NULL)
		return;
	indexes = RelationGetIndexList(heap);
	foreach(cell, indexes)
	{
		Relation	index = RelationIdGetRelation(lfirst_oid(cell));

		if (index == NULL)
			continue;
		/* one reference is ours; an entry with no other may be dropped */
		if (index->rd_refcnt > 1 && index->rd_indam != NULL)
		{
			if (index->rd_indam->ambuild == btbuild)
				use_own_build(index, build_btree);
			else if (index->rd_indam->ambuild == ginbuild)
				use_own_build(index, build_gin);
		}
		RelationClose(index);
	}
	list_free(indexes);
	RelationClose(heap);
}

/*
 * Core plans an index build as a query that has nothing but a relation,
 * without a FROM.
 */
void
take_builds_of(PlannerInfo *root, RelOptInfo *rel)
{
	RangeTblEntry *entry = root->simple_rte_array[rel->relid];

	/* CLUSTER asks in the same way whether to sort, but does not set inh */
	if (root->parse->jointree != NULL || !entry->inh)
		return;
	if (worker_setting_is_lent())
		rel->rel_parallel_workers = 0;
	if (gpusort_enable && gpusort_enable_index_build &&
		entry->relid >= FirstNormalObjectId)
		take_builds_of_table(entry->relid);
}

/* May this statement build indexes? */
static bool
builds_indexes(const Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_AlterTableStmt:
		case T_IndexStmt:
		case T_RefreshMatViewStmt:
		case T_ReindexStmt:
		case T_RepackStmt:
			return true;
		case T_VacuumStmt:
			{
				ListCell   *cell;

				/* only VACUUM FULL; a plain VACUUM may use workers itself */
				foreach(cell, ((const VacuumStmt *) statement)->options)
				{
					DefElem    *option = lfirst(cell);

					if (strcmp(option->defname, "full") == 0)
						return defGetBoolean(option);
				}
				return false;
			}
		default:
			return false;
	}
}

/*
 * With max_parallel_maintenance_workers = 0 core does not plan index builds,
 * and does not call take_builds_of().  So for statements that may build
 * indexes, the setting is lent another value, and take_builds_of() tells core
 * that the table is not for workers.
 */
bool
take_builds_begin(const Node *statement)
{
	return gpusort_enable && gpusort_enable_index_build &&
		builds_indexes(statement) && worker_setting_lend();
}

void
take_builds_end(void)
{
	worker_setting_take_back();
}
