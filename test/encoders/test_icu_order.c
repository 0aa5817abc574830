/*-------------------------------------------------------------------------
 *
 * test_icu_order.c
 *	  Sort keys under collations of ICU against ICU itself: random strings.
 *
 * Strings come in pairs; the second string is mostly much like the first.  Two
 * things are checked of each pair: that its keys are those that ICU makes, to
 * the byte; and, unless the keys are said to be doubtful, that their order is
 * the order in which ICU compares the strings.
 *
 * The strings are made of characters that collations treat in special ways,
 * and of those that the collation at hand lists as joining.  They depend on
 * nothing but the seed and the release of ICU.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "keys/icu_keys.h"
#include "port/compat.h"
#include "test_icu_keys.h"

PG_FUNCTION_INFO_V1(check_icu_order);
PG_FUNCTION_INFO_V1(find_contradictions);
PG_FUNCTION_INFO_V1(icu_version);

#ifdef USE_ICU

#include <unicode/uchar.h>
#include <unicode/ucol.h>
#include <unicode/uset.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>
#include <unicode/uversion.h>

/* Longest string, in characters and bytes. */
#define MAX_CHARACTERS		20
#define MAX_BYTES			(MAX_CHARACTERS * MAX_MULTIBYTE_CHAR_LEN)

/* Longest sort key that is looked at; all of most. */
#define LONGEST				256

/* Variants of a string that it is compared with, and times each key is made. */
#define NVARIANTS			5
#define NTIMES				3

/* Most alphabets of one string. */
#define MAX_MIXED			3

/* Most characters of the collation's own alphabet. */
#define MAX_OWN				20000

typedef struct Alphabet
{
	int			ncharacters;
	const UChar32 *characters;
} Alphabet;

#define ALPHABET(...) \
	{lengthof(((UChar32[]) {__VA_ARGS__})), (const UChar32[]) {__VA_ARGS__}}

