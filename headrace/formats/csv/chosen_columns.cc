#include "headrace/formats/csv/chosen_columns.h"

#include <algorithm>

#include "headrace/core/text/closest.h"
#include "headrace/core/text/text.h"
#include "headrace/core/text/utf8.h"
#include "headrace/formats/options.h"

namespace headrace {
namespace {

constexpr size_t kSlot = 8;  // bytes of the row's buffer for a number

std::string list_of(const std::vector<std::string>& names) {
  return first_names(std::vector<std::string_view>(names.begin(), names.end()));
}

Result<std::vector<std::string>> names_in(const std::string& header, const CsvOptions& options) {
  std::vector<CsvField> fields;
  HEADRACE_TRY(split_row(header, options.dialect, fields).before("the header: "));
  std::vector<std::string> out;
  for (const CsvField& field : fields) {
    std::string name = field.has_escapes ? unescaped(field, options.dialect.quote) : std::string(field.text);
    if (options.encoding == Encoding::latin1) name = utf8_of_latin1(name);
    if (options.names.empty() && utf8_prefix(name) < name.size())
      return corrupt(
          begins_as_utf16(header)
              ? "expected text in UTF-8, got UTF-16; convert it with iconv -f UTF-16 -t UTF-8"
              : "expected a header in UTF-8, got something else; encoding=\"latin-1\" converts it, "
                "and names= replaces it");
    out.push_back(name.empty() ? "column_" + std::to_string(out.size()) : std::move(name));
  }
  return out;
}

Status check_distinct(const std::vector<std::string>& names) {
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return {};
  return invalid({.expected = "distinct column names",
                  .got = in_quotes(*twice) + " twice",
                  .fix = "rename them with names="});
}

// The names of all columns; every file must have them.
Result<std::vector<std::string>> names_of(const CsvOptions& options, const std::vector<SourceFile>& files,
                                          const std::vector<CsvContents>& contents) {
  std::vector<std::string> out = options.names;
  const bool is_given = !out.empty();
  for (size_t i = 0; i < contents.size(); ++i) {
    const auto of_file = [&](Status status) { return std::move(status).in_file(files[i].path); };
    std::vector<std::string> here;
    if (options.has_header && !contents[i].header.empty()) {
      auto names = names_in(contents[i].header, options);
      if (!names.ok()) return of_file(names.status());
      here = *std::move(names);
    } else {
      for (size_t c = 0; c < contents[i].columns.size(); ++c) here.push_back("column_" + std::to_string(c));
    }
    if (here.empty()) continue;  // an empty file
    if (out.empty()) out = here;
    if (here.size() != out.size())
      return of_file(invalid({.expected = std::to_string(out.size()) + " columns" +
                                          (is_given ? " as in names=" : " as in the files before it"),
                              .got = std::to_string(here.size())}));
    if (!is_given && here != out)
      return of_file(invalid(
          {.expected = "the columns of the files before it (" + list_of(out) + ")", .got = list_of(here)}));
  }
  if (out.empty())
    return invalid(
        {.expected = "at least one row, to find the columns", .got = "none", .fix = "name them with names="});
  HEADRACE_TRY(check_distinct(out));
  return out;
}

Result<size_t> place_of(std::string_view what, const std::string& name,
                        const std::vector<std::string>& names) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    return no_such_column(what, name, std::vector<std::string_view>(names.begin(), names.end()));
  return static_cast<size_t>(found - names.begin());
}

// The members of an option that is a dict by column; empty when it is not given.
Result<Value::Object> by_column(std::string_view what, const Value& given,
                                const std::vector<std::string>& names) {
  if (given.is_null()) return Value::Object();
  if (!given.object()) return invalid(std::string(what) + " must be a dict by column, got " + given.dump());
  for (const auto& [name, value] : *given.object()) HEADRACE_TRY(place_of(what, name, names).status());
  return *given.object();
}

// Column i of all files, as it was found.
CsvColumn found_column(size_t i, const std::string& name, const std::vector<SourceFile>& files,
                       const std::vector<CsvContents>& contents) {
  ColumnKind kind;
  for (size_t f = 0; f < contents.size(); ++f)
    if (i < contents[f].columns.size()) kind.merge(contents[f].columns[i], files[f].path);
  CsvColumn out{i, name, kind.dtype()};
  out.note = kind.counts.note(name, kind.dtype_of_numbers());
  return out;
}

Result<std::vector<CsvColumn>> typed_columns(const CsvOptions& options, const std::vector<std::string>& names,
                                             const std::vector<SourceFile>& files,
                                             const std::vector<CsvContents>& contents) {
  std::vector<CsvColumn> out;
  for (size_t i = 0; i < names.size(); ++i) out.push_back(found_column(i, names[i], files, contents));
  HEADRACE_ASSIGN(const Value::Object dtypes, by_column("dtypes", options.dtypes, names));
  for (const auto& [name, value] : dtypes) {
    HEADRACE_ASSIGN(const size_t place, place_of("dtypes", name, names));
    if (!value.text())
      return invalid({.expected = "a dtype for column " + in_quotes(name), .got = value.dump()})
          .in_option("dtypes");
    HEADRACE_ASSIGN(out[place].dtype, parse_dtype(*value.text()));
    out[place].note.clear();
    out[place].is_chosen = true;
  }
  HEADRACE_ASSIGN(const Value::Object defaults, by_column("defaults", options.defaults, names));
  for (const auto& [name, value] : defaults) {
    HEADRACE_ASSIGN(const size_t place, place_of("defaults", name, names));
    CsvColumn& column = out[place];
    if (value.is_null()) continue;
    column.fallback = value.text() ? *value.text() : value.dump();
    if (is_text(column.dtype)) {
      if (std::string stored; options.encoding == Encoding::latin1) {
        if (!utf8_to_latin1(*column.fallback, stored))
          return invalid({.expected = "characters of Latin-1 for column " + in_quotes(name) +
                                      ", because of encoding=\"latin-1\"",
                          .got = value.dump()})
              .in_option("defaults");
        column.fallback = std::move(stored);
      }
      column.fallback_value = text_tensor(*column.fallback, column.dtype);
      continue;
    }
    std::byte number[kSlot];
    if (!parse_number(*column.fallback, column.dtype, number) || column.is_rounded(*column.fallback, number))
      return invalid({.expected = std::string(dtype_name(column.dtype)) + " for column " + in_quotes(name),
                      .got = value.dump()})
          .in_option("defaults");
    column.fallback_value = make_tensor({column.dtype, Shape(), number});
  }
  return out;
}

// For a header that is probably a sample: all names are numbers, but they do not count the columns.
std::string header_hint(const CsvOptions& options, const std::vector<std::string>& names,
                        const std::vector<CsvContents>& contents) {
  const bool has_header =
      options.has_header && options.names.empty() &&
      std::ranges::any_of(contents, [](const CsvContents& one) { return !one.header.empty(); });
  bool counts = true;
  for (size_t i = 0; has_header && i < names.size(); ++i) {
    std::byte number[kSlot];
    if (!parse_number(names[i], DType::f64, number)) return {};
    counts = counts && (names[i] == std::to_string(i) || names[i] == std::to_string(i + 1));
  }
  if (!has_header || counts) return {};
  return "the names of the columns are numbers (" + list_of(names) +
         "): header=False reads the first row as a sample";
}

// For data whose rows have one column: the delimiter= that would split its first row; "" where none would.
std::string delimiter_hint(const CsvOptions& options, const std::vector<std::string>& names,
                           const std::vector<CsvContents>& contents) {
  if (names.size() != 1 || contents.empty()) return {};
  const CsvContents& first = contents[0];
  const std::string& row =
      !first.header.empty() || first.columns.empty() ? first.header : first.columns[0].counts.text;
  std::pair<ptrdiff_t, char> most{0, '\0'};
  for (const char delimiter : {';', '\t', '|', ','})
    if (delimiter != options.dialect.delimiter)
      most = std::max(most, {std::ranges::count(row, delimiter), delimiter},
                      [](const auto& a, const auto& b) { return a.first < b.first; });
  if (most.first == 0) return {};
  return "delimiter=\"" + (most.second == '\t' ? "\\t" : std::string(1, most.second)) + "\" would split " +
         shown_field(row) + " into " + std::to_string(most.first + 1) + " columns";
}

// What an empty field is, where `defaults` does not say it; and the masks, behind the other columns.
Status set_nulls(const NullRules& rules, CsvTable& table) {
  const Schema schema = table.schema();
  HEADRACE_ASSIGN(const std::vector<Nulls> nulls, rules.of_fields(schema));
  HEADRACE_ASSIGN(const std::vector<NullMask> masks, masks_of(schema, nulls));
  table.nulls = text_of(nulls, schema);
  for (size_t i = 0; i < nulls.size(); ++i) {
    CsvColumn& column = table.columns[i];
    if (nulls[i] == Nulls::error || column.fallback || is_text(column.dtype)) continue;
    column.fallback = nulls[i] == Nulls::nan ? "nan" : "0";
    column.fallback_value = read_as(nulls[i], schema.specs[i]);
  }
  for (const NullMask& mask : masks) {
    CsvColumn column{table.columns[mask.field].place, mask.name, DType::boolean};
    column.is_mask = true;
    table.columns.push_back(std::move(column));
  }
  return {};
}

Status wrong_field(const CsvColumn& column, std::string_view text) {
  const std::string name = "column " + in_quotes(column.name), dtype(dtype_name(column.dtype));
  if (text.empty())
    return corrupt(name + " is empty in this row; expected " + dtype + "; set a value with defaults={" +
                   Value(column.name).dump() + ": 0}; " + null_is_read(is_float(column.dtype)))
        .with({.field = column.name, .option = "nulls", .expected = dtype, .got = "null"});
  return corrupt({.expected = dtype, .got = shown_field(text)})
      .with({.field = column.name})
      .before(name + ": ");
}

}  // namespace

