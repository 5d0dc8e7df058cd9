#include <algorithm>
#include <memory>
#include <numeric>

#include "headrace/formats/arrays/arrays.h"
#include "headrace/formats/format.h"

namespace headrace {
namespace {

constexpr std::string_view kNames[] = {"keys", "weights", "choices", "indices"};

struct Numbers {
  DType dtype;
  uint64_t size;
  const Block& block;

  template <class T> Result<std::vector<T>> values() const {
    const auto read = std::make_unique<T[]>(size);  // not a vector, since vector<bool> packs bits
    std::vector<uint64_t> rows(size);
    std::iota(rows.begin(), rows.end(), uint64_t{0});
    if (!block.gather(rows, 0, reinterpret_cast<std::byte*>(read.get())))
      return internal_error("a source in memory without gather()");
    return std::vector<T>(read.get(), read.get() + size);
  }

  // REQUIRES: not a text dtype.
  template <class To> Result<std::vector<To>> as() const {
    return visit_dtype(dtype, [&]<class From>() -> Result<std::vector<To>> {
      HEADRACE_ASSIGN(const std::vector<From> from, values<From>());
      std::vector<To> out;
      for (const From value : from) {
        if constexpr (std::is_same_v<From, half_t>)
          out.push_back(static_cast<To>(f16_to_f32(value.bits)));
        else if constexpr (std::is_same_v<From, bfloat_t>)
          out.push_back(static_cast<To>(bf16_to_f32(value.bits)));
        else
          out.push_back(static_cast<To>(value));
      }
      return out;
    });
  }
};

// The rank of each value among the distinct values: sorts in the same order.
template <class T> std::vector<double> ranks(const std::vector<T>& values) {
  std::vector<T> sorted = values;
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<double> out;
  for (const T& value : values)
    out.push_back(static_cast<double>(std::ranges::lower_bound(sorted, value) - sorted.begin()));
  return out;
}

Result<std::vector<double>> text_ranks(const Numbers& column) {
  std::vector<std::string> texts;
  std::vector<Tensor> fields;
  for (uint64_t row = 0; row < column.size; ++row) {
    HEADRACE_TRY(column.block.get(row, fields));
    const View text = fields[0].view();
    texts.emplace_back(text.as<char>() ? text.as<char>() : "", text.size_bytes());
  }
  return ranks(texts);
}

// Keys are only compared, so values that float64 cannot represent are replaced by ranks.
Result<std::vector<double>> sort_keys(const Numbers& column) {
  constexpr int64_t kMost = int64_t{1} << 53;
  if (is_text(column.dtype)) return text_ranks(column);
  if (column.dtype == DType::u64) {
    HEADRACE_ASSIGN(const std::vector<uint64_t> keys, column.values<uint64_t>());
    if (std::ranges::any_of(keys, [](uint64_t key) { return key > kMost; })) return ranks(keys);
  }
  if (column.dtype == DType::i64) {
    HEADRACE_ASSIGN(const std::vector<int64_t> keys, column.values<int64_t>());
    if (std::ranges::any_of(keys, [](int64_t key) { return key > kMost || key < -kMost; }))
      return ranks(keys);
  }
  return column.as<double>();
}

template <class T>
Result<SourcePtr> column_source(const Source& like, DType dtype, const std::vector<T>& values) {
  std::vector<Tensor> columns{make_tensor(
      {dtype, {static_cast<int64_t>(values.size())}, reinterpret_cast<const std::byte*>(values.data())})};
  const Value description = like.describe();
  const Value* slot = description.find("slot");
  return array_source(like.schema(), std::move(columns), slot && slot->text() ? *slot->text() : "arrays");
}

}  // namespace

Result<SourcePtr> numbers_beside(Beside what, const SourcePtr& given) {
  const bool are_whole = what == Beside::choices || what == Beside::indices;
  const TensorSpec result{are_whole ? DType::i64 : DType::f64, {}};
  const Schema& schema = given->schema();
  if (schema.size() == 1 && schema.specs[0] == result) return given;
  const TensorSpec spec = schema.size() == 1 ? schema.specs[0] : TensorSpec{DType::u8, {kAny}};
  const bool fits = is_text(spec.dtype) ? what == Beside::keys
                                        : spec.shape.rank() == 0 && !(are_whole && is_float(spec.dtype)) &&
                                              !(are_whole && spec.dtype == DType::boolean);
  if (!fits || !given->resident())
    return invalid({.expected = std::string(kNames[static_cast<size_t>(what)]) + " in memory, one " +
                                (are_whole ? "integer" : "number") + " each",
                    .got = schema.text()});
  HEADRACE_ASSIGN(Step<BlockPtr> step, given->open(0)->advance({}));
  const Numbers column{spec.dtype, given->size(), *std::get<BlockPtr>(step)};
  if (are_whole) {
    HEADRACE_ASSIGN(const std::vector<int64_t> choices, column.as<int64_t>());
    return column_source(*given, DType::i64, choices);
  }
  HEADRACE_ASSIGN(const std::vector<double> values,
                  what == Beside::keys ? sort_keys(column) : column.as<double>());
  return column_source(*given, DType::f64, values);
}

}  // namespace headrace
