/*-------------------------------------------------------------------------
 *
 * icu_keys.c
 *	  Sort keys as ICU makes them, mostly without a call of ICU.
 *
 * ICU takes some tenths of a microsecond for the first bytes of a sort key, as
 * it has to be ready for anything in a string.  Nearly all strings are plain:
 * each character has its weight, and the weights follow one another.  So we
 * ask ICU for the sort key of each character once, when we first see it, and
 * put the keys of strings together from these.  The result has the bytes that
 * ICU would write.  So ICU can make the key of any string that is not plain,
 * that is, if it has a character
 *
 * - that may join with another to something with a weight of its own (ch in
 *	 Czech, aa in Danish, a vowel ahead of its consonant in Thai): ICU lists
 *	 those;
 * - that normalization may move or join, such as combining accents;
 * - that counts as a digit, under a collation that sorts numbers by value;
 * - whose key, alone or together with some others, turns out not to be put
 * together as described below.  This is tried out with each character.
 *
 * How ICU has been found to write sort keys:
 *
 * The primary weights come first, in the order of the string, then a byte 01
 * and the levels below.  A primary weight has one to four bytes.  Some weights
 * leave out their first byte after a weight with the same first byte.  If a
 * weight with another first byte follows such weights, a byte precedes it: 03
 * if the first byte is smaller, FF if it is greater.
 *
 * The levels below depend on the weights that the characters have there.  Most
 * characters have the same weights there, so for most strings only the number
 * of characters counts.  We divide the characters into classes, by what
 * follows the primary weight in their own sort keys.  Strings with the same
 * sequence of classes have the same bytes below the first level.  When ICU has
 * to be asked for a string, these bytes are kept.  They are used once ICU has
 * given the same bytes twice.
 *
 * If ICU's key of a string is not the one put together, all that was learned
 * is dropped, and ICU makes all keys from then on.
 *
 * ICU's keys and its comparisons do not always agree.  They contradict each
 * other under some attributes, and, in UTF-8, about strings with characters
 * that normalization may move or change.  All other strings are called plain
 * here; strings whose keys are put together are among them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "keys/icu_keys.h"
#include "port/compat.h"
#include "port/copy_bytes.h"

#ifdef USE_ICU

#include <unicode/uchar.h>
#include <unicode/ucol.h>
#include <unicode/unorm2.h>
#include <unicode/utf8.h>
#include <unicode/uset.h>

/* How ICU writes primary weights. */
#define LEVEL_END			0x01
#define SMALLER_FOLLOWS		0x03
#define GREATER_FOLLOWS		0xFF

/*
 * The characters that are learned: none at first, then those of ASCII, then
 * all of the basic plane but the last, which are no characters or special.
 */
#define ASCII_END			0x80
#define BASIC_PLANE_END		0xFFFC

/*
 * To list which characters join takes ICU up to some milliseconds for the
 * rules of the collation itself, and ten or more with the rules that all
 * collations share.  By the shared rules no characters of ASCII join.  So we
 * have ICU list them only after it has made this many keys, which took not
 * much less time.
 */
#define ASCII_AFTER			512
#define BASIC_PLANE_AFTER	20000

#define PAGE_CHARACTERS		64
#define NPAGES				(0x10000 / PAGE_CHARACTERS)

/* Normalization to NFC moves or changes no character below this one. */
#define FIRST_NOT_PLAIN		0x0300

/* Most UTF-16 units that a character of the basic plane decomposes into. */
#define MAX_DECOMPOSITION	8

/* Most UTF-16 units of a string that is listed to join. */
#define MAX_JOINING			64

/*
 * A character that keeps two others apart.  It has no weight unless a rule
 * gives it one.
 */
#define IGNORED_CHARACTER	0x01

/* Longest sort key of a single character that is looked at. */
#define CHARACTER_BYTES		40
#define UTF8_BYTES			3

/* Most bytes of a weight behind its first one; longer weights are not used. */
#define REST_BYTES			8

/* Most classes, characters of a string in classes, and bytes below level 1. */
#define MAX_CLASSES			256
#define MAX_SEQUENCE		255
#define MAX_LOWER			40

/* Sequences of classes that are remembered. */
#define LOWER_SLOTS			4096

/*
 * Each new character is tried out with this many others that may leave out
 * their first byte, and with this many that may not.
 */
#define MAX_PROBES			4

