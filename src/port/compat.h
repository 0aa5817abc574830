/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Differences between PostgreSQL 15, 16, 17, 18 and 19.
 *
 * All other code of the extension is written as for the newest of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_COMPAT_H
#define GPUSORT_COMPAT_H

#include "postgres.h"

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "mb/pg_wchar.h"
#include "pgstat.h"
#include "postmaster/bgworker_internals.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/pg_shmem.h"
#if PG_VERSION_NUM >= 170000
#include "storage/read_stream.h"
#endif
#include "utils/guc.h"
#include "utils/wait_event.h"

/* 17 gave extensions wait events with names of their own. */
#if PG_VERSION_NUM < 170000
#define WaitEventExtensionNew(name) PG_WAIT_EXTENSION
#endif

/*
 * From 17 on a sort of single values counts no memory for values that are not
 * passed by value.
 */
#define SORTS_COUNT_VALUES (PG_VERSION_NUM < 170000)

/*
 * 17 gave the number of a process a name.  The processes of a server have
 * numbers below MaxBackends.
 */
#if PG_VERSION_NUM < 170000
#include "storage/proc.h"
#define MyProcNumber (MyProc->pgprocno)
#endif

/* 18 can leave room ahead of a minimal tuple. */
#if PG_VERSION_NUM < 180000
#define heap_copy_minimal_tuple(tuple, extra) heap_copy_minimal_tuple(tuple)
#define heap_form_minimal_tuple(descriptor, values, isnull, extra) \
	heap_form_minimal_tuple(descriptor, values, isnull)
#endif

/* So do the functions of slots. */
#if PG_VERSION_NUM >= 180000
#define EXTRA_BYTES_PARAMETER , Size extra
#define EXTRA_BYTES_ARGUMENT , extra
#else
#define EXTRA_BYTES_PARAMETER
#define EXTRA_BYTES_ARGUMENT
#endif

/* 16 has a parameter for whether a sorted value is copied. */
#if PG_VERSION_NUM < 160000
#define tuplesort_getdatum(sort, forward, copy, value, isnull, key) \
	tuplesort_getdatum(sort, forward, value, isnull, key)
#endif

/* From 18 on EXPLAIN calls a hook for each node. */
#define EXPLAIN_CALLS_FOR_NODES (PG_VERSION_NUM >= 180000)

/* 18 no longer tells the executor whether it runs a query only once. */
#if PG_VERSION_NUM >= 180000
#define EXECUTE_ONCE_PARAMETER
#define EXECUTE_ONCE_ARGUMENT
#else
#define EXECUTE_ONCE_PARAMETER , bool execute_once
#define EXECUTE_ONCE_ARGUMENT , execute_once
#endif

/* 19 tells the planner for which EXPLAIN it plans. */
#if PG_VERSION_NUM >= 190000
#define PLANNER_EXPLAIN_PARAMETER , ExplainState *explain
#define PLANNER_EXPLAIN_ARGUMENT , explain
#else
#define PLANNER_EXPLAIN_PARAMETER
#define PLANNER_EXPLAIN_ARGUMENT
#endif

/*
 * 19 has a hook for all relations, the other majors for those of the catalog.
 */
#if PG_VERSION_NUM >= 190000
#define RELATION_HOOK build_simple_rel_hook
#define RELATION_HOOK_TYPE build_simple_rel_hook_type
#define RELATION_HOOK_PARAMETERS \
	PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte
#define RELATION_HOOK_ARGUMENTS root, rel, rte
#else
#define RELATION_HOOK get_relation_info_hook
#define RELATION_HOOK_TYPE get_relation_info_hook_type
#define RELATION_HOOK_PARAMETERS \
	PlannerInfo *root, Oid table, bool inherited, RelOptInfo *rel
#define RELATION_HOOK_ARGUMENTS root, table, inherited, rel
#endif