Schema CsvTable::schema() const {
  std::vector<std::string> names;
  std::vector<TensorSpec> specs;
  for (const CsvColumn& column : columns) {
    names.push_back(column.name);
    specs.push_back({column.dtype, is_text(column.dtype) ? Shape{kAny} : Shape()});
  }
  return Schema::of(std::move(names), std::move(specs));
}

Status CsvTable::read(const Record& record, std::vector<Tensor>& fields) const {
  const std::string_view all(reinterpret_cast<const char*>(record.buffer->data()), record.buffer->size());
  std::vector<CsvField> row;
  HEADRACE_TRY(split_row(without_row_end(all.substr(record.offset, record.length)), dialect, row));
  if (row.size() != width)
    return corrupt("expected " + std::to_string(width) + (width == 1 ? " column, got " : " columns, got ") +
                   std::to_string(row.size()) + (hint.empty() ? "" : "; " + hint));
  fields.assign(columns.size(), Tensor());
  MutableBufferPtr numbers;
  for (size_t i = 0; i < columns.size(); ++i) {
    const CsvColumn& column = columns[i];
    const CsvField& field = row[column.place];
    if (column.is_mask) {
      if (!numbers) numbers = HeapBuffer::make(columns.size() * kSlot);
      numbers->mutable_data()[i * kSlot] = std::byte{!field.text.empty()};
      fields[i] = Tensor{numbers, i * kSlot, column.dtype, Shape(), nullptr};
      continue;
    }
    const bool takes_fallback = field.text.empty() && column.fallback;
    const std::string_view text = takes_fallback ? std::string_view(*column.fallback) : field.text;
    if (!is_text(column.dtype)) {
      if (!numbers) numbers = HeapBuffer::make(columns.size() * kSlot);
      if (!parse_number(text, column.dtype, numbers->mutable_data() + i * kSlot))
        return wrong_field(column, text);
      if (column.is_rounded(text, numbers->data() + i * kSlot))
        return corrupt({.expected = "numbers that float64 holds",
                        .got = std::string(text) + how_to_read_rounded(column.name)})
            .with({.field = column.name})
            .in_column(column.name);
      fields[i] = Tensor{numbers, i * kSlot, column.dtype, Shape(), nullptr};
      continue;
    }
    if (column.dtype == DType::str && checks_utf8 && utf8_prefix(text) < text.size())
      return corrupt("column " + in_quotes(column.name) + ": " + expected_utf8(text) + "; dtypes={" +
                     Value(column.name).dump() +
                     ": \"bytes\"} reads any bytes; encoding=\"latin-1\" converts");
    if (takes_fallback || field.has_escapes)
      fields[i] = text_tensor(takes_fallback ? text : std::string_view(unescaped(field, dialect.quote)),
                              column.dtype);
    else
      fields[i] = Tensor{record.buffer,
                         static_cast<size_t>(text.data() - all.data()),
                         column.dtype,
                         {static_cast<int64_t>(text.size())},
                         nullptr};
  }
  return {};
}