/* Flags: what is known of a character. */
#define WEIGHT_LEARNED		0x01
#define WEIGHT_USABLE		0x02
#define WEIGHT_SHARES_FIRST	0x04	/* may leave out its first byte */
#define WEIGHT_JOINS_NEXT	0x08	/* it is the first of some pair, ... */
#define WEIGHT_JOINS_LAST	0x10	/* ... or the second */

typedef struct CharacterWeight
{
	char		rest[REST_BYTES];	/* primary weight but for its first byte */
	uint8		nrest;
	uint8		first;			/* 0 if the character has none */
	uint8		lower_class;
	uint8		flags;
} CharacterWeight;

/* The levels below the first one, for a sequence of classes. */
typedef struct LowerLevels
{
	uint8		nbytes;
	bool		complete;		/* the bytes are all that the levels have */
	bool		confirmed;		/* the next such string has had the same bytes */
	char		bytes[MAX_LOWER];
	uint8		nclasses;
	uint8		sequence[FLEXIBLE_ARRAY_MEMBER];
} LowerLevels;

typedef struct LowerClass
{
	uint8		nbytes;
	char		bytes[CHARACTER_BYTES];
} LowerClass;

struct IcuKeys
{
	struct IcuKeys *next;		/* keys of another locale */
	pg_locale_t locale;
	MemoryContext context;
	bool		in_utf8;		/* strings are in UTF-8, or else share ASCII
								 * with it */
	bool		numeric;		/* digits are numbers */
	bool		trusted;		/* see icu_keys_trusted() */
	bool		lower_usable;

	uint32		learned_end;	/* characters below it may be learned */
	int			nasked;			/* keys that ICU has made since learned_end
								 * last changed */
	bool		given_up;		/* the end stays where it is */
	uint32	   *pairs;			/* pairs of neighbours that join, in order */
	int			npairs;
	int			max_pairs;
	const UNormalizer2 *decomposer;
	uint8		joins_next[BASIC_PLANE_END / BITS_PER_BYTE + 1];
	uint8		joins_last[BASIC_PLANE_END / BITS_PER_BYTE + 1];

	CharacterWeight ascii[ASCII_END];
	CharacterWeight *pages[NPAGES]; /* weights of all other characters; NULL
									 * if none is known */
	uint8		first_bytes[256];	/* flags of the characters that have this
									 * first byte */
	uint32		probes[2][MAX_PROBES];	/* [0]: characters with a first byte
										 * of their own; [1]: characters that
										 * may leave it out */
	int			nprobes[2];

	LowerClass *classes;
	int			nclasses;
	LowerLevels *lower[LOWER_SLOTS];
};

/* The sequence of classes of a string's characters, as far as it is kept. */
typedef struct ClassSequence
{
	uint8		classes[MAX_SEQUENCE];
	Size		length;			/* may be more than are kept */
} ClassSequence;

/* The keys of all locales. */
static IcuKeys *all_keys = NULL;

/*
 * Does the collator have attributes under which ICU's keys are trusted?  Under
 * these values, whether the rules of the locale set them or not, ICU's
 * comparison of plain strings has never been found to contradict their keys.
 * Under other values, and attributes of later releases, it has or may.
 */
static bool
has_trusted_attributes(const UCollator *collator)
{
	static const struct
	{
		UColAttribute attribute;
		UColAttributeValue values[4];
		int			nvalues;
	}			trusted[] = {
		{UCOL_ALTERNATE_HANDLING, {UCOL_NON_IGNORABLE}, 1},
		{UCOL_FRENCH_COLLATION, {UCOL_OFF}, 1},
		{UCOL_NUMERIC_COLLATION, {UCOL_OFF}, 1},
		{UCOL_NORMALIZATION_MODE, {UCOL_OFF}, 1},
		{UCOL_CASE_LEVEL, {UCOL_OFF, UCOL_ON}, 2},
		{UCOL_CASE_FIRST, {UCOL_OFF, UCOL_UPPER_FIRST, UCOL_LOWER_FIRST}, 3},
		{UCOL_STRENGTH, {UCOL_PRIMARY, UCOL_SECONDARY, UCOL_TERTIARY,
		UCOL_QUATERNARY}, 4}
	};

	for (int i = 0; i < lengthof(trusted); i++)
	{
		UErrorCode	status = U_ZERO_ERROR;
		UColAttributeValue value = ucol_getAttribute(collator,
													 trusted[i].attribute,
													 &status);
		int			j = 0;

		while (j < trusted[i].nvalues && trusted[i].values[j] != value)
			j++;
		if (U_FAILURE(status) || j == trusted[i].nvalues)
			return false;
	}
	return true;
}