/* From 16 on constructors of JSON, like JSON_ARRAYAGG, call these aggregates. */
#if PG_VERSION_NUM >= 160000
#define IS_JSON_CONSTRUCTOR(aggregate) \
	((aggregate) == F_JSON_AGG || (aggregate) == F_JSON_AGG_STRICT || \
	 (aggregate) == F_JSONB_AGG || (aggregate) == F_JSONB_AGG_STRICT || \
	 (aggregate) == F_JSON_OBJECT_AGG || \
	 (aggregate) == F_JSON_OBJECT_AGG_STRICT || \
	 (aggregate) == F_JSON_OBJECT_AGG_UNIQUE || \
	 (aggregate) == F_JSON_OBJECT_AGG_UNIQUE_STRICT || \
	 (aggregate) == F_JSONB_OBJECT_AGG || \
	 (aggregate) == F_JSONB_OBJECT_AGG_STRICT || \
	 (aggregate) == F_JSONB_OBJECT_AGG_UNIQUE || \
	 (aggregate) == F_JSONB_OBJECT_AGG_UNIQUE_STRICT)
#else
#define IS_JSON_CONSTRUCTOR(aggregate) false
#endif

/* 19 has CLUSTER as a kind of REPACK. */
#if PG_VERSION_NUM < 190000
#define T_RepackStmt T_ClusterStmt
#endif

/*
 * 19 has a name for the attribute of a case that goes on with the next case.
 */
#if PG_VERSION_NUM < 190000
#define pg_fallthrough __attribute__((fallthrough))
#endif

/*
 * 17 tells whether the server has got the huge pages that it should try to
 * get.
 */
static inline bool
main_memory_has_huge_pages(void)
{
#if PG_VERSION_NUM >= 170000
	return strcmp(GetConfigOption("huge_pages_status", false, false),
				  "on") == 0;
#else
	return huge_pages == HUGE_PAGES_ON;
#endif
}

/*
 * For the postmaster: is there a background worker of this name that it starts
 * again whenever the worker ends?  18 has the workers in a list of another
 * kind.
 */
