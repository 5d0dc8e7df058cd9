#include "headrace/formats/jsonl/chosen_fields.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "headrace/core/text/closest.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/columns.h"
#include "headrace/formats/records/marks.h"

namespace headrace {
namespace {

// The members of an option that is an object by column; none when it is not given.
Result<Value::Object> given_by_column(std::string_view option, const Value& given) {
  if (given.is_null()) return Value::Object();
  if (!given.object()) return invalid(std::string(option) + " wants a dict by column, got " + given.dump());
  return *given.object();
}

size_t rounded_up(size_t bytes) { return (bytes + 7) / 8 * 8; }

using Part = JsonColumn::Part;

size_t made_bytes(const JsonSpan& value, const JsonColumn& column) {
  if (column.part == Part::texts) return value.text.size();
  if (column.part == Part::lengths) return value.count * sizeof(int64_t);
  return made_bytes(value, column.spec);
}

Status make_value(const JsonSpan& value, const JsonColumn& column, const JsonPlace& place, Tensor& out) {
  if (column.part == Part::texts) return make_texts(value, column.spec.dtype, place, out);
  if (column.part == Part::lengths) return make_lengths(value, place, out);
  return make_value(value, column.spec, place, out);
}

std::string wanted_of(const JsonColumn& column) {
  return column.part == Part::whole ? column.spec.text() : "a list of texts";
}

// What stands for a value, made once.
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

// A field that may be chosen.
struct Choice {
  uint32_t node;
  std::string key;  // its path; that of a list of texts is not the name of its two columns
  JsonColumn column;
};

// All of them: keys in the order of their first appearance, objects as what they have, but for those that
// `dtypes` calls text.
class Choices {
 public:
  Choices(const JsonFields& fields, Value::Object dtypes) : fields_(fields), dtypes_(std::move(dtypes)) {}

  Result<std::vector<Choice>> all() {
    HEADRACE_TRY(take_members(JsonFields::kRoot));
    std::set<std::string_view> names;
    for (const Choice& choice : out_)
      if (!names.insert(choice.column.name).second)
        return invalid("wants fields of different names, got " + in_quotes(choice.column.name) +
                       " twice: of an object in an object, and as a key");
    for (const auto& [name, dtype] : dtypes_)
      if (!used_.contains(name)) return no_column("dtypes", name, out_);
    return std::move(out_);
  }

  static Status no_column(std::string_view option, std::string_view name, const std::vector<Choice>& all) {
    const auto name_of = [](const Choice& choice) { return std::string_view(choice.column.name); };
    return invalid(std::string(option) + " " + no_such_column(name, names_of_all(all, name_of)));
  }

 private:
  Status take_members(uint32_t parent) {
    for (const uint32_t node : fields_[parent].members) {
      const JsonKind& kind = fields_[node].kind;
      if (kind.types == 0) continue;  // only in lines that are wrong
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
      if (!given) column.note = kind.note(name);
      out_.push_back({node, name, std::move(column)});
    }
    return {};
  }

  // What `dtypes` says of it; null when nothing.
  const Value* take_given(const std::string& name) {
    const auto found = std::ranges::find(dtypes_, name, [](const auto& entry) { return entry.first; });
    if (found == dtypes_.end()) return nullptr;
    used_.insert(name);
    return &found->second;
  }

  // That of the texts of a list; none where it is no such list.
  Result<std::optional<DType>> dtype_of_texts(const std::string& name, const JsonKind& kind) {
    std::optional<DType> out;
    if (kind.is_texts()) out = DType::str;
    if (!out && !kind.is_of_nothing()) return out;
    if (const Value* values = take_given(name + "/values")) {
      HEADRACE_ASSIGN(out, given_dtype(name + "/values", *values));
      if (!is_text(*out)) return unlike_texts(name + "/values", "str or bytes", *values);
    }
    const Value* lengths = out ? take_given(name + "/lengths") : nullptr;
    if (lengths && *lengths != Value("i64")) return unlike_texts(name + "/lengths", "i64", *lengths);
    return out;
  }
  static Status unlike_texts(const std::string& name, std::string_view wanted, const Value& got) {
    return invalid("dtypes wants " + std::string(wanted) + " for " + in_quotes(name) +
                   ", which is of a list of texts, got " + got.dump());
  }

