#include "cli/look/encoded_again.h"

#include "cli/input/input.h"

namespace headrace::cli {

Dataset encoded_again(const Dataset& data, const Schema& schema, int image, uint64_t max_side,
                      uint64_t quality) {
  return data.map(
      [&](const Fields& sample) {
        Outputs out;
        for (size_t i = 0; i < schema.size(); ++i) {
          Symbol field = sample[schema.names[i]];
          if (static_cast<int>(i) == image) {
            field = field.apply("decode_image", {{"match", "exact"}, {"exif_orientation", true}});
            if (max_side > 0) field = field.apply("shrink", {{"max_side", max_side}});
            const auto as_given = quality > 0 ? static_cast<int64_t>(quality) : kQuality;
            field = field.apply("encode_image", {{"quality", as_given}, {"subsampling", "4:2:0"}});
          }
          out.emplace_back(schema.names[i], field);
        }
        return out;
      },
      kNoLine);
}

}  // namespace headrace::cli
