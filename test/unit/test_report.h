/*-------------------------------------------------------------------------
 *
 * test_report.h
 *	  How tests say what is right and what is not: a line "ok - name" or
 *	  "not ok - name" for each, before it lines "# why".
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_TEST_REPORT_H
#define GPUSORT_TEST_REPORT_H

#include <atomic>
#include <cstdarg>
#include <cstdio>

inline unsigned failed_tests = 0;
inline std::atomic<bool> test_failed;

/* Says why the test at work fails, in any thread; returns false. */
inline bool
fail(const char *format, ...)
{
	char		text[500];
	va_list		arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	printf("# %s\n", text);
	test_failed = true;
	return false;
}

#define CHECK(condition, ...) \
	do { if (!(condition)) (void) fail(__VA_ARGS__); } while (0)

inline void
run_test(const char *name, void (*test) ())
{
	test_failed = false;
	test();
	printf("%s - %s\n", test_failed ? "not ok" : "ok", name);
	fflush(stdout);
	failed_tests += test_failed;
}

#endif							/* GPUSORT_TEST_REPORT_H */
