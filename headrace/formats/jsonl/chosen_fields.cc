#include "headrace/formats/jsonl/chosen_fields.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "headrace/core/text/closest.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/columns.h"
#include "headrace/formats/csv/values.h"
#include "headrace/formats/options.h"
#include "headrace/formats/records/marks.h"

namespace headrace {
namespace {

// The members of an option that is a dict by column; empty when it is not given.
Result<Value::Object> given_by_column(std::string_view option, const Value& given) {
  if (given.is_null()) return Value::Object();
  if (!given.object()) return invalid(std::string(option) + " must be a dict by column, got " + given.dump());
  return *given.object();
}

size_t rounded_up(size_t bytes) { return (bytes + 7) / 8 * 8; }

using Part = JsonColumn::Part;

size_t made_bytes(const JsonSpan& value, const JsonColumn& column) {
  if (column.part == Part::mask) return 0;
  if (column.part == Part::texts) return value.text.size();
  if (column.part == Part::lengths) return value.count * sizeof(int64_t);
  return made_bytes(value, column.spec);
}

Status make_value(const JsonSpan& value, const JsonColumn& column, const JsonPlace& place, Tensor& out) {
  if (column.part == Part::texts) return make_texts(value, column.spec.dtype, place, out);
  if (column.part == Part::lengths) return make_lengths(value, place, out);
  return make_value(value, column.spec, column.rounding, place, out);
}

std::string wanted_of(const JsonColumn& column) {
  return column.part == Part::whole ? column.spec.text() : "a list of strings";
}

// An error of this value.
Status in_column(const JsonColumn& column, const JsonSpan& value, Status status) {
  const bool may_be_rounded = column.spec.dtype == DType::f64 && column.rounding == Rounding::refused;
  const std::string_view number = may_be_rounded ? rounded_number(value) : std::string_view();
  if (!number.empty())
    status = corrupt({.expected = "numbers that float64 holds",
                      .got = std::string(number) + how_to_read_rounded(column.name)});
  return std::move(status).in_column(column.name);
}

// The value for null and missing keys, made once.
Result<Tensor> fallback_of(const Value& given, const JsonColumn& column) {
  const std::string text = given.dump();
  JsonReader reader(text);
  JsonSpan value;
  if (!reader.value(value) || !reader.is_at_end()) return reader.error();
  const MutableBufferPtr line = HeapBuffer::make(value.text.size());
  std::ranges::copy(text_bytes(value.text), line->mutable_data());
  value.text = {reinterpret_cast<const char*>(line->data()), value.text.size()};
  const BufferPtr kept = line;
  MadeBytes made(made_bytes(value, column));
  Tensor out;
  HEADRACE_TRY(make_value(value, column, {kept, false, made}, out));
  return out;
}

// A field that can be chosen.
struct Choice {
  uint32_t node;
  std::string key;  // its path; the two columns of a list of strings have other names
  JsonColumn column;
};

// All fields: keys in the order of their first appearance. Objects are replaced by their members, except
// those that `dtypes` declares to be strings.
class Choices {
 public:
  Choices(const JsonFields& fields, Value::Object dtypes) : fields_(fields), dtypes_(std::move(dtypes)) {}

  Result<std::vector<Choice>> all() {
    HEADRACE_TRY(take_members(JsonFields::kRoot));
    std::set<std::string_view> names;
    for (const Choice& choice : out_)
      if (!names.insert(choice.column.name).second)
        return invalid(
            {.expected = "distinct field names",
             .got = in_quotes(choice.column.name) + " twice: as a key, and as a member of an object"});
    for (const auto& [name, dtype] : dtypes_)
      if (!used_.contains(name)) return no_column("dtypes", name, out_);
    return std::move(out_);
  }

  static Status no_column(std::string_view option, std::string_view name, const std::vector<Choice>& all) {
    const auto name_of = [](const Choice& choice) { return std::string_view(choice.column.name); };
    return no_such_column(option, name, names_of_all(all, name_of));
  }

 private:
  Status take_members(uint32_t parent) {
    for (const uint32_t node : fields_[parent].members) {
      const JsonKind& kind = fields_[node].kind;
      if (kind.types == 0) continue;  // only in damaged lines
      std::string name = fields_.name(node);
      const Value* given = take_given(name);
      if (!given && fields_.is_group(node)) {
        HEADRACE_TRY(take_members(node));
        continue;
      }
      if (!given) {
        HEADRACE_ASSIGN(const auto texts, dtype_of_texts(name, kind));
        if (texts) {
          out_.push_back({node, name, {name + "/values", {*texts, {kAny}}, Part::texts}});
          out_.push_back({node, name, {name + "/lengths", {DType::i64, {kAny}}, Part::lengths}});
          continue;
        }
      }
      TensorSpec spec = kind.spec();
      if (given) {
        HEADRACE_ASSIGN(spec, spec_of(name, *given, kind));
      }
      JsonColumn column{name, spec};
      if (given)
        column.rounding = Rounding::taken;
      else
        column.note = kind.note(name);
      out_.push_back({node, name, std::move(column)});
    }
    return {};
  }

