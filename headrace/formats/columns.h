// What files of columns have in common: of several that are one, each has the columns of the first. Pure; any
// thread.
#pragma once
#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/core/sample.h"

namespace headrace {

// A sample of these fields. Texts of a list are two of them, all texts one after the other and the length of
// each: "x/values" and "x/lengths" make up x, {"values": …, "lengths": …}.
Schema schema_of(std::vector<std::string> names, std::vector<TensorSpec> specs);

// A sample of such columns. A Column has a name and a spec, as a member or a function.
template <class Column> Schema schema_of(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  std::vector<TensorSpec> specs;
  for (const Column& column : columns) {
    names.push_back(column.name);
    specs.push_back(std::invoke(&Column::spec, column));
  }
  return schema_of(std::move(names), std::move(specs));
}

// These of them, in this order.
template <class T> std::vector<T> chosen(const std::vector<T>& all, std::span<const int> fields) {
  std::vector<T> out;
  out.reserve(fields.size());
  for (const int field : fields) out.push_back(all[static_cast<size_t>(field)]);
  return out;
}

// A flat dict of them, under the names they have.
inline Schema chosen(const Schema& all, std::span<const int> fields) {
  return Schema::of(chosen(all.names, fields), chosen(all.specs, fields));
}

// In one sentence, how `got` differs from the file `first`; empty when it does not. `noun`: what a member is
// called, "column" or "field".
inline std::string difference_from_first(const Schema& wanted, const Schema& got, std::string_view noun,
                                         const std::string& first) {
  const std::string one(noun);
  const auto text = [](const Schema& schema, size_t i) {
    return "'" + schema.names[i] + ": " + schema.specs[i].text() + "'";
  };
  for (size_t i = 0; i < std::max(wanted.size(), got.size()); ++i) {
    if (i == wanted.size())
      return "wants the " + one + "s of '" + first + "', got " + text(got, i) + " besides";
    if (i == got.size()) return "wants " + one + " " + text(wanted, i) + " as in '" + first + "', got none";
    if (text(wanted, i) != text(got, i))
      return "wants " + one + " " + text(wanted, i) + " as in '" + first + "', got " + text(got, i);
  }
  return {};
}

}  // namespace headrace