static const Alphabet alphabets[] = {
	/* Latin: plain, composed, and what is often tailored */
	ALPHABET('a', 'b', 'c', 'A', 'B', 'Z', 'e', 'E', 'o', 'n', 'l', 's'),
	ALPHABET(0xE1, 0xE0, 0xE4, 0xC5, 0xE9, 0xF1, 0xDF, 0xE6, 0x153, 0x1C6,
			 0x1E9E, 0x1EA5, 0x212B, 0xAA),
	ALPHABET('c', 'h', 'l', 'j', 'n', 'g', 'd', 'z', 's', 0x17E, 'a', 'e', 'A',
			 'H', 'C', 'L', 'y', 0xB7, '\'', 0x2BB),
	/* combining marks */
	ALPHABET(0x300, 0x301, 0x302, 0x308, 0x30A, 0x323, 0x327, 0x328, 0x345,
			 0x340, 0x341, 0x344, 0x34F, 0x31B, 0x360, 0x591, 0x5BF),
	ALPHABET(0x1D15E, 0x1D165, 0x1D16E, 0x110BA, 0x1109A, 0x1109C, 0x11127,
			 0x11131, 0x1E000, 0x1E8D0, 0x16FF0, 0x114B9, 0x114BC, 0x1AC9),
	/* punctuation and symbols, which are variable */
	ALPHABET(' ', '-', '.', ',', '\'', '"', '_', '(', ')', '$', '+', '=', 0xA0,
			 0x2010, 0x2013, 0x3000, 0x20AC, 0xA9),
	/* digits and numbers */
	ALPHABET('0', '1', '2', '9', 0x660, 0x661, 0x966, 0xB2, 0xBD, 0xFF10,
			 0x2460, 0x3007, 0x1D7CE),
	/* controls, and what is ignored */
	ALPHABET(1, 2, 3, 8, 9, 0xA, 0xD, 0x1F, 0x7F, 0x80, 0x85, 0xAD, 0x200B,
			 0x200C, 0x200D, 0x200E, 0x2028, 0x2060, 0xFEFF, 0xFFF9, 0xFFFD),
	/* unassigned, for private use, no characters, other planes */
	ALPHABET(0xFFFE, 0xFFFF, 0xFDD0, 0xFDD1, 0x1FFFE, 0x10FFFF, 0xE000, 0xF8FF,
			 0x10000, 0x1F600, 0xE0001, 0xE0100, 0xFE0F, 0x378, 0x5FF, 0x50000),
	/* Arabic with vowels and kashida, Hebrew */
	ALPHABET(0x627, 0x628, 0x629, 0x62F, 0x640, 0x644, 0x647, 0x64A, 0x64B,
			 0x64E, 0x650, 0x651, 0x652, 0x653, 0x654, 0x655, 0x622, 0x623,
			 0x670, 0x6C0, 0x6D5, 0xFEDF, 0xFE8D, 0xFEFB),
	ALPHABET(0x628, 0x640, 0x64E, 0x651, 0x650),
	ALPHABET(0x5D0, 0x5D1, 0x5E9, 0x5B0, 0x5B4, 0x5B7, 0x5BC, 0x5C1, 0xFB2A,
			 0xFB2C, 0xFB1D),
	/* Hangul, in syllables and in jamo */
	ALPHABET(0x1100, 0x1101, 0x1109, 0x1112, 0x1161, 0x1175, 0x11A8, 0x11C2,
			 0xAC00, 0xAC01, 0xC0AC, 0xC0B0, 0xD7A3, 0x115F, 0x1160, 0xA960,
			 0xD7B0, 0xD7CB, 0x3131, 0x314F),
	ALPHABET(0x1100, 0x1109, 0xAC00, 0xAC01, 0xC0AC),
	/* kana and Han */
	ALPHABET(0x3042, 0x3041, 0x30A2, 0x30A1, 0x30AB, 0x304B, 0x3099, 0x309A,
			 0x30FC, 0x309D, 0x309E, 0x30FD, 0x30FE, 0xFF71, 0xFF76, 0xFF9E,
			 0xFF70, 0x304C),
	ALPHABET(0x4E00, 0x4E8C, 0x65E5, 0x672C, 0x8A9E, 0x3400, 0xF900, 0x2F00,
			 0x20000, 0x2F800, 0x3001, 0x2E80, 0xFA0E, 0x2801, 0x28FF),
	/* Thai and Lao, with vowels that stand ahead */
	ALPHABET(0xE01, 0xE02, 0xE40, 0xE41, 0xE44, 0xE48, 0xE49, 0xE4D, 0xE32,
			 0xE33, 0xE2E, 0xE4E, 0xE2F, 0xE46),
	ALPHABET(0xE81, 0xE82, 0xEC0, 0xEC1, 0xEC4, 0xEC8, 0xEC9, 0xEAB, 0xEB2,
			 0xEB3, 0xEDC),
	/* Tibetan, and scripts of India with vowels of two parts */
	ALPHABET(0xF40, 0xF41, 0xF69, 0xF71, 0xF72, 0xF73, 0xF74, 0xF75, 0xF76,
			 0xF77, 0xF78, 0xF79, 0xF80, 0xF81, 0xF90, 0xFB5, 0xFB2, 0xFB3,
			 0xFB9, 0xF39, 0xF84),
	ALPHABET(0x915, 0x937, 0x94D, 0x93C, 0x958, 0x93F, 0x9C7, 0x9BE, 0x9CB,
			 0xB47, 0xB3E, 0xB4B, 0xBC6, 0xBBE, 0xBCA, 0xCC6, 0xCC2, 0xCCA,
			 0xCCB, 0xD46, 0xD3E, 0xDD9, 0xDCF, 0xDDD),
	ALPHABET(0x1780, 0x17D2, 0x17C1, 0x1000, 0x1039, 0x103A, 0x1031, 0x19B5,
			 0x1980, 0xAAB5, 0xAA80, 0x1A20, 0x1A60),
	/* Cyrillic and Greek */
	ALPHABET(0x430, 0x410, 0x435, 0x451, 0x438, 0x439, 0x456, 0x457, 0x301,
			 0x306, 0x308, 0x448, 0x44C),
	ALPHABET(0x3B1, 0x391, 0x3AC, 0x3B9, 0x3C2, 0x3C3, 0x1F00, 0x1F80, 0x1F82,
			 0x345, 0x313, 0x301, 0x1FB3, 0x3CB, 0x390)
};