  // Its entry in `dtypes`, or null.
  const Value* take_given(const std::string& name) {
    const auto found = std::ranges::find(dtypes_, name, [](const auto& entry) { return entry.first; });
    if (found == dtypes_.end()) return nullptr;
    used_.insert(name);
    return &found->second;
  }

  // The dtype of the strings of a list; none if it is not a list of strings.
  Result<std::optional<DType>> dtype_of_texts(const std::string& name, const JsonKind& kind) {
    std::optional<DType> out;
    if (kind.is_texts()) out = DType::str;
    if (!out && !kind.is_of_nothing()) return out;
    if (const Value* values = take_given(name + "/values")) {
      HEADRACE_ASSIGN(out, given_dtype(name + "/values", *values));
      if (!is_text(*out)) return unlike_texts(name + "/values", "str or bytes", *values);
    }
    const Value* lengths = out ? take_given(name + "/lengths") : nullptr;
    if (lengths) {
      HEADRACE_ASSIGN(const DType dtype, given_dtype(name + "/lengths", *lengths));
      if (dtype != DType::i64) return unlike_texts(name + "/lengths", "int64", *lengths);
    }
    return out;
  }
  static Status unlike_texts(const std::string& name, std::string_view wanted, const Value& got) {
    return invalid(
               {.expected = std::string(wanted) + " for column " + in_quotes(name) + " of a list of strings",
                .got = got.dump()})
        .in_option("dtypes");
  }

  static Result<DType> given_dtype(const std::string& name, const Value& given) {
    if (given.text()) return parse_dtype(*given.text());
    return invalid({.expected = "a dtype for column " + in_quotes(name), .got = given.dump()})
        .in_option("dtypes");
  }

  static Result<TensorSpec> spec_of(const std::string& name, const Value& given, const JsonKind& kind) {
    HEADRACE_ASSIGN(const DType dtype, given_dtype(name, given));
    if (is_text(dtype)) return TensorSpec{dtype, {kAny}};
    const auto spec = kind.spec_as(dtype);
    if (spec && !kind.has(JsonType::object)) return *spec;
    return invalid({.expected = "str or bytes for column " + in_quotes(name) + ", which contains " +
                                (spec ? "objects" : "lists that are not arrays of numbers"),
                    .got = *given.text()})
        .in_option("dtypes");
  }

