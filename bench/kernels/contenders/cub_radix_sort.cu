/*-------------------------------------------------------------------------
 *
 * cub_radix_sort.cu
 *	  CUB's radix sort as a reference, for keys of 4 and 8 bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "cub_radix_sort.cuh"

namespace bench
{

/* For numbers of all widths; keys alone of 4 and 8 bytes only. */
class CubRadixSort : public Contender
{
public:
	CubRadixSort() : Contender(Kind::REFERENCE, radix_sort_name)
	{
	}

	std::unique_ptr<Job>
	make_job(const Queue &queue, const Input &input) const override
	{
		const KeyArray &keys = input.keys;

		switch (keys.width)
		{
			case 4:
				return make_narrow_job<uint32_t>(queue, input);
			case 8:
				return make_narrow_job<uint64_t>(queue, input);
			case text_width:
				return nullptr;
			default:
				return input.has_rows ? make_wide_radix_job(queue, keys) :
					nullptr;
		}
	}

private:
	template <typename Key>
	static std::unique_ptr<Job>
	make_narrow_job(const Queue &queue, const Input &input)
	{
		if (input.has_rows)
			return std::make_unique<RadixJob<Key, true>>(queue, input.keys);
		return std::make_unique<RadixJob<Key, false>>(queue, input.keys);
	}
};

static const CubRadixSort cub_radix_sort;

}								/* namespace bench */
