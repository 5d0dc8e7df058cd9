#include "headrace/formats/parquet/row_condition.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <compare>
#include <cstring>
#include <optional>

#include "headrace/core/little_endian.h"
#include "headrace/formats/parquet/changes.h"

namespace headrace::parquet {
namespace {

using Op = Condition::Op;
// A value of a column, or of a condition: integers keep all 64 bits.
using Operand = std::variant<__int128, double, std::string_view>;

// Exact, although float64 cannot represent every 64-bit integer.
std::partial_ordering compare_exactly(__int128 whole, double real) {
  if (std::isnan(real)) return std::partial_ordering::unordered;
  if (real >= 0x1p127) return std::partial_ordering::less;
  if (real < -0x1p127) return std::partial_ordering::greater;
  const auto below = static_cast<__int128>(std::floor(real));
  if (whole != below) return whole < below ? std::partial_ordering::less : std::partial_ordering::greater;
  return real > std::floor(real) ? std::partial_ordering::less : std::partial_ordering::equivalent;
}

std::partial_ordering compare(const Operand& a, const Operand& b) {
  const auto* text = std::get_if<std::string_view>(&a);
  if (text) {
    const int order = text->compare(*std::get_if<std::string_view>(&b));
    return order <=> 0;
  }
  const auto *whole = std::get_if<__int128>(&a), *other = std::get_if<__int128>(&b);
  if (whole && other)
    return *whole < *other   ? std::partial_ordering::less
           : *whole > *other ? std::partial_ordering::greater
                             : std::partial_ordering::equivalent;
  if (whole) return compare_exactly(*whole, *std::get_if<double>(&b));
  if (other) return 0 <=> compare_exactly(*other, *std::get_if<double>(&a));
  return *std::get_if<double>(&a) <=> *std::get_if<double>(&b);
}

bool holds(Op op, std::partial_ordering order) {
  switch (op) {
    case Op::in:
    case Op::equal: return order == 0;
    case Op::unequal: return order != 0;
    case Op::less: return order < 0;
    case Op::at_most: return order <= 0;
    case Op::more: return order > 0;
    case Op::at_least: return order >= 0;
  }
  return false;
}

// An integer of 2^63 or more, which a Value cannot hold: {"u64": "18446744073709551615"}.
std::optional<uint64_t> large_integer(const Value& value) {
  const Value* member = value.object() && value.object()->size() == 1 ? value.find("u64") : nullptr;
  if (!member || !member->text()) return std::nullopt;
  const std::string& text = *member->text();
  uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

Operand operand_of(const Value& value) {
  if (const auto large = large_integer(value)) return __int128{*large};
  if (const bool* flag = value.boolean()) return __int128{*flag};
  if (const int64_t* integer = value.integer()) return __int128{*integer};
  if (const double* real = value.real()) return *real;
  return std::string_view(*value.text());
}

// A decoded number.
Operand number_at(DType dtype, const std::byte* at) {
  return visit_dtype(dtype, [&]<class T>() -> Operand {
    if constexpr (std::is_same_v<T, half_t>)
      return static_cast<double>(f16_to_f32(load<uint16_t>(at)));
    else if constexpr (std::is_same_v<T, bfloat_t>)
      return static_cast<double>(bf16_to_f32(load<uint16_t>(at)));
    else if constexpr (std::is_same_v<T, bool>)
      return static_cast<__int128>(*at != std::byte{0});  // statistics may hold any byte
    else if constexpr (std::is_floating_point_v<T>)
      return static_cast<double>(load<T>(at));
    else
      return static_cast<__int128>(load<T>(at));
  });
}

std::optional<Op> op_of(std::string_view text) {
  constexpr std::pair<std::string_view, Op> kOps[] = {
      {"==", Op::equal},   {"=", Op::equal}, {"!=", Op::unequal},  {"<", Op::less},
      {"<=", Op::at_most}, {">", Op::more},  {">=", Op::at_least}, {"in", Op::in}};
  for (const auto& [name, op] : kOps)
    if (name == text) return op;
  return std::nullopt;
}

Result<Condition> read_condition(const Value& given) {
  const Value::List* parts = given.list();
  if (!parts || parts->size() != 3 || !(*parts)[0].text() || !(*parts)[1].text())
    return invalid({.expected = "conditions (column, operator, value)", .got = given.dump()})
        .in_option("where");
  const auto op = op_of(*(*parts)[1].text());
  if (!op)
    return invalid("the operator must be ==, !=, <, <=, >, >= or in, got \"" + *(*parts)[1].text() + "\"")
        .in_option("where");
  Condition out{*(*parts)[0].text(), *op, {}};
  if (*op == Op::in) {
    if (!(*parts)[2].list())
      return invalid("the value of 'in' must be a list, got " + (*parts)[2].dump()).in_option("where");
    out.values = *(*parts)[2].list();
  } else {
    out.values = {(*parts)[2]};
  }
  for (const Value& value : out.values)
    if (!value.text() && !value.integer() && !value.real() && !value.boolean() && !large_integer(value))
      return invalid({.expected = "a number, bool or string as value", .got = value.dump()})
          .in_option("where");
  return out;
}

}  // namespace

Result<Where> read_where(const Value& option) {
  Where out;
  if (option.is_null()) return out;
  if (!option.list())
    return invalid("where must be a list of (column, operator, value), got " + option.dump());
  for (const Value& given : *option.list()) {
    HEADRACE_ASSIGN(Condition condition, read_condition(given));
    out.conditions.push_back(std::move(condition));
  }
  out.text = option.dump();
  return out;
}

Result<std::vector<Column>> columns_of(const Where& where, const std::vector<Column>& all) {
  std::vector<std::string> names;
  for (const Condition& condition : where.conditions)
    if (std::ranges::find(names, condition.column) == names.end()) names.push_back(condition.column);
  std::vector<Column> out;
  for (const std::string& name : names) {
    const auto it = std::ranges::find(all, name, &Column::name);
    const auto texts = it != all.end() ? it : std::ranges::find(all, name + "/values", &Column::name);
    if (texts != all.end() && texts->is_of_texts())
      return invalid("expected a column of numbers or strings, but '" + name + "' has lists of strings")
          .in_option("where");
    if (it == all.end()) {
      HEADRACE_TRY(choose_columns(all, {name}).status());
      return invalid("expected a column of numbers or strings, but '" + name + "' is a struct")
          .in_option("where");
    }
    HEADRACE_TRY(choose_columns({*it}, {name}).status());
    if (it->is_list || it->item.rank() > 0)
      return invalid("expected a column of numbers or strings, but '" + name + "' is " + it->spec().text())
          .in_option("where");
    for (const Condition& condition : where.conditions)
      for (const Value& value : condition.values)
        if (condition.column == name && it->is_text() != (value.text() != nullptr))
          return invalid({.expected = std::string(it->is_text() ? "strings" : "numbers") + " for column '" +
                                      name + "'",
                          .got = value.dump()})
              .in_option("where");
    out.push_back(*it);
  }
  return out;
}

Holds holds_for_group(const Condition& condition, const Column& column, const Chunk& chunk) {
  const auto& [least, most, nulls] = chunk.statistics;
  if (chunk.type != column.physical) return Holds::for_some;
  if (nulls && *nulls == static_cast<int64_t>(chunk.values)) return Holds::for_none;
  if (!least || !most || column.change == Change::from_i96 || column.max_rep() > 0) return Holds::for_some;
  std::byte made[2][16] = {};
  Operand bounds[2];
  for (const size_t i : {0, 1}) {
    const std::string_view text = i == 0 ? *least : *most;
    bounds[i] = text;
    if (column.is_text()) continue;
    if (column.physical == Physical::bytes || text.size() != column.stored_size()) return Holds::for_some;
    change_values(column, std::as_bytes(std::span(text)), made[i]);
    bounds[i] = number_at(column.dtype, made[i]);
  }
  // Statistics omit NaNs and may truncate long strings, so for floats and strings only "no row matches" can
  // be derived from the bounds.
  const bool is_exact = !column.is_text() && !is_float(column.dtype) && nulls && *nulls == 0;
  bool all = false, none = true;
  for (const Value& value : condition.values) {
    const Operand wanted = operand_of(value);
    const auto low = compare(bounds[0], wanted), high = compare(bounds[1], wanted);
    if (low == std::partial_ordering::unordered || high == std::partial_ordering::unordered)
      return Holds::for_some;
    switch (condition.op) {
      case Op::in:
      case Op::equal: none = none && (low > 0 || high < 0), all = all || (low == 0 && high == 0); break;
      case Op::unequal: none = is_exact && low == 0 && high == 0, all = low > 0 || high < 0; break;
      case Op::less: none = low >= 0, all = high < 0; break;
      case Op::at_most: none = low > 0, all = high <= 0; break;
      case Op::more: none = high <= 0, all = low > 0; break;
      case Op::at_least: none = high < 0, all = low >= 0; break;
    }
  }
  return none ? Holds::for_none : all && is_exact ? Holds::for_all : Holds::for_some;
}

void keep_rows(const Condition& condition, const Values& values, std::vector<uint8_t>& kept) {
  std::vector<Operand> wanted;
  for (const Value& value : condition.values) wanted.push_back(operand_of(value));
  const Column& column = *values.column;
  for (size_t row = 0; row < kept.size(); ++row) {
    if (!kept[row]) continue;
    kept[row] = 0;
    if (!values.null_rows.empty() && values.null_rows[row]) continue;
    Operand got;
    if (column.is_text()) {
      const Piece& piece = values.pieces[row];
      const std::byte* bytes = values.buffers[piece.buffer]->data() + piece.offset;
      got = std::string_view(reinterpret_cast<const char*>(bytes), piece.length);
    } else {
      got = number_at(column.dtype, values.data->data() + row * column.row_bytes());
    }
    kept[row] = std::ranges::any_of(
        wanted, [&](const Operand& value) { return holds(condition.op, compare(got, value)); });
  }
}

}  // namespace headrace::parquet
