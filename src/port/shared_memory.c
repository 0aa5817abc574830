/*-------------------------------------------------------------------------
 *
 * shared_memory.c
 *	  Dynamic shared memory: the room for it, and segments of it.
 *
 * Shared memory may be a file system of limited size, as in containers.
 * There, to take more than there is raises an error, and other processes may
 * need some, too.  A sort can do without shared memory.  So it looks for room
 * before it takes any.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/statvfs.h>

#include "miscadmin.h"
#include "storage/dsm_impl.h"
#include "storage/shmem.h"
#include "utils/resowner.h"

#include "port/compat.h"
#include "port/shared_memory.h"

/* Where POSIX shared memory is, on Linux. */
#define SHARED_MEMORY_DIRECTORY		"/dev/shm"

/* Bytes of it that are left to others. */
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

bool
shared_memory_suffices(double bytes)
{
	/* memory that the server has set aside is not in the file system */
	return shared_memory_is_set_aside(bytes) || shared_memory_has_room(bytes);
}

bool
shared_memory_has_segments(double nsegments)
{
	/* as dsm.c counts them */
	return nsegments <= (64 + 5.0 * MaxBackends) / 2;
}

const char *
shared_memory_lack(double bytes)
{
	if (!shared_memory_suffices(bytes))
		return psprintf("%s has less room than the %.0f MB that a sort with parallel workers may take",
						SHARED_MEMORY_DIRECTORY, bytes / (1024 * 1024));
	if (min_dynamic_shared_memory > 0 && huge_pages != HUGE_PAGES_OFF &&
		!main_memory_has_huge_pages())
		return "the memory that min_dynamic_shared_memory sets aside is not known to be on huge pages, see vm.nr_hugepages and huge_pages";
	return NULL;
}

/* Ends a resource owner, and what it has. */
static void
end_owner(ResourceOwner owner)
{
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_BEFORE_LOCKS, false, false);
	ResourceOwnerDelete(owner);
}

/*
 * Does an error of this code mean that there is no memory?  If core writes the
 * file of a segment in part, it reports the error before, whichever that was.
 */
static bool
is_lack_of_memory(int code)
{
	return code == ERRCODE_OUT_OF_MEMORY || code == ERRCODE_DISK_FULL ||
		code == ERRCODE_INSUFFICIENT_RESOURCES ||
		(dynamic_shared_memory_type == DSM_IMPL_MMAP &&
		 ERRCODE_TO_CATEGORY(code) == ERRCODE_TO_CATEGORY(ERRCODE_SYSTEM_ERROR));
}

dsm_segment *
shared_memory_create(Size bytes)
{
	MemoryContext caller_context = CurrentMemoryContext;
	ResourceOwner caller_owner = CurrentResourceOwner;
	ResourceOwner owner;
	dsm_segment *volatile segment = NULL;

	/* what is left of the memory set aside is unknown */
	if (!shared_memory_suffices(bytes))
		return NULL;

	/*
	 * only the end of its owner removes what core has noted of a failed
	 * segment
	 */
	owner = ResourceOwnerCreate(caller_owner, "gpusort shared memory");
	CurrentResourceOwner = owner;
	/* if a file is written in part, core reports the error before */
	errno = ENOSPC;
	PG_TRY();
	{
		segment = dsm_create(bytes, DSM_CREATE_NULL_IF_MAXSEGMENTS);
		if (segment != NULL)
			dsm_pin_mapping(segment);
	}
	PG_CATCH();
	{
		int			code = geterrcode();

		CurrentResourceOwner = caller_owner;
		if (!is_lack_of_memory(code))
			PG_RE_THROW();
		MemoryContextSwitchTo(caller_context);
		FlushErrorState();
	}
	PG_END_TRY();
	CurrentResourceOwner = caller_owner;
	end_owner(owner);
	return segment;
}

dsm_segment *
shared_memory_create_huge(Size bytes)
{
	dsm_segment *segment;

	if (!main_memory_has_huge_pages() || !shared_memory_is_set_aside(bytes))
		return NULL;
	segment = shared_memory_create(bytes);
	if (segment != NULL && !ShmemAddrIsValid(dsm_segment_address(segment)))
	{
		/* too little was left, and the segment is somewhere else */
		dsm_detach(segment);
		segment = NULL;
	}
	return segment;
}