bool
icu_keys_trusted(const IcuKeys *keys)
{
	return keys->trusted;
}

IcuKeys *
icu_keys_get(pg_locale_t locale)
{
	const UCollator *collator = LOCALE_OF_ICU(locale);
	UErrorCode	status = U_ZERO_ERROR;
	MemoryContext context;
	IcuKeys    *keys;

	/* the server keeps locales for as long as the process lives */
	for (keys = all_keys; keys != NULL; keys = keys->next)
	{
		if (keys->locale == locale)
			return keys;
	}

	context = AllocSetContextCreate(TopMemoryContext, "gpusort ICU keys",
									ALLOCSET_DEFAULT_SIZES);
	keys = MemoryContextAllocZero(context, sizeof(IcuKeys));
	keys->locale = locale;
	keys->context = context;
	keys->in_utf8 = GetDatabaseEncoding() == PG_UTF8;
	keys->trusted = has_trusted_attributes(collator);
	keys->numeric = ucol_getAttribute(collator, UCOL_NUMERIC_COLLATION,
									  &status) != UCOL_OFF;

	/*
	 * The level of identity has the string itself.  At the level of case the
	 * key of a character does not tell how many weights it has.  If ICU
	 * passes over punctuation, it may also pass over what follows.
	 */
	keys->lower_usable =
		ucol_getAttribute(collator, UCOL_STRENGTH,
						  &status) != UCOL_IDENTICAL &&
		ucol_getAttribute(collator, UCOL_CASE_LEVEL, &status) == UCOL_OFF &&
		ucol_getAttribute(collator, UCOL_ALTERNATE_HANDLING,
						  &status) != UCOL_SHIFTED;
	keys->given_up = U_FAILURE(status);
	keys->classes = MemoryContextAlloc(context,
									   MAX_CLASSES * sizeof(LowerClass));
	keys->next = all_keys;
	all_keys = keys;
	return keys;
}


/*
 * Characters that join
 *
 * Some characters have one weight together.  Each two neighbours of these are
 * noted as a pair.  A character joins like the characters into which it
 * decomposes: so the first jamo of a syllable can join one that stands ahead
 * of it.  Other characters may stand between the two, but none that is usable.
 */

static inline void
set_bit(uint8 *bits, uint32 character)
{
	if (character < BASIC_PLANE_END)
		bits[character / BITS_PER_BYTE] |= 1 << character % BITS_PER_BYTE;
}

static inline bool
get_bit(const uint8 *bits, uint32 character)
{
	return (bits[character / BITS_PER_BYTE] &
			(1 << character % BITS_PER_BYTE)) != 0;
}

static inline uint32
make_pair(uint32 first, uint32 second)
{
	return first << 16 | second;
}

static int
compare_pairs(const void *a, const void *b)
{
	uint32		pair_a = *(const uint32 *) a;
	uint32		pair_b = *(const uint32 *) b;

	return pair_a < pair_b ? -1 : pair_a > pair_b ? 1 : 0;
}

static bool
has_pair(const IcuKeys *keys, uint32 first, uint32 second)
{
	uint32		pair = make_pair(first, second);

	return bsearch(&pair, keys->pairs, keys->npairs, sizeof(uint32),
				   compare_pairs) != NULL;
}

/*
 * Sets the first and the last of the characters into which a character of the
 * basic plane decomposes.  Most characters decompose only into themselves.
 */
static void
find_ends(const IcuKeys *keys, uint32 character, uint32 *first, uint32 *last)
{
	UErrorCode	status = U_ZERO_ERROR;
	UChar		decomposed[MAX_DECOMPOSITION];
	int			length = unorm2_getDecomposition(keys->decomposer, character,
												 decomposed,
												 lengthof(decomposed),
												 &status);

	*first = *last = character;
	if (length > 0 && U_SUCCESS(status))
	{
		*first = decomposed[0];
		*last = decomposed[length - 1];
	}
}

/* May two neighbours join, as they are or decomposed? */
static bool
is_pair(const IcuKeys *keys, uint32 left, uint32 right)
{
	uint32		left_first;
	uint32		left_last;
	uint32		right_first;
	uint32		right_last;

	find_ends(keys, left, &left_first, &left_last);
	find_ends(keys, right, &right_first, &right_last);
	return has_pair(keys, left, right) ||
		has_pair(keys, left_last, right) ||
		has_pair(keys, left, right_first) ||
		has_pair(keys, left_last, right_first);
}

