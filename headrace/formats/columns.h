// Shared code for files of columns: which fields form one column (two for a list of strings), and the check
// that several files have the same columns. Pure; any thread.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/core/little_endian.h"
#include "headrace/core/sample.h"
#include "headrace/core/status.h"
#include "headrace/core/value.h"

namespace headrace {

// A field, or the two adjacent fields of a list of strings x: "x/values", the concatenated strings, and
// "x/lengths", the number of bytes of each.
struct FieldColumn {
  std::string name;  // "x"
  TensorSpec spec;   // of the field, or of "x/values"
  size_t field = 0;  // index of the first field
  bool is_texts = false;

  View value(const std::vector<Tensor>& fields) const { return fields[field].view(); }
  int64_t num_texts(const std::vector<Tensor>& fields) const { return fields[field + 1].view().shape[0]; }
  int64_t length(const std::vector<Tensor>& fields, int64_t text) const {
    return load_once<int64_t>(fields[field + 1].view().bytes(), static_cast<size_t>(text) * sizeof(int64_t));
  }
  // Whether the lengths add up to the size of the values and cut them between characters; an error names the
  // column.
  Status check(const std::vector<Tensor>& fields) const;
};

std::vector<FieldColumn> columns_of(const std::vector<std::string>& names,
                                    const std::vector<TensorSpec>& specs);

// Calls `take` with each string of a list. REQUIRES: column.check(fields). Never reads past the values, even
// if another process has changed the lengths since.
template <class Take>
void for_each_text(const FieldColumn& column, const std::vector<Tensor>& fields, const Take& take) {
  const View value = column.value(fields);
  std::string_view left(reinterpret_cast<const char*>(value.data), value.size_bytes());
  for (int64_t i = 0; i < column.num_texts(fields); ++i) {
    const std::string_view text = left.substr(0, static_cast<size_t>(column.length(fields, i)));
    take(text);
    left.remove_prefix(text.size());
  }
}

// A sample of these fields, where a list of strings is x: {"values": …, "lengths": …}.
Schema schema_of(std::vector<std::string> names, std::vector<TensorSpec> specs);

// A sample of these columns. A Column has a name and a spec, as a member or a function.
template <class Column> Schema schema_of(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  std::vector<TensorSpec> specs;
  for (const Column& column : columns) {
    names.push_back(column.name);
    specs.push_back(std::invoke(&Column::spec, column));
  }
  return schema_of(std::move(names), std::move(specs));
}

// "timestamp[us]" or "timestamp[us, tz=UTC]", as Arrow writes it.
inline std::string timestamp_type(std::string_view unit, std::string_view zone) {
  return "timestamp[" + std::string(unit) + (zone.empty() ? "" : ", tz=" + std::string(zone)) + "]";
}

// The selected elements, in this order.
template <class T> std::vector<T> chosen(const std::vector<T>& all, std::span<const int> fields) {
  std::vector<T> out;
  out.reserve(fields.size());
  for (const int field : fields) out.push_back(all[static_cast<size_t>(field)]);
  return out;
}

// Sorts the columns of a file like those of the first one.
template <class Column> void put_in_order(const std::vector<Column>& first, std::vector<Column>& columns) {
  const auto rank = [&](const Column& column) {
    return std::ranges::find(first, column.name, &Column::name) - first.begin();
  };
  std::ranges::stable_sort(columns, {}, rank);
}

// A flat dict of the selected fields, under their own names.
inline Schema chosen(const Schema& all, std::span<const int> fields) {
  return Schema::of(chosen(all.names, fields), chosen(all.specs, fields));
}

// A clause that tells how `got` differs from the file `first`; empty if it does not. `noun`: what a member is
// called, "column" or "field".
inline std::string difference_from_first(const Schema& wanted, const Schema& got, std::string_view noun,
                                         const std::string& first) {
  const std::string one(noun);
  const auto text = [](const Schema& schema, size_t i) {
    return "'" + schema.names[i] + ": " + schema.specs[i].text() + "'";
  };
  for (size_t i = 0; i < std::max(wanted.size(), got.size()); ++i) {
    if (i == wanted.size())
      return "expected the " + one + "s of '" + first + "', got the additional " + one + " " + text(got, i);
    if (i == got.size())
      return "expected " + one + " " + text(wanted, i) + " as in '" + first + "', got none";
    if (text(wanted, i) != text(got, i))
      return "expected " + one + " " + text(wanted, i) + " as in '" + first + "', got " + text(got, i);
  }
  return {};
}

}  // namespace headrace