static inline bool
background_worker_is_kept(const char *name)
{
#if PG_VERSION_NUM >= 180000
	dlist_iter	place;

	dlist_foreach(place, &BackgroundWorkerList)
	{
		const BackgroundWorker *worker =
			&dlist_container(RegisteredBgWorker, rw_lnode, place.cur)->rw_worker;
#else
	slist_iter	place;

	slist_foreach(place, &BackgroundWorkerList)
	{
		const BackgroundWorker *worker =
			&slist_container(RegisteredBgWorker, rw_lnode, place.cur)->rw_worker;
#endif

		if (strcmp(worker->bgw_name, name) == 0 &&
			worker->bgw_restart_time != BGW_NEVER_RESTART)
			return true;
	}
	return false;
}

/* 19 is told when a descriptor has all of its columns. */
#if PG_VERSION_NUM < 190000
#define TupleDescFinalize(descriptor) ((void) 0)
#endif

/*
 * 18 keeps the attributes needed to find a column in a tuple in an array
 * apart.
 */
#if PG_VERSION_NUM < 180000
#define TupleDescCompactAttr(descriptor, i) TupleDescAttr(descriptor, i)
#endif

/* 16 finds a setting by its name; NULL if there is none. */
#include "utils/guc_tables.h"
#if PG_VERSION_NUM < 160000
static inline struct config_generic *
find_setting(const char *name)
{
	struct config_generic **settings = get_guc_variables();

	for (int i = 0; i < GetNumConfigOptions(); i++)
	{
		if (pg_strcasecmp(settings[i]->name, name) == 0)
			return settings[i];
	}
	return NULL;
}
#else
#define find_setting(name) find_option(name, false, true, 0)
#endif

/* 19 keeps the fields for integers inside the struct of any setting. */
#if PG_VERSION_NUM >= 190000
#define INTEGER_SETTING(setting) (&(setting)->_int)
#else
#define INTEGER_SETTING(setting) ((struct config_int *) (setting))
#endif

/* 17 exports the function that EXPLAIN of a query calls without a hook. */
#if PG_VERSION_NUM < 170000
#include "executor/instrument.h"
#include "tcop/tcopprot.h"

static inline void
standard_ExplainOneQuery(Query *query, int cursor_options, IntoClause *into,
						 ExplainState *es, const char *query_string,
						 ParamListInfo parameters,
						 QueryEnvironment *environment)
{
	PlannedStmt *plan;
	instr_time	begin;
	instr_time	duration;
	BufferUsage before = pgBufferUsage;
	BufferUsage used = {0};

	INSTR_TIME_SET_CURRENT(begin);
	plan = pg_plan_query(query, query_string, cursor_options, parameters);
	INSTR_TIME_SET_CURRENT(duration);
	INSTR_TIME_SUBTRACT(duration, begin);
	BufferUsageAccumDiff(&used, &pgBufferUsage, &before);

	ExplainOnePlan(plan, into, es, query_string, parameters, environment,
				   &duration, es->buffers ? &used : NULL);
}
#endif

/* 18 does not count the range table entry of a GROUP BY among the tables. */
#if PG_VERSION_NUM >= 180000
#define EXPLAIN_TABLES(es) ((es)->rtable_size)
#else
#define EXPLAIN_TABLES(es) list_length((es)->rtable)
#endif

/*
 * Key encoders: varlena headers, comparison types, collations.
 */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif
#include "utils/pg_locale.h"

#if PG_VERSION_NUM >= 180000
#define COLLATION_IS_C(collation) \
	(pg_newlocale_from_collation(collation)->collate_is_c)
#else
#define COLLATION_IS_C(collation) lc_collate_is_c(collation)

/* 18 gave btree's strategy numbers names that no access method owns. */
#define CompareType int16
#define COMPARE_GT BTGreaterStrategyNumber
#endif

/* A locale of 19 has no provider; its functions tell the provider. */
#if PG_VERSION_NUM >= 190000
#define LOCALE_PROVIDER(locale) \
	((locale)->collate == NULL ? COLLPROVIDER_BUILTIN : \
	 (locale)->collate->strnxfrm_prefix != NULL ? COLLPROVIDER_ICU : \
	 COLLPROVIDER_LIBC)
#define LOCALE_OF_LIBC(locale) ((locale)->lt)
#define LOCALE_OF_ICU(locale) ((locale)->icu.ucol)
#else
#define LOCALE_PROVIDER(locale) ((locale)->provider)
#define LOCALE_OF_LIBC(locale) ((locale)->info.lt)
#define LOCALE_OF_ICU(locale) ((locale)->info.icu.ucol)
#endif

/* 19 is told the type of the elements when an iteration begins. */
#if PG_VERSION_NUM >= 190000
#define ARRAY_ITER_SETUP(iterator, array, length, by_value, alignment) \
	array_iter_setup(iterator, array, length, by_value, alignment)
#define ARRAY_ITER_NEXT(iterator, isnull, i, length, by_value, alignment) \
	array_iter_next(iterator, isnull, i)
#else
#define ARRAY_ITER_SETUP(iterator, array, length, by_value, alignment) \
	array_iter_setup(iterator, array)
#define ARRAY_ITER_NEXT(iterator, isnull, i, length, by_value, alignment) \
	array_iter_next(iterator, isnull, i, length, by_value, alignment)
#endif

/* The operator by which a path key sorts values of a type. */
#if PG_VERSION_NUM >= 180000
#define PATHKEY_OPERATOR(key, type) \
	get_opfamily_member_for_cmptype((key)->pk_opfamily, type, type, \
									(key)->pk_cmptype)
#else
#define PATHKEY_OPERATOR(key, type) \
	get_opfamily_member((key)->pk_opfamily, type, type, (key)->pk_strategy)
#endif

/* From 16 on an aggregate may rely on the order of its input. */
#if PG_VERSION_NUM >= 160000
#define AGG_IS_PRESORTED(aggref)	((aggref)->aggpresorted)
#else
#define AGG_IS_PRESORTED(aggref)	false
#endif

/* 18 counts the disabled nodes of a path; before, each adds to its costs. */
#if PG_VERSION_NUM >= 180000
#define DISABLED_NODES(path) ((path)->disabled_nodes)
#else
#define DISABLED_NODES(path) 0
#endif

#if PG_VERSION_NUM >= 180000
#define COPY_DISABLED_NODES(to, from) \
	((to)->disabled_nodes = (from)->disabled_nodes)
#else
#define COPY_DISABLED_NODES(to, from) ((void) 0)
#endif

/* 18 has expressions of the executor that return nothing. */
#if PG_VERSION_NUM < 180000
#include "executor/executor.h"

static inline void
ExecEvalExprNoReturnSwitchContext(ExprState *expression, ExprContext *context)
{
	bool		isnull;

	(void) ExecEvalExprSwitchContext(expression, context, &isnull);
}
#endif

/* 16 counts outer joins among the relations of a query. */
#if PG_VERSION_NUM >= 160000
#define QUERY_RELIDS(root) ((root)->all_query_rels)
#else
#define QUERY_RELIDS(root) ((root)->all_baserels)
#endif

/* 16 leaves out redundant columns of a GROUP BY. */
#if PG_VERSION_NUM >= 160000
#define GROUP_CLAUSE(root) ((root)->processed_groupClause)
#else
#define GROUP_CLAUSE(root) ((root)->parse->groupClause)
#endif

/* 16 has one function for the permissions on objects of all kinds. */
#if PG_VERSION_NUM >= 160000
#define function_aclcheck(function, role) \
	object_aclcheck(ProcedureRelationId, function, role, ACL_EXECUTE)
#else
#define function_aclcheck(function, role) \
	pg_proc_aclcheck(function, role, ACL_EXECUTE)
#endif

/* 16 appends the keys of aggregates' own ORDER BYs to those of the groups. */
#if PG_VERSION_NUM >= 160000
#define NUM_GROUP_KEYS(root) ((root)->num_groupby_pathkeys)
#else
#define NUM_GROUP_KEYS(root) list_length((root)->group_pathkeys)
#endif

/*
 * The keys of a sort for these clauses of grouping sets.  18 has columns of groups
 * that a set may make NULL, which they are not before they are grouped.
 */
#if PG_VERSION_NUM >= 180000
#define GROUPING_SET_KEYS(root, clauses) \
	make_pathkeys_for_sortclauses_extended(root, &(clauses), \
										   (root)->processed_tlist, false, \
										   true, &(bool) {false}, false)
#else
#define GROUPING_SET_KEYS(root, clauses) \
	make_pathkeys_for_sortclauses(root, clauses, (root)->processed_tlist)
#endif

/* 15 has a parameter for the number of groups of all sets, and ignores it. */
#if PG_VERSION_NUM < 160000
#include "optimizer/pathnode.h"
#define create_groupingsets_path(root, relation, input, having, strategy, \
								 rollups, costs) \
	create_groupingsets_path(root, relation, input, having, strategy, \
							 rollups, costs, 0)