/* The flags that tell whether is_pair() has to be asked about a character. */
static uint8
joining_flags(const IcuKeys *keys, uint32 character)
{
	uint32		first;
	uint32		last;
	uint8		flags = 0;

	find_ends(keys, character, &first, &last);
	if (get_bit(keys->joins_next, character) || get_bit(keys->joins_next, last))
		flags |= WEIGHT_JOINS_NEXT;
	if (get_bit(keys->joins_last, character) ||
		get_bit(keys->joins_last, first))
		flags |= WEIGHT_JOINS_LAST;
	return flags;
}

/*
 * Notes all neighbours in a string whose characters join; false if there is no
 * memory.
 */
static bool
note_neighbours(IcuKeys *keys, const UChar *string, int length)
{
	if (keys->npairs + length > keys->max_pairs)
	{
		int			max_pairs = 2 * (keys->npairs + length);
		uint32	   *pairs =
			MemoryContextAllocExtended(keys->context,
									   max_pairs * sizeof(uint32),
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);

		if (pairs == NULL)
			return false;
		if (keys->pairs != NULL)
		{
			memcpy(pairs, keys->pairs, keys->npairs * sizeof(uint32));
			pfree(keys->pairs);
		}
		keys->pairs = pairs;
		keys->max_pairs = max_pairs;
	}
	for (int i = 1; i < length; i++)
	{
		set_bit(keys->joins_next, string[i - 1]);
		set_bit(keys->joins_last, string[i]);
		keys->pairs[keys->npairs++] = make_pair(string[i - 1], string[i]);
	}
	return true;
}

/* Notes the pairs of all strings in a set; false if that cannot be done. */
static bool
note_joining(IcuKeys *keys, const USet *set)
{
	int			nitems = uset_getItemCount(set);

	keys->npairs = 0;
	for (int item = 0; item < nitems; item++)
	{
		UErrorCode	status = U_ZERO_ERROR;
		UChar		string[MAX_JOINING];
		UChar		decomposed[MAX_JOINING * MAX_DECOMPOSITION];
		UChar32		range_start;
		UChar32		range_end;
		int			length = uset_getItem(set, item, &range_start, &range_end,
										  string, lengthof(string), &status);

		if (U_FAILURE(status))
			return false;
		/* a range of characters has length 0 */
		if (length < 2)
			continue;
		if (!note_neighbours(keys, string, length))
			return false;
		length = unorm2_normalize(keys->decomposer, string, length,
								  decomposed, lengthof(decomposed), &status);
		if (U_FAILURE(status) || !note_neighbours(keys, decomposed, length))
			return false;
	}
	qsort(keys->pairs, keys->npairs, sizeof(uint32), compare_pairs);
	return true;
}

/* Notes the pairs that ICU lists for characters below "end". */
static bool
find_joining(IcuKeys *keys, uint32 end)
{
	const UCollator *collator = LOCALE_OF_ICU(keys->locale);
	UErrorCode	status = U_ZERO_ERROR;
	USet	   *set = NULL;
	bool		found;

	keys->decomposer = unorm2_getNFDInstance(&status);
	if (end == ASCII_END)
		set = ucol_getTailoredSet(collator, &status);
	else
	{
		set = uset_openEmpty();
		ucol_getContractionsAndExpansions(collator, set, NULL, true, &status);
	}
	found = U_SUCCESS(status) && note_joining(keys, set);
	if (set != NULL)
		uset_close(set);
	return found;
}

/*
 * Forgets all characters, as they were learned while fewer pairs were known.
 */
static void
forget_characters(IcuKeys *keys)
{
	memset(keys->ascii, 0, sizeof(keys->ascii));
	memset(keys->first_bytes, 0, sizeof(keys->first_bytes));
	memset(keys->nprobes, 0, sizeof(keys->nprobes));
}

/*
 * Can the character be learned?  Counts how often a character cannot because
 * it is beyond learned_end, and after some time moves learned_end.
 */
static bool
may_learn(IcuKeys *keys, uint32 character)
{
	if (likely(character < keys->learned_end))
		return true;
	if (keys->given_up || character >= BASIC_PLANE_END)
		return false;
	keys->nasked++;
	if (keys->nasked < (keys->learned_end == 0 ?
						ASCII_AFTER : BASIC_PLANE_AFTER))
		return false;

	keys->learned_end = keys->learned_end == 0 ? ASCII_END : BASIC_PLANE_END;
	keys->nasked = 0;
	keys->given_up = keys->learned_end == BASIC_PLANE_END || !keys->in_utf8;
	forget_characters(keys);
	if (!find_joining(keys, keys->learned_end))
	{
		keys->learned_end = 0;
		keys->given_up = true;
	}

	/* not this time: the character before it was looked up with fewer pairs */
	return false;
}


