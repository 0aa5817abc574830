/*-------------------------------------------------------------------------
 *
 * copy_bytes.h
 *	  Copying a few bytes, whose number varies.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_COPY_BYTES_H
#define GPUSORT_COPY_BYTES_H

/* More bytes take less time by memcpy(). */
#define MOST_FEW_BYTES		128

/*
 * Copies bytes that are mostly few, as those of a short string.  Where a
 * compiler knows that their number has a limit, as the length in a header has,
 * it makes memcpy() a string instruction.  That takes 14 to 26 ns for 5 to 60
 * bytes, and this takes 3 to 7 ns.  From 256 bytes on words take longer, and
 * seven times as long with 2,700, the largest rows of a B-tree.
 */
static inline void
copy_few_bytes(void *to, const void *from, Size bytes)
{
	char	   *target = to;
	const char *source = from;

	if (unlikely(bytes > MOST_FEW_BYTES))
		memcpy(target, source, bytes);
	else if (bytes >= sizeof(uint64))
	{
		Size		last = bytes - sizeof(uint64);

		for (Size i = 0; i < last; i += sizeof(uint64))
			memcpy(target + i, source + i, sizeof(uint64));
		memcpy(target + last, source + last, sizeof(uint64));
	}
	else if (bytes >= sizeof(uint32))
	{
		Size		last = bytes - sizeof(uint32);

		memcpy(target, source, sizeof(uint32));
		memcpy(target + last, source + last, sizeof(uint32));
	}
	else
	{
		for (Size i = 0; i < bytes; i++)
			target[i] = source[i];
	}
}

#endif							/* GPUSORT_COPY_BYTES_H */
