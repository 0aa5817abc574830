/*-------------------------------------------------------------------------
 *
 * texts.cuh
 *	  Texts as keys: English words, and addresses with prefixes in common.
 *
 * A text becomes a key as columns of type text do: its bytes, a zero byte, and
 * as many more as fill the last word.  None is so long that a key is truncated.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_BENCH_TEXTS_CUH
#define GPUSORT_BENCH_TEXTS_CUH

#include "../../src/common/key_format.h"
#include "distributions.h"
#include "random_bits.cuh"

namespace bench
{

/* Common words, roughly the most frequent first, each followed by a blank. */
constexpr char vocabulary_text[] =
	"the of and to in is that for it as was with be by on not he his but at "
	"are this have from or had an they which one you were all her she there "
	"would their we him been has when who will no more if out so up said what "
	"its about than into them can only other time new some could these two may "
	"first then do any like my now over such our man me even most made after "
	"also well did many before must years through back where much your way "
	"down should because long each just state those people too how little "
	"good world make very year still see work life men here get own day "
	"between both under being never same another know while last might us "
	"great old off come since go against came right used take three himself "
	"few house use place during high without again home around small however "
	"found part school thought went say general once upon war left every "
	"public number water course company night system better light business "
	"children question interest program science mountain distance language "
	"development experience understanding international responsibility ";

/* The words, small enough to be a kernel's parameter. */
struct Vocabulary
{
	static constexpr unsigned max_words = 256;

	char		letters[sizeof(vocabulary_text)];
	uint16_t	starts[max_words + 1];
	uint16_t	count;

	Vocabulary()
	{
		count = 0;
		starts[0] = 0;
		for (unsigned i = 0; i < sizeof(letters); i++)
		{
			letters[i] = vocabulary_text[i];
			if (letters[i] == ' ')
				starts[++count] = static_cast<uint16_t>(i + 1);
		}
	}
};

static_assert(sizeof(Vocabulary) <= 4096, "all parameters of a kernel");

/* Appends bytes to a key, or only counts its words if there is no room. */
class TextWriter
{
public:
	__device__ explicit TextWriter(uint64_t *room) : next(room)
	{
	}

	__device__ void
	append(char letter)
	{
		word = word << 8 | static_cast<unsigned char>(letter);
		if (++length % 8 == 0 && next != nullptr)
			*next++ = word;
	}

	__device__ void
	append(const char *text)
	{
		for (; *text != '\0'; text++)
			append(*text);
	}

	__device__ void
	append_word(const Vocabulary &vocabulary, unsigned number)
	{
		for (unsigned i = vocabulary.starts[number];
			 i + 1 < vocabulary.starts[number + 1]; i++)
			append(vocabulary.letters[i]);
	}

	__device__ void
	append_digits(uint64_t number, unsigned digits)
	{
		uint64_t	power = 1;

		for (unsigned i = 1; i < digits; i++)
			power *= 10;
		for (; power > 0; power /= 10)
			append(static_cast<char>('0' + number / power % 10));
	}

	/* Ends the key; returns its words. */
	__device__ unsigned
	finish()
	{
		do
			append('\0');
		while (length % 8 != 0);
		return length / 8;
	}

private:
	uint64_t   *next;
	uint64_t	word = 0;
	unsigned	length = 0;
};

/* A word, frequent ones more often: number k about as 1 / k. */
static __device__ __forceinline__ unsigned
draw_word(const Vocabulary &vocabulary, uint64_t random)
{
	double		uniform = static_cast<double>(random >> 11) * 0x1p-53;
	unsigned	rank = static_cast<unsigned>(exp(uniform *
												 log(vocabulary.count + 1.0)));

	return rank > vocabulary.count ? vocabulary.count - 1 : rank - 1;
}

/*
 * The most words that a key has: no word has more than 14 letters, so texts of
 * four have up to 59, and addresses up to 33 + 14 + 1 + 14 + 6 + 10.
 */
constexpr unsigned max_text_words = 10;

static_assert(max_text_words <= KEY_MAX_WORDS, "no key is truncated");

/* Writes the text of a place; returns the words of the key. */
static __device__ __forceinline__ unsigned
write_text(Distribution distribution, uint64_t place,
		   const Vocabulary &vocabulary, TextWriter writer)
{
	if (distribution == WORDS)
	{
		unsigned	count = 1 + random_bits(place, 0) % 4;

		for (unsigned i = 1; i <= count; i++)
		{
			if (i > 1)
				writer.append(' ');
			writer.append_word(vocabulary,
							   draw_word(vocabulary, random_bits(place, i)));
		}
	}
	else
	{
		writer.append("https://www.example.org/articles/");
		writer.append_word(vocabulary,
						   vocabulary.count - 8 + random_bits(place, 0) % 8);
		writer.append('/');
		writer.append_word(vocabulary,
						   vocabulary.count - 16 + random_bits(place, 1) % 16);
		writer.append("/page-");
		writer.append_digits(random_bits(place, 2), 10);
	}
	return writer.finish();
}

}								/* namespace bench */

#endif							/* GPUSORT_BENCH_TEXTS_CUH */
