// The strings of a chunk, in place. Pure; accepts any bytes; any thread.
#pragma once
#include <string>
#include <vector>

#include "headrace/core/buffer.h"
#include "headrace/formats/zarr/codecs.h"

namespace headrace::zarr {

struct Texts {
  struct Place {
    uint64_t offset = 0, length = 0;
  };
  BufferPtr bytes;
  std::vector<Place> places;  // a single one: all strings are the same

  Place operator[](uint64_t i) const { return places.size() == 1 ? places[0] : places[i]; }
};

Result<Texts> decode_texts(const Chain& chain, const Element& element, uint64_t count,
                           const BufferPtr& packed);
// The same string for any index.
Texts repeated_text(const std::string& text);

}  // namespace headrace::zarr
