#include "cli/look/batch_hash.h"

#define XXH_INLINE_ALL
#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>

#include "headrace/core/row_list.h"

namespace headrace::cli {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

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

BatchHash::BatchHash(std::string_view text) {
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    digest_ += static_cast<char>(kDigits.find(text[i]) << 4 | kDigits.find(text[i + 1]));
}

bool BatchHash::is_hash(std::string_view text) {
  return text.empty() || (text.size() == 32 && text.find_first_not_of(kDigits) == std::string_view::npos);
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

std::string BatchHash::text() const {
  std::string out;
  for (const char c : digest_) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

}  // namespace headrace::cli