  static Result<DType> given_dtype(const std::string& name, const Value& given) {
    if (given.text()) return parse_dtype(*given.text());
    return invalid("dtypes wants a dtype for " + in_quotes(name) + ", got " + given.dump());
  }

  static Result<TensorSpec> spec_of(const std::string& name, const Value& given, const JsonKind& kind) {
    HEADRACE_ASSIGN(const DType dtype, given_dtype(name, given));
    if (is_text(dtype)) return TensorSpec{dtype, {kAny}};
    const auto spec = kind.spec_as(dtype);
    if (spec && !kind.has(JsonType::object)) return *spec;
    return invalid("dtypes wants str or bytes for " + in_quotes(name) + ", which has " +
                   (spec ? "objects" : "lists that are no numbers in a shape") + ", got " + *given.text());
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
        return invalid("defaults wants " + wanted_of(choice.column) + " for column " + in_quotes(name) +
                       ", got " + value.dump());
      choice.column.fallback = *std::move(fallback);
    }
    if (!is_found) return Choices::no_column("defaults", name, all);
  }
  return {};
}

// Those that `columns` names, in its order; the name of an object stands for all that it has.
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
      return invalid("columns wants names that differ, got " + in_quotes(choice.column.name) + " twice");
  return out;
}

bool is_missing(const JsonSpan& value) {
  return value.type == JsonType::null || value.type == JsonType::nothing;
}

}  // namespace

Result<JsonTable> JsonTable::make(const JsonlOptions& options, const std::vector<SourceFile>& files,
                                  const std::vector<JsonlContents>& contents) {
  JsonTable out;
  std::string refused;
  for (size_t i = 0; i < contents.size(); ++i) {
    if (contents[i].has_more_fields || !out.fields_.merge(contents[i].fields, files[i].path))
      return invalid(in_quotes(files[i].path) + ": wants at most " + std::to_string(JsonFields::kMostFields) +
                     " different keys, and names of at most " + std::to_string(JsonFields::kMostName) +
                     " bytes, got more");
    if (refused.empty() && !contents[i].refused.empty())
      refused = in_quotes(files[i].path) + ": " + contents[i].refused;
  }
  HEADRACE_ASSIGN(Value::Object dtypes, given_by_column("dtypes", options.dtypes));
  if (out.fields_.size() == 1) {  // no line has any: what is said of them is all there is
    size_t expected = 0;
    for (const auto& [name, value] : dtypes)
      if (const uint32_t node = out.fields_.find_or_add(JsonFields::kRoot, name, expected);
          node != JsonFields::kNone)
        out.fields_.kind(node).types = bit_of(JsonType::null);
  }
  HEADRACE_ASSIGN(std::vector<Choice> all, Choices(out.fields_, std::move(dtypes)).all());
  if (all.empty() && !refused.empty()) return corrupt(std::move(refused));
  if (all.empty())
    return invalid(
        "wants a JSON object in a line at least, to know the fields, got none; dtypes= gives them");
  HEADRACE_TRY(set_fallbacks(options.defaults, all));
  HEADRACE_ASSIGN(all, chosen(options.columns, std::move(all)));
  out.uses_.resize(out.fields_.size());
  for (Choice& choice : all) {
    if (!choice.column.note.empty()) out.notes_.push_back(choice.column.note);
    out.add(std::move(choice.column), choice.node);
  }
  out.notes_ = first_notes(std::move(out.notes_));
  return out;
}