typedef struct RandomString
{
	int			ncharacters;
	UChar32		characters[MAX_CHARACTERS];
	Size		size;
	char		bytes[MAX_BYTES];
} RandomString;

typedef struct OrderCheck
{
	pg_locale_t locale;
	IcuKeys    *keys;
	bool		trusted;		/* at first */
	pg_prng_state prng;
	UChar32    *own;			/* what joins under the collation */
	int			nown;

	const Alphabet *mixed[MAX_MIXED];	/* of the string; NULL: the own one */
	int			nmixed;

	int64		npairs;
	int64		ntrusted;
	int64		nput_together;
	int64		ncontradicted;
} OrderCheck;

static uint32
random_below(OrderCheck *check, uint32 end)
{
	return pg_prng_uint32(&check->prng) % end;
}

/* Adds the characters of all strings in the set, and those that stand alone. */
static void
add_own(OrderCheck *check, const USet *set, bool single)
{
	int			nitems = uset_getItemCount(set);

	for (int item = 0; item < nitems; item++)
	{
		UErrorCode	status = U_ZERO_ERROR;
		UChar		string[64];
		UChar32		start;
		UChar32		end;
		int			length = uset_getItem(set, item, &start, &end, string,
										  lengthof(string), &status);

		if (U_FAILURE(status) || check->nown + lengthof(string) >= MAX_OWN)
			continue;
		if (length == 0 && single)
			check->own[check->nown++] = start;
		for (int i = 0; i < length;)
		{
			UChar32		character;

			U16_NEXT(string, i, length, character);
			check->own[check->nown++] = character;
		}
	}
}

static void
begin_check(OrderCheck *check, Oid collation, int64 seed)
{
	UErrorCode	status = U_ZERO_ERROR;
	USet	   *joining = uset_openEmpty();
	USet	   *tailored;

	memset(check, 0, sizeof(OrderCheck));
	test_learn_icu_keys(collation);
	check->locale = pg_newlocale_from_collation(collation);
	check->keys = icu_keys_get(check->locale);
	check->trusted = icu_keys_trusted(check->keys);
	pg_prng_seed(&check->prng, seed);

	check->own = palloc(MAX_OWN * sizeof(UChar32));
	tailored = ucol_getTailoredSet(LOCALE_OF_ICU(check->locale), &status);
	ucol_getContractionsAndExpansions(LOCALE_OF_ICU(check->locale), joining,
									  NULL, true, &status);
	if (U_FAILURE(status))
		elog(ERROR, "no list of what joins: %s", u_errorName(status));
	/* most of the second are those of all collations */
	for (int times = 0; times < 10; times++)
		add_own(check, tailored, true);
	add_own(check, joining, false);
	uset_close(tailored);
	uset_close(joining);
}

static UChar32
random_character(OrderCheck *check)
{
	const Alphabet *alphabet = check->mixed[random_below(check, check->nmixed)];
	UChar32		character;

	if (alphabet == NULL && check->nown > 0)
		character = check->own[random_below(check, check->nown)];
	else if (alphabet == NULL || random_below(check, 40) == 0)
	{
		/* mostly of the basic plane */
		character = random_below(check, 4) > 0 ?
			random_below(check, 0x10000) : random_below(check, 0x110000);
	}
	else
		character = alphabet->characters[random_below(check,
													  alphabet->ncharacters)];
	return character == 0 || U_IS_SURROGATE(character) ? 'a' : character;
}

static void
encode(RandomString *string)
{
	string->size = 0;
	for (int i = 0; i < string->ncharacters; i++)
		U8_APPEND_UNSAFE(string->bytes, string->size, string->characters[i]);
}

static void
make_string(OrderCheck *check, RandomString *string)
{
	check->nmixed = 1 + random_below(check, MAX_MIXED);
	for (int i = 0; i < check->nmixed; i++)
	{
		uint32		number = random_below(check, lengthof(alphabets) * 4 / 3);

		check->mixed[i] = number < lengthof(alphabets) ?
			&alphabets[number] : NULL;
	}
	string->ncharacters = 1 + random_below(check, 8);
	for (int i = 0; i < string->ncharacters; i++)
		string->characters[i] = random_character(check);
	encode(string);
}

