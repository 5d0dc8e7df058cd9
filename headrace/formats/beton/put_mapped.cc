#include "headrace/formats/beton/put_mapped.h"

#include <algorithm>
#include <cstring>

namespace headrace::beton {
namespace {

using Kind = BetonField::Kind;

constexpr size_t kAtOnce = 64;  // samples that are located before the first is put

// False if the field cannot be put this way.
bool put_field(const BetonTable& table, uint64_t sample, size_t index, Text bytes, size_t n,
               MappedBytes& mapped, const FieldPlace& to) {
  const BetonField& field = table.layout.fields[index];
  const std::byte* const slot = table.slot(sample, field);
  const bool is_pixels = field.kind == Kind::image && table.images[index] == Images::pixels;
  if (!field.is_pointed() || field.kind == Kind::array || is_pixels) {
    const std::byte* const from = field.is_pointed() ? bytes.data() : slot;
    const size_t size = to.spec->size_bytes();
    if (!to.values || (field.is_pointed() && bytes.size() != size)) return false;
    if (size > 0) std::memcpy(to.values + n * size, from, size);
    return true;
  }
  if (!to.texts || (field.kind == Kind::image && beton_image(slot).is_raw)) return false;
  // A str is always copied: its consumers do not check whether the file changed.
  const auto kept = to.spec->dtype == DType::bytes ? mapped.keep_value(bytes) : mapped.keep(bytes);
  if (!kept) return false;
  const bool ends_with_nul =
      field.kind == Kind::json && !kept->bytes.empty() && kept->bytes.back() == std::byte{0};
  to.texts->set(n, kept->buffer, kept->bytes.first(kept->bytes.size() - (ends_with_nul ? 1 : 0)));
  return true;
}

}  // namespace

bool may_be_put(const BetonTable& table) {
  return std::ranges::none_of(table.layout.fields, [](const BetonField& field) {
    const bool is_of_any_bytes = field.kind == Kind::array && field.spec.dtype == DType::boolean;
    const bool is_large =
        field.spec.is_static() && field.spec.size_bytes() >= kLeastMapped;  // faster one by one
    return is_of_any_bytes || is_large;
  });
}

size_t put_mapped(const BetonTable& table, std::span<const uint64_t> samples, MappedBytes& mapped,
                  std::span<const FieldPlace> to) {
  struct Shown {
    Whereabouts where;
    Text bytes;
  };
  std::vector<Shown> shown(std::min(samples.size(), kAtOnce));
  for (size_t begin = 0; begin < samples.size(); begin += kAtOnce) {
    const size_t count = std::min(samples.size() - begin, kAtOnce);
    size_t there = 0, texts = 0;
    for (; there < count; ++there) {
      auto& [where, bytes] = shown[there];
      if (!find_fields(table, samples[begin + there], where).ok() || !where.stand_together) break;
      bytes = where.all.length == 0 ? Text() : mapped.at({0, where.all.offset, where.all.length});
      if (bytes.size() < where.all.length) break;
      __builtin_prefetch(bytes.data());
      for (size_t f = 0; f < to.size(); ++f)
        if (to[f].texts && where.fields[f].length < kLeastMapped) texts += where.fields[f].length;
    }
    if (texts > 0) mapped.expect(texts);
    for (size_t i = 0; i < there; ++i) {
      const auto& [where, bytes] = shown[i];
      for (size_t f = 0; f < to.size(); ++f) {
        const RecordExtent& field = where.fields[f];
        const Text its =
            field.length == 0 ? Text() : bytes.subspan(field.offset - where.all.offset, field.length);
        if (!put_field(table, samples[begin + i], f, its, begin + i, mapped, to[f])) return begin + i;
      }
    }
    if (there < count) return begin + there;
  }
  return samples.size();
}

}  // namespace headrace::beton
