/*-------------------------------------------------------------------------
 *
 * host_sort_test.c
 *	  Tests of the host engine against qsort().
 *
 * Every distribution of keys is sorted at sizes around the limits where
 * host_sort.c changes its ways, with and without marks of ties.  Each result
 * must have every row once, its keys as qsort() orders them, and marks at
 * exactly the ties.
 *
 *-------------------------------------------------------------------------
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/common/host_sort.h"

#define TEST_SUBJECT	"host sort"
#include "test_report.h"

/* Keys under construction. */
typedef struct KeySet
{
	uint32_t	fixed_words;	/* 0 if they vary */
	uint64_t   *words;
	uint64_t   *ends;
	uint64_t	nwords;
	uint64_t	nrows;
} KeySet;

/* Makes the key of one row; returns its words. */
typedef uint32_t (*MakeKey) (uint64_t row, uint64_t nrows, uint64_t *key);

typedef struct Distribution
{
	const char *name;
	uint32_t	fixed_words;
	MakeKey		make_key;
} Distribution;

static uint64_t random_state;

static uint64_t
random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * UINT64_C(0x2545F4914F6CDD1D);
}

/* Words of a text, which has no zero bytes, and its terminator. */
static uint32_t
text_key(const char *text, uint64_t *key)
{
	size_t		length = strlen(text) + 1;
	uint32_t	nwords = 0;

	for (size_t i = 0; i < length && nwords < KEY_MAX_WORDS; i += 8)
	{
		uint64_t	word = 0;

		for (size_t j = i; j < i + 8; j++)
			word = word << 8 | (j < length ? (unsigned char) text[j] : 0);
		key[nwords++] = word;
	}
	return nwords;
}

static uint32_t
make_random(uint64_t row, uint64_t nrows, uint64_t *key)
{
	(void) row;
	(void) nrows;
	key[0] = random_word();
	return 1;
}

static uint32_t
make_small_integers(uint64_t row, uint64_t nrows, uint64_t *key)
{
	(void) row;
	key[0] = (UINT64_C(1) << 63) + random_word() % (nrows + 1);
	return 1;
}

static uint32_t
make_two_values(uint64_t row, uint64_t nrows, uint64_t *key)
{
	(void) row;
	(void) nrows;
	key[0] = random_word() % 2 ? UINT64_MAX : 0;
	return 1;
}

static uint32_t
make_constant(uint64_t row, uint64_t nrows, uint64_t *key)
{
	(void) row;
	(void) nrows;
	key[0] = 42;
	return 1;
}

static uint32_t
make_ascending(uint64_t row, uint64_t nrows, uint64_t *key)
{
	(void) nrows;
	key[0] = row / 3;
	return 1;
}

static uint32_t
make_descending(uint64_t row, uint64_t nrows, uint64_t *key)
{
	key[0] = (nrows - row) / 3;
	return 1;
}

static uint32_t
make_ascending_but_last(uint64_t row, uint64_t nrows, uint64_t *key)
{
	key[0] = row + 1 == nrows ? 0 : row + 1;
	return 1;
}

static uint32_t
make_organ_pipe(uint64_t row, uint64_t nrows, uint64_t *key)
{
	key[0] = row < nrows / 2 ? row : nrows - row;
	return 1;
}

/* Most rows share a few values, and the rest are spread far. */
static uint32_t
make_skewed(uint64_t row, uint64_t nrows, uint64_t *key)
{
	(void) row;
	(void) nrows;
	key[0] = random_word() >> random_word() % 64;
	return 1;
}

/* Bits far apart: as many slices in a word as there can be. */
static uint32_t
make_sparse_bits(uint64_t row, uint64_t nrows, uint64_t *key)
{
	(void) row;
	(void) nrows;
	for (int i = 0; i < KEY_MAX_WORDS; i++)
		key[i] = random_word() & UINT64_C(0x8040201008040201);
	return KEY_MAX_WORDS;
}

