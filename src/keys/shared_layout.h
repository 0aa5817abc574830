/*-------------------------------------------------------------------------
 *
 * shared_layout.h
 *	  The layout of keys that several processes make for one sort.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_SHARED_LAYOUT_H
#define GPUSORT_SHARED_LAYOUT_H

#include "port/atomics.h"
#include "storage/spin.h"

/* The most changes of a layout, and bytes of all common prefixes together. */
#define MOST_LAYOUT_CHANGES		32
#define SHARED_PREFIX_BYTES		(16 * 1024)

typedef enum LayoutChangeKind
{
	LAYOUT_BECOMES_GENERAL,		/* keys go on in the general layout */
	LAYOUT_LEAVES_PREFIX_OUT,	/* a part's keys leave a common prefix out */
	LAYOUT_HAS_LONGER_KEYS,		/* a part has more bytes of sort keys */
	LAYOUT_HAS_COMMON_STRING	/* documents of a part leave a string out; not
								 * in keys of several processes */
} LayoutChangeKind;

/* A change of the layout. */
typedef struct LayoutChange
{
	LayoutChangeKind kind;
	int			part;			/* part of the keys, see sort_keys.c */
	Size		size;			/* bytes of the prefix, or of a sort key */
	const char *bytes;			/* the prefix */
} LayoutChange;

/*
 * The changes that processes have agreed on, in shared memory: a list that grows.
 * The layout after the first n changes is the layout n.
 */
typedef struct SharedLayout
{
	slock_t		mutex;			/* taken to add a change */
	pg_atomic_uint32 nchanges;
	struct
	{
		LayoutChangeKind kind;
		int			part;
		uint32		size;
		uint32		place;		/* place of the prefix in "bytes" */
	}			changes[MOST_LAYOUT_CHANGES];
	uint32		used_bytes;
	char		bytes[SHARED_PREFIX_BYTES];
} SharedLayout;

extern void shared_layout_init(SharedLayout *layout);

/* The number of the present layout. */
static inline uint32
shared_layout_number(SharedLayout *layout)
{
	return pg_atomic_read_u32(&layout->nchanges);
}

/*
 * Adds a change to the layout of this number, which is the caller's.  Returns
 * false if another process has changed it before, or if there is no room.
 * There is always room for the change to the general layout.
 */
extern bool shared_layout_change(SharedLayout *layout, uint32 number,
								 const LayoutChange *change);

/* The change that follows the layout of this number, which is not the present one. */
extern LayoutChange shared_layout_get(SharedLayout *layout, uint32 number);

#endif							/* GPUSORT_SHARED_LAYOUT_H */
