/*-------------------------------------------------------------------------
 *
 * options.cu
 *	  Reading the command line.
 *
 *-------------------------------------------------------------------------
 */
#include "options.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include <getopt.h>

namespace bench
{

static const char usage[] =
	"Measures the sort algorithms of gpusort and its lineage on CUDA device 0.\n"
	"\n"
	"usage: kernels [-n SIZES] [-a ALGORITHMS] [-d DISTRIBUTIONS] [-w WIDTHS] [-k]\n"
	"               [-r REPEATS] [--csv FILE]\n"
	"\n"
	"  -n SIZES          numbers of keys, as 1000000, 10M or 2^25, up to 2^30\n"
	"                    (default: 1M,10M,100M)\n"
	"  -a ALGORITHMS     only these (default: all)\n"
	"  -d DISTRIBUTIONS  only these (default: all)\n"
	"  -w WIDTHS         bytes of a key: 4, 8, 16, 32 or text (default: all)\n"
	"  -k                keys alone, without row numbers; 4 and 8 bytes only\n"
	"  -r REPEATS        measured sorts of each, after one to warm up (default: 7)\n"
	"  --csv FILE        writes the figures to this file too\n"
	"  --help            prints this\n"
	"\n"
	"Lists are separated by commas.  Distributions:\n";

std::string
width_name(unsigned width)
{
	return width == text_width ? "text" : std::to_string(width);
}

static std::vector<std::string>
split(const std::string &list)
{
	std::vector<std::string> parts;
	std::istringstream stream(list);
	std::string part;

	while (std::getline(stream, part, ','))
		parts.push_back(part);
	return parts;
}

/* Reads digits from "text"; false if there are others or too many. */
static bool
parse_number(const std::string &text, uint64_t *number)
{
	if (text.empty() || text.size() > 10 ||
		text.find_first_not_of("0123456789") != std::string::npos)
		return false;
	*number = std::strtoull(text.c_str(), nullptr, 10);
	return true;
}

/* Reads "1000000", "10M" or "2^25". */
static bool
parse_size(std::string text, uint32_t *size)
{
	uint64_t	factor = 1;
	uint64_t	number;

	if (text.compare(0, 2, "2^") == 0)
	{
		if (!parse_number(text.substr(2), &number) || number > 30)
			return false;
		*size = 1u << number;
		return true;
	}
	if (!text.empty() && text.back() == 'M')
	{
		factor = 1000000;
		text.pop_back();
	}
	if (!parse_number(text, &number) || number * factor > max_keys)
		return false;
	*size = static_cast<uint32_t>(number * factor);
	return *size > 0;
}

/* Finds the elements with these names among all that there are. */
template <typename Element, typename Name>
static bool
choose(const std::string &names, const std::vector<Element> &all,
	   const Name &name_of, std::vector<Element> *chosen, std::string *reason)
{
	chosen->clear();
	for (const std::string &name : split(names))
	{
		size_t		before = chosen->size();

		for (const Element &element : all)
			if (name_of(element) == name)
				chosen->push_back(element);
		if (chosen->size() == before)
		{
			*reason = "there is no " + name + ", but";
			for (const Element &element : all)
				*reason += " " + std::string(name_of(element));
			return false;
		}
	}
	return true;
}

static std::string
contender_name(const Contender *contender)
{
	return contender->name;
}

void
print_usage()
{
	fputs(usage, stdout);
	for (int i = 0; i < DISTRIBUTIONS; i++)
		printf("  %s\n", distribution_name(static_cast<Distribution>(i)));
	printf("Algorithms:\n");
	for (const Contender *contender : all_contenders())
		printf("  %s\n", contender->name.c_str());
}

bool
parse_options(int argc, char **argv, Options *options, std::string *reason)
{
	static const option long_options[] = {
		{"csv", required_argument, nullptr, 'c'},
		{"help", no_argument, nullptr, 'h'},
		{nullptr, 0, nullptr, 0}
	};
	const std::vector<unsigned> all_widths = {4, 8, 16, 32, text_width};
	const std::vector<const Contender *> contenders = all_contenders();
	std::vector<Distribution> all_distributions;
	uint64_t	number;
	int			letter;

	for (int i = 0; i < DISTRIBUTIONS; i++)
		all_distributions.push_back(static_cast<Distribution>(i));

	options->sizes = {1000000, 10000000, 100000000};
	options->widths = all_widths;
	options->distributions = all_distributions;
	options->contenders = contenders;

	opterr = 0;
	while ((letter = getopt_long(argc, argv, "n:a:d:w:kr:", long_options,
								 nullptr)) != -1)
		switch (letter)
		{
			case 'n':
				options->sizes.clear();
				for (const std::string &text : split(optarg))
				{
					uint32_t	size;

					if (!parse_size(text, &size))
					{
						*reason = "no such number of keys: " + text;
						return false;
					}
					options->sizes.push_back(size);
				}
				break;
			case 'a':
				if (!choose(optarg, contenders, contender_name,
							&options->contenders, reason))
					return false;
				break;
			case 'd':
				if (!choose(optarg, all_distributions, distribution_name,
							&options->distributions, reason))
					return false;
				break;
			case 'w':
				if (!choose(optarg, all_widths, width_name, &options->widths,
							reason))
					return false;
				break;
			case 'k':
				options->has_rows = false;
				break;
			case 'r':
				if (!parse_number(optarg, &number) || number < 1 ||
					number > 1000)
				{
					*reason = "repeats are 1 to 1000";
					return false;
				}
				options->repeats = static_cast<unsigned>(number);
				break;
			case 'c':
				options->csv = optarg;
				break;
			case 'h':
				return false;
			default:
				*reason = "there is no such option, or it lacks its value";
				return false;
		}
	if (optind < argc)
	{
		*reason = std::string("what is ") + argv[optind] + "?";
		return false;
	}
	return true;
}

}								/* namespace bench */
