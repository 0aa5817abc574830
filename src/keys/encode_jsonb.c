/*-------------------------------------------------------------------------
 *
 * encode_jsonb.c
 *	  Keys of jsonb.
 *
 * Documents compare value by value, in the order in which the values are
 * stored, and the first value that differs decides.  Values compare by their
 * types first, in the order of the codes below.  Strings then compare under
 * the database's default collation, and numbers as numerics.  Arrays and
 * objects compare by the number of their elements or pairs, and then by these.
 * The name of a pair compares as a string does, ahead of the value.  An empty
 * array is less than all else, but only as the whole document.  A document
 * that is a scalar is stored as an array with a mark.
 *
 * A code of one byte tells the type of a value and, of most arrays and objects, the
 * number of elements or pairs.  The number tells where an array or an object
 * ends, so nothing marks the end.
 *
 * Most names are the same in all documents.  So the first document that comes
 * to a place gives its name to that place, for good.  If a later document has
 * the same name at this place, nothing is written of it.  If it has another
 * name, a code is written that tells whether the name is less or greater, and
 * is not the code of any value.  The name follows, and all names behind it, in
 * this object and in what the object contains, are written too.  A place is
 * determined by what is ahead of it in the key: for each object around it, the
 * number of pairs and which of the pairs it is.  The elements of an array are
 * one place.  So a document with other names ahead never comes to this place,
 * and no key has to be made again.  If several processes make keys, all names
 * are written.
 *
 * Documents may also begin with the same long string, which would fill the key.
 * So if the first string that comes to a place is long, it stays there, too.
 * If many of the first strings turn out to be this one, a document is refused,
 * and all keys are made again.  From then on a code tells how each string at
 * this place compares with the first one.  The string follows only if it is
 * another one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/varlena.h"

#include "keys/encode.h"

/*
 * The codes.  Most containers have a code from the first to the last but one.
 */
#define CODE_LESSER_NAME	0x00
#define CODE_EMPTY_DOCUMENT	0x02
#define CODE_NULL			0x03
#define CODE_STRING			0x04
#define CODE_NUMBER			0x05
#define CODE_FALSE			0x06
#define CODE_TRUE			0x07
#define CODE_ARRAY			0x08
#define CODE_LONG_ARRAY		0x57
#define CODE_OBJECT			0x58
#define CODE_LONG_OBJECT	0xF7
#define CODE_GREATER_NAME	0xFF

/* The codes ahead of a string where the first string is common. */
#define CODE_LESSER_STRING	0x00
#define CODE_SAME_STRING	0x01
#define CODE_GREATER_STRING	0x02

/*
 * The most names of all places together, the most of one object, and the most
 * bytes of a name.  If the first name at a place is longer, the place gets an
 * empty name, so that all names there are written.
 */
#define MOST_NAMES			4096
#define MOST_NAMES_OF_OBJECT	256
#define MOST_NAME_BYTES		256

/* A string of this length leaves little of a key to other values. */
#define LEAST_LONG_STRING	(KEY_MAX_WORDS * sizeof(uint64_t))

/* The most bytes of the strings of all places together. */
#define MOST_STRING_BYTES	(256 * 1024)

/*
 * This many strings at a place tell whether the first one is common: whether
 * one of SAMPLE_PART is the same.  That is found out within the first
 * documents only, where it takes little to make all keys again, and at few
 * places.
 */
#define SAMPLE_STRINGS		64
#define SAMPLE_PART			4
#define SAMPLE_DOCUMENTS	1024
#define MOST_COMMON_STRINGS	16

typedef struct ObjectNames ObjectNames;

/* A place of a name and its values. */
typedef struct NamePlace
{
	char	   *name;			/* NULL: no document has come here */
	int			length;
	ObjectNames *objects;		/* places in the objects that are the value */
	char	   *string;			/* the first string, NULL if it was short */
	int			string_length;
	bool		is_common;		/* keys tell how strings compare with it */
	int			nstrings;		/* strings that have come while it was not */
	int			nsame;			/* those of them that were the same */
} NamePlace;

/* The places in objects with this number of pairs, one for each pair. */
struct ObjectNames
{
	ObjectNames *next;			/* those of another number of pairs */
	uint32		npairs;
	NamePlace	places[FLEXIBLE_ARRAY_MEMBER];
};

struct JsonbColumn
{
	bool		all_names;		/* all names are written */
	uint32		names_left;		/* names that there may still be places for */
	Size		strings_left;	/* bytes of long strings that may still come */
	int			common_left;	/* strings that may still become common ones */
	NamePlace  *wanted;			/* its string had better be common, or NULL */
	uint32		ndocuments;
	NamePlace	root;
	MemoryContext context;		/* context of all this */
};

/*
 * The most levels of containers in a key.  Each level takes a byte of the key,
 * so more levels would hardly find room.  The comparator follows any number of
 * levels, with little stack.
 */
#define MOST_LEVELS			(KEY_MAX_WORDS * sizeof(uint64_t))

