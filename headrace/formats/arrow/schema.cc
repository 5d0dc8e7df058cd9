#include "headrace/formats/arrow/schema.h"

#include <algorithm>
#include <set>

#include "headrace/core/text/closest.h"
#include "headrace/formats/arrow/type_ids.h"
#include "headrace/formats/columns.h"
#include "headrace/formats/meaning/class_lists.h"
#include "headrace/formats/meaning/logical_type.h"
#include "headrace/formats/options.h"

namespace headrace::arrow {
namespace {

constexpr int kMaxDepth = 16;
constexpr size_t kMaxColumns = 4096;
constexpr int32_t kMaxWidth = 1 << 26;

enum MetadataOf : uint8_t { kOfSchema = 2, kOfField = 6 };

// The value of a key in a table's own metadata; empty when there is none.
Result<std::string_view> own_text(const FlatTable& table, MetadataOf where, std::string_view wanted) {
  HEADRACE_ASSIGN(const auto pairs, table.vector(where, 4));
  for (uint32_t i = 0; i < pairs.count; ++i) {
    HEADRACE_ASSIGN(const FlatTable pair, table.element(pairs, i));
    HEADRACE_ASSIGN(const auto key, pair.text(0));
    if (key == wanted) return pair.text(1);
  }
  return std::string_view();
}

// The same as a JSON object. Rows can be read without it, so damage of it is not an error: null then.
Value own_object(const FlatTable& table, MetadataOf where, std::string_view key) {
  const auto text = own_text(table, where, key);
  if (!text.ok() || text->empty()) return {};
  const auto value = Value::parse(*text);
  return value.ok() && value->object() ? *value : Value();
}

bool in_order(const Value& permutation) {
  if (permutation.is_null()) return true;
  for (int64_t i = 0; permutation.list() && i < std::ssize(*permutation.list()); ++i)
    if ((*permutation.list())[static_cast<size_t>(i)] != Value(i)) return false;
  return permutation.list() != nullptr;
}

// The shape that the tensor extension gives to `count` numbers; nothing if it gives none, or permutes
// dimensions.
std::optional<Shape> tensor_shape(const FlatTable& field, int64_t count) {
  const auto name = own_text(field, kOfField, kExtensionName);
  if (!name.ok() || *name != kTensorExtension) return std::nullopt;
  const Value about = own_object(field, kOfField, kExtensionMetadata);
  const Value* dims = about.find("shape");
  if (!dims || !dims->list() || dims->list()->empty() || dims->list()->size() >= kMaxRank)
    return std::nullopt;
  if (const Value* order = about.find("permutation"); order && !in_order(*order)) return std::nullopt;
  Shape out;
  for (auto dim = dims->list()->rbegin(); dim != dims->list()->rend(); ++dim) {
    if (!dim->integer() || *dim->integer() < 0) return std::nullopt;
    out = out.with_front(*dim->integer());
  }
  return out.count() == count ? std::optional(out) : std::nullopt;
}

Result<DType> int_type(const FlatTable& type) {
  HEADRACE_ASSIGN(const auto bits, type.number<int32_t>(0, 0));
  HEADRACE_ASSIGN(const auto is_signed, type.number<uint8_t>(1, 0));
  switch (bits) {
    case 8: return is_signed ? DType::i8 : DType::u8;
    case 16: return is_signed ? DType::i16 : DType::u16;
    case 32: return is_signed ? DType::i32 : DType::u32;
    case 64: return is_signed ? DType::i64 : DType::u64;
    default: return corrupt({.expected = "an integer of 8 to 64 bits", .got = std::to_string(bits)});
  }
}

Result<DType> float_type(const FlatTable& type) {
  constexpr DType floats[] = {DType::f16, DType::f32, DType::f64};
  HEADRACE_ASSIGN(const auto precision, type.number<int16_t>(0, 0));
  if (precision < 0 || precision > 2)
    return corrupt({.expected = "a float precision of 0 to 2", .got = std::to_string(precision)});
  return floats[precision];
}

// Days since 1970 have 32 bits, milliseconds 64; a time of day has the width of its type.
Result<DType> date_type(const FlatTable& type, uint8_t kind) {
  if (kind == kDate) {
    HEADRACE_ASSIGN(const auto unit, type.number<int16_t>(0, 1));
    return unit == 0 ? DType::i32 : DType::i64;
  }
  HEADRACE_ASSIGN(const auto bits, type.number<int32_t>(1, 32));
  return bits == 32 ? DType::i32 : DType::i64;
}

// As Arrow writes it; "" for an unknown unit.
Result<std::string> time_type(const FlatTable& type, uint8_t kind, DType stored) {
  const std::string bits = stored == DType::i32 ? "32" : "64";
  if (kind == kDate) return "date" + bits + (stored == DType::i32 ? "[day]" : "[ms]");
  constexpr const char* units[] = {"s", "ms", "us", "ns"};
  HEADRACE_ASSIGN(const auto unit, type.number<int16_t>(0, kind == kTimestamp ? 0 : 1));
  if (unit < 0 || unit > 3) return std::string();
  if (kind == kTime) return "time" + bits + "[" + units[unit] + "]";
  if (kind == kDuration) return "duration[" + std::string(units[unit]) + "]";
  HEADRACE_ASSIGN(const auto zone, type.text(1));
  constexpr size_t kMostZone = 100;
  const bool is_name =
      zone.size() <= kMostZone && std::ranges::all_of(zone, [](char c) { return c > ' ' && c < '\x7f'; });
  return timestamp_type(units[unit], is_name ? zone : "?");
}

constexpr size_t kMaxName = 4096;  // with those of the structs around it

// Walks the tree of fields in the order in which a record batch lists its nodes and buffers.
class Walk {
 public:
  Walk(Layout* out, int version) : out_(out), version_(version) {}

