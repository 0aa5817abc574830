/*-------------------------------------------------------------------------
 *
 * repeated_work.c
 *	  Work that each process of a parallel plan does for itself.
 *
 * The inner side of a join below a Gather may be a whole plan, such as the
 * groups of a subquery.  Then each process runs all of it.  Core charges that
 * once, as the processes run it at the same time.  But they share the memory,
 * the caches, and often the processors.  On two cores three processes took
 * twice the time of one for the same groups, so that a query with workers took
 * 1.6 times as long as without.  So a path that would bring workers into a
 * plan is charged for a part of the work of each further process.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "planner/repeated_work.h"

/* The part of repeated work that is charged. */
#define REPEATED_PART	0.25

static Cost find_repeated(const Path *path, double further);

/* The same for all paths of a list. */
static Cost
find_in_list(const List *paths, double further)
{
	Cost		cost = 0;
	ListCell   *cell;

	foreach(cell, paths)
	{
		const Path *path = lfirst(cell);

		/* a whole path of a parallel Append is for one process */
		cost += find_repeated(path, path->parallel_workers > 0 ? further : 0);
	}
	return cost;
}

/* The same for a join. */
static Cost
find_in_join(const JoinPath *join, double further)
{
	const Path *inner = join->innerjoinpath;
	Cost		cost = find_repeated(join->outerjoinpath, further);

	return cost + (further > 0 && inner->parallel_workers == 0 ?
				   further * inner->total_cost : find_repeated(inner, further));
}

/*
 * The cost of all that "further" processes do again that run the path beside
 * the first one.  Paths of one process have their Gathers below.
 */
static Cost
find_repeated(const Path *path, double further)
{
	switch (nodeTag(path))
	{
		case T_GatherPath:
			return find_repeated(((const GatherPath *) path)->subpath,
								 ((const GatherPath *) path)->num_workers);
		case T_GatherMergePath:
			return find_repeated(((const GatherMergePath *) path)->subpath,
								 ((const GatherMergePath *) path)->num_workers);
		case T_NestPath:
		case T_MergePath:
		case T_HashPath:
			return find_in_join((const JoinPath *) path, further);
		case T_AppendPath:
			return find_in_list(((const AppendPath *) path)->subpaths, further);
		case T_CustomPath:
			return find_in_list(((const CustomPath *) path)->custom_paths,
								further);
		case T_ProjectionPath:
			return find_repeated(((const ProjectionPath *) path)->subpath,
								 further);
		case T_SubqueryScanPath:
			return find_repeated(((const SubqueryScanPath *) path)->subpath,
								 further);
		case T_SortPath:
			return find_repeated(((const SortPath *) path)->subpath, further);
		case T_IncrementalSortPath:
			return find_repeated(((const IncrementalSortPath *) path)->spath.subpath,
								 further);
		case T_AggPath:
			return find_repeated(((const AggPath *) path)->subpath, further);
		case T_GroupPath:
			return find_repeated(((const GroupPath *) path)->subpath, further);
		case T_WindowAggPath:
			return find_repeated(((const WindowAggPath *) path)->subpath,
								 further);
		default:
			return 0;
	}
}

Cost
repeated_work_cost(const Path *partial, double members, const Path *whole)
{
	return REPEATED_PART * Max(find_repeated(partial, members - 1) -
							   find_repeated(whole, 0), 0);
}