#endif

/* 17 has a window's run conditions in its path. */
#if PG_VERSION_NUM >= 170000
#define RUN_CONDITIONS(path) ((path)->runCondition)
#else
#define RUN_CONDITIONS(path) ((path)->winclause->runCondition)
#endif

/* 18 names the windows of a plan, for EXPLAIN; the others number them here. */
#if PG_VERSION_NUM >= 180000
#define WINDOW_NAME(window) ((window)->winname)
#else
#define WINDOW_NAME(window) psprintf("w%u", (window)->winref)
#endif

/* 19 has window functions that are told to leave out NULLs, or not to. */
#if PG_VERSION_NUM >= 190000
#define IGNORES_NULLS(function) \
	((function)->ignore_nulls == PARSER_IGNORE_NULLS)
#define HAS_NULL_TREATMENT(function) \
	((function)->ignore_nulls != NO_NULLTREATMENT)
#else
#define IGNORES_NULLS(function) false
#define HAS_NULL_TREATMENT(function) false
#endif

/* 19 makes rows unique in one way only. */
#if PG_VERSION_NUM < 190000
#include "optimizer/pathnode.h"
#define UniquePath UpperUniquePath
#define T_UniquePath T_UpperUniquePath
#define create_unique_path create_upper_unique_path
#endif

