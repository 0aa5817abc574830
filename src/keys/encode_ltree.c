/*-------------------------------------------------------------------------
 *
 * encode_ltree.c
 *	  Keys of ltree, a type of the extension of that name.
 *
 * A path is a list of labels.  Paths compare label by label, and labels by
 * their bytes.  A label comes before longer labels that begin with it, and a
 * path before longer paths.  In the key a byte behind each label tells whether
 * another label follows.  Labels are made of letters, digits and few signs, so
 * no byte of a label is as low as that byte.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "keys/encode.h"

/* The byte behind a label; CODE_END alone is a path without labels. */
#define CODE_END			0
#define CODE_NEXT			1

/*
 * A path is stored as the number of its labels, then each of these as its length and
 * its bytes.  Alignment counts from the header of a value with a long header.
 * The places here count from what follows the header.
 */
#define FIRST_LABEL			(MAXALIGN(VARHDRSZ + sizeof(uint16)) - VARHDRSZ)
#define LABEL_SIZE(length)	MAXALIGN(sizeof(uint16) + (length))

static inline uint16
load_length(const char *stored)
{
	uint16		length;

	memcpy(&length, stored, sizeof(length));
	return length;
}

static bool
append_path(KeyWriter *writer, Datum value)
{
	struct varlena *path = (struct varlena *) DatumGetPointer(value);
	const char *label;
	int			nlabels;

	if (unlikely(is_toasted(path)))
		path = encode_detoast(writer, path, -1);
	nlabels = load_length(VARDATA_ANY(path));
	label = VARDATA_ANY(path) + FIRST_LABEL;

	if (nlabels == 0)
		key_append(writer, CODE_END, 8);
	for (int i = 1; i <= nlabels && !writer->truncated; i++)
	{
		uint16		length = load_length(label);

		encode_ended(writer, label + sizeof(uint16), length,
					 i < nlabels ? CODE_NEXT : CODE_END);
		label += LABEL_SIZE(length);
	}
	return true;
}

bool
encode_ltree(KeyWriter *writer, Datum value)
{
	return encode_parts(writer, value, append_path);
}
