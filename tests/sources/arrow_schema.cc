#include "tests/sources/arrow_schema.h"

#include <algorithm>

namespace headrace::trial {
namespace {

constexpr int kMaxDepth = 16;
constexpr size_t kMaxColumns = 4096;

// Schema.fbs: the union Type.
enum Type : uint8_t {
  kNull = 1,
  kInt = 2,
  kFloat = 3,
  kBinary = 4,
  kUtf8 = 5,
  kBool = 6,
  kDecimal = 7,
  kDate = 8,
  kTime = 9,
  kTimestamp = 10,
  kInterval = 11,
  kList = 12,
  kStruct = 13,
  kUnion = 14,
  kFixedBinary = 15,
  kFixedList = 16,
  kMap = 17,
  kDuration = 18,
  kLargeBinary = 19,
  kLargeUtf8 = 20,
  kLargeList = 21,
};

Result<DType> number_type(const FlatTable& type, uint8_t kind) {
  if (kind == kFloat) {
    constexpr DType floats[] = {DType::f16, DType::f32, DType::f64};
    HEADRACE_ASSIGN(const auto precision, type.number<int16_t>(0, 0));
    if (precision < 0 || precision > 2)
      return corrupt("arrow: a float's precision is " + std::to_string(precision));
    return (floats[precision]);
  }
  HEADRACE_ASSIGN(const auto bits, type.number<int32_t>(0, 0));
  HEADRACE_ASSIGN(const auto is_signed, type.number<uint8_t>(1, 0));
  switch (bits) {
    case 8: return (is_signed ? DType::i8 : DType::u8);
    case 16: return (is_signed ? DType::i16 : DType::u16);
    case 32: return (is_signed ? DType::i32 : DType::u32);
    case 64: return (is_signed ? DType::i64 : DType::u64);
    default: return corrupt("arrow: an integer of " + std::to_string(bits) + " bits");
  }
}

// Walks the tree of fields in the order in which a record batch lists its nodes and buffers.
class Walk {
 public:
  explicit Walk(ArrowSchema* out) : out_(out) {}

  Status field(const FlatTable& field, const std::string& prefix, int depth) {
    if (depth > kMaxDepth || out_->columns.size() >= kMaxColumns)
      return Status(Code::exhausted, "arrow: more than " + std::to_string(kMaxColumns) + " columns or " +
                                         std::to_string(kMaxDepth) + " levels");
    HEADRACE_ASSIGN(const auto name, field.text(0));
    HEADRACE_ASSIGN(const auto kind, field.number<uint8_t>(2, 0));
    HEADRACE_ASSIGN(const auto type, field.table(3));
    HEADRACE_ASSIGN(const auto dictionary, field.table(4));
    HEADRACE_ASSIGN(const auto children, field.vector(5, 4));
    ArrowColumn column;
    column.name = prefix + std::string(name);
    column.node = out_->num_nodes++;
    column.buffer = out_->num_buffers;
    column.parents = parents_;
    if (!type && kind != 0) return corrupt("arrow: a column without its type: " + column.name);
    if (dictionary) return leaf(column, 2, "values in a dictionary");
    switch (kind) {
      case kInt:
      case kFloat: return fixed(column, *type, kind);
      case kLargeBinary:
      case kLargeUtf8: column.offset_size = 8; [[fallthrough]];
      case kBinary:
      case kUtf8:
        column.layout = ArrowLayout::binary;
        column.dtype = kind == kUtf8 || kind == kLargeUtf8 ? DType::str : DType::bytes;
        return leaf(column, 3, "");
      case kBool:
      case kDecimal:
      case kDate:
      case kTime:
      case kTimestamp:
      case kInterval:
      case kDuration:
      case kFixedBinary: return leaf(column, 2, "this type");
      case kNull: return leaf(column, 0, "the null type");
      case kStruct: return structure(field, column, children, depth);
      case kLargeList: column.offset_size = 8; [[fallthrough]];
      case kList:
      case kMap: return nested(field, column, children, 2, depth);
      case kFixedList: return nested(field, column, children, 1, depth);
      default:
        return Status(Code::unavailable,
                      "arrow: cannot read columns of type " + std::to_string(kind) + ": " + column.name);
    }
  }

