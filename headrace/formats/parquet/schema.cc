#include "headrace/formats/parquet/schema.h"

#include <algorithm>
#include <set>

#include "headrace/core/text/closest.h"
#include "headrace/formats/columns.h"
#include "headrace/formats/meaning/logical_type.h"
#include "headrace/formats/options.h"
#include "headrace/formats/parquet/encodings.h"
#include "headrace/formats/parquet/hints.h"

namespace headrace::parquet {
namespace {

constexpr int kMaxDepth = 32;
constexpr size_t kMaxColumns = 16384, kMaxElements = 1 << 16;
constexpr size_t kMaxName = 4096;  // with those of the structs around it
constexpr size_t kMaxNames = size_t{16} << 20;
constexpr int32_t kMaxWidth = 1 << 26;

// The path from the root to an element.
struct Around {
  std::string name;  // "a/b"; empty at the root
  uint8_t def = 0;
  std::vector<uint8_t> list_def = {};
  int depth = 0;
};

const char* physical_name(Physical type) {
  constexpr const char* names[] = {"BOOLEAN", "INT32",  "INT64",      "INT96",
                                   "FLOAT",   "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"};
  return names[static_cast<size_t>(type)];
}

class Walk {
 public:
  Walk(const std::vector<SchemaElement>& schema, std::vector<Column>& out) : schema_(schema), out_(out) {}

  Status all() {
    if (schema_[0].type) return corrupt({.expected = "a group at the root of the schema", .got = "a column"});
    HEADRACE_TRY(children(schema_[0].children, {}));
    if (next_ == schema_.size()) return {};
    return corrupt("expected a schema of one tree, but " + std::to_string(schema_.size() - next_) +
                   " elements are left over");
  }

 private:
  Status children(uint32_t count, const Around& around) {
    for (uint32_t i = 0; i < count; ++i) HEADRACE_TRY(element(around));
    return {};
  }

  Result<const SchemaElement*> take(int depth) {
    if (next_ >= schema_.size())
      return corrupt("expected as many columns as the schema's groups state, but it ends");
    if (depth > kMaxDepth || out_.size() >= kMaxColumns + num_lists_ || next_ > kMaxElements ||
        names_ > kMaxNames)
      return Status(Code::exhausted, "has more than " + std::to_string(kMaxColumns) + " columns or " +
                                         std::to_string(kMaxDepth) + " levels, or names of 16 MiB");
    const SchemaElement& out = schema_[next_++];
    if (out.type && out.children != 0)
      return corrupt({.expected = "no children of column '" + std::string(out.name.substr(0, 100)) + "'",
                      .got = std::to_string(out.children)});
    return &out;
  }

  Result<Around> inside(const Around& around, const SchemaElement& element, bool named = true) {
    Around out = around;
    ++out.depth;
    if (named) {
      if (!out.name.empty()) out.name += '/';
      out.name += element.name;
      names_ += out.name.size();
    }
    if (out.name.size() > kMaxName)
      return corrupt(
          {.expected = "names of at most " + std::to_string(kMaxName) + " bytes",
           .got = "one of " + std::to_string(out.name.size()) + ", '" + out.name.substr(0, 100) + "…'"});
    if (element.repetition != Repetition::required) ++out.def;
    if (element.repetition == Repetition::repeated) out.list_def.push_back(out.def);
    return out;
  }

  Status element(const Around& around) {
    HEADRACE_ASSIGN(const SchemaElement* element, take(around.depth));
    HEADRACE_ASSIGN(const Around in, inside(around, *element));
    return of(*element, in);
  }

  // REQUIRES: `in` includes it.
  Status of(const SchemaElement& element, const Around& in) {
    if (element.type) return leaf(element, in);
    if (element.meaning == Meaning::map) return refuse(element, in, "maps");
    if (element.meaning == Meaning::list && element.repetition != Repetition::repeated)
      return list(element, in);
    const bool in_list = !in.list_def.empty();
    if (in_list) return refuse(element, in, "lists of structs");
    return structure(element, in);
  }

