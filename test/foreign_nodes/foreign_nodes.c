/*-------------------------------------------------------------------------
 *
 * foreign_nodes.c
 *	  Nodes of another extension, above those of core.
 *
 * They emit the rows of the node below them, and put themselves above all
 * paths of
 *	- tables with children, of which those in an order are preferred;
 *	- what is grouped;
 *	- what is ordered,
 * as foreign_nodes.above says.  None of these paths may be left without a
 * node.  When a node begins, it looks at the whole plan below it, in which
 * every node has to be one of core's or of this extension: it knows no others,
 * like extensions that look for the scan below a Sort.
 *
 * With foreign_nodes.bear the nodes do not look.  Then they have the name of a
 * node that gpusort knows to take whatever is below it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

typedef enum Above
{
	ABOVE_NOTHING,
	ABOVE_PARENTS,
	ABOVE_GROUPS,
	ABOVE_ORDERED
} Above;

static const struct config_enum_entry above_options[] = {
	{"nothing", ABOVE_NOTHING, false},
	{"parents", ABOVE_PARENTS, false},
	{"groups", ABOVE_GROUPS, false},
	{"ordered", ABOVE_ORDERED, false},
	{NULL, 0, false}
};

static int	above = ABOVE_NOTHING;
static bool bear = false;

static set_rel_pathlist_hook_type previous_relation_paths_hook;
static create_upper_paths_hook_type previous_upper_paths_hook;

static Node *create_state(CustomScan *scan);

static const CustomScanMethods looking_methods = {
	.CustomName = "ForeignNode",
	.CreateCustomScanState = create_state
};

static const CustomScanMethods bearing_methods = {
	.CustomName = "ChunkDispatch",
	.CreateCustomScanState = create_state
};

/*
 * ---- execution
 */

/* Is every node of a plan known here? */
static bool
look_at(PlanState *node, void *context)
{
	if (IsA(node->plan, CustomScan) &&
		((CustomScan *) node->plan)->methods != &looking_methods)
		elog(ERROR, "foreign_nodes: what is a \"%s\"?",
			 ((CustomScan *) node->plan)->methods->CustomName);
	if (IsA(node->plan, Sort) != IsA(node, SortState))
		elog(ERROR, "foreign_nodes: a Sort has a state of type %d",
			 (int) nodeTag(node));
	return planstate_tree_walker(node, look_at, context);
}

static void
begin_node(CustomScanState *node, EState *estate, int eflags)
{
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	PlanState  *child = ExecInitNode(linitial(scan->custom_plans), estate,
									 eflags);

	node->custom_ps = list_make1(child);
	if (scan->methods == &looking_methods)
		(void) look_at(child, NULL);
}

static TupleTableSlot *
exec_node(CustomScanState *node)
{
	TupleTableSlot *slot = ExecProcNode(linitial(node->custom_ps));

	if (TupIsNull(slot))
		return NULL;
	slot = ExecCopySlot(node->ss.ss_ScanTupleSlot, slot);
	if (node->ss.ps.ps_ProjInfo == NULL)
		return slot;
	ResetExprContext(node->ss.ps.ps_ExprContext);
	node->ss.ps.ps_ExprContext->ecxt_scantuple = slot;
	return ExecProject(node->ss.ps.ps_ProjInfo);
}

static void
end_node(CustomScanState *node)
{
	ExecEndNode(linitial(node->custom_ps));
}

static void
rescan_node(CustomScanState *node)
{
	PlanState  *child = linitial(node->custom_ps);

	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	if (child->chgParam == NULL)
		ExecReScan(child);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "ForeignNode",
	.BeginCustomScan = begin_node,
	.ExecCustomScan = exec_node,
	.EndCustomScan = end_node,
	.ReScanCustomScan = rescan_node
};

static Node *
create_state(CustomScan *scan)
{
	CustomScanState *state = makeNode(CustomScanState);

	state->methods = &exec_methods;
	return (Node *) state;
}

/*
 * ---- planning
 */

static Plan *
create_plan_of_path(PlannerInfo *root, RelOptInfo *relation, CustomPath *path,
					List *columns, List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);

	/* the clauses have been seen to below */
	scan->scan.plan.targetlist = columns;
	scan->custom_scan_tlist = copyObject(((Plan *) linitial(custom_plans))->targetlist);
	scan->custom_plans = custom_plans;
	scan->methods = bear ? &bearing_methods : &looking_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "ForeignNode",
	.PlanCustomPath = create_plan_of_path
};

static Path *
put_above(Path *child)
{
	CustomPath *path = makeNode(CustomPath);

	path->path = *child;
	path->path.type = T_CustomPath;
	path->path.pathtype = T_CustomScan;
	path->path.parallel_safe = false;
	path->custom_paths = list_make1(child);
	path->methods = &path_methods;
	return &path->path;
}

static void
put_above_all(RelOptInfo *relation)
{
	ListCell   *cell;

	foreach(cell, relation->pathlist)
		lfirst(cell) = put_above(lfirst(cell));
}

/* Drops the paths that are in no order, if there are others. */
static void
prefer_ordered(RelOptInfo *relation)
{
	List	   *ordered = NIL;
	ListCell   *cell;

	foreach(cell, relation->pathlist)
	{
		Path	   *path = lfirst(cell);

		if (path->pathkeys != NIL)
			ordered = lappend(ordered, path);
	}
	if (ordered != NIL)
		relation->pathlist = ordered;
}

static void
change_relation(PlannerInfo *root, RelOptInfo *relation, Index index,
				RangeTblEntry *entry)
{
	if (previous_relation_paths_hook != NULL)
		previous_relation_paths_hook(root, relation, index, entry);
	if (above == ABOVE_PARENTS && entry->inh)
	{
		prefer_ordered(relation);
		put_above_all(relation);
	}
}

static void
change_upper_relation(PlannerInfo *root, UpperRelationKind stage,
					  RelOptInfo *input, RelOptInfo *output, void *extra)
{
	if (previous_upper_paths_hook != NULL)
		previous_upper_paths_hook(root, stage, input, output, extra);
	if ((above == ABOVE_GROUPS && stage == UPPERREL_GROUP_AGG) ||
		(above == ABOVE_ORDERED && stage == UPPERREL_ORDERED))
		put_above_all(output);
}

void
_PG_init(void)
{
	DefineCustomEnumVariable("foreign_nodes.above",
							 "What the nodes are put above.", NULL,
							 &above, ABOVE_NOTHING, above_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("foreign_nodes.bear",
							 "Whether they are said to take whatever is below.",
							 NULL, &bear, false, PGC_USERSET, 0, NULL, NULL,
							 NULL);
	RegisterCustomScanMethods(&looking_methods);
	RegisterCustomScanMethods(&bearing_methods);
	previous_relation_paths_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = change_relation;
	previous_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = change_upper_relation;
}