/* Changes a string somewhere. */
static void
change_string(OrderCheck *check, RandomString *string)
{
	UChar32    *characters = string->characters;
	int			place = random_below(check, string->ncharacters + 1);
	int			behind = string->ncharacters - place;
	UChar32		character = random_character(check);

	switch (random_below(check, 4))
	{
		case 0:
			if (string->ncharacters == MAX_CHARACTERS)
				break;
			memmove(characters + place + 1, characters + place,
					behind * sizeof(UChar32));
			characters[place] = character;
			string->ncharacters++;
			break;
		case 1:
			if (behind == 0)
				break;
			memmove(characters + place, characters + place + 1,
					(behind - 1) * sizeof(UChar32));
			string->ncharacters--;
			break;
		case 2:
			if (behind > 0)
				characters[place] = character;
			break;
		default:
			if (behind < 2)
				break;
			character = characters[place];
			characters[place] = characters[place + 1];
			characters[place + 1] = character;
	}
	encode(string);
}

static void
make_variant(OrderCheck *check, const RandomString *string,
			 RandomString *variant)
{
	*variant = *string;
	for (int times = random_below(check, 3); times >= 0; times--)
		change_string(check, variant);
}

static char *
code_points(const RandomString *string)
{
	char	   *text = palloc(string->ncharacters * 8 + 1);
	char	   *next = text;

	*next = '\0';
	for (int i = 0; i < string->ncharacters; i++)
		next += sprintf(next, "%04X ", string->characters[i]);
	return text;
}

static int
sign(int result)
{
	return result < 0 ? -1 : result > 0 ? 1 : 0;
}

/* As the server compares. */
static int
compare_by_icu(const OrderCheck *check, const RandomString *a,
			   const RandomString *b)
{
	UErrorCode	status = U_ZERO_ERROR;

	return ucol_strcollUTF8(LOCALE_OF_ICU(check->locale), a->bytes, a->size,
							b->bytes, b->size, &status);
}

/*
 * Makes the key of a string, which has to be ICU's, as often as it takes until
 * all of the key is put together.  Returns the key's length up to the limit.
 * A wrong key is an error even if it was noticed and replaced by ICU's.
 */
static Size
make_key(OrderCheck *check, const RandomString *string, char *bytes,
		 Size limit, bool *doubtful)
{
	char		by_icu[LONGEST];
	Size		length_by_icu = icu_sort_key_prefix(by_icu, limit,
													string->bytes,
													string->size,
													check->locale);
	Size		length = 0;

	for (int times = 0; times < NTIMES; times++)
	{
		length = icu_keys_write(check->keys, string->bytes, string->size,
								bytes, limit, doubtful);
		if (length != length_by_icu || memcmp(bytes, by_icu, length) != 0 ||
			!test_is_learning(check->keys) ||
			icu_keys_trusted(check->keys) != check->trusted)
			ereport(ERROR,
					(errmsg("wrong sort key at a limit of %zu", limit),
					 errdetail("%s", code_points(string))));
	}
	if (test_put_together(check->keys, string->bytes, string->size))
		check->nput_together++;
	return length;
}

/*
 * Compares two keys of which only the bytes up to the limit are made; zero if
 * these decide nothing.
 */
static int
compare_keys(const char *a, Size size_a, const char *b, Size size_b)
{
	int			result = memcmp(a, b, Min(size_a, size_b));

	return result != 0 ? sign(result) : sign((int) size_a - (int) size_b);
}

/* Checks two strings; true if their keys and ICU contradict each other. */
static bool
check_pair(OrderCheck *check, const RandomString *a, const RandomString *b,
		   Size limit)
{
	char		key_a[LONGEST + ICU_KEYS_SLACK];
	char		key_b[LONGEST + ICU_KEYS_SLACK];
	bool		doubtful = false;
	Size		size_a = make_key(check, a, key_a, limit, &doubtful);
	Size		size_b = make_key(check, b, key_b, limit, &doubtful);
	int			by_keys = compare_keys(key_a, size_a, key_b, size_b);
	bool		is_whole = size_a < limit && size_b < limit;
	bool		contradicted = (by_keys != 0 || is_whole) &&
		by_keys != compare_by_icu(check, a, b);

	doubtful |= !icu_keys_trusted(check->keys);
	if (contradicted && !doubtful)
		ereport(ERROR,
				(errmsg("ICU's comparison contradicts trusted sort keys at a limit of %zu",
						limit),
				 errdetail("%s<-> %s", code_points(a), code_points(b))));
	check->npairs++;
	check->ntrusted += !doubtful;
	check->ncontradicted += contradicted;
	return contradicted;
}

