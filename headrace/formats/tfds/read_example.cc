// A tf.train.Example as the fields described in features.json.
#include <cstring>
#include <limits>
#include <optional>

#include "headrace/codecs/example.h"
#include "headrace/core/saturate.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/tfds/features.h"

namespace headrace {
namespace {

Status named_feature(Status status, const std::string& name) {
  return std::move(status).with({.field = std::string(name)}).before("feature " + in_quotes(name) + ": ");
}

// The shape with its free dimension filled in for that many values.
Result<Shape> filled(Shape shape, uint64_t count) {
  int free = -1;
  uint64_t others = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == kAny)
      free = i;
    else
      others = saturating_mul(others, static_cast<uint64_t>(shape[i]));
  }
  const auto wrong = [&] {
    return corrupt({.expected = "values for shape " + shape.text(), .got = std::to_string(count)});
  };
  if (free < 0) return count == others ? Result<Shape>(shape) : wrong();
  if (others == 0 ? count > 0 : count % others != 0) return wrong();
  shape.set(free, others == 0 ? 0 : static_cast<int64_t>(count / others));
  return shape;
}

template <class T> bool fits(int64_t value) {
  if constexpr (sizeof(T) == 8)
    return true;  // uint64 is stored as the int64 of the same bits
  else
    return value >= int64_t{std::numeric_limits<T>::min()} && value <= int64_t{std::numeric_limits<T>::max()};
}

Status convert(const std::vector<int64_t>& from, DType dtype, std::byte* out) {
  return visit_dtype(dtype, [&]<class T>() -> Status {
    for (size_t i = 0; i < from.size(); ++i) {
      T value{};
      if constexpr (std::is_same_v<T, bool>) {
        value = from[i] != 0;
      } else if constexpr (std::is_integral_v<T>) {
        if (!fits<T>(from[i]))
          return corrupt({.expected = std::string(dtype_name(dtype)), .got = std::to_string(from[i])});
        value = static_cast<T>(from[i]);
      } else {
        return corrupt({.expected = std::string(dtype_name(dtype)), .got = "integers"});
      }
      std::memcpy(out + i * sizeof value, &value, sizeof value);
    }
    return {};
  });
}

Status convert(const std::vector<float>& from, DType dtype, std::byte* out) {
  for (size_t i = 0; i < from.size(); ++i) {
    const double wide = static_cast<double>(from[i]);
    const uint16_t half = dtype == DType::bf16 ? f32_to_bf16(from[i]) : f32_to_f16(from[i]);
    switch (dtype) {
      case DType::f32: std::memcpy(out + 4 * i, &from[i], 4); break;
      case DType::f64: std::memcpy(out + 8 * i, &wide, 8); break;
      case DType::f16:
      case DType::bf16: std::memcpy(out + 2 * i, &half, 2); break;
      default: return corrupt({.expected = std::string(dtype_name(dtype)), .got = "floats"});
    }
  }
  return {};
}

Result<Tensor> read_numbers(const std::optional<Feature>& feature, DType dtype, const Shape& wanted) {
  uint64_t count = 0;
  if (feature) {
    HEADRACE_ASSIGN(count, count_values(*feature));
  }
  HEADRACE_ASSIGN(const Shape shape, filled(wanted, count));
  Tensor out{nullptr, 0, dtype, shape, nullptr};
  const MutableBufferPtr buffer = HeapBuffer::make(shape.size_bytes(dtype));
  out.buffer = buffer;
  if (count == 0) return out;
  switch (feature->kind) {
    case FeatureKind::ints: {
      std::vector<int64_t> values(count);
      HEADRACE_TRY(copy_ints(*feature, values.data()).status());
      HEADRACE_TRY(convert(values, dtype, buffer->mutable_data()));
      return out;
    }
    case FeatureKind::floats: {
      std::vector<float> values(count);
      HEADRACE_TRY(copy_floats(*feature, values.data()).status());
      HEADRACE_TRY(convert(values, dtype, buffer->mutable_data()));
      return out;
    }
    default: return corrupt({.expected = "numbers", .got = std::string(feature_kind_name(feature->kind))});
  }
}