/*
 * Learning a character
 */

static inline Size
size_of_primary(const char *bytes, Size length)
{
	const char *end = memchr(bytes, LEVEL_END, length);

	return end != NULL ? end - bytes : length;
}

/* Appends in UTF-8; in other encodings only characters of ASCII are learned. */
static Size
append_character(char *string, Size size, uint32 character)
{
	U8_APPEND_UNSAFE(string, size, character);
	return size;
}

static inline bool
has_bytes(const char *bytes, Size length, Size position,
		  const char *part, Size size)
{
	return position + size <= length &&
		memcmp(bytes + position, part, size) == 0;
}

/*
 * Finds out, by a string of the character twice, whether it leaves out its
 * first byte.  False if the key of that string is neither of the two possible
 * ones.
 */
static bool
learn_sharing(const IcuKeys *keys, CharacterWeight *weight, uint32 character)
{
	char		string[3 * UTF8_BYTES];
	char		bytes[2 * CHARACTER_BYTES];
	Size		size = append_character(string, 0, character);
	Size		nfirst = weight->first != 0 ? 1 : 0;
	Size		length;
	const char *second;

	if (is_pair(keys, character, character))
		size = append_character(string, size, IGNORED_CHARACTER);
	size = append_character(string, size, character);
	length = icu_sort_key_prefix(bytes, sizeof(bytes), string, size,
								 keys->locale);
	length = size_of_primary(bytes, length);
	if (!has_bytes(bytes, length, 0, (char *) &weight->first, nfirst) ||
		!has_bytes(bytes, length, nfirst, weight->rest, weight->nrest))
		return false;

	second = bytes + nfirst + weight->nrest;
	length -= nfirst + weight->nrest;
	if (length == weight->nrest && nfirst != 0)
		weight->flags |= WEIGHT_SHARES_FIRST;
	else if (length != nfirst + weight->nrest ||
			 !has_bytes(second, length, 0, (char *) &weight->first, nfirst))
		return false;
	return has_bytes(second, length, length - weight->nrest, weight->rest,
					 weight->nrest);
}

/* The number of the class with these bytes, or -1 if there are too many. */
static int
find_class(IcuKeys *keys, const char *bytes, Size length)
{
	LowerClass *class;

	for (int i = 0; i < keys->nclasses; i++)
	{
		class = &keys->classes[i];
		if (class->nbytes == length &&
			memcmp(class->bytes, bytes, length) == 0)
			return i;
	}
	if (keys->nclasses == MAX_CLASSES)
		return -1;
	class = &keys->classes[keys->nclasses];
	class->nbytes = length;
	memcpy(class->bytes, bytes, length);
	return keys->nclasses++;
}

/*
 * Does normalization leave the character as it is, and where it is, whatever
 * follows?
 */
static inline bool
is_plain(UChar32 character)
{
	return character < FIRST_NOT_PLAIN ||
		(u_getIntPropertyValue(character, UCHAR_NFC_QUICK_CHECK) == UNORM_YES &&
		 u_getIntPropertyValue(character,
							   UCHAR_LEAD_CANONICAL_COMBINING_CLASS) == 0);
}

/*
 * Is the string plain?  In encodings other than UTF-8 all strings are, as the
 * server has ICU compare them in UTF-16.
 */
static bool
is_plain_string(const IcuKeys *keys, const char *string, Size size)
{
	const char *end = string + size;

	if (!keys->in_utf8)
		return true;
	while (string < end)
	{
		int			length = 0;
		UChar32		character;

		U8_NEXT(string, length, Min(end - string, PG_INT32_MAX), character);
		if (character < 0 || !is_plain(character))
			return false;
		string += length;
	}
	return true;
}

/*
 * May the key of the character depend on other characters, whatever its
 * weight?
 */
static bool
is_special(const IcuKeys *keys, uint32 character)
{
	return !U_IS_UNICODE_CHAR(character) || !is_plain(character) ||
		(keys->numeric && u_charDigitValue(character) >= 0);
}

/*
 * Learns the weight of a character from its sort key; false if the weight
 * cannot be used.
 */
