#include "headrace/codecs/example.h"

#include <string>

#include "headrace/core/value.h"

namespace headrace {
namespace {

bool is_list(const WireField& field) {
  return field.wire == Wire::bytes && field.number >= 1 && field.number <= 3;
}

// Merges one serialised Feature into `out`, whose kind is that of its last list.
Status merge(std::span<const std::byte> message, Feature& out) {
  WireReader reader(message, out.example);
  for (WireField field; reader.next(field);) {
    if (!is_list(field)) continue;
    const auto kind = static_cast<FeatureKind>(field.number);
    if (kind != out.kind) out.kind = kind, out.from = field.bytes.data();
  }
  return reader.status(kExample);
}

// Calls `list(bytes)` for each list of the feature's kind in one serialised Feature.
template <class F>
Status each_list_of(std::span<const std::byte> message, const Feature& feature, const F& f) {
  WireReader reader(message, feature.example);
  for (WireField field; reader.next(field);)
    if (field.is_bytes(static_cast<uint64_t>(feature.kind)) && field.bytes.data() >= feature.from)
      HEADRACE_TRY(f(field.bytes));
  return reader.status(kExample);
}

template <class F> Status each_list(const Feature& feature, const F& f) {
  if (feature.kind == FeatureKind::none) return {};
  if (!feature.in_entry) return each_list_of(feature.message, feature, f);
  WireReader reader(feature.message, feature.example);
  for (WireField field; reader.next(field);)
    if (field.is_bytes(2)) HEADRACE_TRY(each_list_of(field.bytes, feature, f));
  return reader.status(kExample);
}

// Calls `one(field)` for each unpacked value and `packed(bytes)` for each packed run of them.
template <class One, class Packed>
Status each_value(const Feature& feature, const One& one, const Packed& packed) {
  return each_list(feature, [&](std::span<const std::byte> list) -> Status {
    WireReader reader(list, feature.example);
    for (WireField field; reader.next(field);) {
      if (field.number != 1) continue;
      if (field.wire == Wire::bytes)
        HEADRACE_TRY(packed(field.bytes));
      else
        HEADRACE_TRY(one(field));
    }
    return reader.status(kExample);
  });
}

Status odd_floats(size_t size) {
  return corrupt({.expected = "packed floats of four bytes each", .got = std::to_string(size) + " bytes"});
}

Status odd_value() { return corrupt("the values of a feature have the wrong wire type for its kind"); }

}  // namespace

std::string_view feature_kind_name(FeatureKind kind) {
  constexpr std::string_view names[] = {"nothing", "bytes", "float32", "int64"};
  return names[static_cast<size_t>(kind)];
}

bool FeatureEntries::next(FeatureEntry& out) {
  WireField field;
  while (failed_.ok()) {
    while (map_.next(field)) {
      if (!field.is_bytes(1)) continue;
      out = {{}, field.bytes, example_};
      WireReader entry(field.bytes, example_);
      for (WireField part; entry.next(part);)
        if (part.is_bytes(1))
          out.name = {reinterpret_cast<const char*>(part.bytes.data()), part.bytes.size()};
      failed_ = entry.status(kExample);
      return failed_.ok();
    }
    failed_ = map_.status(kExample);
    if (!failed_.ok()) return false;
    do {
      if (!groups_.next(field)) {
        failed_ = groups_.status(kExample);
        return false;
      }
    } while (!field.is_bytes(number_));
    map_ = WireReader(field.bytes, example_);
  }
  return false;
}

Status FeatureEntries::status() const { return failed_; }

Status read_feature(const FeatureEntry& entry, Feature& out) {
  out = {FeatureKind::none, true, entry.message, nullptr, entry.example};
  WireReader reader(entry.message, entry.example);
  for (WireField field; reader.next(field);)
    if (field.is_bytes(2)) HEADRACE_TRY(merge(field.bytes, out));
  return reader.status(kExample);
}

Status read_step(std::span<const std::byte> message, const std::byte* example, Feature& out) {
  out = {FeatureKind::none, false, message, nullptr, example};
  return merge(message, out);
}

std::string names_in(std::span<const std::byte> example, FeatureGroup group) {
  constexpr size_t kMostNames = 8, kMostOfName = 60;
  std::string out;
  size_t count = 0;
  FeatureEntries entries(example, group);
  for (FeatureEntry entry; count <= kMostNames && entries.next(entry); ++count)
    out += (count == 0 ? "" : ", ") +
           (count == kMostNames ? "…" : Value(entry.name.substr(0, kMostOfName)).dump());
  return count == 0 ? "; it has no features" : "; it has " + out;
}

Result<std::optional<Feature>> find_feature(std::span<const std::byte> example, std::string_view name) {
  std::optional<Feature> out;
  FeatureEntries entries(example);
  for (FeatureEntry entry; entries.next(entry);)
    if (entry.name == name) HEADRACE_TRY(read_feature(entry, out.emplace()));
  HEADRACE_TRY(entries.status());
  return out;
}

Result<uint64_t> count_values(const Feature& feature) {
  uint64_t count = 0;
  const auto one = [&](const WireField&) { return ++count, Status(); };
  HEADRACE_TRY(each_value(feature, one, [&](std::span<const std::byte> bytes) -> Status {
    if (feature.kind == FeatureKind::bytes) return ++count, Status();
    if (feature.kind == FeatureKind::floats) {
      if (bytes.size() % sizeof(float) != 0) return odd_floats(bytes.size());
      count += bytes.size() / sizeof(float);
      return {};
    }
    for (const std::byte b : bytes)
      count += (b & std::byte{0x80}) == std::byte{0} ? 1 : 0;  // the last byte of a varint
    return {};
  }));
  return count;
}

Result<uint64_t> count_bytes(const Feature& feature) {
  uint64_t count = 0;
  HEADRACE_TRY(each_value(
      feature, [](const WireField&) { return odd_value(); },
      [&](std::span<const std::byte> bytes) { return count += bytes.size(), Status(); }));
  return count;
}

std::optional<std::span<const std::byte>> only_bytes(const Feature& feature) {
  uint64_t count = 0;
  std::span<const std::byte> out;
  const Status status = each_value(
      feature, [](const WireField&) { return odd_value(); },
      [&](std::span<const std::byte> bytes) { return ++count, out = bytes, Status(); });
  return feature.kind == FeatureKind::bytes && status.ok() && count == 1 ? std::optional(out) : std::nullopt;
}

Result<float*> copy_floats(const Feature& feature, float* out) {
  HEADRACE_TRY(each_value(
      feature,
      [&](const WireField& field) -> Status {
        if (field.wire != Wire::fixed32) return odd_value();
        std::memcpy(out++, &field.value, sizeof(float));
        return {};
      },
      [&](std::span<const std::byte> bytes) -> Status {
        if (bytes.size() % sizeof(float) != 0) return odd_floats(bytes.size());
        if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
        out += bytes.size() / sizeof(float);
        return {};
      }));
  return out;
}

Result<int64_t*> copy_ints(const Feature& feature, int64_t* out) {
  HEADRACE_TRY(each_value(
      feature,
      [&](const WireField& field) -> Status {
        if (field.wire != Wire::varint) return odd_value();
        *out++ = static_cast<int64_t>(field.value);
        return {};
      },
      [&](std::span<const std::byte> bytes) -> Status {
        WireReader numbers(bytes, feature.example);
        for (uint64_t value = 0; numbers.varint(value);) *out++ = static_cast<int64_t>(value);
        return numbers.status(kExample);
      }));
  return out;
}

Status copy_bytes(const Feature& feature, std::byte*& out, int64_t*& lengths) {
  return each_value(
      feature, [](const WireField&) { return odd_value(); },
      [&](std::span<const std::byte> bytes) -> Status {
        if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
        out += bytes.size();
        if (lengths) *lengths++ = static_cast<int64_t>(bytes.size());
        return {};
      });
}

}  // namespace headrace
