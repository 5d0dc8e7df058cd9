// Reads rows of a source opened from any bytes: fields match the schema, or there is an error. Where a batch
// would put rows together at once, the result is the same.
#pragma once
#include <algorithm>
#include <cstdlib>

#include "headrace/formats/opening/open.h"
#include "headrace/formats/testing/put_rows.h"

namespace headrace {

inline uint64_t looked_at = 0;  // so that every byte of every field is read

inline void read_rows(Store& store, const Source& source) {
  constexpr uint64_t kMostRows = 64;
  for (uint64_t i = 0; i < std::min(source.size(), kMostRows); ++i) {
    const auto fields = read_sample(source, i, store);
    if (!fields.ok()) {
      if (fields.status().text().empty()) std::abort();
      continue;
    }
    if (fields->size() != source.schema().size()) std::abort();
    for (size_t f = 0; f < fields->size(); ++f) {
      const View view = (*fields)[f].view();
      if (!source.schema().specs[f].admits(view.spec())) {
        const bool is_text_field = is_text(view.dtype) && view.dtype == source.schema().specs[f].dtype;
        if (!is_text_field) std::abort();
      }
      for (const std::byte byte : view.bytes()) looked_at += std::to_integer<uint64_t>(byte);
    }
  }
  constexpr uint64_t kMostTogether = 16;
  const auto [block, rows] = read_together(store, source, kMostTogether);
  if (block && !puts_what_it_gets(*block, source.schema(), rows)) std::abort();
  std::vector<uint64_t> indices(std::min(source.size(), kMostTogether));
  std::iota(indices.begin(), indices.end(), uint64_t{0});
  std::vector<Extent> extents(indices.size());
  const auto is_needed_alone = [](const Extent& one) { return one.length == kToEnd && !one.lies_apart(); };
  if (!source.extents(indices, extents) || std::ranges::any_of(extents, is_needed_alone)) return;
  const auto read = [&](uint64_t i) { return read_sample(source, i, store); };
  if (!maps_show_what_is_read(store, source, indices.size(), 1, read)) std::abort();
}

}  // namespace headrace