/*
 * 18 has the two inputs of a set operation apart.  Before, they are appended,
 * with a column that tells the input of a row.  SETOP_PATHS are those of the
 * two inputs.  SETOP_INPUTS are those that a SetOp reads, before they are
 * sorted.
 */
#if PG_VERSION_NUM >= 180000
#define SETOP_INPUT_COLUMNS 0
#define SETOP_CLAUSE(setop) ((setop)->groupList)
#define SETOP_PATHS(setop) list_make2((setop)->leftpath, (setop)->rightpath)
#define SETOP_INPUTS(setop) \
	list_make2((setop)->leftpath->parent->cheapest_total_path, \
			   (setop)->rightpath->parent->cheapest_total_path)
#define SET_SETOP_INPUTS(setop, paths) \
	((setop)->leftpath = linitial(paths), (setop)->rightpath = lsecond(paths), \
	 (setop)->path.disabled_nodes = (setop)->leftpath->disabled_nodes + \
	 (setop)->rightpath->disabled_nodes)
#else
#define SETOP_INPUT_COLUMNS 1
#define SETOP_CLAUSE(setop) ((setop)->distinctList)
#define SETOP_INPUTS(setop) \
	list_make1(IsA((setop)->subpath, SortPath) ? \
			   ((SortPath *) (setop)->subpath)->subpath : (setop)->subpath)
#define SETOP_PATHS(setop) \
	(linitial_node(AppendPath, SETOP_INPUTS(setop))->subpaths)
#define SET_SETOP_INPUTS(setop, paths) \
	((setop)->subpath = linitial(paths), (setop)->firstFlag = -1)
#endif

/* 19 takes the paths that are appended in a struct. */
#if PG_VERSION_NUM >= 190000
#define CREATE_APPEND_PATH(root, rel, whole, partial, nworkers, aware) \
	create_append_path(root, rel, \
					   (AppendPathInput) {.subpaths = whole, .partial_subpaths = partial}, \
					   NIL, NULL, nworkers, aware, -1)
#else
#define CREATE_APPEND_PATH(root, rel, whole, partial, nworkers, aware) \
	create_append_path(root, rel, whole, partial, NIL, NULL, nworkers, aware, -1)
#endif

/* 18 can sort the outer side of a merge join incrementally. */
#if PG_VERSION_NUM < 180000
#define initial_cost_mergejoin(root, workspace, type, clauses, outer, inner, \
							   outer_sort, inner_sort, presorted, extra) \
	initial_cost_mergejoin(root, workspace, type, clauses, outer, inner, \
						   outer_sort, inner_sort, extra)
#define create_mergejoin_path(root, rel, type, workspace, extra, outer, \
							  inner, restrictions, pathkeys, required, \
							  clauses, outer_sort, inner_sort, presorted) \
	create_mergejoin_path(root, rel, type, workspace, extra, outer, inner, \
						  restrictions, pathkeys, required, clauses, \
						  outer_sort, inner_sort)
#endif

/*
 * Pages of B-trees: the largest tuple that a page takes.
 */
#if PG_VERSION_NUM >= 180000
#define BTREE_MAX_ITEM_BYTES(page) BTMaxItemSize
#else
#define BTREE_MAX_ITEM_BYTES(page) BTMaxItemSize(page)
#endif

/*
 * Writing the pages of a new relation without buffers: in 15 a relation was
 * named otherwise, and pages need not be aligned; 17 brought writes of several
 * pages.
 */
#include "storage/bufpage.h"
#include "storage/proc.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#if PG_VERSION_NUM >= 160000
#define RELATION_LOCATOR(relation) (&(relation)->rd_locator)
#define ALLOCATE_BLOCK(context) \
	MemoryContextAllocAligned(context, BLCKSZ, PG_IO_ALIGN_SIZE, 0)