/* A document that is being written; the cache of the writer is that of strings. */
typedef struct Document
{
	KeyWriter  *writer;
	struct JsonbColumn *column;
	int			nlevels;		/* containers that the present value is in */
} Document;

static bool append_container(Document *document, JsonbContainer *container,
							 NamePlace *place);

void
encode_jsonb_begin(KeyCache *cache, Oid collation, KeyPlace place)
{
	cache->jsonb = palloc0(sizeof(struct JsonbColumn));
	cache->jsonb->names_left = MOST_NAMES;
	cache->jsonb->strings_left = MOST_STRING_BYTES;
	cache->jsonb->common_left = MOST_COMMON_STRINGS;
	cache->jsonb->context = CurrentMemoryContext;
	cache->parts = palloc(sizeof(KeyCache *));
	cache->parts[0] = key_part_create(cache, TEXTOID, InvalidOid,
									  DEFAULT_COLLATION_OID, KEY_INSIDE);
	cache->nparts = 1;
}

void
encode_jsonb_share(KeyCache *cache)
{
	cache->jsonb->all_names = true;
}

/* The length of an entry of a container, which begins at the offset. */
static inline int
entry_length(JEntry entry, uint32 offset)
{
	return JBE_HAS_OFF(entry) ? JBE_OFFLENFLD(entry) - offset :
		JBE_OFFLENFLD(entry);
}

/* Notes the first string at a place. */
static void
note_first_string(struct JsonbColumn *column, NamePlace *place,
				  const char *string, int length)
{
	if (length < LEAST_LONG_STRING || length > column->strings_left)
		return;
	column->strings_left -= length;
	place->string = MemoryContextAlloc(column->context, length);
	place->string_length = length;
	memcpy(place->string, string, length);
}

/* Is this the first string of the place? */
static inline bool
is_first_string(const NamePlace *place, const char *string, int length)
{
	return place->string != NULL && place->string_length == length &&
		memcmp(place->string, string, length) == 0;
}

/*
 * Counts a string at a place.  Returns true if the first string had better be
 * a common one.
 */
static pg_noinline bool
sample_string(struct JsonbColumn *column, NamePlace *place,
			  const char *string, int length)
{
	if (place->nstrings++ == 0)
		note_first_string(column, place, string, length);
	else if (is_first_string(place, string, length))
		place->nsame++;
	if (place->nstrings != SAMPLE_STRINGS || column->common_left == 0 ||
		place->nsame < SAMPLE_STRINGS / SAMPLE_PART)
		return false;
	column->common_left--;
	column->wanted = place;
	return true;
}

bool
encode_jsonb_wants_change(const KeyCache *cache)
{
	return cache->jsonb->wanted != NULL;
}

void
encode_jsonb_change(KeyCache *cache)
{
	cache->jsonb->wanted->is_common = true;
	cache->jsonb->wanted = NULL;
}

/*
 * Appends a string that is a value.  The place may be NULL.  May refuse the
 * string.
 */
static bool
append_string(Document *document, char *string, int length, NamePlace *place)
{
	KeyWriter  *writer = document->writer;
	struct JsonbColumn *column = document->column;
	int			order;

	if (place == NULL || likely(!place->is_common))
		return !(place != NULL &&
				 unlikely(column->ndocuments <= SAMPLE_DOCUMENTS) &&
				 sample_string(column, place, string, length)) &&
			encode_characters(writer, string, length);

	if (is_first_string(place, string, length))
	{
		key_append(writer, CODE_SAME_STRING, 8);
		return true;
	}
	order = varstr_cmp(string, length, place->string, place->string_length,
					   DEFAULT_COLLATION_OID);
	key_append(writer, order < 0 ? CODE_LESSER_STRING : CODE_GREATER_STRING, 8);
	return encode_characters(writer, string, length);
}

/* Appends the value at an offset from the base of its container. */
static bool
append_value(Document *document, JEntry entry, char *base,
			 uint32 offset, NamePlace *place)
{
	KeyWriter  *writer = document->writer;
	uint64_t	complement = writer->complement;

	if (JBE_ISSTRING(entry))
	{
		key_append(writer, CODE_STRING, 8);
		return append_string(document, base + offset,
							 entry_length(entry, offset), place);
	}
	if (JBE_ISCONTAINER(entry))
		return append_container(document,
								(JsonbContainer *) (base + INTALIGN(offset)),
								place);
	if (JBE_ISNUMERIC(entry))
	{
		key_append(writer, CODE_NUMBER, 8);
		(void) encode_numeric_general(writer,
									  PointerGetDatum(base + INTALIGN(offset)));
		writer->complement = complement;
	}
	else
		key_append(writer, JBE_ISNULL(entry) ? CODE_NULL :
				   JBE_ISBOOL_TRUE(entry) ? CODE_TRUE : CODE_FALSE, 8);
	return true;
}