  Status fields(const FlatTable& table, const FlatVector& fields, const std::string& prefix, int depth) {
    for (uint32_t i = 0; i < fields.count; ++i) {
      HEADRACE_ASSIGN(const FlatTable field, table.element(fields, i));
      HEADRACE_TRY(this->field(field, prefix, depth));
    }
    return {};
  }

  Status field(const FlatTable& field, const std::string& prefix, int depth) {
    if (depth > kMaxDepth || ++seen_ > kMaxColumns)
      return Status(Code::exhausted, "has more than " + std::to_string(kMaxColumns) + " columns or " +
                                         std::to_string(kMaxDepth) + " levels");
    HEADRACE_ASSIGN(const auto name, field.text(0));
    HEADRACE_ASSIGN(const auto kind, field.number<uint8_t>(2, 0));
    HEADRACE_ASSIGN(const auto type, field.table(3));
    HEADRACE_ASSIGN(const auto dictionary, field.table(4));
    if (!type)
      return corrupt(
          {.expected = "a type for column '" + std::string(name.substr(0, 100)) + "'", .got = "none"});
    Column column;
    column.name = prefix + std::string(name);
    if (column.name.size() > kMaxName)
      return corrupt({.expected = "names of at most " + std::to_string(kMaxName) + " bytes",
                      .got = "one of " + std::to_string(column.name.size()) + ", '" +
                             column.name.substr(0, 100) + "…'"});
    column.rows = parents_;
    if (dictionary) return encoded(field, *dictionary, column, depth);
    return of_type(field, *type, kind, column, depth);
  }

 private:
  BufferAt next_buffers(uint32_t count) {
    const BufferAt at{out_->num_buffers, out_->num_views};
    out_->num_buffers += count;
    return at;
  }
  static BufferAt after(BufferAt at, uint32_t count) { return {at.fixed + count, at.views}; }

  // Adds a node whose first buffer is its bitmap, also to the nodes of the column's rows.
  BufferAt begin(Column& column, uint32_t num_buffers) {
    const BufferAt at = next_buffers(num_buffers);
    column.rows.push_back({out_->num_nodes++, at});
    return at;
  }
  Status keep(Column column) {
    out_->columns.push_back(std::move(column));
    return {};
  }
  Status refuse(Column& column, uint32_t num_buffers, std::string why) {
    begin(column, num_buffers);
    column.refused = std::move(why);
    return keep(std::move(column));
  }

