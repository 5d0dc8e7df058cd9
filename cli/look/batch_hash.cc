#include "cli/look/batch_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "headrace/core/row_list.h"
#include "headrace/core/text/hex.h"
#include "headrace/core/text/text.h"

namespace headrace::cli {
namespace {

void add_tensor(XXH3_state_t& state, const Tensor& tensor) {
  if (tensor.is_ragged()) {
    for (const Text& text : tensor.rows->texts()) XXH3_128bits_update(&state, text.data(), text.size());
    if (!tensor.rows->texts().empty()) return;
    for (const Tensor& row : *tensor.rows) add_tensor(state, row);
    return;
  }
  const auto bytes = tensor.view().bytes();
  XXH3_128bits_update(&state, bytes.data(), bytes.size());
}

}  // namespace

BatchHash::BatchHash(std::string_view text) : digest_(bytes_of_hex(text).value_or("")) {}

bool BatchHash::is_hash(std::string_view text) {
  return text.empty() || (text.size() == 32 && bytes_of_hex(text));
}

void BatchHash::add(const Sample& batch) {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, digest_.data(), digest_.size());
  for (const Tensor& field : batch.fields) add_tensor(state, field);
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
  digest_.assign(reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest);
}

std::string BatchHash::text() const { return hex_of(text_bytes(digest_)); }

}  // namespace headrace::cli