/* Two columns with a null flag ahead of each, as the encoder lays them out. */
static uint32_t
make_two_columns(uint64_t row, uint64_t nrows, uint64_t *key)
{
	uint64_t	group = (UINT64_C(1) << 63) + random_word() % 100;
	uint64_t	value = random_word();

	(void) row;
	(void) nrows;
	key[0] = UINT64_C(1) << 56 | group >> 8;
	key[1] = group << 56 | UINT64_C(1) << 48 | value >> 16;
	key[2] = value << 48;
	return 3;
}

/* The first words tie often and the last decides. */
static uint32_t
make_late_difference(uint64_t row, uint64_t nrows, uint64_t *key)
{
	(void) row;
	(void) nrows;
	key[0] = random_word() % 2 * random_word();
	key[1] = random_word() % 3;
	key[2] = random_word() % 2 ? UINT64_MAX : 0;
	key[3] = random_word() % 1000;
	return 4;
}

/*
 * A long value ahead, with many rows each, and another one behind it.  The
 * fewer bits of a word vary, the more words a level takes.
 */
static uint32_t
make_long_value_ahead(uint64_t row, uint64_t nrows, uint64_t *key)
{
	uint64_t	group = random_word() % 20;
	uint32_t	nwords = 1 + group % (KEY_MAX_WORDS - 1);

	(void) row;
	key[0] = group;
	for (uint32_t i = 1; i < nwords; i++)
		key[i] = (group + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 8 * (i % 8);
	key[nwords] = random_word() % (nrows / 40 + 2);
	return nwords + 1;
}

/* The same in keys of a fixed width, and some rows differ before the last word. */
static uint32_t
make_mostly_late(uint64_t row, uint64_t nrows, uint64_t *key)
{
	uint64_t	group = random_word() % 20;

	(void) row;
	for (int i = 0; i < KEY_MAX_WORDS; i++)
		key[i] = (group + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 8 * (i % 8);
	if (group < 10 && random_word() % 100 == 0)
		key[1 + group] ^= random_word() % 8;
	key[KEY_MAX_WORDS - 1] = random_word() % (nrows / 40 + 2);
	return KEY_MAX_WORDS;
}

/* Whole keys that come several times: ties to the last word. */
static uint32_t
make_duplicates(uint64_t row, uint64_t nrows, uint64_t *key)
{
	uint64_t	value = random_word() % (nrows / 10 + 1);

	(void) row;
	for (int i = 0; i < 5; i++)
		key[i] = (value + 1) * UINT64_C(0x9E3779B97F4A7C15) << i;
	return 5;
}

static uint32_t
make_hex_text(uint64_t row, uint64_t nrows, uint64_t *key)
{
	char		text[64];

	(void) row;
	(void) nrows;
	snprintf(text, sizeof(text), "%016llx%016llx",
			 (unsigned long long) random_word(),
			 (unsigned long long) random_word());
	return text_key(text, key);
}

static uint32_t
make_urls(uint64_t row, uint64_t nrows, uint64_t *key)
{
	char		text[128];

	(void) row;
	snprintf(text, sizeof(text), "https://www.example.com/%s/%u/item%u",
			 random_word() % 2 ? "products" : "users",
			 (unsigned) (random_word() % 50),
			 (unsigned) (random_word() % (nrows / 50 + 2)));
	return text_key(text, key);
}

/* Any length, few letters; the longest are truncated. */
static uint32_t
make_ragged_text(uint64_t row, uint64_t nrows, uint64_t *key)
{
	char		text[160];
	size_t		length = random_word() % 4 ? random_word() % 12 :
		random_word() % (sizeof(text) - 1);

	(void) row;
	(void) nrows;
	for (size_t i = 0; i < length; i++)
		text[i] = random_word() % 8 ? 'a' : 'b';
	text[length] = '\0';
	return text_key(text, key);
}

static uint32_t
make_constant_text(uint64_t row, uint64_t nrows, uint64_t *key)
{
	(void) row;
	(void) nrows;
	return text_key("the same in every row", key);
}

static uint32_t
make_descending_text(uint64_t row, uint64_t nrows, uint64_t *key)
{
	char		text[64];

	snprintf(text, sizeof(text), "row number %012llu",
			 (unsigned long long) (nrows - row) / 2);
	return text_key(text, key);
}

static const Distribution distributions[] = {
	{"random words", 1, make_random},
	{"small integers", 1, make_small_integers},
	{"two values", 1, make_two_values},
	{"constant", 1, make_constant},
	{"ascending", 1, make_ascending},
	{"descending", 1, make_descending},
	{"ascending but the last", 1, make_ascending_but_last},
	{"organ pipe", 1, make_organ_pipe},
	{"skewed", 1, make_skewed},
	{"sparse bits, 16 words", KEY_MAX_WORDS, make_sparse_bits},
	{"two columns, 3 words", 3, make_two_columns},
	{"late difference, 4 words", 4, make_late_difference},
	{"long value ahead", 0, make_long_value_ahead},
	{"mostly late, 16 words", KEY_MAX_WORDS, make_mostly_late},
	{"duplicates, 5 words", 5, make_duplicates},
	{"hexadecimal text", 0, make_hex_text},
	{"addresses", 0, make_urls},
	{"ragged text", 0, make_ragged_text},
	{"constant text", 0, make_constant_text},
	{"descending text", 0, make_descending_text},
};

/* Around the limits for insertion, leaves, polls and larger pieces. */
static const uint64_t sizes[] = {
	0, 1, 2, 3, 12, 13, 100, 1000, 8191, 8192, 8193, 20000, 150000
};

#define LENGTH_OF(array)	(sizeof(array) / sizeof((array)[0]))

static void *
allocate(uint64_t bytes)
{
	void	   *memory = malloc(bytes > 0 ? bytes : 1);

	if (memory == NULL)
	{
		printf("Bail out! out of memory\n");
		exit(1);
	}
	return memory;
}

static KeySet
make_keys(const Distribution *distribution, uint64_t nrows)
{
	KeySet		set = {.fixed_words = distribution->fixed_words};
	uint64_t	key[KEY_MAX_WORDS];

	random_state = UINT64_C(88172645463325252);
	set.nrows = nrows;
	set.words = allocate(nrows * KEY_MAX_WORDS * sizeof(uint64_t));
	set.ends = allocate(nrows * sizeof(uint64_t));
	for (uint64_t row = 0; row < nrows; row++)
	{
		uint32_t	nwords = distribution->make_key(row, nrows, key);

		memcpy(set.words + set.nwords, key, nwords * sizeof(uint64_t));
		set.nwords += nwords;
		set.ends[row] = set.nwords;
	}

	/* Exactly the memory of the keys, for the address sanitizer to guard. */
	if (set.nwords > 0)
		set.words = realloc(set.words, set.nwords * sizeof(uint64_t));
	return set;
}

static void
free_keys(KeySet *set)
{
	free(set->words);
	free(set->ends);
}

/* For qsort(), which passes no argument. */
static const KeySet *compared_set;

static int
compare_rows(uint32_t left, uint32_t right)
{
	const KeySet *set = compared_set;
	uint64_t	l = left == 0 ? 0 : set->ends[left - 1];
	uint64_t	r = right == 0 ? 0 : set->ends[right - 1];

	for (; l < set->ends[left] && r < set->ends[right]; l++, r++)
	{
		if (set->words[l] != set->words[r])
			return set->words[l] < set->words[r] ? -1 : 1;
	}
	return 0;
}

static int
compare_for_qsort(const void *left, const void *right)
{
	return compare_rows(*(const uint32_t *) left, *(const uint32_t *) right);
}

static void
count_poll(void *argument)
{
	(*(uint64_t *) argument)++;
}

/* What is wrong with an order, or NULL. */
static const char *
check_order(const KeySet *set, const uint32_t *order, const uint32_t *expected,
			bool mark_ties)
{
	bool	   *seen = calloc(set->nrows + 1, sizeof(bool));
	const char *fault = NULL;

	for (uint64_t i = 0; i < set->nrows && fault == NULL; i++)
	{
		uint32_t	row = ORDER_ROW(order[i]);
		bool		tie = (order[i] & ORDER_TIE) != 0;

		if (row >= set->nrows || seen[row])
			fault = "not a permutation of the rows";
		else if (compare_rows(row, expected[i]) != 0)
			fault = "not in order";
		else if (tie != (mark_ties && i > 0 &&
						 compare_rows(expected[i - 1], expected[i]) == 0))
			fault = "a tie is not marked, or something else is";
		else
			seen[row] = true;
	}
	free(seen);
	return fault;
}

static HostKeys
host_keys(const KeySet *set, bool mark_ties)
{
	HostKeys	keys = {
		.shape = {.fixed_words = set->fixed_words,.mark_ties = mark_ties},
		.words = set->words,
		.ends = set->fixed_words == 0 ? set->ends : NULL,
		.nrows = set->nrows
	};

	return keys;
}

/* Sorts one set of keys both ways and compares. */
static void
test_size(const Distribution *distribution, uint64_t nrows, bool mark_ties)
{
	KeySet		set = make_keys(distribution, nrows);
	HostKeys	keys = host_keys(&set, mark_ties);
	uint32_t   *expected = allocate(nrows * sizeof(uint32_t));
	HostSortEntry *entries = allocate(nrows * sizeof(HostSortEntry));
	uint64_t	polls = 0;
	const char *fault;

	compared_set = &set;
	for (uint64_t row = 0; row < nrows; row++)
		expected[row] = (uint32_t) row;
	qsort(expected, nrows, sizeof(uint32_t), compare_for_qsort);

	fault = check_order(&set, host_sort(&keys, entries, count_poll, &polls),
						expected, mark_ties);
	if (fault == NULL && polls < nrows / 65536)
		fault = "the poll function was not called often enough";
	CHECK(fault == NULL, "%llu rows, ties %smarked: %s",
		  (unsigned long long) nrows, mark_ties ? "" : "not ", fault);

	free(entries);
	free(expected);
	free_keys(&set);
}

/* A sort that is left from its poll function, at any of its calls. */
typedef struct Interruption
{
	jmp_buf		leave;
	uint64_t	polls_left;
} Interruption;

static void
interrupt(void *argument)
{
	Interruption *interruption = argument;

	if (interruption->polls_left-- == 0)
		longjmp(interruption->leave, 1);
}

/* Is a sort of these keys interrupted at this poll? */
static bool
is_interrupted(const HostKeys *keys, HostSortEntry *entries, uint64_t poll)
{
	Interruption interruption = {.polls_left = poll};

	if (setjmp(interruption.leave) != 0)
		return true;
	(void) host_sort(keys, entries, interrupt, &interruption);
	return false;
}

static void
test_interruption(void)
{
	static const Distribution *const distribution = &distributions[14];
	KeySet		set = make_keys(distribution, 150000);
	HostKeys	keys = host_keys(&set, true);
	HostSortEntry *entries = allocate(set.nrows * sizeof(HostSortEntry));
	uint64_t	poll = 0;

	while (is_interrupted(&keys, entries, poll))
		poll++;

	/* there are more passes over the rows than that, and each must poll */
	CHECK(poll > 4 * set.nrows / 32768, "only %llu polls",
		  (unsigned long long) poll);
	conclude("can be left at every poll");
	free(entries);
	free_keys(&set);
}

int
main(void)
{
	for (size_t i = 0; i < LENGTH_OF(distributions); i++)
	{
		for (size_t j = 0; j < LENGTH_OF(sizes); j++)
		{
			test_size(&distributions[i], sizes[j], true);
			test_size(&distributions[i], sizes[j], false);
		}
		conclude(distributions[i].name);
	}
	test_interruption();
	return failures > 0;
}