  Status of_type(const FlatTable& field, const FlatTable& type, uint8_t kind, Column& column, int depth) {
    switch (kind) {
      case kInt: {
        HEADRACE_ASSIGN(const DType dtype, int_type(type));
        return fixed(column, dtype, dtype);
      }
      case kFloat: {
        HEADRACE_ASSIGN(const DType dtype, float_type(type));
        return fixed(column, dtype, dtype);
      }
      case kBool: column.bits = true; return fixed(column, DType::boolean, DType::boolean);
      case kDate:
      case kTime: {
        HEADRACE_ASSIGN(const DType stored, date_type(type, kind));
        HEADRACE_ASSIGN(column.type, time_type(type, kind, stored));
        return fixed(column, DType::i64, stored);
      }
      case kTimestamp:
      case kDuration: {
        HEADRACE_ASSIGN(column.type, time_type(type, kind, DType::i64));
        return fixed(column, DType::i64, DType::i64);
      }
      case kFixedBinary: {
        HEADRACE_ASSIGN(const auto width, type.number<int32_t>(0, 0));
        HEADRACE_TRY(widen(column, width));
        return fixed(column, DType::u8, DType::u8);
      }
      case kBinary: return text(column, DType::bytes, 4);
      case kUtf8: return text(column, DType::str, 4);
      case kLargeBinary: return text(column, DType::bytes, 8);
      case kLargeUtf8: return text(column, DType::str, 8);
      case kStruct: return structure(field, column, depth);
      case kList: return list(field, column, 4, depth);
      case kLargeList: return list(field, column, 8, depth);
      case kFixedList: return fixed_list(field, type, column, depth);
      default: return other(field, type, kind, column, depth);
    }
  }

  Status other(const FlatTable& field, const FlatTable& type, uint8_t kind, Column& column, int depth) {
    const bool old = version_ < 4;  // before V5 unions had a bitmap
    switch (kind) {
      case kNull:
        column.has_only_nulls = true;
        column.dtype = column.stored = DType::f64;  // which may be read as NaN, until it is known better
        return refuse(column, 0, "the null type");
      case kDecimal: return refuse(column, 2, "decimals");
      case kInterval: return refuse(column, 2, "intervals");
      case kBinaryView: return view(column, DType::bytes);
      case kUtf8View: return view(column, DType::str);
      case kMap: return opaque(field, column, 2, "maps", depth);
      case kListView:
      case kLargeListView: return opaque(field, column, 3, "list views", depth);
      case kRunEnds: return opaque(field, column, 0, "run-end encoding", depth);
      case kUnion: {
        HEADRACE_ASSIGN(const auto mode, type.number<int16_t>(0, 0));
        return opaque(field, column, (mode == 0 ? 1 : 2) + (old ? 1 : 0), "unions", depth);
      }
      default:
        return Status(Code::unavailable,
                      "cannot read column '" + column.name + "' of type " + std::to_string(kind));
    }
  }

  static Status widen(Column& column, int32_t count) {
    if (count < 0 || count > kMaxWidth)
      return corrupt(
          {.expected = "a width of 0 to " + std::to_string(kMaxWidth) + " in column '" + column.name + "'",
           .got = std::to_string(count)});
    if (column.item.rank() + 2 > kMaxRank || column.item.count() > kMaxWidth / std::max(count, 1))
      column.refused = "fixed-size lists this large or this deeply nested";
    else
      column.item = column.item.with_front(count);
    return {};
  }

  Status fixed(Column& column, DType dtype, DType stored) {
    column.dtype = dtype, column.stored = stored;
    column.values = after(begin(column, 2), 1);
    return keep(std::move(column));
  }

  Status text(Column& column, DType dtype, int offset_size) {
    column.dtype = column.stored = dtype, column.offset_size = offset_size;
    const BufferAt at = begin(column, 3);
    column.offsets = after(at, 1), column.values = after(at, 2);
    return keep(std::move(column));
  }

  Status view(Column& column, DType dtype) {
    column.dtype = column.stored = dtype, column.is_view = true;
    column.offsets = after(begin(column, 2), 1);
    ++out_->num_views;
    return keep(std::move(column));
  }

  Status structure(const FlatTable& field, Column& column, int depth) {
    HEADRACE_ASSIGN(const auto children, field.vector(5, 4));
    begin(column, 1);
    const std::vector<NodeAt> outside = std::exchange(parents_, column.rows);
    HEADRACE_TRY(fields(field, children, column.name + "/", depth + 1));
    parents_ = outside;
    return {};
  }

