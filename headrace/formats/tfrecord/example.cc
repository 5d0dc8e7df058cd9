#include "headrace/formats/tfrecord/example.h"

#include <algorithm>
#include <set>
#include <span>

#include "headrace/codecs/protobuf.h"
#include "headrace/core/text/text.h"
#include "headrace/core/value.h"

namespace headrace {
namespace {

// Example { 1: Features { 1: map entry { 1: key, 2: Feature { 1 | 2 | 3: list { 1: values } } } } }
enum class Kind : uint8_t { bytes = 1, floats = 2, ints = 3 };

constexpr char kMessage = 2;  // the wire type of length-delimited fields
constexpr char tag(int number) { return static_cast<char>(number << 3 | kMessage); }

size_t varint_size(uint64_t value) {
  size_t out = 1;
  while (value >= 0x80) value >>= 7, ++out;
  return out;
}

size_t framed(size_t size) { return 1 + varint_size(size) + size; }  // with tag and length

void append_head(int number, size_t size, std::string& out) {
  out += tag(number);
  append_varint(size, out);
}

Kind kind_of(const View& value) {
  switch (value.dtype) {
    case DType::bytes:
    case DType::str: return Kind::bytes;
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64: return Kind::floats;
    case DType::u8: return value.shape.rank() > 0 ? Kind::bytes : Kind::ints;
    default: return Kind::ints;
  }
}

// Calls `f` with the integers of a view, as protocol buffers encode them.
template <class F> void each_int(const View& value, F&& f) {
  const auto count = static_cast<size_t>(value.shape.count());
  visit_dtype(value.dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>)
      for (size_t i = 0; i < count; ++i) f(static_cast<uint64_t>(static_cast<int64_t>(value.as<T>()[i])));
  });
}

void append_floats(const View& value, std::string& out) {
  const auto append = [&](float number) {
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  const auto count = static_cast<size_t>(value.shape.count());
  if (value.dtype == DType::f32)
    out.append(reinterpret_cast<const char*>(value.data), value.size_bytes());
  else if (value.dtype == DType::f64)
    for (size_t i = 0; i < count; ++i) append(static_cast<float>(value.as<double>()[i]));
  else if (value.dtype == DType::f16)
    for (size_t i = 0; i < count; ++i) append(f16_to_f32(value.as<uint16_t>()[i]));
  else
    for (size_t i = 0; i < count; ++i) append(bf16_to_f32(value.as<uint16_t>()[i]));
}

// One feature, and the sizes of the messages around it, innermost first.
struct Entry {
  std::string_view key;
  std::string_view suffix;  // of the key
  View value;
  Kind kind = Kind::bytes;
  size_t values = 0, list = 0, feature = 0, entry = 0;

  Entry(std::string_view name, std::string_view behind, const View& view)
      : key(name), suffix(behind), value(view), kind(kind_of(view)) {
    if (kind == Kind::bytes)
      values = view.size_bytes();
    else if (kind == Kind::floats)
      values = static_cast<size_t>(view.shape.count()) * sizeof(float);
    else
      each_int(view, [&](uint64_t number) { values += varint_size(number); });
    list = framed(values), feature = framed(list);
    entry = framed(key.size() + suffix.size()) + framed(feature);
  }

  void append(std::string& out) const {
    append_head(1, entry, out);
    append_head(1, key.size() + suffix.size(), out);
    out.append(key).append(suffix);
    append_head(2, feature, out);
    append_head(static_cast<int>(kind), list, out);
    append_head(1, values, out);
    if (kind == Kind::bytes)
      out.append(reinterpret_cast<const char*>(value.data), values);
    else if (kind == Kind::floats)
      append_floats(value, out);
    else
      each_int(value, [&](uint64_t number) { append_varint(number, out); });
  }
};

// Whether the shape does not follow from the number of values.
bool needs_shape(const TensorSpec& spec) {
  return !is_text(spec.dtype) && spec.shape.rank() > 1 && !spec.shape.is_static();
}

}  // namespace

Status check_example(const Schema& schema) {
  std::set<std::string> names;
  const auto take = [&](const std::string& name) {
    return names.insert(name).second
               ? Status()
               : invalid("two features would be named " + in_quotes(name) + "; rename a field")
                     .in_format("tfrecord");
  };
  for (size_t i = 0; i < schema.size(); ++i) {
    HEADRACE_TRY(take(schema.names[i]));
    if (needs_shape(schema.specs[i])) HEADRACE_TRY(take(schema.names[i] + "/shape"));
  }
  return {};
}

namespace {

Status check_large(std::string_view name, const View& view) {
  const std::span values(view.as<uint64_t>(), static_cast<size_t>(view.shape.count()));
  const auto large = std::ranges::find_if(values, [](uint64_t value) { return value >> 63 != 0; });
  if (large == values.end()) return {};
  return invalid({.expected = "integers below 2^63", .got = std::to_string(*large)})
      .of_field(name)
      .in_format("tfrecord");
}

Status check_rounding(std::string_view name, const View& view) {
  const std::span values(view.as<double>(), static_cast<size_t>(view.shape.count()));
  const auto is_rounded = [](double value) {
    return value == value && static_cast<double>(static_cast<float>(value)) != value;
  };
  const auto rounded = std::ranges::find_if(values, is_rounded);
  if (rounded == values.end()) return {};
  return invalid({.expected = "numbers that float32 holds exactly",
                  .got = Value(*rounded).dump(),
                  .fix = "allow rounding with round=True or cast the field to float32"})
      .of_field(name)
      .in_format("tfrecord");
}

}  // namespace

Status check_values(const Schema& schema, const std::vector<Tensor>& fields, bool rounds) {
  for (size_t i = 0; i < fields.size(); ++i) {
    const View view = fields[i].view();
    if (view.dtype == DType::u64) HEADRACE_TRY(check_large(schema.names[i], view));
    if (view.dtype == DType::f64 && !rounds) HEADRACE_TRY(check_rounding(schema.names[i], view));
  }
  return {};
}

void append_example(const Schema& schema, const std::vector<Tensor>& fields, std::string& out) {
  std::vector<Entry> entries;
  entries.reserve(2 * fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    entries.emplace_back(schema.names[i], "", fields[i].view());
    if (!needs_shape(schema.specs[i])) continue;
    const auto dims = fields[i].shape.dims();
    const View shape{
        DType::i64, {static_cast<int64_t>(dims.size())}, reinterpret_cast<const std::byte*>(dims.data())};
    entries.emplace_back(schema.names[i], "/shape", shape);
  }
  size_t features = 0;
  for (const Entry& entry : entries) features += framed(entry.entry);
  out.reserve(out.size() + framed(features));
  append_head(1, features, out);
  for (const Entry& entry : entries) entry.append(out);
}

}  // namespace headrace
