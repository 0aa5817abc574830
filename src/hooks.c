/*-------------------------------------------------------------------------
 *
 * hooks.c
 *	  All hooks of the server.
 *
 * At a hook an extension may act in place of the server, or before or after
 * it.  Extensions share a hook: each calls the function that was there before,
 * or the server's own function.  This file does only that.  The work before
 * and after is in the files whose functions it calls.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/objectaccess.h"
#include "catalog/pg_class_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/geqo.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "storage/ipc.h"
#include "tcop/utility.h"
#include "utils/inval.h"

#include "database_stats.h"
#include "device/launcher.h"
#include "executor/after_rows.h"
#include "executor/first_rows.h"
#include "executor/sort_bound.h"
#include "hooks.h"
#include "index/take_builds.h"
#include "planner/add_paths.h"
#include "planner/explain_refusal.h"
#include "planner/order_paths.h"
#include "planner/plan_sort.h"
#include "port/compat.h"
#include "shared_state.h"
#include "sort/spare_memory.h"
#include "sort_progress.h"

/* The hooks that were there before. */
static shmem_request_hook_type next_shmem_request;
static shmem_startup_hook_type next_shmem_startup;
static planner_hook_type next_planner;
static RELATION_HOOK_TYPE next_relation;
static set_rel_pathlist_hook_type next_relation_paths;
static join_search_hook_type next_join_search;
static set_join_pathlist_hook_type next_join_paths;
static create_upper_paths_hook_type next_upper_paths;
static ExecutorStart_hook_type next_executor_start;
static ExecutorRun_hook_type next_executor_run;
static ExecutorFinish_hook_type next_executor_finish;
static ProcessUtility_hook_type next_process_utility;
static object_access_hook_type next_object_access;
#if EXPLAIN_CALLS_FOR_NODES
static explain_per_node_hook_type next_explain_node;
#else
static ExplainOneQuery_hook_type next_explain_query;
static ExecutorEnd_hook_type next_executor_end;
#endif

/*
 * ---- the server
 */

static void
request_shared_memory(void)
{
	if (next_shmem_request != NULL)
		next_shmem_request();
	shared_state_request();
	sort_progress_request();
	database_stats_request();
}

/* At the start of the server, or after a crash. */
static void
make_shared_memory(void)
{
	if (next_shmem_startup != NULL)
		next_shmem_startup();
	database_stats_make();
	launcher_expect();
}

/*
 * ---- planning
 */

static PlannedStmt *
plan_query(Query *parse, const char *query_string, int cursor_options,
		   ParamListInfo bound_params PLANNER_EXPLAIN_PARAMETER)
{
	SortInput	outer = order_paths_begin();
	PlannedStmt *volatile result;

	PG_TRY();
	{
		result = (next_planner != NULL ? next_planner : standard_planner)
			(parse, query_string, cursor_options,
			 bound_params PLANNER_EXPLAIN_ARGUMENT);
	}
	PG_FINALLY();
	{
		order_paths_end(outer);
	}
	PG_END_TRY();
	plan_sort_rewrite(result);
	return result;
}

static void
see_relation(RELATION_HOOK_PARAMETERS)
{
	if (next_relation != NULL)
		next_relation(RELATION_HOOK_ARGUMENTS);
	take_builds_of(root, rel);
}

/*
 * Here and below: nothing is noted if another extension has taken the hook
 * later, since it may add paths after this function.
 */
static void
add_relation_paths(PlannerInfo *root, RelOptInfo *relation, Index index,
				   RangeTblEntry *entry)
{
	if (next_relation_paths != NULL)
		next_relation_paths(root, relation, index, entry);
	if (set_rel_pathlist_hook == add_relation_paths)
		add_paths_note_relation(root, relation);
}

/* Searches for a join, and notes only the last result. */
static RelOptInfo *
search_join(PlannerInfo *root, int levels_needed, List *initial_rels)
{
	RelOptInfo *join;

	if (next_join_search != NULL)
		join = next_join_search(root, levels_needed, initial_rels);
	else if (enable_geqo && levels_needed >= geqo_threshold)
		join = geqo(root, levels_needed, initial_rels);
	else
		join = standard_join_search(root, levels_needed, initial_rels);
	if (join_search_hook == search_join)
		add_paths_note_relation(root, join);
	return join;
}

static void
add_join_paths(PlannerInfo *root, RelOptInfo *join, RelOptInfo *outer,
			   RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	if (next_join_paths != NULL)
		next_join_paths(root, join, outer, inner, type, extra);
	add_paths_to_join(root, join, outer, inner, type, extra);
}

static void
add_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
				RelOptInfo *output, void *extra)
{
	/*
	 * first, since an extension that puts a node above all paths has to find
	 * gpusort's paths
	 */
	add_paths_to_stage(root, stage, input, output, extra);
	if (next_upper_paths != NULL)
		next_upper_paths(root, stage, input, output, extra);
	if (create_upper_paths_hook == add_upper_paths)
		add_paths_note_stage(root, stage, output);
}

/*
 * ---- executing
 */

