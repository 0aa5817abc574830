/*-------------------------------------------------------------------------
 *
 * daemon_test_report.h
 *	  How tests of gpusortd say what is right and what is not.
 *
 * A test notes what is wrong, from any thread, and is concluded by a line
 * "ok - subject: name" or "not ok - subject: name", after which the first
 * problem is told.  A program defines TEST_SUBJECT before it includes this.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DAEMON_TEST_REPORT_H
#define GPUSORT_DAEMON_TEST_REPORT_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int	failures = 0;

/* What went wrong in the test that is running; empty as long as nothing. */
static char problem[512];
static pthread_mutex_t problem_lock = PTHREAD_MUTEX_INITIALIZER;

/* Notes the first problem; returns false for the caller to. */
static bool __attribute__((format(printf, 1, 2)))
wrong(const char *format,...)
{
	va_list		arguments;

	pthread_mutex_lock(&problem_lock);
	if (problem[0] == '\0')
	{
		va_start(arguments, format);
		vsnprintf(problem, sizeof(problem), format, arguments);
		va_end(arguments);
	}
	pthread_mutex_unlock(&problem_lock);
	return false;
}

static void
conclude(const char *name)
{
	bool		good = problem[0] == '\0';

	printf("%s - %s: %s\n", good ? "ok" : "not ok", TEST_SUBJECT, name);
	if (!good)
	{
		printf("# %s\n", problem);
		failures++;
	}
	problem[0] = '\0';
	fflush(stdout);
}

#endif							/* GPUSORT_DAEMON_TEST_REPORT_H */
