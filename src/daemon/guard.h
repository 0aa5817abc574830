/*-------------------------------------------------------------------------
 *
 * guard.h
 *	  The process between the launcher and gpusortd.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_GUARD_H
#define GPUSORTD_GUARD_H

/*
 * Runs this program in a child process, with these arguments, and makes sure
 * that the child ends when the launcher does, or when SIGTERM comes.  Then
 * reports how it has ended, and ends with status 0.  Does not return.
 */
extern void guard(char **arguments) __attribute__((noreturn));

#endif							/* GPUSORTD_GUARD_H */