 private:
  Status leaf(ArrowColumn& column, uint32_t num_buffers, std::string refused) {
    out_->num_buffers += num_buffers;
    column.refused = std::move(refused);
    out_->columns.push_back(std::move(column));
    return {};
  }

  Status fixed(ArrowColumn& column, const FlatTable& type, uint8_t kind) {
    HEADRACE_ASSIGN(const auto dtype, number_type(type, kind));
    column.dtype = dtype;
    column.layout = ArrowLayout::fixed;
    return leaf(column, 2, "");
  }

  Status structure(const FlatTable& field, ArrowColumn& column, const FlatVector& children, int depth) {
    ++out_->num_buffers;
    parents_.push_back(column.node);
    for (uint32_t i = 0; i < children.count; ++i) {
      HEADRACE_ASSIGN(const FlatTable child, field.element(children, i));
      HEADRACE_TRY(this->field(child, column.name + "/", depth + 1));
    }
    parents_.pop_back();
    return {};
  }

  // A list of numbers is served. Of any other nested type the nodes and buffers are counted, and it stays one
  // column.
  Status nested(const FlatTable& field, ArrowColumn& column, const FlatVector& children, uint32_t num_buffers,
                int depth) {
    const size_t before = out_->columns.size();
    out_->num_buffers += num_buffers;
    std::vector<uint32_t> parents = std::move(parents_);
    for (uint32_t i = 0; i < children.count; ++i) {
      HEADRACE_ASSIGN(const FlatTable child, field.element(children, i));
      HEADRACE_TRY(this->field(child, column.name + "/", depth + 1));
    }
    parents_ = std::move(parents);
    const bool numbers = num_buffers == 2 && out_->columns.size() == before + 1 &&
                         out_->columns[before].layout == ArrowLayout::fixed &&
                         out_->columns[before].node == column.node + 1;
    if (numbers) {
      column.layout = ArrowLayout::list;
      column.dtype = out_->columns[before].dtype;
    } else {
      column.refused = "this nested type";
    }
    out_->columns.resize(before);
    out_->columns.push_back(std::move(column));
    return {};
  }

  ArrowSchema* out_;
  std::vector<uint32_t> parents_;  // the structs around the field that is read
};

}  // namespace

Result<ArrowSchema> read_arrow_schema(const FlatTable& schema) {
  HEADRACE_ASSIGN(const auto endianness, schema.number<int16_t>(0, 0));
  if (endianness != 0) return Status(Code::unavailable, "arrow: the file's numbers are big-endian");
  HEADRACE_ASSIGN(const auto fields, schema.vector(1, 4));
  ArrowSchema out;
  Walk walk(&out);
  for (uint32_t i = 0; i < fields.count; ++i) {
    HEADRACE_ASSIGN(const FlatTable field, schema.element(fields, i));
    HEADRACE_TRY(walk.field(field, "", 0));
  }
  return out;
}

Result<std::vector<ArrowColumn>> choose_columns(const ArrowSchema& schema,
                                                const std::vector<std::string>& names) {
  std::vector<ArrowColumn> chosen;
  const auto choose = [&](const ArrowColumn& column) -> Status {
    if (!column.refused.empty())
      return Status(Code::unavailable, "arrow: cannot serve " + column.refused + ", column " + column.name);
    chosen.push_back(column);
    return {};
  };
  if (names.empty())
    for (const ArrowColumn& column : schema.columns) HEADRACE_TRY(choose(column));
  for (const std::string& name : names) {
    const auto it = std::find_if(schema.columns.begin(), schema.columns.end(),
                                 [&](const ArrowColumn& column) { return column.name == name; });
    if (it == schema.columns.end()) return invalid("arrow: no column " + name);
    HEADRACE_TRY(choose(*it));
  }
  if (chosen.empty()) return corrupt("arrow: the file has no columns");
  return chosen;
}

Schema sample_schema(const std::vector<ArrowColumn>& columns) {
  std::vector<std::string> names;
  std::vector<TensorSpec> specs;
  for (const ArrowColumn& column : columns) {
    names.push_back(column.name);
    specs.push_back({column.dtype, column.layout == ArrowLayout::fixed ? Shape{} : Shape{kAny}});
  }
  return Schema::of(std::move(names), std::move(specs));
}

}  // namespace headrace::trial