  // The columns of the children of `field` alone; they are removed from the layout again.
  Result<std::vector<Column>> children_of(const FlatTable& field, int depth) {
    HEADRACE_ASSIGN(const auto children, field.vector(5, 4));
    const size_t before = out_->columns.size();
    const std::vector<NodeAt> outside = std::exchange(parents_, {});
    HEADRACE_TRY(fields(field, children, "", depth + 1));
    parents_ = outside;
    const auto first = out_->columns.begin() + static_cast<ptrdiff_t>(before);
    std::vector<Column> out(std::make_move_iterator(first), std::make_move_iterator(out_->columns.end()));
    out_->columns.resize(before);
    return out;
  }

  Status opaque(const FlatTable& field, Column& column, uint32_t num_buffers, std::string why, int depth) {
    begin(column, num_buffers);
    HEADRACE_ASSIGN(const auto children, children_of(field, depth));
    (void)children;  // their nodes and buffers are counted, their values not read
    column.refused = std::move(why);
    return keep(std::move(column));
  }

  // Whether there is one child, and it holds strings.
  static bool are_texts(const std::vector<Column>& children) {
    if (children.size() != 1) return false;
    const Column& child = children[0];
    return is_text(child.dtype) && child.is_list() && !child.dictionary && child.refused.empty() &&
           child.rows.size() == 1;
  }

  Status list_of_texts(Column& column, const Column& text) {
    column.text_size = text.offset_size, column.texts = text.offsets, column.values = text.values;
    column.items = text.rows[0];
    Column lengths = column;
    column.name += "/values", column.dtype = column.stored = text.dtype;
    lengths.name += "/lengths", lengths.dtype = lengths.stored = DType::i64, lengths.is_lengths = true;
    HEADRACE_TRY(keep(std::move(column)));
    return keep(std::move(lengths));
  }

  // Takes the numbers of its only child into the list `column`. False when that is not plain numbers.
  static bool take_numbers(Column& column, const std::vector<Column>& children) {
    if (children.size() != 1) return false;
    const Column& child = children[0];
    if (child.has_runs() || child.dictionary || !child.refused.empty() || child.rows.size() != 1)
      return false;
    column.dtype = child.dtype, column.stored = child.stored, column.bits = child.bits;
    column.type = child.type;
    column.item = child.item, column.values = child.values, column.between = child.between;
    if (child.items) column.between.push_back(child.rows[0].node);
    column.items = child.items ? child.items : child.rows[0];
    return true;
  }

  Status list(const FlatTable& field, Column& column, int offset_size, int depth) {
    column.offset_size = offset_size;
    column.offsets = after(begin(column, 2), 1);
    HEADRACE_ASSIGN(const auto children, children_of(field, depth));
    if (are_texts(children)) return list_of_texts(column, children[0]);
    if (!take_numbers(column, children)) column.refused = "lists of values other than numbers and strings";
    // Lists that are all empty.
    if (children.size() == 1 && children[0].has_only_nulls && children[0].rows.size() == 1)
      column.has_only_nulls = true;
    return keep(std::move(column));
  }

  Status fixed_list(const FlatTable& field, const FlatTable& type, Column& column, int depth) {
    HEADRACE_ASSIGN(const auto count, type.number<int32_t>(0, 0));
    begin(column, 1);
    HEADRACE_ASSIGN(const auto children, children_of(field, depth));
    if (!take_numbers(column, children)) column.refused = "fixed-size lists of values other than numbers";
    const bool is_flat = column.item.rank() == 0;
    HEADRACE_TRY(widen(column, count));
    if (const auto shape = tensor_shape(field, count); shape && is_flat && column.refused.empty())
      column.item = *shape;
    return keep(std::move(column));
  }