static bool
learn_weight(IcuKeys *keys, CharacterWeight *weight, uint32 character)
{
	char		string[UTF8_BYTES];
	char		bytes[CHARACTER_BYTES];
	Size		size = append_character(string, 0, character);
	Size		length = icu_sort_key_prefix(bytes, sizeof(bytes), string, size,
											 keys->locale);
	Size		primary = size_of_primary(bytes, length);
	int			lower_class;

	if (length == sizeof(bytes) || primary > REST_BYTES + 1)
		return false;
	if (primary > 0)
	{
		weight->first = bytes[0];
		weight->nrest = primary - 1;
		memcpy(weight->rest, bytes + 1, weight->nrest);
	}
	weight->flags |= joining_flags(keys, character);
	lower_class = find_class(keys, bytes + primary, length - primary);
	if (lower_class < 0)
		return false;
	weight->lower_class = lower_class;
	return learn_sharing(keys, weight, character);
}

/*
 * Does the weight agree with others of the same first byte?  Either all of
 * these leave the byte out, or none does.
 */
static bool
agrees_on_first(const IcuKeys *keys, const CharacterWeight *weight)
{
	uint8		known = keys->first_bytes[weight->first];

	return known == 0 || ((known ^ weight->flags) & WEIGHT_SHARES_FIRST) == 0;
}

static int	write_primary(IcuKeys *keys, const char *string, Size size,
						  char *bytes, Size limit, ClassSequence *sequence);

/* Is the key of these characters the one that ICU makes, or left to ICU? */
static bool
probe_string(IcuKeys *keys, const uint32 *characters, int ncharacters)
{
	char		string[3 * UTF8_BYTES];
	char		bytes[3 * CHARACTER_BYTES + ICU_KEYS_SLACK];
	char		by_icu[3 * CHARACTER_BYTES];
	ClassSequence sequence;
	Size		size = 0;
	Size		length;
	int			primary;

	for (int i = 0; i < ncharacters; i++)
		size = append_character(string, size, characters[i]);
	primary = write_primary(keys, string, size, bytes, sizeof(by_icu),
							&sequence);
	if (primary < 0)
		return true;
	length = icu_sort_key_prefix(by_icu, sizeof(by_icu), string, size,
								 keys->locale);
	return primary == size_of_primary(by_icu, length) &&
		memcmp(bytes, by_icu, primary) == 0;
}

/* Tries out a character with others that have been learned before. */
static bool
probe_character(IcuKeys *keys, uint32 character)
{
	for (int shares = 0; shares <= 1; shares++)
	{
		for (int i = 0; i < keys->nprobes[shares]; i++)
		{
			uint32		other = keys->probes[shares][i];
			uint32		characters[] = {other, character, other, character};

			if (!probe_string(keys, characters, 3) ||
				!probe_string(keys, characters + 1, 3))
				return false;
		}
	}
	return true;
}

/*
 * Notes that a character can be used.  Later characters are tried out with it
 * if its first byte is new.
 */
static void
note_usable(IcuKeys *keys, const CharacterWeight *weight, uint32 character)
{
	int			shares = (weight->flags & WEIGHT_SHARES_FIRST) != 0 ? 1 : 0;

	if (keys->first_bytes[weight->first] != 0)
		return;
	keys->first_bytes[weight->first] =
		weight->flags & (WEIGHT_LEARNED | WEIGHT_SHARES_FIRST);
	if (keys->nprobes[shares] < MAX_PROBES)
		keys->probes[shares][keys->nprobes[shares]++] = character;
}

static CharacterWeight *
find_weight(IcuKeys *keys, uint32 character)
{
	CharacterWeight **page = &keys->pages[character / PAGE_CHARACTERS];

	if (character < ASCII_END)
		return &keys->ascii[character];
	if (unlikely(*page == NULL))
	{
		if (character >= keys->learned_end)
			return NULL;
		*page = MemoryContextAllocZero(keys->context,
									   PAGE_CHARACTERS * sizeof(CharacterWeight));
	}
	return *page + character % PAGE_CHARACTERS;
}

