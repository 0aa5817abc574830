/*-------------------------------------------------------------------------
 *
 * shared_memory.c
 *	  How much dynamic shared memory can be had.
 *
 * Where shared memory is a file system of limited size, as it is in
 * containers, taking more of it than there is would be an error, and others
 * may need some: so whoever can do without looks before it takes any.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/statvfs.h>

#include "storage/dsm_impl.h"

#include "shared_memory.h"

/* Where POSIX shared memory is, on Linux. */
#define SHARED_MEMORY_DIRECTORY		"/dev/shm"

/* What is left of it to others. */
#define SPARED_BYTES	((double) 16 * 1024 * 1024)

bool
shared_memory_is_set_aside(double bytes)
{
	return bytes <= min_dynamic_shared_memory * 1024.0 * 1024.0;
}

bool
shared_memory_has_room(double bytes)
{
	struct statvfs status;

	if (dynamic_shared_memory_type != DSM_IMPL_POSIX ||
		statvfs(SHARED_MEMORY_DIRECTORY, &status) != 0)
		return true;
	return (double) status.f_bavail * status.f_frsize >= bytes + SPARED_BYTES;
}