  const JsonFields& fields_;
  const Value::Object dtypes_;
  std::set<std::string, std::less<>> used_;  // of dtypes_
  std::vector<Choice> out_;
};

Status set_fallbacks(const Value& defaults, std::vector<Choice>& all) {
  HEADRACE_ASSIGN(const Value::Object given, given_by_column("defaults", defaults));
  for (const auto& [name, value] : given) {
    bool is_found = false;
    for (Choice& choice : all) {
      if (choice.key != name) continue;
      is_found = true;
      if (value.is_null()) continue;
      auto fallback = fallback_of(value, choice.column);
      if (!fallback.ok())
        return invalid({.expected = wanted_of(choice.column) + " for column " + in_quotes(name),
                        .got = value.dump()})
            .in_option("defaults");
      choice.column.fallback = *std::move(fallback);
    }
    if (!is_found) return Choices::no_column("defaults", name, all);
  }
  return {};
}

// The columns that `columns` names, in its order; the name of an object selects all its members.
Result<std::vector<Choice>> chosen(const std::vector<std::string>& columns, std::vector<Choice> all) {
  if (columns.empty()) return all;
  std::vector<Choice> out;
  for (const std::string& name : columns) {
    const size_t before = out.size();
    for (const Choice& choice : all)
      if (choice.column.name == name || choice.column.name.starts_with(name + "/")) out.push_back(choice);
    if (out.size() == before) return Choices::no_column("columns", name, all);
  }
  std::set<std::string_view> names;
  for (const Choice& choice : out)
    if (!names.insert(choice.column.name).second)
      return invalid({.expected = "distinct names", .got = in_quotes(choice.column.name) + " twice"})
          .in_option("columns");
  return out;
}

// What a null or missing key is, where `defaults` does not say it; and the masks, behind the other columns.
// Returns what a fingerprint records.
Result<std::string> set_nulls(const NullRules& rules, std::vector<Choice>& all) {
  std::vector<JsonColumn> columns;
  for (const Choice& choice : all) columns.push_back(choice.column);
  const Schema schema = schema_of(columns);
  HEADRACE_ASSIGN(const std::vector<Nulls> nulls, rules.of_fields(schema));
  HEADRACE_ASSIGN(const std::vector<NullMask> masks, masks_of(schema, nulls));
  for (size_t i = 0; i < nulls.size(); ++i) {
    const bool is_no_number = nulls[i] == Nulls::nan && !schema.specs[i].is_static();
    if (nulls[i] != Nulls::error && !is_no_number && !all[i].column.fallback)
      all[i].column.fallback = read_as(nulls[i], schema.specs[i]);
  }
  for (const NullMask& mask : masks) {
    const Choice& of = all[mask.field];
    all.push_back({of.node, of.key, {mask.name, {DType::boolean, {}}, Part::mask}});
  }
  return text_of(nulls, schema);
}

bool is_missing(const JsonSpan& value) {
  return value.type == JsonType::null || value.type == JsonType::nothing;
}

std::string_view line_of(const Record& record) {
  return without_line_end({reinterpret_cast<const char*>(record.bytes().data()), record.length});
}

}  // namespace

Result<JsonTable> JsonTable::make(const JsonlOptions& options, const std::vector<SourceFile>& files,
                                  const std::vector<JsonlContents>& contents) {
  JsonFields fields;
  std::string refused;
  for (size_t i = 0; i < contents.size(); ++i) {
    if (contents[i].has_more_fields || !fields.merge(contents[i].fields, files[i].path))
      return invalid({.expected = "at most " + std::to_string(JsonFields::kMostFields) +
                                  " different keys, and names of at most " +
                                  std::to_string(JsonFields::kMostName) + " bytes",
                      .got = "more"})
          .in_file(files[i].path);
    if (refused.empty() && !contents[i].refused.empty())
      refused = in_quotes(files[i].path) + ": " + contents[i].refused;
  }
  HEADRACE_ASSIGN(Value::Object dtypes, given_by_column("dtypes", options.dtypes));
  if (fields.size() == 1) {  // no line has any: dtypes= is all that is known
    size_t expected = 0;
    for (const auto& [name, value] : dtypes)
      if (const uint32_t node = fields.find_or_add(JsonFields::kRoot, name, expected);
          node != JsonFields::kNone)
        fields.kind(node).types = bit_of(JsonType::null);
  }
  HEADRACE_ASSIGN(std::vector<Choice> all, Choices(fields, std::move(dtypes)).all());
  if (all.empty() && !refused.empty()) return corrupt(std::move(refused));
  if (all.empty())
    return invalid({.expected = "at least one line with a JSON object, to find the fields",
                    .got = "none",
                    .fix = "name them with dtypes="});
  HEADRACE_TRY(set_fallbacks(options.defaults, all));
  HEADRACE_ASSIGN(all, chosen(options.columns, std::move(all)));
  HEADRACE_ASSIGN(std::string nulls, set_nulls(options.nulls, all));
  JsonTable out(std::move(fields));
  out.nulls_ = std::move(nulls);
  for (Choice& choice : all) {
    if (!choice.column.note.empty()) out.notes_.push_back(choice.column.note);
    out.add(std::move(choice.column), choice.node);
  }
  out.notes_ = first_notes(std::move(out.notes_));
  return out;
}

JsonTable JsonTable::with_columns(std::span<const int> of_these) const {
  JsonTable out(fields_);
  for (const int column : of_these)
    out.add(columns_[static_cast<size_t>(column)], nodes_[static_cast<size_t>(column)]);
  return out;
}

void JsonTable::add(JsonColumn column, uint32_t node) {
  slots_.push_back(slot_of(node));
  enter(node);
  nodes_.push_back(node);
  columns_.push_back(std::move(column));
}

uint32_t JsonTable::slot_of(uint32_t node) {
  if (uses_[node].slot == JsonFields::kNone) uses_[node].slot = num_slots_++;
  return uses_[node].slot;
}

// Marks the objects that contain a node.
void JsonTable::enter(uint32_t node) {
  for (uint32_t at = fields_[node].parent; at != JsonFields::kRoot; at = fields_[at].parent) {
    slot_of(at);
    uses_[at].is_entered = true;
  }
}

Schema JsonTable::schema() const { return schema_of(columns_); }

bool JsonTable::has_masks() const {
  return std::ranges::any_of(columns_, [](const JsonColumn& column) { return column.part == Part::mask; });
}

// Clears the members of an object whose key occurs again.
void JsonTable::forget(uint32_t node, std::vector<JsonSpan>& found) const {
  for (const uint32_t member : fields_[node].members) {
    if (uses_[member].slot == JsonFields::kNone) continue;
    found[uses_[member].slot] = {};
    if (uses_[member].is_entered) forget(member, found);
  }
}

// The wanted members of the object that was entered. The last of equal keys counts.
bool JsonTable::look(JsonReader& reader, uint32_t parent, std::vector<JsonSpan>& found) const {
  JsonSpan key, unwanted;
  size_t expected = 0;
  for (bool is_first = true; reader.next_key(key, is_first); is_first = false) {
    const uint32_t node = key.has_escapes ? fields_.find(parent, unescaped_json(key), expected)
                                          : fields_.find(parent, key.text, expected);
    if (node == JsonFields::kNone && !check_key(key, reader)) return false;
    if (node == JsonFields::kNone || uses_[node].slot == JsonFields::kNone) {
      if (!reader.value(unwanted)) return false;
      continue;
    }
    JsonSpan& value = found[uses_[node].slot];
    if (uses_[node].is_entered && value.type == JsonType::object) forget(node, found);
    if (uses_[node].is_entered && reader.begins_with('{')) {
      value.type = JsonType::object;
      if (!reader.begin_object() || !look(reader, node, found)) return false;
    } else if (!reader.value(value)) {
      return false;
    }
  }
  return reader.ok();
}

Status JsonTable::look(std::string_view line, std::vector<JsonSpan>& found) const {
  found.assign(num_slots_, {});
  JsonReader reader(line);
  if (!reader.begin_object() || !look(reader, JsonFields::kRoot, found) || !reader.is_at_end())
    return reader.error();
  return {};
}

Status JsonTable::make_fields(const Record& record, const std::vector<JsonSpan>& found,
                              std::vector<Tensor>& fields) const {
  size_t room = 0;
  for (size_t i = 0; i < columns_.size(); ++i)
    if (!is_missing(found[slots_[i]])) room += rounded_up(made_bytes(found[slots_[i]], columns_[i]));
  MadeBytes made(room);
  for (size_t i = 0; i < columns_.size(); ++i) {
    const JsonColumn& column = columns_[i];
    const JsonSpan& value = found[slots_[i]];
    if (column.part == Part::mask) {
      const bool is_there = !is_missing(value);
      fields[i] = make_tensor({DType::boolean, {}, reinterpret_cast<const std::byte*>(&is_there)});
    } else if (!is_missing(value)) {
      Status status = make_value(value, column, {record.buffer, false, made}, fields[i]);
      if (!status.ok()) return in_column(column, value, std::move(status));
    } else {
      if (!column.fallback)
        return corrupt("column " + in_quotes(column.name) + " is " +
                       (value.type == JsonType::null ? "null" : "missing") + " in this line; expected " +
                       wanted_of(column) + "; set a value with defaults=; " +
                       null_is_read(is_float(column.spec.dtype)))
            .with({.field = column.name, .option = "nulls", .expected = wanted_of(column), .got = "null"});
      fields[i] = *column.fallback;
    }
  }
  return {};
}

Status JsonTable::read(const Record& record, std::vector<Tensor>& fields) const {
  std::vector<JsonSpan> found;
  HEADRACE_TRY(look(line_of(record), found));
  fields.assign(columns_.size(), Tensor());
  return make_fields(record, found, fields);
}

bool JsonTable::put_found(const std::vector<JsonSpan>& found, const JsonPlace& place, size_t row,
                          std::span<const FieldPlace> to) const {
  Tensor made;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const JsonSpan& value = found[slots_[i]];
    const TensorSpec& spec = columns_[i].spec;
    std::byte* const numbers = to[i].values;
    if (is_missing(value)) {
      if (!columns_[i].fallback) return false;
      const View view = columns_[i].fallback->view();
      if (!numbers)
        to[i].share(row, Tensor(*columns_[i].fallback));
      else if (view.shape == spec.shape)
        std::memcpy(numbers + row * view.size_bytes(), view.data, view.size_bytes());
      else
        return false;
    } else if (numbers) {
      if (!write_numbers(value, spec, columns_[i].rounding, numbers + row * spec.size_bytes()).ok())
        return false;
    } else {
      if (!make_value(value, columns_[i], place, made).ok()) return false;
      to[i].share(row, std::move(made));
    }
  }
  return true;
}

size_t JsonTable::put(const RecordRun& run, std::span<const FieldPlace> to) const {
  std::vector<JsonSpan> found;
  MadeBytes made(run.bytes());
  Neighbours neighbours(run);
  size_t n = 0;
  for (; n < run.records.size(); ++n) {
    if (neighbours.cover(n)) neighbours.look_for_utf8();
    if (!look(line_of(run[n]), found).ok()) break;
    if (!put_found(found, {run.buffer, neighbours.is_utf8(n), made}, n, to)) break;
  }
  return n;
}

}  // namespace headrace
