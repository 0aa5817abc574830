/*-------------------------------------------------------------------------
 *
 * test_report.h
 *	  How unit tests report what is right and what is not.
 *
 * A test notes what is wrong, from any thread.  It ends with a line "ok -
 * subject: name", or "not ok - subject: name" and then the first problem.  A
 * program defines TEST_SUBJECT before it includes this; in C++ a program may
 * have several files, and only the file that concludes tests needs
 * TEST_SUBJECT.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TEST_REPORT_H
#define GPUSORT_TEST_REPORT_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/* One of each in a program; those in C have one file. */
#ifdef __cplusplus
#define TEST_GLOBAL inline
#else
#define TEST_GLOBAL static
#endif

TEST_GLOBAL int failures = 0;

/* What went wrong in the present test; empty if nothing has. */
TEST_GLOBAL char problem[512];
TEST_GLOBAL pthread_mutex_t problem_lock = PTHREAD_MUTEX_INITIALIZER;

/* Notes the first problem.  Returns false, as its callers do then. */
TEST_GLOBAL bool
__attribute__((format(printf, 1, 2)))
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

/* Notes a problem unless something is as it should be. */
#define CHECK(condition, ...) \
	do { if (!(condition)) (void) wrong(__VA_ARGS__); } while (0)

TEST_GLOBAL void
conclude_test(const char *subject, const char *name)
{
	bool		good = problem[0] == '\0';

	printf("%s - %s: %s\n", good ? "ok" : "not ok", subject, name);
	if (!good)
	{
		printf("# %s\n", problem);
		failures++;
	}
	problem[0] = '\0';
	fflush(stdout);
}

#define conclude(name)	conclude_test(TEST_SUBJECT, name)

/* Runs a test and concludes it. */
#define RUN_TEST(name, test) \
	do { test(); conclude(name); } while (0)

#endif							/* GPUSORT_TEST_REPORT_H */
