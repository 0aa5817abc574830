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

/*
 * The most names of all places together, the most of one object, and the most
 * bytes of a name.  If the first name at a place is longer, the place gets an
 * empty name, so that all names there are written.
 */
#define MOST_NAMES			4096
#define MOST_NAMES_OF_OBJECT	256
#define MOST_NAME_BYTES		256

typedef struct ObjectNames ObjectNames;

/* A place of names. */
typedef struct NamePlace
{
	char	   *name;			/* NULL: no document has come here */
	int			length;
	ObjectNames *objects;		/* places in the objects that are the value */
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
		return encode_characters(writer, base + offset,
								 entry_length(entry, offset));
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
