/*-------------------------------------------------------------------------
 *
 * refusal.h
 *	  Why a sort or an index build is left to PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_REFUSAL_H
#define GPUSORT_REFUSAL_H

typedef enum Refusal
{
	REFUSAL_NONE = 0,			/* it is taken over */
	REFUSAL_SMALL,				/* fewer rows than gpusort.min_rows */
	REFUSAL_BOUNDED,			/* few first rows are wanted */
	REFUSAL_VALUES,				/* of single values, few different ones */
	REFUSAL_KEPT_VALUES,		/* of single values, which core keeps in
								 * memory */

	/* of the first column */
	REFUSAL_TYPE,				/* no encoder for the type */
	REFUSAL_COLLATION,			/* there is none */
	REFUSAL_OPERATOR,			/* not an ordering that keys have */

	/* of sorts in plans only */
	REFUSAL_INCREMENTAL,		/* sorted by the first columns already */
	REFUSAL_AGGREGATE,			/* sorted by an Agg, or in it */
	REFUSAL_FOREIGN				/* below a node of another extension */
} Refusal;

/*
 * Count sorts of a plan, and an index build, that were refused for this
 * reason.
 */
extern void refusal_count_sorts(Refusal refusal, int count);
extern void refusal_count_index_build(Refusal refusal);

#endif							/* GPUSORT_REFUSAL_H */