/* Learns a character, if it is one; NULL if it cannot be used. */
static const CharacterWeight *
learn_character(IcuKeys *keys, uint32 character)
{
	CharacterWeight *weight;

	if (!may_learn(keys, character))
		return NULL;
	weight = find_weight(keys, character);
	if ((weight->flags & WEIGHT_LEARNED) != 0)
		return NULL;

	weight->flags = WEIGHT_LEARNED;
	if (is_special(keys, character) ||
		!learn_weight(keys, weight, character) ||
		!agrees_on_first(keys, weight))
		return NULL;

	/* the trial needs the flag already */
	weight->flags |= WEIGHT_USABLE;
	if (!probe_character(keys, character))
	{
		weight->flags &= ~WEIGHT_USABLE;
		return NULL;
	}
	note_usable(keys, weight, character);
	return weight;
}


/*
 * The primary level
 */

/*
 * Takes the next character from a string, of which at least a byte is left.
 * Returns BASIC_PLANE_END for a character outside the basic plane.
 */
static inline uint32
next_character(const unsigned char **next, const unsigned char *end,
			   bool in_utf8)
{
	const unsigned char *bytes = *next;

	if (likely(bytes[0] < 0x80))
	{
		*next += 1;
		return bytes[0];
	}
	if (!in_utf8)
		return BASIC_PLANE_END;
	if (bytes[0] < 0xE0 && end - bytes >= 2)
	{
		*next += 2;
		return (bytes[0] & 0x1F) << 6 | (bytes[1] & 0x3F);
	}
	if (bytes[0] < 0xF0 && end - bytes >= 3)
	{
		*next += 3;
		return (bytes[0] & 0x0F) << 12 | (bytes[1] & 0x3F) << 6 |
			(bytes[2] & 0x3F);
	}
	return BASIC_PLANE_END;
}

/* What is known of a character, or NULL if it cannot be used. */
static inline const CharacterWeight *
get_weight(IcuKeys *keys, uint32 character)
{
	const CharacterWeight *weight;

	if (likely(character < ASCII_END))
		weight = &keys->ascii[character];
	else
	{
		const CharacterWeight *page =
			keys->pages[character / PAGE_CHARACTERS];

		if (unlikely(page == NULL))
			return learn_character(keys, character);
		weight = page + character % PAGE_CHARACTERS;
	}
	if (likely((weight->flags & WEIGHT_USABLE) != 0))
		return weight;
	return learn_character(keys, character);
}

/*
 * Writes the primary level of a string's sort key, up to "limit" bytes or a
 * few more, and returns the number of bytes.  If that is less than the limit,
 * the sequence has the classes of all characters.  Returns -1 if ICU has to be
 * asked for this string.
 */
static int
write_primary(IcuKeys *keys, const char *string, Size size,
			  char *bytes, Size limit, ClassSequence *sequence)
{
	const unsigned char *next = (const unsigned char *) string;
	const unsigned char *end = next + size;
	Size		written = 0;
	Size		ncharacters = 0;
	uint8		shared = 0;		/* first byte that may be left out, or 0 */
	uint32		last = 0;		/* the character before, if it joins others */

	while (next < end)
	{
		uint32		character = next_character(&next, end, keys->in_utf8);
		const CharacterWeight *weight = get_weight(keys, character);

		if (unlikely(weight == NULL))
			return -1;
		if (unlikely(last != 0 && (weight->flags & WEIGHT_JOINS_LAST) != 0) &&
			is_pair(keys, last, character))
			return -1;

		/*
		 * the character behind the last one that counts may have joined that
		 * one
		 */
		if (written >= limit)
			break;
		last = (weight->flags & WEIGHT_JOINS_NEXT) != 0 ? character : 0;

		if (weight->first != shared && weight->first != 0)
		{
			if (shared != 0)
				bytes[written++] = weight->first < shared ?
					SMALLER_FOLLOWS : GREATER_FOLLOWS;
			bytes[written++] = weight->first;
			shared = (weight->flags & WEIGHT_SHARES_FIRST) != 0 ?
				weight->first : 0;
		}
		memcpy(bytes + written, weight->rest, REST_BYTES);
		written += weight->nrest;
		if (likely(ncharacters < MAX_SEQUENCE))
			sequence->classes[ncharacters] = weight->lower_class;
		ncharacters++;
	}
	sequence->length = ncharacters;
	return written;
}


/*
 * The levels below
 */

