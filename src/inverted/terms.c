/*-------------------------------------------------------------------------
 *
 * terms.c
 *	  The terms of an inverted index, and their order.
 *
 * The operator class compares terms.  That takes a call of a function, which
 * is long beside a look at a word.  So each term has a word.  The word has the
 * column and the category, by which terms are ordered first, and for some
 * comparison functions of core also the beginning of the value.  The rest of
 * such values is compared here as well.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"

#include "inverted/terms.h"
#include "port/compat.h"

/* The bits of a word, from the top: column, category, beginning of a value. */
#define CATEGORY_BITS		2
#define BEGINNING_BITS		54

StaticAssertDecl(INDEX_MAX_KEYS <
				 UINT64CONST(1) << (64 - CATEGORY_BITS - BEGINNING_BITS),
				 "a word has too few bits for a column");
StaticAssertDecl(GIN_CAT_NULL_ITEM < 1 << CATEGORY_BITS,
				 "a word has too few bits for a category");

/* Returns the beginning of a number of 64 bits without a sign. */
static inline uint64
beginning_of_word(uint64 word)
{
	return word >> (64 - BEGINNING_BITS);
}

static uint64
beginning_of_int64(Datum value)
{
	return beginning_of_word((uint64) DatumGetInt64(value) ^
							 UINT64CONST(1) << 63);
}

static uint64
beginning_of_int32(Datum value)
{
	return (uint32) DatumGetInt32(value) ^ (uint32) 1 << 31;
}

static uint64
beginning_of_int16(Datum value)
{
	return (uint16) DatumGetInt16(value) ^ (uint16) 1 << 15;
}

static uint64
beginning_of_oid(Datum value)
{
	return DatumGetObjectId(value);
}

/*
 * Returns the first bytes of a string that is ordered by its bytes, and a
 * shorter string before a longer one that it begins.
 */
static uint64
beginning_of_string(Datum value)
{
	struct varlena *string = (struct varlena *) PG_DETOAST_DATUM_PACKED(value);
	Size		bytes = VARSIZE_ANY_EXHDR(string);
	uint64		word = 0;

	memcpy(&word, VARDATA_ANY(string), Min(bytes, sizeof(word)));
	if ((Pointer) string != DatumGetPointer(value))
		pfree(string);
	return beginning_of_word(pg_hton64(word));
}

static uint64
no_beginning(Datum value)
{
	return 0;
}

/* Compares values that their beginnings hold as a whole. */
static int
compare_nothing(Datum a, Datum b)
{
	return 0;
}

static int
compare_int64(Datum a, Datum b)
{
	return DatumGetInt64(a) < DatumGetInt64(b) ? -1 :
		DatumGetInt64(a) > DatumGetInt64(b);
}

static int
compare_strings(Datum a, Datum b)
{
	struct varlena *string_a = (struct varlena *) PG_DETOAST_DATUM_PACKED(a);
	struct varlena *string_b = (struct varlena *) PG_DETOAST_DATUM_PACKED(b);
	Size		bytes_a = VARSIZE_ANY_EXHDR(string_a);
	Size		bytes_b = VARSIZE_ANY_EXHDR(string_b);
	int			result = memcmp(VARDATA_ANY(string_a), VARDATA_ANY(string_b),
								Min(bytes_a, bytes_b));

	if (result == 0)
		result = (bytes_a > bytes_b) - (bytes_a < bytes_b);
	if ((Pointer) string_a != DatumGetPointer(a))
		pfree(string_a);
	if ((Pointer) string_b != DatumGetPointer(b))
		pfree(string_b);
	return result;
}

/*
 * Sets how the values of a column are compared in less time than the operator
 * class's function takes, where that has an order that is known.
 */
static void
set_comparison(TermType *type, Oid function, Oid collation)
{
	type->compare = compare_nothing;
	switch (function)
	{
		case F_BTINT2CMP:
			type->beginning = beginning_of_int16;
			return;
		case F_BTINT4CMP:
		case F_DATE_CMP:
			type->beginning = beginning_of_int32;
			return;
		case F_BTOIDCMP:
			type->beginning = beginning_of_oid;
			return;
		case F_BTINT8CMP:
		case F_TIMESTAMP_CMP:
		case F_TIMESTAMPTZ_CMP:
			type->beginning = beginning_of_int64;
			type->compare = compare_int64;
			return;
		case F_BTTEXTCMP:
			if (!COLLATION_IS_C(collation))
				break;
			pg_fallthrough;
		case F_BYTEACMP:
		case F_GIN_CMP_TSLEXEME:
		case F_GIN_COMPARE_JSONB:
			type->beginning = beginning_of_string;
			type->compare = compare_strings;
			return;
		default:
			break;
	}
	type->beginning = no_beginning;
	type->compare = NULL;
}

Terms *
terms_begin(Relation index)
{
	Terms	   *terms = palloc0(sizeof(Terms));
	GinState   *gin = &terms->gin;

	initGinState(gin, index);
	for (int i = 0; i < gin->origTupdesc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(gin->origTupdesc, i);

		terms->types[i].by_value = attribute->attbyval;
		terms->types[i].int_aligned = attribute->attalign != TYPALIGN_DOUBLE;
		terms->types[i].length = attribute->attlen;
		set_comparison(&terms->types[i], gin->compareFn[i].fn_oid,
					   gin->supportCollation[i]);
	}
	terms->context = AllocSetContextCreate(CurrentMemoryContext,
										   "gpusort comparisons of terms",
										   ALLOCSET_SMALL_SIZES);
	return terms;
}

int
terms_compare(Terms *terms, const Term *a, const Term *b)
{
	MemoryContext caller_context;
	int			result;

	CHECK_FOR_INTERRUPTS();
	caller_context = MemoryContextSwitchTo(terms->context);
	result = ginCompareAttEntries(&terms->gin,
								  a->column, a->value, a->category,
								  b->column, b->value, b->category);
	MemoryContextSwitchTo(caller_context);
	MemoryContextReset(terms->context);
	return result;
}

int
terms_compare_rest(Terms *terms, const Term *a, const Term *b)
{
	int			(*compare) (Datum, Datum) = terms->types[a->column - 1].compare;

	/* column and category are in the word */
	if (a->category != GIN_CAT_NORM_KEY)
		return 0;
	return compare != NULL ? compare(a->value, b->value) :
		terms_compare(terms, a, b);
}

void
terms_verify(Terms *terms, const Term *a, const Term *b, bool is_equal)
{
	int			result = terms_compare(terms, a, b);

	if (is_equal ? result != 0 : result >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("gpusort: terms of an index are out of order")));
}

uint64
terms_word(const Terms *terms, const Term *term)
{
	uint64		word = (uint64) term->column << CATEGORY_BITS | term->category;

	word <<= BEGINNING_BITS;
	return term->category == GIN_CAT_NORM_KEY ?
		word | terms->types[term->column - 1].beginning(term->value) : word;
}