/* Finds the places in objects with this number of pairs; NULL if none are kept. */
static ObjectNames *
find_names(struct JsonbColumn *column, NamePlace *place, uint32 npairs)
{
	ObjectNames *names;

	if (place == NULL || npairs == 0)
		return NULL;
	for (names = place->objects; names != NULL; names = names->next)
	{
		if (names->npairs == npairs)
			return names;
	}
	if (npairs > Min(MOST_NAMES_OF_OBJECT, column->names_left))
		return NULL;
	column->names_left -= npairs;
	names = MemoryContextAllocZero(column->context,
								   offsetof(ObjectNames, places) +
								   npairs * sizeof(NamePlace));
	names->npairs = npairs;
	names->next = place->objects;
	place->objects = names;
	return names;
}

/*
 * Appends a name unless the place has this name, and sets whether it has.  The
 * first name that comes to a place becomes the name of the place.
 */
static bool
append_other_name(Document *document, NamePlace *place, char *name,
				  int length, bool *is_same)
{
	int			order;

	if (place->name == NULL)
	{
		place->length = length <= MOST_NAME_BYTES ? length : 0;
		place->name = MemoryContextAlloc(document->column->context,
										 place->length + 1);
		memcpy(place->name, name, place->length);
	}
	*is_same = place->length == length &&
		memcmp(place->name, name, length) == 0;
	if (likely(*is_same))
		return true;
	order = varstr_cmp(name, length, place->name, place->length,
					   DEFAULT_COLLATION_OID);
	key_append(document->writer,
			   order < 0 ? CODE_LESSER_NAME : CODE_GREATER_NAME, 8);
	return encode_characters(document->writer, name, length);
}

static bool
append_pairs(Document *document, JsonbContainer *object,
			 NamePlace *place)
{
	uint32		npairs = JsonContainerSize(object);
	char	   *base = (char *) &object->children[npairs * 2];
	ObjectNames *names = find_names(document->column, place, npairs);
	uint32		name_offset = 0;
	uint32		value_offset = getJsonbOffset(object, npairs);

	for (uint32 i = 0; i < npairs && !document->writer->truncated; i++)
	{
		JEntry		name = object->children[i];
		JEntry		value = object->children[npairs + i];
		char	   *bytes = base + name_offset;
		int			length = entry_length(name, name_offset);
		bool		is_same = false;

		if (names == NULL)
		{
			if (!encode_characters(document->writer, bytes, length))
				return false;
		}
		else if (!append_other_name(document, &names->places[i], bytes, length,
									&is_same))
			return false;
		if (!is_same)
			names = NULL;
		if (document->writer->truncated)
			return true;
		if (!append_value(document, value, base, value_offset,
						  is_same ? &names->places[i] : NULL))
			return false;
		JBE_ADVANCE_OFFSET(name_offset, name);
		JBE_ADVANCE_OFFSET(value_offset, value);
	}
	return true;
}

static bool
append_elements(Document *document, JsonbContainer *array,
				NamePlace *place)
{
	uint32		nelements = JsonContainerSize(array);
	char	   *base = (char *) &array->children[nelements];
	uint32		offset = 0;

	for (uint32 i = 0; i < nelements && !document->writer->truncated; i++)
	{
		JEntry		entry = array->children[i];

		if (!append_value(document, entry, base, offset, place))
			return false;
		JBE_ADVANCE_OFFSET(offset, entry);
	}
	return true;
}

/* Appends the code of a container, with its number of elements or pairs. */
static void
append_count(KeyWriter *writer, int first_code, int long_code, uint32 count)
{
	if (likely(count < long_code - first_code))
		key_append(writer, first_code + count, 8);
	else
	{
		key_append(writer, long_code, 8);
		key_append(writer, count, 32);
	}
}

static bool
append_container(Document *document, JsonbContainer *container,
				 NamePlace *place)
{
	uint32		count = JsonContainerSize(container);
	bool		is_object = JsonContainerIsObject(container);
	bool		taken = true;

	if (is_object)
		append_count(document->writer, CODE_OBJECT, CODE_LONG_OBJECT, count);
	else
		append_count(document->writer, CODE_ARRAY, CODE_LONG_ARRAY, count);
	if (unlikely(++document->nlevels > MOST_LEVELS))
		document->writer->truncated = true;
	else
		taken = is_object ? append_pairs(document, container, place) :
			append_elements(document, container, place);
	document->nlevels--;
	return taken;
}

static bool
append_document(KeyWriter *writer, Datum value)
{
	KeyCache   *cache = writer->cache;
	JsonbContainer *root = &((Jsonb *) encode_flatten(cache, value))->root;
	Document	document = {writer, cache->jsonb, 0};
	NamePlace  *place = cache->jsonb->all_names ? NULL : &cache->jsonb->root;
	bool		taken = true;

	cache->jsonb->ndocuments++;
	writer->cache = cache->parts[0];
	if (JsonContainerIsScalar(root))
		taken = append_elements(&document, root, place);
	else if (JsonContainerIsArray(root) && JsonContainerSize(root) == 0)
		key_append(writer, CODE_EMPTY_DOCUMENT, 8);
	else
		taken = append_container(&document, root, place);
	writer->cache = cache;
	return taken;
}

bool
encode_jsonb(KeyWriter *writer, Datum value)
{
	return encode_parts(writer, value, append_document);
}