/* Keeps what ICU says of the levels below, for this sequence. */
static void
note_lower(IcuKeys *keys, LowerLevels **slot, const ClassSequence *sequence,
		   const char *bytes, Size length, bool complete)
{
	LowerLevels *lower = *slot;

	if (lower != NULL && lower->nclasses == sequence->length &&
		memcmp(lower->sequence, sequence->classes, sequence->length) == 0)
	{
		/* ICU should say the same as for the string before */
		if (lower->nbytes != length || lower->complete != complete ||
			memcmp(lower->bytes, bytes, length) != 0)
		{
			keys->lower_usable = false;
			keys->trusted = false;
		}
		lower->confirmed = true;
		return;
	}
	if (lower == NULL || lower->nclasses < sequence->length)
	{
		*slot = NULL;
		if (lower != NULL)
			pfree(lower);
		lower = *slot = MemoryContextAlloc(keys->context,
										   offsetof(LowerLevels, sequence) +
										   sequence->length);
	}
	lower->nclasses = sequence->length;
	memcpy(lower->sequence, sequence->classes, sequence->length);
	lower->nbytes = length;
	memcpy(lower->bytes, bytes, length);
	lower->complete = complete;
	lower->confirmed = false;
}

/*
 * Stops putting keys together, since some key has turned out not to be ICU's,
 * of this string or an earlier one.  The keys that were put together are not
 * trusted.
 */
static void
stop_learning(IcuKeys *keys)
{
	keys->trusted = false;
	keys->learned_end = 0;
	keys->given_up = true;
	forget_characters(keys);
	for (int page = 0; page < NPAGES; page++)
	{
		if (keys->pages[page] != NULL)
			pfree(keys->pages[page]);
		keys->pages[page] = NULL;
	}
	ereport(LOG,
			(errmsg("gpusort: a sort key put together from those of characters is not the one that ICU makes"),
			 errdetail("In this session ICU makes all sort keys under the collation from now on.")));
}

/*
 * Returns the key that ICU makes.  If its primary level is the one that was
 * put together, learns the levels below.
 */
static Size
ask_and_note(IcuKeys *keys, const char *string, Size size,
			 char *bytes, Size limit, Size primary,
			 LowerLevels **slot, const ClassSequence *sequence)
{
	char	   *whole = palloc(limit + MAX_LOWER);
	Size		asked = primary + MAX_LOWER;
	Size		length = icu_sort_key_prefix(whole, Max(asked, limit),
											 string, size, keys->locale);
	bool		complete = length < asked;

	if (unlikely(primary > length || memcmp(bytes, whole, primary) != 0 ||
				 (primary < length && whole[primary] != LEVEL_END)))
		stop_learning(keys);
	else
		note_lower(keys, slot, sequence, whole + primary,
				   Min(length, asked) - primary, complete);

	length = Min(length, limit);
	memcpy(bytes, whole, length);
	pfree(whole);
	return length;
}

/* Completes a key whose primary level is written. */
static Size
write_lower(IcuKeys *keys, const char *string, Size size,
			char *bytes, Size limit, Size primary,
			const ClassSequence *sequence)
{
	uint32		hash = hash_bytes(sequence->classes, sequence->length);
	LowerLevels **slot = &keys->lower[hash % LOWER_SLOTS];
	const LowerLevels *lower = *slot;
	Size		room = limit - primary;
	Size		length;

	if (lower == NULL || !lower->confirmed ||
		lower->nclasses != sequence->length ||
		memcmp(lower->sequence, sequence->classes, sequence->length) != 0 ||
		(!lower->complete && lower->nbytes < room))
		return ask_and_note(keys, string, size, bytes, limit, primary, slot,
							sequence);
	length = Min(lower->nbytes, room);
	copy_few_bytes(bytes + primary, lower->bytes, length);
	return primary + length;
}

Size
icu_keys_write(IcuKeys *keys, const char *string, Size size,
			   char *bytes, Size limit, bool *doubtful)
{
	ClassSequence sequence;
	int			primary = write_primary(keys, string, size, bytes, limit,
										&sequence);

	if (likely(primary >= (int) limit))
		return limit;
	if (primary < 0 && !*doubtful)
		*doubtful = !is_plain_string(keys, string, size);
	if (primary < 0 || !keys->lower_usable || sequence.length > MAX_SEQUENCE)
		return icu_sort_key_prefix(bytes, limit, string, size, keys->locale);
	return write_lower(keys, string, size, bytes, limit, primary, &sequence);
}

#else

IcuKeys *
icu_keys_get(pg_locale_t locale)
{
	elog(ERROR, "a collation of ICU in a server without ICU");
	return NULL;
}

bool
icu_keys_trusted(const IcuKeys *keys)
{
	return false;
}

Size
icu_keys_write(IcuKeys *keys, const char *string, Size size,
			   char *bytes, Size limit, bool *doubtful)
{
	return 0;
}

#endif
