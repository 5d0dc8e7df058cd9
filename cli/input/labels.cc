#include "cli/input/labels.h"

#include <fmt/core.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>

#include "headrace/codecs/example.h"

namespace headrace::cli {
namespace {

constexpr std::array<std::string_view, 4> kNames{"label", "labels", "class", "cls"};
constexpr std::array<std::string_view, 5> kFeatures{"image/class/label", "label", "labels", "class", "cls"};
constexpr int64_t kMostValues = 64;   // per sample: more are a map or a sequence, not classes
constexpr size_t kLongestName = 256;  // in bytes: a longer string is not a class name
constexpr size_t kMostClasses = size_t{1} << 20;

template <class T> std::string number_text(T value) {
  if constexpr (std::is_same_v<T, half_t>)
    return fmt::format("{}", f16_to_f32(value.bits));
  else if constexpr (std::is_same_v<T, bfloat_t>)
    return fmt::format("{}", bf16_to_f32(value.bits));
  else if constexpr (std::is_same_v<T, bool>)
    return value ? "1" : "0";
  else
    return fmt::format("{}", value);
}

std::optional<std::vector<std::string>> values_of(std::span<const std::byte> text) {
  if (text.size() > kLongestName) return std::nullopt;
  return std::vector{std::string(reinterpret_cast<const char*>(text.data()), text.size())};
}

std::optional<std::vector<std::string>> values_of(const Tensor& tensor) {
  if (!tensor.buffer) return std::nullopt;
  const View view = tensor.view();
  if (is_text(view.dtype)) return values_of(view.bytes());
  const int64_t count = view.shape.count();
  if (count == 0 || count > kMostValues) return std::nullopt;
  std::vector<std::string> out;
  visit_dtype(view.dtype, [&]<class T>() {
    for (int64_t i = 0; i < count; ++i) out.push_back(number_text(view.as<T>()[i]));
  });
  return out;
}

std::optional<std::vector<std::string>> values_of(const Feature& feature) {
  if (const auto text = only_bytes(feature)) return values_of(*text);
  const auto count = count_values(feature);
  if (feature.kind != FeatureKind::ints || !count.ok() || *count == 0 || *count > kMostValues)
    return std::nullopt;
  std::vector<int64_t> numbers(*count);
  if (!copy_ints(feature, numbers.data()).ok()) return std::nullopt;
  std::vector<std::string> out;
  for (const int64_t number : numbers) out.push_back(std::to_string(number));
  return out;
}

int field_called(const Schema& schema, bool (*wanted)(const TensorSpec&)) {
  for (const std::string_view name : kNames)
    if (const int field = schema.find(name); field >= 0 && wanted(schema.specs[static_cast<size_t>(field)]))
      return field;
  return -1;
}

std::optional<std::vector<std::string>> values_of(std::span<const std::byte> example, std::string_view name) {
  const auto feature = find_feature(example, name);
  return feature.ok() && *feature ? values_of(**feature) : std::nullopt;
}

}  // namespace

int find_label(const Schema& schema) {
  return field_called(
      schema, [](const TensorSpec& spec) { return spec.dtype == DType::i64 && spec.shape.rank() <= 1; });
}

LabelReader::LabelReader(const SampleReader& reader) {
  const Schema& schema = reader.source().schema();
  field_ = find_label(schema);
  if (field_ < 0)
    field_ = field_called(schema, [](const TensorSpec& spec) { return spec.shape.rank() <= 1; });
  if (field_ >= 0) field_name_ = schema.names[static_cast<size_t>(field_)];
  if (field_ >= 0 || reader.example_field() < 0) return;
  constexpr uint64_t kLooks = 16;  // enough to skip some broken records
  for (uint64_t i = 0; i < std::min(reader.source().size(), kLooks) && feature_.empty(); ++i) {
    const auto fields = reader.read(i);
    if (!fields.ok()) continue;
    const auto example = (*fields)[static_cast<size_t>(reader.example_field())].view().bytes();
    for (const std::string_view name : kFeatures)
      if (feature_.empty() && values_of(example, name)) feature_ = name;
  }
  if (feature_.empty()) return;
  field_ = reader.example_field();
  field_name_ = schema.names[static_cast<size_t>(field_)];
}

std::string LabelReader::name() const {
  return feature_.empty() ? field_name_ : feature_ + " of " + field_name_;
}

std::optional<std::vector<std::string>> LabelReader::of(const std::vector<Tensor>& fields) const {
  if (field_ < 0) return std::nullopt;
  const Tensor& field = fields[static_cast<size_t>(field_)];
  return feature_.empty() ? values_of(field) : values_of(field.view().bytes(), feature_);
}

uint64_t LabelCounts::add(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ", ") + value;
  const uint64_t hash = std::max<uint64_t>(1, XXH3_64bits(text.data(), text.size()));
  const std::lock_guard lock(mutex_);
  for (const std::string& value : values) {
    const auto known = counts_.find(value);
    if (known != counts_.end())
      ++known->second;
    else if (counts_.size() < kMostClasses)
      counts_.emplace(value, 1);
    else
      too_many_ = true;
  }
  if (texts_.size() < kMostClasses) texts_.try_emplace(hash, std::move(text));
  return hash;
}

std::string LabelCounts::text(uint64_t hash) const {
  const auto found = texts_.find(hash);
  return found == texts_.end() ? "" : found->second;
}

}  // namespace headrace::cli
