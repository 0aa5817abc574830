/*-------------------------------------------------------------------------
 *
 * report.h
 *	  Telling the launcher how gpusortd fares; see launcher.c for the lines.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORTD_REPORT_H
#define GPUSORTD_REPORT_H

/* Writes one line to standard output, from any thread; printf format. */
extern void report(const char *format,...)
			__attribute__((format(printf, 1, 2)));

/*
 * Ends the process in an orderly way: the socket is removed, and all
 * connections end with the process.  Allowed in a signal handler.
 */
extern void leave(int status) __attribute__((noreturn));

/* Makes leave() remove the socket, which is this process's from now on. */
extern void leave_removes_socket(void);

/* Exit codes. */
#define EXIT_STOPPED	0		/* told to end */
#define EXIT_ERROR		1		/* could not start; said in "failed" */
#define EXIT_UNUSABLE	2		/* nothing to sort with; said in "unusable" */
#define EXIT_LOST		3		/* the device needs a new process; likewise */

#endif							/* GPUSORTD_REPORT_H */
