// Conditions on columns that select rows: `where=[("label", "<", 10)]`. Immutable.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "headrace/core/value.h"
#include "headrace/formats/parquet/schema.h"
#include "headrace/formats/parquet/values.h"

namespace headrace::parquet {

struct Condition {
  enum class Op : uint8_t { equal, unequal, less, at_most, more, at_least, in };
  std::string column;
  Op op = Op::equal;
  std::vector<Value> values;  // one, or those of `in`
};

// All of them must hold. No condition holds for a null.
struct Where {
  std::vector<Condition> conditions;
  std::string text;  // as given; part of the name of the stored index
  bool empty() const { return conditions.empty(); }
};
// A list of [column, operator, value]; null: no condition. An integer of 2^63 or more, which Value cannot
// hold, is given as {"u64": "9223372036854775808"}.
Result<Where> read_where(const Value& option);

// The columns used by conditions, each once. An error where a condition does not fit its column.
Result<std::vector<Column>> columns_of(const Where& where, const std::vector<Column>& all);

enum class Holds : uint8_t { for_none, for_some, for_all };
// Whether a condition holds for a chunk, as far as its statistics tell.
Holds holds_for_group(const Condition& condition, const Column& column, const Chunk& chunk);

// Clears those bytes of `kept`, one per row, for which the condition does not hold.
void keep_rows(const Condition& condition, const Values& values, std::vector<uint8_t>& kept);

}  // namespace headrace::parquet
