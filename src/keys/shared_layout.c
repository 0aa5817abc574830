/*-------------------------------------------------------------------------
 *
 * shared_layout.c
 *	  The layout of keys that several processes make for one sort.
 *
 * Keys adapt to the rows that come.  They change to the general layout, leave
 * out a common prefix of strings, or have more bytes of sort keys
 * (sort_keys.h).  Keys of several processes can be compared only if all are
 * made alike.  So a process whose rows want a change adds it to a list in
 * shared memory.  Each process follows the list when it begins its next batch.
 * A batch of keys is marked with the number of changes that its keys follow.
 * The process that sorts the keys makes those again that were made before the
 * last change.
 *
 * An entry of the list never changes, and is read without a lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "keys/shared_layout.h"

void
shared_layout_init(SharedLayout *layout)
{
	SpinLockInit(&layout->mutex);
	pg_atomic_init_u32(&layout->nchanges, 0);
	layout->used_bytes = 0;
}

/* Is there room for a change?  The last place is for the general layout. */
static bool
has_room(const SharedLayout *layout, uint32 number, const LayoutChange *change)
{
	if (change->kind == LAYOUT_BECOMES_GENERAL)
		return number < MOST_LAYOUT_CHANGES;
	return number < MOST_LAYOUT_CHANGES - 1 &&
		(change->kind != LAYOUT_LEAVES_PREFIX_OUT ||
		 change->size <= SHARED_PREFIX_BYTES - layout->used_bytes);
}

/*
 * The prefix is copied under the lock.  A sort does that a few times in all,
 * and a process that waits for the lock has found the same prefix.
 */
bool
shared_layout_change(SharedLayout *layout, uint32 number,
					 const LayoutChange *change)
{
	bool		done = false;

	SpinLockAcquire(&layout->mutex);
	if (pg_atomic_read_u32(&layout->nchanges) == number &&
		has_room(layout, number, change))
	{
		layout->changes[number].kind = change->kind;
		layout->changes[number].part = change->part;
		layout->changes[number].size = change->size;
		if (change->kind == LAYOUT_LEAVES_PREFIX_OUT)
		{
			layout->changes[number].place = layout->used_bytes;
			memcpy(layout->bytes + layout->used_bytes, change->bytes,
				   change->size);
			layout->used_bytes += change->size;
		}
		pg_write_barrier();
		pg_atomic_write_u32(&layout->nchanges, number + 1);
		done = true;
	}
	SpinLockRelease(&layout->mutex);
	return done;
}

LayoutChange
shared_layout_get(SharedLayout *layout, uint32 number)
{
	LayoutChange change;

	pg_read_barrier();
	change.kind = layout->changes[number].kind;
	change.part = layout->changes[number].part;
	change.size = layout->changes[number].size;
	change.bytes = change.kind == LAYOUT_LEAVES_PREFIX_OUT ?
		layout->bytes + layout->changes[number].place : NULL;
	return change;
}
