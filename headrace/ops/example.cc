#include "headrace/ops/example.h"

#include <cstring>
#include <string>

namespace headrace {
namespace {

enum Wire : uint8_t { kVarint = 0, kEight = 1, kBytes = 2, kFour = 5 };

// Reads the fields of one message in order.
class Message {
 public:
  // `base`: where the message begins, for errors.
  explicit Message(std::span<const std::byte> bytes, const std::byte* base) : bytes_(bytes), base_(base) {}

  struct Field {
    uint64_t number = 0;
    Wire wire = kVarint;
    uint64_t value = 0;                // of kVarint, kFour and kEight
    std::span<const std::byte> bytes;  // of kBytes
  };

  bool at_end() const { return at_ == bytes_.size(); }

  Result<Field> next() {
    uint64_t tag = 0;
    HEADRACE_TRY(varint(tag));
    Field out;
    out.number = tag >> 3;
    switch (tag & 7) {
      case kVarint:
        out.wire = kVarint;
        HEADRACE_TRY(varint(out.value));
        return out;
      case kEight:
        out.wire = kEight;
        HEADRACE_TRY(fixed(8, out.value));
        return out;
      case kFour:
        out.wire = kFour;
        HEADRACE_TRY(fixed(4, out.value));
        return out;
      case kBytes: break;
      default: return wrong("a wire type of protocol buffers");
    }
    uint64_t length = 0;
    HEADRACE_TRY(varint(length));
    if (length > bytes_.size() - at_) return wrong("a field that ends inside the message");
    out.wire = kBytes;
    out.bytes = bytes_.subspan(at_, length);
    at_ += length;
    return out;
  }

  Status varint(uint64_t& out) {
    out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_end()) break;
      const auto byte = std::to_integer<uint64_t>(bytes_[at_++]);
      if (shift == 63 && byte > 1) break;
      out |= (byte & 0x7f) << shift;
      if (byte < 0x80) return {};
    }
    return wrong("a number of at most ten bytes");
  }

 private:
  Status fixed(size_t count, uint64_t& out) {
    if (count > bytes_.size() - at_) return wrong("a number inside the message");
    std::memcpy(&out, bytes_.data() + at_, count);
    at_ += count;
    return {};
  }

  Status wrong(std::string_view wanted) const {
    return corrupt("wants a tf.train.Example, there is not " + std::string(wanted) + " at byte " +
                   std::to_string(bytes_.data() + at_ - base_) + " of it");
  }

  std::span<const std::byte> bytes_;
  const std::byte* base_;
  size_t at_ = 0;
};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Status read_feature(std::span<const std::byte> bytes, const std::byte* base, Feature& out) {
  out = {};
  for (Message message(bytes, base); !message.at_end();) {
    HEADRACE_ASSIGN(const Message::Field field, message.next());
    if (field.wire != kBytes || field.number < 1 || field.number > 3) continue;
    out = {static_cast<FeatureKind>(field.number), field.bytes};
  }
  return {};
}

// `entry`: one of the map's. The feature goes to `out` when its key is `name`.
Status read_entry(std::span<const std::byte> entry, const std::byte* base, std::string_view name,
                  std::optional<Feature>& out) {
  std::string_view key;
  std::span<const std::byte> value;
  for (Message message(entry, base); !message.at_end();) {
    HEADRACE_ASSIGN(const Message::Field field, message.next());
    if (field.wire == kBytes && field.number == 1) key = text_of(field.bytes);
    if (field.wire == kBytes && field.number == 2) value = field.bytes;
  }
  if (key != name) return {};
  out.emplace();
  return read_feature(value, base, *out);
}

// Calls `one(field)` for each value that stands alone and `packed(bytes)` for each packed run of them.
template <class One, class Packed>
Status each_value(const Feature& feature, const One& one, const Packed& packed) {
  for (Message message(feature.list, feature.list.data()); !message.at_end();) {
    HEADRACE_ASSIGN(const Message::Field field, message.next());
    if (field.number != 1) continue;
    if (field.wire == kBytes)
      HEADRACE_TRY(packed(field.bytes));
    else
      HEADRACE_TRY(one(field));
  }
  return {};
}

Status odd_floats(size_t size) {
  return corrupt("wants packed floats of four bytes each, got " + std::to_string(size) + " bytes");
}

Status odd_value() { return corrupt("wants the values of a feature in the wire type of its kind"); }

}  // namespace

std::string_view feature_kind_name(FeatureKind kind) {
  constexpr std::string_view names[] = {"nothing", "bytes", "f32", "i64"};
  return names[static_cast<size_t>(kind)];
}

Result<std::optional<Feature>> find_feature(std::span<const std::byte> example, std::string_view name) {
  std::optional<Feature> out;
  for (Message message(example, example.data()); !message.at_end();) {
    HEADRACE_ASSIGN(const Message::Field features, message.next());
    if (features.wire != kBytes || features.number != 1) continue;
    for (Message map(features.bytes, example.data()); !map.at_end();) {
      HEADRACE_ASSIGN(const Message::Field entry, map.next());
      if (entry.wire == kBytes && entry.number == 1)
        HEADRACE_TRY(read_entry(entry.bytes, example.data(), name, out));
    }
  }
  return out;
}

Result<uint64_t> count_values(const Feature& feature) {
  uint64_t count = 0;
  const auto one = [&](const Message::Field&) { return ++count, Status(); };
  HEADRACE_TRY(each_value(feature, one, [&](std::span<const std::byte> bytes) -> Status {
    if (feature.kind == FeatureKind::bytes) return ++count, Status();
    if (feature.kind == FeatureKind::floats) {
      if (bytes.size() % sizeof(float) != 0) return odd_floats(bytes.size());
      count += bytes.size() / sizeof(float);
      return {};
    }
    for (const std::byte b : bytes)
      count += (b & std::byte{0x80}) == std::byte{0} ? 1 : 0;  // a varint's last
    return {};
  }));
  return count;
}

Result<std::span<const std::byte>> only_bytes(const Feature& feature) {
  std::span<const std::byte> out;
  HEADRACE_TRY(each_value(
      feature, [](const Message::Field&) { return odd_value(); },
      [&](std::span<const std::byte> bytes) { return out = bytes, Status(); }));
  return out;
}

Status copy_floats(const Feature& feature, float* out) {
  return each_value(
      feature,
      [&](const Message::Field& field) -> Status {
        if (field.wire != kFour) return odd_value();
        std::memcpy(out++, &field.value, sizeof(float));
        return {};
      },
      [&](std::span<const std::byte> bytes) -> Status {
        if (bytes.size() % sizeof(float) != 0) return odd_floats(bytes.size());
        if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
        out += bytes.size() / sizeof(float);
        return {};
      });
}

Status copy_ints(const Feature& feature, int64_t* out) {
  return each_value(
      feature,
      [&](const Message::Field& field) -> Status {
        if (field.wire != kVarint) return odd_value();
        *out++ = static_cast<int64_t>(field.value);
        return {};
      },
      [&](std::span<const std::byte> bytes) -> Status {
        for (Message numbers(bytes, bytes.data()); !numbers.at_end();) {
          uint64_t value = 0;
          HEADRACE_TRY(numbers.varint(value));
          *out++ = static_cast<int64_t>(value);
        }
        return {};
      });
}

}  // namespace headrace