// Shares the record's bytes.
Result<Tensor> read_text(const std::optional<Feature>& feature, DType dtype, const Tensor& record) {
  const auto bytes = feature ? only_bytes(*feature) : std::nullopt;
  if (!bytes)
    return corrupt({.expected = "one value of bytes", .got = std::string(feature ? "others" : "none")});
  const Shape shape{static_cast<int64_t>(bytes->size())};
  if (bytes->empty()) return Tensor{record.buffer, record.offset, dtype, shape, nullptr};
  return Tensor{record.buffer, static_cast<size_t>(bytes->data() - record.buffer->data()), dtype, shape,
                nullptr};
}

Status read_texts(const std::optional<Feature>& feature, DType dtype, std::vector<Tensor>& out) {
  uint64_t count = 0, bytes = 0;
  if (feature) {
    HEADRACE_ASSIGN(count, count_values(*feature));
  }
  if (count > 0) {
    if (feature->kind != FeatureKind::bytes)
      return corrupt({.expected = "bytes", .got = std::string(feature_kind_name(feature->kind))});
    HEADRACE_ASSIGN(bytes, count_bytes(*feature));
  }
  const MutableBufferPtr values = HeapBuffer::make(bytes),
                         lengths = HeapBuffer::make(count * sizeof(int64_t));
  std::byte* at = values->mutable_data();
  auto* length = reinterpret_cast<int64_t*>(lengths->mutable_data());
  if (count > 0) HEADRACE_TRY(copy_bytes(*feature, at, length));
  out.push_back({values, 0, dtype, {static_cast<int64_t>(bytes)}, nullptr});
  out.push_back({lengths, 0, DType::i64, {static_cast<int64_t>(count)}, nullptr});
  return {};
}

// Checks that the lengths add up to the rows of the values.
Status check_lengths(const Tensor& values, const Tensor& lengths) {
  int64_t sum = 0;
  for (int64_t i = 0; i < lengths.shape[0]; ++i) {
    const int64_t length = lengths.view().as<int64_t>()[i];
    if (length < 0 || length > values.shape[0] - sum)
      return corrupt({.expected = "lengths that add up to its rows", .got = "others"});
    sum += length;
  }
  return sum == values.shape[0] ? Status()
                                : corrupt({.expected = "lengths that add up to its rows", .got = "fewer"});
}

}  // namespace

Status TfdsFeatures::read(const Tensor& record, std::vector<Tensor>& out) const {
  const std::span<const std::byte> example = record.view().bytes();
  std::vector<std::optional<Feature>> values(fields_.size()), lengths(fields_.size());
  FeatureEntries entries(example);
  for (FeatureEntry entry; entries.next(entry);) {
    const auto key = keys_.find(entry.name);
    if (key == keys_.end()) continue;
    auto& place = (key->second.is_lengths ? lengths : values)[key->second.field];
    HEADRACE_TRY(read_feature(entry, place.emplace()));
  }
  HEADRACE_TRY(entries.status());
  out.clear();
  for (size_t i = 0; i < fields_.size(); ++i) {
    const TfdsField& field = fields_[i];
    if (!values[i] && !field.is_list)
      return corrupt("expected feature " + in_quotes(field.name) + names_in(example));
    Status status;
    switch (field.kind) {
      case TfdsField::Kind::texts: status = read_texts(values[i], field.dtype, out); break;
      case TfdsField::Kind::one_text:
      case TfdsField::Kind::numbers:
      case TfdsField::Kind::ragged: {
        auto tensor = field.kind == TfdsField::Kind::one_text
                          ? read_text(values[i], field.dtype, record)
                          : read_numbers(values[i], field.dtype, field.shape);
        status = tensor.status();
        if (tensor.ok()) out.push_back(*std::move(tensor));
        if (!status.ok() || field.kind != TfdsField::Kind::ragged) break;
        auto rows = read_numbers(lengths[i], DType::i64, Shape{kAny});
        status = rows.status();
        if (rows.ok()) status = check_lengths(out.back(), *rows);
        if (status.ok()) out.push_back(*std::move(rows));
        break;
      }
    }
    if (!status.ok()) return named_feature(std::move(status), field.name);
  }
  return {};
}

}  // namespace headrace
