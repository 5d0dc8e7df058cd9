#include "headrace/formats/arrow/writing/new_messages.h"

#include <flatbuffers/flatbuffer_builder.h>

#include "headrace/formats/arrow/type_ids.h"

namespace headrace::arrow {
namespace {

using flatbuffers::FlatBufferBuilder;
using Offset = flatbuffers::Offset<void>;

// Tables of Schema.fbs, Message.fbs and File.fbs; fields are identified by their number there.
class NewTable {
 public:
  explicit NewTable(FlatBufferBuilder& builder) : builder_(builder), start_(builder.StartTable()) {}
  template <class T> NewTable& number(int field, T value) {
    builder_.AddElement(slot(field), value);
    return *this;
  }
  template <class T> NewTable& offset(int field, flatbuffers::Offset<T> offset) {
    builder_.AddOffset(slot(field), offset);
    return *this;
  }
  Offset end() { return Offset(builder_.EndTable(start_)); }

 private:
  static flatbuffers::voffset_t slot(int field) {
    return flatbuffers::FieldIndexToOffset(static_cast<flatbuffers::voffset_t>(field));
  }
  FlatBufferBuilder& builder_;
  flatbuffers::uoffset_t start_;
};

std::string_view text_of(const FlatBufferBuilder& builder) {
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

template <class T> std::string number_bytes(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

struct TypeOf {
  uint8_t kind = 0;
  Offset table;
};

TypeOf number_type(FlatBufferBuilder& builder, DType dtype) {
  if (dtype == DType::boolean) return {kBool, NewTable(builder).end()};
  if (is_float(dtype)) {
    const int16_t precision = dtype == DType::f16 ? 0 : dtype == DType::f32 ? 1 : 2;
    return {kFloat, NewTable(builder).number(0, precision).end()};
  }
  const auto bits = static_cast<int32_t>(8 * size_of(dtype));
  const uint8_t is_signed = dtype >= DType::i8;
  return {kInt, NewTable(builder).number(0, bits).number(1, is_signed).end()};
}

TypeOf text_type(FlatBufferBuilder& builder, DType dtype, bool is_large) {
  const uint8_t kind =
      dtype == DType::str ? (is_large ? kLargeUtf8 : kUtf8) : (is_large ? kLargeBinary : kBinary);
  return {kind, NewTable(builder).end()};
}

TypeOf list_type(FlatBufferBuilder& builder, int64_t size, bool is_large) {
  if (size != kAny) return {kFixedList, NewTable(builder).number(0, static_cast<int32_t>(size)).end()};
  return {is_large ? kLargeList : kList, NewTable(builder).end()};
}

Offset pairs_of(FlatBufferBuilder& builder, const About& about) {
  std::vector<Offset> pairs;
  for (const auto& [key, value] : about) {
    const auto name = builder.CreateString(key), text = builder.CreateString(value);
    pairs.push_back(NewTable(builder).offset(0, name).offset(1, text).end());
  }
  return Offset(builder.CreateVector(pairs).o);
}

// Extension metadata that gives the shape of the numbers.
About extension_of(const NewColumn& column) {
  if (!column.is_tensor()) return {};
  Value::List shape;
  for (const int64_t dim : column.spec().shape.dims()) shape.emplace_back(dim);
  return {{kExtensionName, kTensorExtension},
          {kExtensionMetadata, Value(Value::Object{{"shape", std::move(shape)}}).dump()}};
}

// Nested lists, the innermost of numbers. List values are called "item", and everything is nullable, as in
// pyarrow, which treats schemas that differ in that as different.
Offset field_of(FlatBufferBuilder& builder, const std::string& name, const NewColumn& column, int level) {
  const DType dtype = column.spec().dtype;
  const Shape levels = column.levels();
  const bool is_leaf = level == levels.rank();
  std::vector<Offset> children;
  if (!is_leaf) children.push_back(field_of(builder, "item", column, level + 1));
  const auto items = builder.CreateVector(children);
  const auto label = builder.CreateString(name);
  const TypeOf type = !is_leaf         ? list_type(builder, levels[level], column.is_large())
                      : is_text(dtype) ? text_type(builder, dtype, column.is_large())
                                       : number_type(builder, dtype);
  const Offset pairs = pairs_of(builder, level == 0 ? extension_of(column) : About());
  const uint8_t may_be_null = 1;
  return NewTable(builder)
      .offset(0, label)
      .number(1, may_be_null)
      .number(2, type.kind)
      .offset(3, type.table)
      .offset(5, items)
      .offset(6, pairs)
      .end();
}

using Paths = std::span<const std::vector<std::string>>;

// The columns as fields of the schema or struct at `depth`, with structs for longer paths.
std::vector<Offset> members_of(FlatBufferBuilder& builder, std::span<const NewColumn> columns, Paths paths,
                               size_t depth) {
  std::vector<Offset> out;
  for (size_t i = 0; i < columns.size();) {
    const std::string& name = paths[i][depth];
    if (paths[i].size() == depth + 1) {
      out.push_back(field_of(builder, name, columns[i++], 0));
      continue;
    }
    size_t end = i + 1;
    while (end < columns.size() && paths[end].size() > depth + 1 && paths[end][depth] == name) ++end;
    const size_t count = end - i;
    const auto members = builder.CreateVector(
        members_of(builder, columns.subspan(i, count), paths.subspan(i, count), depth + 1));
    const auto label = builder.CreateString(name);
    const Offset type = NewTable(builder).end();
    const uint8_t may_be_null = 1;
    out.push_back(NewTable(builder)
                      .offset(0, label)
                      .number(1, may_be_null)
                      .number(2, uint8_t{kStruct})
                      .offset(3, type)
                      .offset(5, members)
                      .end());
    i = end;
  }
  return out;
}

Offset put_schema(FlatBufferBuilder& builder, std::span<const NewColumn> columns, const About& about,
                  Paths paths) {
  const std::vector<Offset> fields = members_of(builder, columns, paths, 0);
  const auto all_fields = builder.CreateVector(fields);
  const Offset pairs = pairs_of(builder, about);
  const int16_t little_endian = 0;
  return NewTable(builder).number(0, little_endian).offset(1, all_fields).offset(2, pairs).end();
}

std::vector<std::vector<std::string>> names_of(std::span<const NewColumn> columns) {
  std::vector<std::vector<std::string>> out;
  for (const NewColumn& column : columns) out.push_back({column.name()});
  return out;
}

constexpr int16_t kVersion5 = 4;

std::string message(FlatBufferBuilder& builder, Message::Kind kind, Offset header, uint64_t body) {
  builder.Finish(NewTable(builder)
                     .number(0, kVersion5)
                     .number(1, static_cast<uint8_t>(kind))
                     .offset(2, header)
                     .number(3, static_cast<int64_t>(body))
                     .end());
  const size_t length = (builder.GetSize() + 7) / 8 * 8;
  std::string out = number_bytes(~uint32_t{0}) + number_bytes(static_cast<uint32_t>(length));
  out += text_of(builder);
  out.resize(kPrefix + length);
  return out;
}

}  // namespace

std::string schema_message(std::span<const NewColumn> columns, const About& about) {
  return schema_message(columns, about, names_of(columns));
}

std::string schema_message(std::span<const NewColumn> columns, const About& about, Paths paths) {
  FlatBufferBuilder builder;
  return message(builder, Message::schema, put_schema(builder, columns, about, paths), 0);
}

std::string batch_message(uint64_t rows, std::span<const Node> nodes, std::span<const Piece> pieces,
                          Codec codec, uint64_t body) {
  FlatBufferBuilder builder;
  const auto all_nodes = builder.CreateVectorOfStructs(nodes.data(), nodes.size());
  const auto all_pieces = builder.CreateVectorOfStructs(pieces.data(), pieces.size());
  Offset compression;
  if (codec != Codec::none) compression = NewTable(builder).number(0, static_cast<int8_t>(codec)).end();
  NewTable batch(builder);
  batch.number(0, static_cast<int64_t>(rows)).offset(1, all_nodes).offset(2, all_pieces);
  if (codec != Codec::none) batch.offset(3, compression);
  return message(builder, Message::batch, batch.end(), body);
}

std::string end_mark() { return number_bytes(~uint32_t{0}) + number_bytes(uint32_t{0}); }

std::string file_end(std::span<const NewColumn> columns, const About& about,
                     std::span<const BatchPlace> batches) {
  FlatBufferBuilder builder;
  const auto all = builder.CreateVectorOfStructs(batches.data(), batches.size());
  const Offset schema = put_schema(builder, columns, about, names_of(columns));
  builder.Finish(NewTable(builder).number(0, kVersion5).offset(1, schema).offset(3, all).end());
  return std::string(text_of(builder)) + number_bytes(static_cast<uint32_t>(builder.GetSize())) + "ARROW1";
}

}  // namespace headrace::arrow
