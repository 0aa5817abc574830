/*-------------------------------------------------------------------------
 *
 * report.c
 *	  Telling the launcher how gpusortd fares.
 *
 *-------------------------------------------------------------------------
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "../common/protocol.h"
#include "report.h"

static volatile bool socket_exists;

void
report(const char *format,...)
{
	char		line[1024];
	va_list		arguments;
	int			length;

	va_start(arguments, format);
	length = vsnprintf(line, sizeof(line) - 1, format, arguments);
	va_end(arguments);
	if (length > (int) sizeof(line) - 2)
		length = sizeof(line) - 2;
	line[length] = '\n';

	/* one write, so that lines of different threads do not mix */
	if (write(STDOUT_FILENO, line, length + 1) < 0)
		return;					/* there is no one left to tell */
}

void
leave(int status)
{
	if (socket_exists)
		unlink(SOCKET_PATH);
	_exit(status);
}

void
leave_removes_socket(void)
{
	socket_exists = true;
}
