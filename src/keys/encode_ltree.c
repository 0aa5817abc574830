/*-------------------------------------------------------------------------
 *
 * encode_ltree.c
 *	  Keys of ltree, a type of the extension of that name.
 *
 * A path is a list of labels.  Paths compare label by label, by their bytes, a label
 * before those that it begins, and a path before those that it begins.  As labels are
 * made of letters, digits and few signs, none has a byte as low as what goes behind
 * each label here, which tells whether another one follows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "keys/encode.h"

/* What follows a label, or is a path without labels. */
#define CODE_END			0
#define CODE_NEXT			1

/*
 * A path is stored as the number of its labels, then each of these as its length and
 * its bytes.  The first label and the size of each are aligned in relation to the
 * value with a long header; the places here are in relation to what follows a header.
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
