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
 * place of the access method's in that index's relcache entry.  An entry that
 * is open keeps the function when it is invalidated.  It may outlive the
 * build; the function can always call the access method's.
 *
 * Before 18 core does not plan builds of GIN indexes.  There gpusort learns of
 * a build by what happens just before it, while the index is open:
 *	- A new index gets its rows in the catalogs, after which a hook is called.
 *	- An index that is rebuilt gets a new file.  That changes its row in the
 *	  catalogs, and functions are called that watch the relcache.
 * A concurrent build is that of an index which is there already, and nothing
 * happens when it begins.  So it is native, unless the entry of the new index
 * has outlived the transaction that made it.
 *
 * A build stays native
 *	- if the table is too small to gain;
 *	- of a B-tree, if its first column's type, collation or operator class has
 *	  no key encoding, or another column cannot be compared;
 *	- of a GIN index before 18, as a rule, if it is concurrent.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/gin_private.h"
#include "access/nbtree.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "storage/bufmgr.h"
#include "tcop/utility.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "btree/index_build.h"
#include "btree/index_rows.h"
#include "heap/heap_sample.h"
#include "index/take_builds.h"
#include "index/worker_setting.h"
#include "inverted/inverted_build.h"
#include "port/compat.h"
#include "port/is_heap.h"
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

	if (heap->rd_rel->reltuples < 0 && is_heap(heap))
		return heap_sample_rows(heap);
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
	/* an empty table, as after TRUNCATE, has no rows to share */
	if (!GIN_BUILDS_ARE_PLANNED && RelationGetNumberOfBlocks(heap) > 0)
		info->ii_ParallelWorkers =
			plan_create_index_workers(RelationGetRelid(heap),
									  RelationGetRelid(index));
	return inverted_build_perform(heap, index, info, rows);
}

/*
 * Puts gpusort's function in the place of core's, if an entry has that.  The
 * entry gets a copy of its methods, since it may share them with others.
 */
static void
replace_build(Relation index, ambuild_function core, ambuild_function own)
{
	IndexAmRoutine *methods;

	if (index->rd_indam == NULL || index->rd_indam->ambuild != core)
		return;
	methods = MemoryContextAlloc(index->rd_indexcxt, sizeof(IndexAmRoutine));
	*methods = *index->rd_indam;
	methods->ambuild = own;
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
		if (index->rd_refcnt > 1)
		{
			replace_build(index, btbuild, build_btree);
			replace_build(index, ginbuild, build_gin);
		}
		RelationClose(index);
	}
	list_free(indexes);
	RelationClose(heap);
}

/* May builds of this relation, or of its indexes, be taken over? */
static bool
may_take(Oid relation)
{
	return gpusort_enable && gpusort_enable_index_build &&
		relation >= FirstNormalObjectId;
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
	if (may_take(entry->relid))
		take_builds_of_table(entry->relid);
}

void
take_builds_of_new(Oid relation)
{
	Relation	index = may_take(relation) ? RelationIdGetRelation(relation) : NULL;

	if (index == NULL)
		return;
	if (index->rd_rel->relkind == RELKIND_INDEX &&
		index->rd_rel->relam == GIN_AM_OID)
	{
		/*
		 * Makes the entry know its access method, as core does when the hook
		 * returns.
		 */
		CommandCounterIncrement();
		replace_build(index, ginbuild, build_gin);
	}
	RelationClose(index);
}

/*
 * Core has the index open that it rebuilds, and has just made its entry valid
 * again.  An entry that is not open is of an index that waits for its turn.
 */
void
take_builds_of_changed(Datum unused, Oid relation)
{
	Relation	index;

	if (!ReindexIsProcessingIndex(relation) || !may_take(relation) ||
		!IsTransactionState())
		return;
	index = RelationIdGetRelation(relation);
	if (index == NULL)
		return;
	if (index->rd_refcnt > 1)
		replace_build(index, ginbuild, build_gin);
	RelationClose(index);
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
