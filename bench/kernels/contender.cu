/*-------------------------------------------------------------------------
 *
 * contender.cu
 *	  The list of contenders, which is made before main() begins.
 *
 *-------------------------------------------------------------------------
 */
#include "contender.h"

#include <algorithm>
#include <cctype>
#include <tuple>

namespace bench
{

static std::vector<const Contender *> &
registered()
{
	static std::vector<const Contender *> list;

	return list;
}

/* Turns "GPU-Quicksort (atomic)" into "gpu-quicksort-atomic". */
static std::string
plain_name(const std::string &name)
{
	std::string plain;
	bool		is_gap = false;

	for (unsigned char letter : name)
		if (isalnum(letter))
		{
			if (is_gap && !plain.empty())
				plain += '-';
			plain += static_cast<char>(tolower(letter));
			is_gap = false;
		}
		else
			is_gap = true;
	return plain;
}

Contender::Contender(Kind its_kind, const std::string &its_name) :
	kind(its_kind), name(plain_name(its_name))
{
	registered().push_back(this);
}

std::vector<const Contender *>
all_contenders()
{
	std::vector<const Contender *> list = registered();

	std::sort(list.begin(), list.end(),
			  [](const Contender *a, const Contender *b) {
		return std::tie(a->kind, a->name) < std::tie(b->kind, b->name);
	});
	return list;
}

}								/* namespace bench */