Result<CsvTable> csv_table(const CsvOptions& options, const std::vector<SourceFile>& files,
                           const std::vector<CsvContents>& contents) {
  HEADRACE_ASSIGN(const std::vector<std::string> names, names_of(options, files, contents));
  HEADRACE_ASSIGN(std::vector<CsvColumn> all, typed_columns(options, names, files, contents));
  CsvTable out{options.dialect, names.size(), {}};
  out.checks_utf8 = options.encoding == Encoding::utf8;
  out.hint = delimiter_hint(options, names, contents);
  if (options.columns.empty())
    out.columns = std::move(all);
  else
    HEADRACE_TRY(check_distinct(options.columns));
  for (const std::string& name : options.columns) {
    const auto place = place_of("columns", name, names);
    if (!place.ok()) return place.status().after(out.hint.empty() ? "" : "; " + out.hint);
    out.columns.push_back(all[*place]);
  }
  for (const CsvColumn& column : out.columns)
    if (!column.note.empty()) out.said.push_back(column.note);
  out.said = first_notes(std::move(out.said));
  if (!out.hint.empty()) out.said.push_back("rows have one column: " + out.hint);
  HEADRACE_TRY(set_nulls(options.nulls, out));
  if (std::string hint = header_hint(options, names, contents); !hint.empty())
    out.said.push_back(std::move(hint));
  out.find_uses();
  return out;
}

CsvTable CsvTable::with_columns(std::span<const int> of_these) const {
  CsvTable out{dialect, width, {}};
  out.hint = hint, out.checks_utf8 = checks_utf8;
  for (const int column : of_these) out.columns.push_back(columns[static_cast<size_t>(column)]);
  out.find_uses();
  return out;
}

void CsvTable::find_uses() {
  uses.assign(width, kUnused);
  for (size_t i = 0; i < columns.size(); ++i)
    if (!columns[i].is_mask) uses[columns[i].place] = static_cast<uint32_t>(i);
}

}  // namespace headrace
