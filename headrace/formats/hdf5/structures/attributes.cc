#include "headrace/formats/hdf5/structures/attributes.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <memory>

#include "headrace/core/little_endian.h"
#include "headrace/core/saturate.h"
#include "headrace/formats/hdf5/datatype.h"
#include "headrace/formats/hdf5/structures/dense_objects.h"
#include "headrace/formats/hdf5/structures/messages.h"

namespace headrace::hdf5 {
namespace {

constexpr uint64_t kMostNumbers = 1024, kMostStrings = 64;
constexpr uint64_t kMostString = 64 << 10;  // bytes

AttributeNumber number_at(const std::byte* at, const Leaf& leaf) {
  std::array<std::byte, 8> bytes{};
  const size_t size = size_of(leaf.dtype);
  std::copy_n(at, size, bytes.begin());
  if (leaf.swaps) std::reverse(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  return visit_dtype(leaf.dtype, [&]<class T>() -> AttributeNumber {
    if constexpr (std::same_as<T, half_t>)
      return double{f16_to_f32(load<uint16_t>(bytes.data()))};
    else if constexpr (std::same_as<T, bfloat_t>)
      return double{bf16_to_f32(load<uint16_t>(bytes.data()))};
    else if constexpr (std::floating_point<T>)
      return static_cast<double>(load<T>(bytes.data()));
    else if constexpr (std::same_as<T, bool>)
      return int64_t{std::to_integer<int64_t>(bytes[0])};
    else if constexpr (std::signed_integral<T>)
      return static_cast<int64_t>(load<T>(bytes.data()));
    else
      return static_cast<uint64_t>(load<T>(bytes.data()));
  });
}

std::string padded_text(std::string_view text, uint8_t padding) {
  constexpr uint8_t kSpaces = 2;
  if (padding != kSpaces) return std::string(text.substr(0, text.find('\0')));
  return std::string(text.substr(0, text.find_last_not_of(' ') + 1));
}

// Reads the strings of one attribute, each from its collection.
struct StringsOfAttribute : std::enable_shared_from_this<StringsOfAttribute> {
  StringsOfAttribute(AttributeMessage message_of, AttributeReads how, WithAttribute then_do)
      : message(std::move(message_of)), reads(how), then(std::move(then_do)) {}

  AttributeMessage message;
  AttributeReads reads;
  WithAttribute then;
  size_t waiting = 0;

  void start() {
    message.attribute.texts.resize(message.strings.size());
    waiting = message.strings.size();
    for (size_t i = 0; i < message.strings.size(); ++i) {
      const Reference& to = message.strings[i];
      if (to.count == 0) {
        done();
        continue;
      }
      reads.fetches.ask(
          reads.owner, saturating_add(reads.place.base, to.address), kLeastCollection,
          [self = shared_from_this(), i](std::span<const std::byte> bytes) { return self->take(i, bytes); });
    }
  }

  Result<uint64_t> take(size_t i, std::span<const std::byte> bytes) {
    const Reference& to = message.strings[i];
    if (bytes.size() > *reads.bytes_left)
      return Status(Code::exhausted, "expected at most 16 MiB of heaps with strings of attributes");
    *reads.bytes_left -= bytes.size();
    HEADRACE_ASSIGN(const HeapCollection collection, HeapCollection::read(bytes, reads.place.sizes));
    const HeapObject* object = collection.find(to.index);
    if (!object && collection.size() > bytes.size()) return collection.size();
    if (!object)
      return corrupt({.expected = "object " + std::to_string(to.index) + " in a global heap", .got = "none"});
    const auto text = bytes.subspan(object->offset, std::min<uint64_t>(object->length, to.count));
    message.attribute.texts[i].assign(reinterpret_cast<const char*>(text.data()), text.size());
    done();
    return uint64_t{0};
  }

  void done() {
    if (--waiting == 0) then(std::move(message.attribute));
  }
};

void deliver(const AttributeReads& reads, Cursor cursor, const WithAttribute& then) {
  auto message = read_attribute(cursor);
  if (!message) return;
  if (message->strings.empty()) return then(std::move(message->attribute));
  std::make_shared<StringsOfAttribute>(*std::move(message), reads, then)->start();
}

}  // namespace

std::optional<AttributeMessage> read_attribute(Cursor cursor) {
  const uint8_t version = cursor.u8(), flags = cursor.u8();
  if (version < 1 || version > 3 || (version > 1 && flags != 0)) return std::nullopt;  // shared types
  const uint16_t name_bytes = cursor.u16(), type_bytes = cursor.u16(), space_bytes = cursor.u16();
  if (version == 3) cursor.skip(1);  // character set
  const auto take = [&](size_t bytes) { return cursor.take(version == 1 ? (bytes + 7) / 8 * 8 : bytes); };
  const auto name = take(name_bytes), type = take(type_bytes), space = take(space_bytes);
  if (!cursor.ok()) return std::nullopt;
  Cursor of_type(type, cursor.sizes());
  const auto datatype = read_datatype(of_type);
  Dataset shape;
  if (!datatype.ok() || datatype->leaves.size() != 1 || datatype->element == 0 ||
      !read_dataspace(Cursor(space, cursor.sizes()), shape).ok())
    return std::nullopt;
  const Leaf& leaf = datatype->leaves[0];
  uint64_t count = 1;
  for (const uint64_t dim : shape.dims) count = saturating_mul(count, dim);
  const uint64_t most = leaf.form == Form::number || leaf.form == Form::boolean ? kMostNumbers : kMostStrings;
  if (!leaf.refusal.ok() || !leaf.name.empty() || !leaf.item.empty() || count > most ||
      saturating_mul(count, datatype->element) > cursor.left())
    return std::nullopt;
  const std::string_view text(reinterpret_cast<const char*>(name.data()), name.size());
  AttributeMessage out{{std::string(text.substr(0, text.find('\0'))), leaf.dtype}};
  out.attribute.is_single = count == 1;  // netCDF has no other single numbers
  for (uint64_t i = 0; i < count; ++i) {
    const auto element = cursor.take(datatype->element);
    const std::string_view characters(reinterpret_cast<const char*>(element.data()), element.size());
    switch (leaf.form) {
      case Form::number:
      case Form::boolean: out.attribute.numbers.push_back(number_at(element.data(), leaf)); break;
      case Form::text: out.attribute.texts.push_back(padded_text(characters, leaf.padding)); break;
      case Form::string: {
        if (element.size() < 8 + static_cast<size_t>(cursor.sizes().address)) return std::nullopt;
        const Reference to = read_reference(element.data(), cursor.sizes().address);
        if (to.count > kMostString) return std::nullopt;
        out.strings.push_back(to);
        break;
      }
      case Form::sequence: return std::nullopt;
    }
  }
  if (leaf.form == Form::text || leaf.form == Form::string) out.attribute.dtype = DType::str;
  return out;
}

bool has_attributes(const std::vector<Message>& messages) {
  return std::ranges::any_of(messages, [](const Message& message) {
    return message.type == kAttribute || message.type == kAttributeInfo;
  });
}

void read_attributes(AttributeReads reads, const std::vector<Message>& messages, const WithAttribute& then) {
  for (const Message& message : messages) {
    if (message.is_shared) continue;
    Cursor cursor = message.cursor(reads.place.sizes);
    if (message.type == kAttribute) deliver(reads, cursor, then);
    if (message.type != kAttributeInfo) continue;
    cursor.skip(1);                              // version
    if ((cursor.u8() & 1) != 0) cursor.skip(2);  // the next creation order
    const uint64_t heap = cursor.address(), names = cursor.address();
    if (!cursor.ok() || heap == kNowhere || names == kNowhere) continue;
    read_dense_objects(reads.fetches, reads.owner, reads.place, heap, names, Dense::attributes,
                       [reads, then](Cursor object) {
                         deliver(reads, object, then);
                         return Status();
                       });
  }
}

}  // namespace headrace::hdf5