JsonTable JsonTable::with_columns(std::span<const int> of_these) const {
  JsonTable out;
  out.fields_ = fields_;
  out.uses_.resize(fields_.size());
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

// The objects that a node is in.
void JsonTable::enter(uint32_t node) {
  for (uint32_t at = fields_[node].parent; at != JsonFields::kRoot; at = fields_[at].parent) {
    slot_of(at);
    uses_[at].is_entered = true;
  }
}

Schema JsonTable::schema() const { return schema_of(columns_); }

// An object that comes again in place of one that was entered.
void JsonTable::forget(uint32_t node, std::vector<JsonSpan>& found) const {
  for (const uint32_t member : fields_[node].members) {
    if (uses_[member].slot == JsonFields::kNone) continue;
    found[uses_[member].slot] = {};
    if (uses_[member].is_entered) forget(member, found);
  }
}

// The members of the object that was begun, but those that nobody wants. The last of equal keys counts.
bool JsonTable::look(JsonReader& reader, uint32_t parent, std::vector<JsonSpan>& found) const {
  JsonSpan key, unwanted;
  size_t expected = 0;
  for (bool is_first = true; reader.next_key(key, is_first); is_first = false) {
    const uint32_t node = key.has_escapes ? fields_.find(parent, unescaped_json(key), expected)
                                          : fields_.find(parent, key.text, expected);
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

Status JsonTable::read(const Record& record, std::vector<Tensor>& fields) const {
  const std::string_view line(reinterpret_cast<const char*>(record.bytes().data()), record.length);
  std::vector<JsonSpan> found(num_slots_);
  JsonReader reader(without_line_end(line));
  if (!reader.begin_object() || !look(reader, JsonFields::kRoot, found) || !reader.is_at_end())
    return reader.error();
  size_t room = 0;
  for (size_t i = 0; i < columns_.size(); ++i)
    if (!is_missing(found[slots_[i]])) room += rounded_up(made_bytes(found[slots_[i]], columns_[i]));
  MadeBytes made(room);
  fields.clear();
  fields.resize(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    const JsonColumn& column = columns_[i];
    const JsonSpan& value = found[slots_[i]];
    const auto of_column = [&](Status status) {
      return std::move(status).before("column " + in_quotes(column.name) + " ");
    };
    if (!is_missing(value)) {
      const Status status = make_value(value, column, {record.buffer, false, made}, fields[i]);
      if (!status.ok()) return of_column(status);
    } else if (column.fallback) {
      fields[i] = *column.fallback;
    } else {
      return of_column(corrupt("wants " + wanted_of(column) + ", got " +
                               (value.type == JsonType::null ? "null" : "nothing") +
                               "; defaults= says what stands for it"));
    }
  }
  return {};
}

bool JsonTable::put_line(const Record& record, size_t n, std::span<const FieldPlace> to,
                         const JsonPlace& place, std::vector<JsonSpan>& found) const {
  const std::string_view line(reinterpret_cast<const char*>(record.bytes().data()), record.length);
  found.assign(num_slots_, {});
  JsonReader reader(without_line_end(line));
  if (!reader.begin_object() || !look(reader, JsonFields::kRoot, found) || !reader.is_at_end()) return false;
  Tensor made;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const JsonSpan& value = found[slots_[i]];
    const TensorSpec& spec = columns_[i].spec;
    std::byte* const numbers = to[i].values;
    if (is_missing(value)) {
      if (!columns_[i].fallback) return false;
      const View view = columns_[i].fallback->view();
      if (!numbers)
        to[i].share(n, Tensor(*columns_[i].fallback));
      else if (view.shape == spec.shape)
        std::memcpy(numbers + n * view.size_bytes(), view.data, view.size_bytes());
      else
        return false;
    } else if (numbers) {
      if (!write_numbers(value, spec, numbers + n * spec.size_bytes()).ok()) return false;
    } else {
      if (!make_value(value, columns_[i], place, made).ok()) return false;
      to[i].share(n, std::move(made));
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
    if (!put_line(run[n], n, to, {run.buffer, neighbours.is_utf8(n), made}, found)) break;
  }
  return n;
}

}  // namespace headrace