  // A dictionary index for each row; the field's own type is that of the dictionary's values.
  Status encoded(const FlatTable& field, const FlatTable& dictionary, Column& column, int depth) {
    HEADRACE_ASSIGN(const auto id, dictionary.number<int64_t>(0, 0));
    HEADRACE_ASSIGN(const auto places, dictionary.table(1));
    DType place = DType::i32;
    if (places) {
      HEADRACE_ASSIGN(place, int_type(*places));
    }
    HEADRACE_ASSIGN(const auto kind, field.number<uint8_t>(2, 0));
    HEADRACE_ASSIGN(const auto type, field.table(3));
    column.dictionary = id;
    if (kind == kStruct) {  // not walked: structs of dictionaries of structs would multiply
      column.refused = "dictionaries of structs";
      return fixed(column, place, place);
    }
    Layout own;
    Column values;
    values.name = column.name;
    Walk inner(&own, version_);
    inner.seen_ = seen_;
    HEADRACE_TRY(inner.of_type(field, *type, kind, values, depth + 1));
    seen_ = inner.seen_;
    if (own.columns.size() != 1)
      column.refused = "dictionaries of structs or of lists of strings";
    else if (!own.columns[0].refused.empty())
      column.refused = own.columns[0].refused;
    else
      column.type = own.columns[0].type,
      column.entries = std::make_shared<const std::vector<Column>>(std::move(own.columns));
    return fixed(column, place, place);
  }

  Layout* out_;
  int version_;
  size_t seen_ = 0;
  std::vector<NodeAt> parents_;  // the structs around the current field
};

}  // namespace

TensorSpec Column::spec() const {
  if (entries) return entries->front().spec();
  return {dtype, has_runs() ? item.with_front(kAny) : item};
}

Result<Layout> read_layout(const FlatTable& schema, int version) {
  HEADRACE_ASSIGN(const auto endianness, schema.number<int16_t>(0, 0));
  if (endianness != 0)
    return Status(Code::unavailable, {.expected = "little-endian numbers", .got = "big-endian ones"});
  HEADRACE_ASSIGN(const auto fields, schema.vector(1, 4));
  Layout out;
  HEADRACE_TRY(Walk(&out, version).fields(schema, fields, "", 0));
  return out;
}

Value written_about(const FlatTable& schema) {
  Value about = own_object(schema, kOfSchema, kAboutKey);
  if (!about.is_null()) return about;
  const auto described = own_text(schema, kOfSchema, "huggingface");
  return described.ok() ? huggingface_classes(*described) : Value();
}

namespace {

// Names of the columns that can be read.
std::vector<std::string_view> served_names(const Layout& layout) {
  std::vector<std::string_view> out;
  for (const Column& column : layout.columns)
    if (column.refused.empty()) out.push_back(column.name);
  return out;
}

}  // namespace

Result<std::vector<Column>> choose_columns(Layout layout, const std::vector<std::string>& names,
                                           std::vector<std::string>* left_out,
                                           const std::set<std::string>& known) {
  for (Column& column : layout.columns)
    if (column.has_only_nulls && known.contains(column.name)) column.refused.clear(), column.type = kNullType;
  std::vector<Column> chosen;
  std::set<std::string> seen;
  const std::vector<std::string_view> served = served_names(layout);
  const auto choose = [&](const Column& column) -> Status {
    if (!column.refused.empty())
      return Status(Code::unavailable, "cannot read column '" + column.name + "' (" + column.refused +
                                           "); select others with columns=: " +
                                           (served.empty() ? "there is none" : first_names(served)));
    if (!seen.insert(column.name).second)
      return invalid({.expected = "each column once", .got = "'" + column.name + "' twice"});
    chosen.push_back(column);
    return {};
  };
  const bool any_served =
      std::ranges::any_of(layout.columns, [](const Column& column) { return column.refused.empty(); });
  if (names.empty())
    for (const Column& column : layout.columns) {
      if (column.refused.empty() || !any_served)
        HEADRACE_TRY(choose(column));
      else if (left_out)
        left_out->push_back(column.name);
    }
  for (const std::string& name : names) {
    bool found = false;
    for (const Column& column : layout.columns) {
      if (column.name != name && !column.name.starts_with(name + "/")) continue;
      HEADRACE_TRY(choose(column));
      found = true;
    }
    if (!found) return no_such_column("columns", name, served);
  }
  if (chosen.empty()) return corrupt({.expected = "at least one column", .got = "none"});
  return chosen;
}

}  // namespace headrace::arrow