/*
 * check_icu_order(collation oid, seed int8, nstrings int) RETURNS int8[]
 *
 * Returns the number of pairs that were compared; of pairs whose keys were
 * trusted; of strings whose first level was put together, at most twice the
 * number of pairs; and of pairs with doubtful keys that ICU contradicted.
 */
Datum
check_icu_order(PG_FUNCTION_ARGS)
{
	static const Size limits[] = {3, 8, 16, LONGEST, LONGEST};
	int			nstrings = PG_GETARG_INT32(2);
	OrderCheck	check;
	Datum		counts[4];

	begin_check(&check, PG_GETARG_OID(0), PG_GETARG_INT64(1));
	for (int i = 0; i < nstrings; i++)
	{
		RandomString string;
		RandomString variant;

		CHECK_FOR_INTERRUPTS();
		make_string(&check, &string);
		for (int j = 0; j < NVARIANTS; j++)
		{
			make_variant(&check, &string, &variant);
			(void) check_pair(&check, &string, &variant,
							  limits[random_below(&check, lengthof(limits))]);
		}
	}
	pfree(check.own);
	counts[0] = Int64GetDatum(check.npairs);
	counts[1] = Int64GetDatum(check.ntrusted);
	counts[2] = Int64GetDatum(check.nput_together);
	counts[3] = Int64GetDatum(check.ncontradicted);
	PG_RETURN_ARRAYTYPE_P(construct_array(counts, lengthof(counts), INT8OID,
										  sizeof(int64), FLOAT8PASSBYVAL,
										  TYPALIGN_DOUBLE));
}

/*
 * find_contradictions(collation oid, seed int8, npairs int) RETURNS text[]
 *
 * Looks among npairs random pairs for those whose sort keys ICU contradicts.
 * Returns their strings, those of a pair one after the other.
 */
Datum
find_contradictions(PG_FUNCTION_ARGS)
{
	int			npairs = PG_GETARG_INT32(2);
	ArrayBuildState *found = initArrayResult(TEXTOID, CurrentMemoryContext,
											 false);
	OrderCheck	check;

	begin_check(&check, PG_GETARG_OID(0), PG_GETARG_INT64(1));
	for (int i = 0; i < npairs; i++)
	{
		RandomString a;
		RandomString b;

		CHECK_FOR_INTERRUPTS();
		make_string(&check, &a);
		make_variant(&check, &a, &b);
		if (!check_pair(&check, &a, &b, LONGEST))
			continue;
		accumArrayResult(found,
						 PointerGetDatum(cstring_to_text_with_len(a.bytes, a.size)),
						 false, TEXTOID, CurrentMemoryContext);
		accumArrayResult(found,
						 PointerGetDatum(cstring_to_text_with_len(b.bytes, b.size)),
						 false, TEXTOID, CurrentMemoryContext);
	}
	PG_RETURN_DATUM(makeArrayResult(found, CurrentMemoryContext));
}

Datum
icu_version(PG_FUNCTION_ARGS)
{
	UVersionInfo version;
	char		text[U_MAX_VERSION_STRING_LENGTH];

	u_getVersion(version);
	u_versionToString(version, text);
	PG_RETURN_TEXT_P(cstring_to_text(text));
}

#else

Datum
check_icu_order(PG_FUNCTION_ARGS)
{
	elog(ERROR, "a server without ICU");
	PG_RETURN_NULL();
}

Datum
find_contradictions(PG_FUNCTION_ARGS)
{
	elog(ERROR, "a server without ICU");
	PG_RETURN_NULL();
}

Datum
icu_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_NULL();
}

#endif