static void
start_executor(QueryDesc *query, int flags)
{
	bool		outer = sort_bound_begin();

	PG_TRY();
	{
		query->plannedstmt = first_rows_choose_plan(query);
		(next_executor_start != NULL ? next_executor_start :
		 standard_ExecutorStart) (query, flags);
		sort_bound_find_awaited(query->planstate);
	}
	PG_FINALLY();
	{
		sort_bound_end(outer);
	}
	PG_END_TRY();
}

static void
run_executor(QueryDesc *query, ScanDirection direction,
			 uint64 count EXECUTE_ONCE_PARAMETER)
{
	count = sort_bound_pass_count(query, count);
	(next_executor_run != NULL ? next_executor_run : standard_ExecutorRun)
		(query, direction, count EXECUTE_ONCE_ARGUMENT);
}

static void
finish_executor(QueryDesc *query)
{
	(next_executor_finish != NULL ? next_executor_finish :
	 standard_ExecutorFinish) (query);
	after_rows_perform(query->estate);
}

/*
 * ---- EXPLAIN
 */

#if EXPLAIN_CALLS_FOR_NODES

static void
explain_node(PlanState *node, List *ancestors, const char *relationship,
			 const char *plan_name, ExplainState *es)
{
	if (next_explain_node != NULL)
		next_explain_node(node, ancestors, relationship, plan_name, es);
	explain_refusal_of_node(node, ancestors, es);
}

#else

static void
explain_query(Query *query, int cursor_options, IntoClause *into,
			  ExplainState *es, const char *query_string,
			  ParamListInfo parameters, QueryEnvironment *environment)
{
	ExplainState *outer = explain_refusal_begin(es);

	PG_TRY();
	{
		(next_explain_query != NULL ? next_explain_query :
		 standard_ExplainOneQuery) (query, cursor_options, into, es,
									query_string, parameters, environment);
	}
	PG_FINALLY();
	{
		explain_refusal_end(outer);
	}
	PG_END_TRY();
}

static void
end_executor(QueryDesc *query)
{
	explain_refusal_of_plan(query);
	(next_executor_end != NULL ? next_executor_end : standard_ExecutorEnd) (query);
}

#endif

/*
 * ---- other statements
 */

static void
process_utility(PlannedStmt *statement, const char *query_string,
				bool read_only_tree, ProcessUtilityContext context,
				ParamListInfo params, QueryEnvironment *environment,
				DestReceiver *destination, QueryCompletion *completion)
{
	bool		builds = take_builds_begin(statement->utilityStmt);
	bool		discards = spare_memory_is_discarded(statement->utilityStmt);

	PG_TRY();
	{
		(next_process_utility != NULL ? next_process_utility :
		 standard_ProcessUtility) (statement, query_string, read_only_tree,
								   context, params, environment, destination,
								   completion);
	}
	PG_FINALLY();
	{
		if (builds)
			take_builds_end();
	}
	PG_END_TRY();
	if (discards)
		spare_memory_discard();
}

static void
see_object(ObjectAccessType access, Oid catalog, Oid object, int column,
		   void *argument)
{
	if (next_object_access != NULL)
		next_object_access(access, catalog, object, column, argument);
	if (access == OAT_POST_CREATE && catalog == RelationRelationId &&
		column == 0)
		take_builds_of_new(object);
}

/*
 * Puts gpusort's function in the place of the hook that is there, which is
 * called next.
 */
#define INSTALL(hook, next, ours) \
	((next) = (hook), (hook) = (ours))

void
hooks_install(void)
{
	if (process_shared_preload_libraries_in_progress)
	{
		INSTALL(shmem_request_hook, next_shmem_request, request_shared_memory);
		INSTALL(shmem_startup_hook, next_shmem_startup, make_shared_memory);
	}
	INSTALL(planner_hook, next_planner, plan_query);
	INSTALL(RELATION_HOOK, next_relation, see_relation);
	INSTALL(set_rel_pathlist_hook, next_relation_paths, add_relation_paths);
	INSTALL(join_search_hook, next_join_search, search_join);
	INSTALL(set_join_pathlist_hook, next_join_paths, add_join_paths);
	INSTALL(create_upper_paths_hook, next_upper_paths, add_upper_paths);
	INSTALL(ExecutorStart_hook, next_executor_start, start_executor);
	INSTALL(ExecutorRun_hook, next_executor_run, run_executor);
	INSTALL(ExecutorFinish_hook, next_executor_finish, finish_executor);
	INSTALL(ProcessUtility_hook, next_process_utility, process_utility);
	if (!GIN_BUILDS_ARE_PLANNED)
	{
		INSTALL(object_access_hook, next_object_access, see_object);
		CacheRegisterRelcacheCallback(take_builds_of_changed, 0);
	}
#if EXPLAIN_CALLS_FOR_NODES
	INSTALL(explain_per_node_hook, next_explain_node, explain_node);
#else
	INSTALL(ExplainOneQuery_hook, next_explain_query, explain_query);
	INSTALL(ExecutorEnd_hook, next_executor_end, end_executor);
#endif
}