  Status structure(const SchemaElement& element, const Around& in) {
    const size_t first = out_.size();
    HEADRACE_TRY(children(element.children, in));
    take_for_image(first, in.name);
    return {};
  }

  // {bytes, path}, as Hugging Face stores images: the bytes are the field itself.
  void take_for_image(size_t first, const std::string& name) {
    if (out_.size() != first + 2) return;
    Column *bytes = &out_[first], *path = &out_[first + 1];
    if (path->name == name + "/bytes") std::swap(bytes, path);
    const auto is = [&](const Column& column, std::string_view member, DType dtype) {
      return column.name == name + "/" + std::string(member) && column.refused.empty() &&
             column.dtype == dtype && column.lists.empty();
    };
    if (!is(*bytes, "bytes", DType::bytes) || !is(*path, "path", DType::str)) return;
    bytes->name = name;
    path->null_is_empty = true;
  }

  // The three layouts of lists, by the rules of Parquet's LogicalTypes.md.
  Status list(const SchemaElement& element, const Around& in) {
    if (element.children != 1)
      return corrupt(
          {.expected = "one child of list '" + in.name + "'", .got = std::to_string(element.children)});
    HEADRACE_ASSIGN(const SchemaElement* repeated, take(in.depth));
    if (repeated->repetition != Repetition::repeated)
      return corrupt({.expected = "a repeated child of list '" + in.name + "'", .got = "one that is not"});
    HEADRACE_ASSIGN(const Around items, inside(in, *repeated, false));
    if (repeated->type) return leaf(*repeated, items);
    if (repeated->meaning == Meaning::list) return list(*repeated, items);
    if (repeated->meaning == Meaning::map) return refuse(*repeated, items, "maps");
    const bool is_struct = repeated->children != 1 || repeated->name == "array" ||
                           repeated->name == std::string(element.name) + "_tuple";
    if (is_struct) return refuse(*repeated, items, "lists of structs");
    HEADRACE_ASSIGN(const SchemaElement* item, take(items.depth));
    HEADRACE_ASSIGN(const Around in_item, inside(items, *item, false));
    return of(*item, in_item);
  }

  // One column for everything below, whose leaves are counted.
  Status refuse(const SchemaElement& element, const Around& in, std::string why) {
    Column column;
    column.name = in.name, column.refused = std::move(why), column.leaf = leaf_;
    HEADRACE_TRY(pass(element.children, in.depth + 1));
    out_.push_back(std::move(column));
    return {};
  }
  Status pass(uint32_t count, int depth) {
    for (uint32_t i = 0; i < count; ++i) {
      HEADRACE_ASSIGN(const SchemaElement* element, take(depth));
      if (element->type) ++leaf_;
      HEADRACE_TRY(pass(element->children, depth + 1));
    }
    return {};
  }

  Status leaf(const SchemaElement& element, const Around& in) {
    Column column;
    column.name = in.name;
    column.leaf = leaf_++;
    column.physical = *element.type;
    column.max_def = in.def;
    column.list_def = in.list_def;
    column.lists.assign(in.list_def.size(), kAny);
    column.is_list = !column.lists.empty();
    if (column.physical == Physical::fixed) {
      if (element.length < 1 || element.length > kMaxWidth)
        return corrupt(
            {.expected = "a width of 1 to " + std::to_string(kMaxWidth) + " in column '" + in.name + "'",
             .got = std::to_string(element.length)});
      column.length = static_cast<uint32_t>(element.length);
    }
    decide(element, column);
    column.type = type_of(element, column);
    if (column.is_of_texts() && column.max_rep() > 1) column.refused = "lists of lists of strings";
    if (column.is_of_texts())
      add_texts(std::move(column));
    else
      out_.push_back(std::move(column));
    return {};
  }