#else
#define RELATION_LOCATOR(relation) (&(relation)->rd_node)
#define PG_IO_ALIGN_SIZE MAXIMUM_ALIGNOF
#define ALLOCATE_BLOCK(context) MemoryContextAlloc(context, BLCKSZ)
#endif

#if PG_VERSION_NUM < 190000
#define PageSetChecksum(page, block) PageSetChecksumInplace(page, block)
#endif

/*
 * Writes pages that follow one another in one file; the caller syncs the
 * relation.
 */
static inline void
write_blocks(SMgrRelation smgr, ForkNumber fork, BlockNumber first,
			 Page *pages, int npages)
{
#if PG_VERSION_NUM >= 170000
	smgrwritev(smgr, fork, first, (const void **) pages, npages, true);
#else
	for (int i = 0; i < npages; i++)
		smgrwrite(smgr, fork, first + i, (char *) pages[i], true);
#endif
}

/*
 * Syncs a relation that was written so, or lets the next checkpoint do that.  If
 * the pages are logged, a checkpoint that has begun since the first one was
 * logged does not know of them, and the log behind it does not have them.
 * "begun" is GetRedoRecPtr() from before the first one.  Before 17 a relation
 * could not be left to a checkpoint.
 */
static inline void
sync_new_pages(SMgrRelation smgr, ForkNumber fork, bool is_logged,
			   XLogRecPtr begun)
{
#if PG_VERSION_NUM >= 170000
	bool		is_known;

	/* no checkpoint begins between the question and the answer */
	MyProc->delayChkptFlags |= DELAY_CHKPT_START;
	is_known = !is_logged || GetRedoRecPtr() == begun;
	if (is_known)
		smgrregistersync(smgr, fork);
	MyProc->delayChkptFlags &= ~DELAY_CHKPT_START;
	if (is_known)
		return;
#endif
	smgrimmedsync(smgr, fork);
}

/*
 * Makes *nblocks new pages of zeros at the end of a relation, or fewer: sets
 * *nblocks to their number, and returns the number of the first one.  Before
 * 16 a relation grows by one page at a time.
 */
#define MOST_BLOCKS_OF_EXTENSION	64

static inline BlockNumber
extend_relation(Relation relation, uint32 *nblocks)
{
#if PG_VERSION_NUM >= 160000
	Buffer		buffers[MOST_BLOCKS_OF_EXTENSION];
	BlockNumber first = ExtendBufferedRelBy(BMR_REL(relation), MAIN_FORKNUM,
											NULL, 0,
											Min(*nblocks, MOST_BLOCKS_OF_EXTENSION),
											buffers, nblocks);

	for (uint32 i = 0; i < *nblocks; i++)
		ReleaseBuffer(buffers[i]);
	return first;
#else
	/* workers may extend a relation that only its own transaction knows */
	bool		is_shared = !RelationUsesLocalBuffers(relation);
	Buffer		buffer;
	BlockNumber block;

	if (is_shared)
		LockRelationForExtension(relation, ExclusiveLock);
	buffer = ReadBuffer(relation, P_NEW);
	if (is_shared)
		UnlockRelationForExtension(relation, ExclusiveLock);
	block = BufferGetBlockNumber(buffer);
	ReleaseBuffer(buffer);
	*nblocks = 1;
	return block;
#endif
}

/*
 * Reading many blocks of a relation, each into a pinned buffer that the caller
 * releases: 17 brought reading ahead.  The callback returns the next block, or
 * InvalidBlockNumber.
 */
typedef BlockNumber (*NextBlockFunction) (void *state);

typedef struct BlockReader
{
	NextBlockFunction next_block;
	void	   *state;
#if PG_VERSION_NUM >= 170000
	ReadStream *stream;
#else
	Relation	relation;
	BufferAccessStrategy strategy;
#endif
} BlockReader;

#if PG_VERSION_NUM >= 170000
static inline BlockNumber
block_reader_ask(ReadStream *stream, void *reader, void *unused)
{
	return ((BlockReader *) reader)->next_block(((BlockReader *) reader)->state);
}
#endif

