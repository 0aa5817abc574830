/*-------------------------------------------------------------------------
 *
 * hooks.h
 *	  All hooks of the server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_HOOKS_H
#define GPUSORT_HOOKS_H

/* Installs the hooks; once, when the library is loaded. */
extern void hooks_install(void);

#endif							/* GPUSORT_HOOKS_H */