  // Strings of a list are two fields, like those of parse_example: the concatenated strings of a row, and
  // their lengths.
  void add_texts(Column column) {
    Column lengths = column;
    column.name += "/values", lengths.name += "/lengths";
    lengths.dtype = DType::i64, lengths.change = Change::to_length;
    ++num_lists_;
    out_.push_back(std::move(column));
    out_.push_back(std::move(lengths));
  }

  static void cannot_mean(Column& column, const char* what) {
    column.is_damaged = true;
    column.refused = std::string(what) + " cannot be stored as " + physical_name(column.physical);
  }

  static void decide(const SchemaElement& element, Column& column) {
    const Physical stored = column.physical;
    const auto is = [&](auto... types) { return ((stored == types) || ...); };
    const auto as = [&](DType dtype, Change change = Change::none) {
      column.dtype = dtype, column.change = change;
    };
    plainly(column);
    switch (element.meaning) {
      case Meaning::none: return;
      case Meaning::text: return is(Physical::bytes) ? as(DType::str) : cannot_mean(column, "a string");
      case Meaning::bson: return is(Physical::bytes) ? void() : cannot_mean(column, "BSON");
      case Meaning::map:
      case Meaning::list: return;  // without meaning on a column
      case Meaning::null:
        column.has_only_nulls = true, column.refused = "the null type";
        // May be read as NaN, until it is known better.
        return is(Physical::i32) ? as(DType::f32) : void();
      case Meaning::interval: column.refused = "intervals"; return;
      case Meaning::decimal:
        if (is(Physical::boolean, Physical::f32, Physical::f64, Physical::i96))
          return cannot_mean(column, "a decimal");
        if (column.length > 16 || element.scale < 0 || element.scale > 76)
          column.refused = "decimals of more than 128 bits";
        column.scale = element.scale, column.item = {};
        return as(DType::f64, Change::to_float);
      case Meaning::date:
        return is(Physical::i32) ? as(DType::i64, Change::widen) : cannot_mean(column, "a date");
      case Meaning::time_ms:
        return is(Physical::i32) ? as(DType::i64, Change::widen) : cannot_mean(column, "a time");
      case Meaning::time: return is(Physical::i64) ? void() : cannot_mean(column, "a time");
      case Meaning::timestamp: return is(Physical::i64) ? void() : cannot_mean(column, "a timestamp");
      case Meaning::integer: return integer(element, column);
      case Meaning::uuid:
        return is(Physical::fixed) && column.length == 16 ? void() : cannot_mean(column, "a UUID");
      case Meaning::f16:
        if (!is(Physical::fixed) || column.length != 2) return cannot_mean(column, "a float of 16 bits");
        column.item = {};
        return as(DType::f16);
    }
  }

  static std::string type_of(const SchemaElement& element, const Column& column) {
    constexpr const char* units[] = {"", "ms", "us", "ns"};
    const std::string unit = units[element.unit >= 1 && element.unit <= 3 ? element.unit : 0];
    switch (element.meaning) {
      case Meaning::decimal:
        return (element.precision > 38 ? "decimal256(" : "decimal128(") + std::to_string(element.precision) +
               ", " + std::to_string(element.scale) + ")";
      case Meaning::date: return "date32[day]";
      case Meaning::time_ms: return "time32[ms]";
      case Meaning::time: return unit.empty() ? "" : "time64[" + unit + "]";
      case Meaning::timestamp: return unit.empty() ? "" : timestamp_type(unit, element.is_utc ? "UTC" : "");
      default: return column.change == Change::from_i96 ? timestamp_type("ns", "") : "";
    }
  }

  static void plainly(Column& column) {
    constexpr DType dtypes[] = {DType::boolean, DType::i32, DType::i64,   DType::i64,
                                DType::f32,     DType::f64, DType::bytes, DType::u8};
    column.dtype = dtypes[static_cast<size_t>(column.physical)];
    if (column.physical == Physical::i96) column.change = Change::from_i96;
    if (column.physical == Physical::fixed) column.item = Shape{static_cast<int64_t>(column.length)};
  }