static inline BlockReader *
block_reader_begin(Relation relation, BufferAccessStrategy strategy,
				   NextBlockFunction next_block, void *state)
{
	BlockReader *reader = palloc(sizeof(BlockReader));

	reader->next_block = next_block;
	reader->state = state;
#if PG_VERSION_NUM >= 170000
	reader->stream = read_stream_begin_relation(READ_STREAM_SEQUENTIAL,
												strategy, relation,
												MAIN_FORKNUM,
												block_reader_ask, reader, 0);
#else
	reader->relation = relation;
	reader->strategy = strategy;
#endif
	return reader;
}

/* The next buffer, or InvalidBuffer. */
static inline Buffer
block_reader_next(BlockReader *reader)
{
#if PG_VERSION_NUM >= 170000
	return read_stream_next_buffer(reader->stream, NULL);
#else
	BlockNumber block = reader->next_block(reader->state);

	return block == InvalidBlockNumber ? InvalidBuffer :
		ReadBufferExtended(reader->relation, MAIN_FORKNUM, block, RBM_NORMAL,
						   reader->strategy);
#endif
}

static inline void
block_reader_end(BlockReader *reader)
{
#if PG_VERSION_NUM >= 170000
	read_stream_end(reader->stream);
#endif
	pfree(reader);
}

/* 19 can scan a part of a table in parallel, and in further ways. */
#if PG_VERSION_NUM < 190000
#include "access/tableam.h"

#define table_block_parallelscan_startblock_init(relation, worker, shared, \
												 start, nblocks) \
	table_block_parallelscan_startblock_init(relation, worker, shared)
#define table_beginscan_parallel(relation, shared, flags) \
	table_beginscan_parallel(relation, shared)
#endif

/* 18 plans workers for builds of GIN indexes, too. */
#define GIN_BUILDS_ARE_PLANNED (PG_VERSION_NUM >= 180000)

/* Before 18 the build of a GIN index has one phase. */
#if PG_VERSION_NUM < 180000
#define PROGRESS_GIN_PHASE_INDEXBUILD_TABLESCAN 0
#define PROGRESS_GIN_PHASE_PERFORMSORT_1 0
#define PROGRESS_GIN_PHASE_MERGE_2 0
#endif

/* Takes back the count of a scan of the table. */
#if PG_VERSION_NUM >= 160000
#define pgstat_uncount_heap_scan(relation) \
	((void) (pgstat_should_count_relation(relation) && \
			 (relation)->pgstat_info->counts.numscans--))
#else
#define pgstat_uncount_heap_scan(relation) \
	((void) (pgstat_should_count_relation(relation) && \
			 (relation)->pgstat_info->t_counts.t_numscans--))
#endif

/*
 * The beginning of a string's sort key, by a locale of ICU.  15 has no
 * function for it; the function of 16 and 17 ignores where the string ends.
 */
#if PG_VERSION_NUM >= 180000
#define icu_sort_key_prefix pg_strnxfrm_prefix
#else
static inline size_t
icu_sort_key_prefix(char *dest, size_t destsize, const char *src,
					ssize_t srclen, pg_locale_t locale)
{
#ifdef USE_ICU
	UCharIterator characters;
	UChar	   *converted = NULL;
	uint32		state[2] = {0, 0};
	UErrorCode	status = U_ZERO_ERROR;
	int32		length;

	if (GetDatabaseEncoding() == PG_UTF8)
		uiter_setUTF8(&characters, src, srclen);
	else
	{
		length = icu_to_uchar(&converted, src, srclen);
		uiter_setString(&characters, converted, length);
	}
	length = ucol_nextSortKeyPart(locale->info.icu.ucol, &characters, state,
								  (uint8 *) dest, destsize, &status);
	if (U_FAILURE(status))
		ereport(ERROR,
				(errmsg("sort key generation failed: %s",
						u_errorName(status))));
	if (converted != NULL)
		pfree(converted);
	return length;
#else
	elog(ERROR, "a collation of ICU in a server without ICU");
	return 0;
#endif
}
#endif

#endif							/* GPUSORT_COMPAT_H */
