/*-------------------------------------------------------------------------
 *
 * failed_call.h
 *	  The text about a system call that has failed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_FAILED_CALL_H
#define GPUSORTD_FAILED_CALL_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FAILED_CALL_SIZE	160

/*
 * Writes which system call has failed, and why.  EPERM and ENOSYS can only
 * come from a seccomp profile, as gpusortd makes no calls that fail with them
 * otherwise.
 */
static inline void
describe_failed_call(char text[FAILED_CALL_SIZE], const char *call,
					 int failure)
{
	const char *where = failure == EPERM || failure == ENOSYS ?
		", the seccomp profile of the server or its container may forbid it" : "";

	snprintf(text, FAILED_CALL_SIZE, "%s: %s%s", call, strerror(failure), where);
}

#endif							/* GPUSORTD_FAILED_CALL_H */