  static void integer(const SchemaElement& element, Column& column) {
    const bool is_long = element.bits == 64;
    if (column.physical != (is_long ? Physical::i64 : Physical::i32))
      return cannot_mean(column, "an integer of this width");
    const bool is_signed = element.is_signed;
    switch (element.bits) {
      case 8: column.dtype = is_signed ? DType::i8 : DType::u8; break;
      case 16: column.dtype = is_signed ? DType::i16 : DType::u16; break;
      case 32: column.dtype = is_signed ? DType::i32 : DType::u32; return;
      case 64: column.dtype = is_signed ? DType::i64 : DType::u64; return;
      default: return cannot_mean(column, "an integer of this width");
    }
    column.change = Change::narrow;
  }

  const std::vector<SchemaElement>& schema_;
  std::vector<Column>& out_;
  size_t next_ = 1, leaf_ = 0, names_ = 0;
  size_t num_lists_ = 0;  // of strings, each of which has a second column
};

std::vector<std::string_view> names_in(const std::vector<Column>& columns) {
  return names_of_all(columns, [](const Column& column) { return std::string_view(column.name); });
}

}  // namespace

size_t Column::value_size() const {
  if (is_text()) return sizeof(Piece);
  return physical == Physical::fixed && dtype == DType::u8 ? length : size_of(dtype);
}

size_t Column::stored_size() const {
  constexpr size_t sizes[] = {1, 4, 8, 12, 4, 8, 0, 0};
  return physical == Physical::fixed ? length : sizes[static_cast<size_t>(physical)];
}

TensorSpec Column::spec() const { return {dtype, is_list || is_text() ? item.with_front(kAny) : item}; }

Result<std::vector<Column>> read_columns(const Footer& footer) {
  std::vector<Column> out;
  HEADRACE_TRY(Walk(footer.schema, out).all());
  apply_hints(footer, out);
  return out;
}

Result<std::vector<Column>> choose_columns(std::vector<Column> columns, const std::vector<std::string>& names,
                                           std::vector<std::string>* left_out,
                                           const std::set<std::string>& known) {
  for (Column& column : columns)
    if (column.has_only_nulls && known.contains(column.name)) column.refused.clear(), column.type = kNullType;
  // A damaged column is not an unsupported type: its error must be reported.
  const auto is_served = [](const Column& column) { return column.is_damaged || column.refused.empty(); };
  std::vector<Column> chosen;
  std::set<std::string> seen;
  const auto cannot_serve = [&](const Column& column) {
    return Status(Code::unavailable, "cannot read column '" + column.name + "' (" + column.refused +
                                         "); select others with columns=: " + first_names(names_in(columns)));
  };
  const auto choose = [&](const Column& column) -> Status {
    if (column.is_damaged) return corrupt("column '" + column.name + "': " + column.refused);
    if (!seen.insert(column.name).second)
      return invalid({.expected = "each column once", .got = "'" + column.name + "' twice"});
    chosen.push_back(column);
    return {};
  };
  if (names.empty())
    for (const Column& column : columns) {
      if (is_served(column))
        HEADRACE_TRY(choose(column));
      else if (left_out)
        left_out->push_back(column.name);
    }
  for (const std::string& name : names) {
    bool found = false;
    const Column* other = nullptr;
    for (const Column& column : columns) {
      if (column.name != name && !column.name.starts_with(name + "/")) continue;
      if (!is_served(column)) {
        if (!other) other = &column;
        continue;
      }
      HEADRACE_TRY(choose(column));
      found = true;
    }
    if (!found && other) return cannot_serve(*other);
    if (!found) return no_such_column("columns", name, names_in(columns));
  }
  if (chosen.empty() && !columns.empty()) return cannot_serve(columns[0]);
  if (chosen.empty()) return corrupt({.expected = "at least one column", .got = "none"});
  return chosen;
}

}  // namespace headrace::parquet
