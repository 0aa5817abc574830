/*-------------------------------------------------------------------------
 *
 * path_hooks.h
 *	  Paths with the costs of the sorts that GpuSort nodes will do.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_PATH_HOOKS_H
#define GPUSORT_PATH_HOOKS_H

/* Installs the hooks that add paths. */
extern void path_hooks_init(void);

#endif							/* GPUSORT_PATH_HOOKS_H */
