#include "headrace/formats/mds/columns.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "headrace/core/little_endian.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/records/value_tensors.h"

namespace headrace::mds {
namespace {

using Kind = MdsColumn::Kind;

struct DTypeCode {
  DType dtype;
  uint8_t code;
};
constexpr std::array<DTypeCode, 11> kCodes = {{{DType::u8, 8},
                                               {DType::i8, 9},
                                               {DType::u16, 16},
                                               {DType::i16, 17},
                                               {DType::f16, 18},
                                               {DType::u32, 32},
                                               {DType::i32, 33},
                                               {DType::f32, 34},
                                               {DType::u64, 64},
                                               {DType::i64, 65},
                                               {DType::f64, 66}}};

std::optional<DType> number_named(std::string_view name) {
  const auto dtype = parse_dtype(name);
  if (!dtype.ok() || mds_dtype_code(*dtype) == 0 || name.size() < 4) return std::nullopt;  // "int8", not "i8"
  return *dtype;
}

Result<Shape> parse_shape(std::string_view text) {
  std::vector<int64_t> dims;
  while (true) {
    int64_t dim = 0;
    const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
    const auto used = static_cast<size_t>(after - text.data());
    if (error != std::errc() || dim < 1 || dims.size() == static_cast<size_t>(kMaxRank) ||
        (used < text.size() && text[used] != ','))
      return corrupt({.expected = "a shape of 1 to 8 dimensions", .got = in_quotes(text)});
    dims.push_back(dim);
    if (used == text.size()) return Shape(std::span<const int64_t>(dims));
    text.remove_prefix(used + 1);
  }
}

// "ndarray", "ndarray:int32", "ndarray:int32:2,3"; `rest`: what follows the name.
Status parse_array(std::string_view rest, MdsColumn& out) {
  out.kind = Kind::array;
  out.has_dtype = !rest.empty();
  const size_t colon = rest.find(':');
  out.has_shape = colon != std::string_view::npos;
  out.spec = {DType::u8, {kAny}};
  if (out.has_dtype) {
    const auto dtype = number_named(rest.substr(0, colon));
    if (!dtype) return corrupt({.expected = "an array of numbers", .got = in_quotes(rest.substr(0, colon))});
    out.spec.dtype = *dtype;
  }
  if (out.has_shape) {
    HEADRACE_ASSIGN(out.spec.shape, parse_shape(rest.substr(colon + 1)));
  }
  return {};
}

Status refused(std::string_view why) { return {Code::unavailable, std::string(why)}; }

Status parse_encoding(MdsColumn& out) {
  const std::string_view encoding = out.encoding;
  const std::string_view name = encoding.substr(0, encoding.find(':'));
  const std::string_view rest = name.size() < encoding.size() ? encoding.substr(name.size() + 1) : "";
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  };
  if (name == "ndarray") return parse_array(rest, out);
  if (is_one_of({"str", "json", "str_decimal"})) {
    out.kind = Kind::text, out.spec = {DType::str, {kAny}};
  } else if (name == "str_int") {
    out.kind = Kind::whole, out.spec = {DType::i64, {}};
  } else if (name == "str_float") {
    out.kind = Kind::real, out.spec = {DType::f64, {}};
  } else if (name == "int") {
    out.kind = Kind::number, out.spec = {DType::i64, {}};
  } else if (name == "pil") {
    out.kind = Kind::pixels, out.spec = {DType::u8, {kAny, kAny, kAny}};
  } else if (name == "jpeg_array") {
    out.kind = Kind::files;
  } else if (is_one_of({"list[jpeg]", "list[png]"})) {
    out.kind = Kind::list;
  } else if (name == "pkl") {
    return refused("reading it needs unpickling, which runs code from the file");
  } else if (const auto dtype = number_named(name)) {
    out.kind = Kind::number, out.spec = {*dtype, {}};
  } else if (!is_one_of({"bytes", "jpeg", "png"})) {
    return refused("this encoding is not supported");
  }
  return {};
}

// The size in bytes of each value, if it is the same for all.
std::optional<uint64_t> bytes_of(const MdsColumn& column) {
  const bool is_fixed =
      column.kind == Kind::number || (column.kind == Kind::array && column.has_dtype && column.has_shape);
  return is_fixed ? std::optional<uint64_t>(column.spec.size_bytes()) : std::nullopt;
}

Result<ArrayHead> read_array_head(const MdsColumn& column, std::span<const std::byte> bytes) {
  ArrayHead out{column.spec.dtype, column.spec.shape, 0};
  const auto is_short = [&] {
    return corrupt({.expected = "an array", .got = std::to_string(bytes.size()) + " bytes"});
  };
  if (!column.has_dtype) {
    if (bytes.empty()) return is_short();
    const auto code = std::to_integer<uint8_t>(bytes[out.data++]);
    const auto dtype = mds_dtype_of(code);
    if (!dtype)
      return corrupt({.expected = "an array of numbers", .got = "dtype code " + std::to_string(code)});
    out.dtype = *dtype;
  }
  if (!column.has_shape) {
    if (bytes.size() <= out.data) return is_short();
    const auto head = std::to_integer<uint8_t>(bytes[out.data++]);
    const int rank = head >> 2, width = 1 << (head & 3);
    if (rank > kMaxRank)
      return corrupt({.expected = "an array of at most 8 dimensions", .got = std::to_string(rank)});
    if (bytes.size() - out.data < static_cast<size_t>(rank * width)) return is_short();
    std::vector<int64_t> dims;
    for (int i = 0; i < rank; ++i, out.data += static_cast<size_t>(width)) {
      uint64_t dim = 0;
      std::memcpy(&dim, bytes.data() + out.data, static_cast<size_t>(width));
      if (dim > uint64_t{1} << 32)
        return corrupt({.expected = "a dimension of at most 2^32", .got = std::to_string(dim)});
      dims.push_back(static_cast<int64_t>(dim));
    }
    out.shape = Shape(std::span<const int64_t>(dims));
  }
  HEADRACE_TRY(check_array(out, bytes));
  return out;
}

// The lengths of several image files, and their concatenated bytes.
Status read_files(const MdsColumn& column, const Record& value, std::vector<Tensor>& fields) {
  const auto bytes = value.bytes();
  const size_t head = column.kind == Kind::list ? 8 : 4;
  if (bytes.size() < head)
    return corrupt({.expected = "images", .got = std::to_string(bytes.size()) + " bytes"});
  if (column.kind == Kind::list && load<uint32_t>(bytes) != 0)
    return corrupt(
        {.expected = "0 before the number of images", .got = std::to_string(load<uint32_t>(bytes))});
  const uint64_t count = load<uint32_t>(bytes, head - 4);
  if (count > (bytes.size() - head) / 4)
    return corrupt("expected the sizes of " + std::to_string(count) + " images, but only " +
                   std::to_string(bytes.size() - head) + " bytes are left");
  const MutableBufferPtr lengths = HeapBuffer::make(count * sizeof(int64_t));
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t length = load<uint32_t>(bytes, head + 4 * i);
    std::memcpy(lengths->mutable_data() + i * sizeof length, &length, sizeof length);
    sum += static_cast<uint64_t>(length);
  }
  const uint64_t there = bytes.size() - head - 4 * count;
  if (sum != there)
    return corrupt({.expected = std::to_string(sum) + " bytes of images", .got = std::to_string(there)});
  fields.push_back(record_part(value, bytes.size() - sum, DType::bytes, {static_cast<int64_t>(sum)}));
  fields.push_back({lengths, 0, DType::i64, {static_cast<int64_t>(count)}, nullptr});
  return {};
}

template <class T> Result<Tensor> read_digits(std::span<const std::byte> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string shown(text.substr(0, 40));
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  T value{};
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || after != text.data() + text.size())
    return corrupt({.expected = std::is_integral_v<T> ? "a 64-bit integer as text" : "a number as text",
                    .got = Value(shown).dump()});
  return scalar(value);
}

Status read_value(const MdsColumn& column, const Record& value, std::vector<Tensor>& fields) {
  const auto bytes = value.bytes();
  switch (column.kind) {
    case Kind::bytes:
    case Kind::text:
      fields.push_back(record_part(value, 0, column.spec.dtype, {static_cast<int64_t>(bytes.size())}));
      return {};
    case Kind::number: fields.push_back(record_part(value, 0, column.spec.dtype, {})); return {};
    case Kind::whole: {
      HEADRACE_ASSIGN(Tensor number, read_digits<int64_t>(bytes));
      fields.push_back(std::move(number));
      return {};
    }
    case Kind::real: {
      HEADRACE_ASSIGN(Tensor number, read_digits<double>(bytes));
      fields.push_back(std::move(number));
      return {};
    }
    case Kind::array: {
      HEADRACE_ASSIGN(const ArrayHead head, read_array_head(column, bytes));
      if (head.dtype != column.spec.dtype || head.shape.rank() != column.spec.shape.rank())
        return corrupt({.expected = column.spec.text() + " as in the first sample",
                        .got = TensorSpec{head.dtype, head.shape}.text()});
      fields.push_back(record_part(value, head.data, head.dtype, head.shape));
      return {};
    }
    case Kind::pixels: {
      HEADRACE_ASSIGN(const ArrayHead head, read_pil_head(bytes));
      if (column.spec.shape[2] != kAny && head.shape[2] != column.spec.shape[2])
        return corrupt({.expected = std::to_string(column.spec.shape[2]) + " channels as in the first image",
                        .got = std::to_string(head.shape[2])});
      fields.push_back(record_part(value, head.data, DType::u8, head.shape));
      return {};
    }
    case Kind::files:
    case Kind::list: return read_files(column, value, fields);
  }
  return internal_error("unknown kind of column");
}

// Calls `take(column, value)` for each column of a sample.
template <class Take> Status each_value(const MdsColumns& columns, const Record& sample, const Take& take) {
  const auto bytes = sample.bytes();
  size_t head = 0, at = 0;
  for (const MdsColumn& column : columns.all) at += column.size ? 0 : 4;
  if (at > bytes.size())
    return corrupt({.expected = "the sizes of columns",
                    .got = "a sample of " + std::to_string(bytes.size()) + " bytes"});
  for (const MdsColumn& column : columns.all) {
    const uint32_t size = column.size ? *column.size : load<uint32_t>(bytes, head);
    head += column.size ? 0 : 4;
    if (size > bytes.size() - at)
      return corrupt("column " + in_quotes(column.name) + ": expected " + std::to_string(size) +
                     " bytes, but only " + std::to_string(bytes.size() - at) + " are left of the sample");
    HEADRACE_TRY(take(column, Record{sample.buffer, sample.offset + at, size})
                     .with({.field = column.name})
                     .in_column(column.name));
    at += size;
  }
  if (at == bytes.size()) return {};
  return corrupt(
      {.expected = "a sample of " + std::to_string(at) + " bytes", .got = std::to_string(bytes.size())});
}

std::string json_text(std::string_view text) { return Value(text).dump(); }

}  // namespace

uint8_t mds_dtype_code(DType dtype) {
  const auto found = std::ranges::find(kCodes, dtype, &DTypeCode::dtype);
  return found == kCodes.end() ? uint8_t{0} : found->code;
}

std::optional<DType> mds_dtype_of(uint8_t code) {
  const auto found = std::ranges::find(kCodes, code, &DTypeCode::code);
  return found == kCodes.end() ? std::nullopt : std::optional(found->dtype);
}

Result<MdsColumn> mds_column(std::string name, std::string encoding, std::optional<uint32_t> size) {
  MdsColumn out{std::move(name), std::move(encoding), size};
  const auto in_this = [&](Status status) {
    return std::move(status)
        .with({.field = out.name})
        .before("column " + in_quotes(out.name) + " of encoding " + in_quotes(out.encoding) + ": ");
  };
  if (const Status status = parse_encoding(out); !status.ok()) return in_this(status);
  const std::optional<uint64_t> bytes = bytes_of(out);
  if (bytes.has_value() != size.has_value() || (bytes && *bytes != *size))
    return in_this(corrupt({.expected = bytes ? std::to_string(*bytes) + " bytes per value" : "no fixed size",
                            .got = size ? std::to_string(*size) : "none"}));
  return out;
}

bool MdsColumns::depends_on_first() const { return std::ranges::any_of(all, &MdsColumn::depends_on_first); }

// Several files in one value are two fields, {"values", "lengths"}, as in parse_example.
Schema MdsColumns::schema() const {
  Schema out;
  for (const MdsColumn& column : all) {
    out.structure += out.structure.empty() ? "{" : ",";
    out.structure += json_text(column.name) + ":";
    const auto add = [&](const std::string& name, const TensorSpec& spec) {
      out.structure += std::to_string(out.names.size());
      out.names.push_back(name), out.specs.push_back(spec);
    };
    if (column.kind != Kind::files && column.kind != Kind::list) {
      add(column.name, column.spec);
      continue;
    }
    out.structure += "{\"values\":";
    add(column.name + "/values", {DType::bytes, {kAny}});
    out.structure += ",\"lengths\":";
    add(column.name + "/lengths", {DType::i64, {kAny}});
    out.structure += "}";
  }
  out.structure += out.structure.empty() ? "{}" : "}";
  return out;
}

Status MdsColumns::learn_from(const Record& first) {
  size_t i = 0;
  return each_value(*this, first, [&](const MdsColumn&, const Record& value) -> Status {
    MdsColumn& column = all[i++];
    if (!column.depends_on_first()) return {};
    if (column.kind == Kind::pixels) {
      HEADRACE_ASSIGN(const ArrayHead head, read_pil_head(value.bytes()));
      column.spec.shape.set(2, head.shape[2]);
      return {};
    }
    HEADRACE_ASSIGN(const ArrayHead head, read_array_head(column, value.bytes()));
    column.spec.dtype = head.dtype;
    if (!column.has_shape) {
      const std::vector<int64_t> dims(static_cast<size_t>(head.shape.rank()), kAny);
      column.spec.shape = Shape(std::span<const int64_t>(dims));
    }
    return {};
  });
}

std::string MdsColumns::learned() const {
  std::vector<TensorSpec> specs;
  for (const MdsColumn& column : all)
    if (column.depends_on_first()) specs.push_back(column.spec);
  return pack_specs(specs);
}

Status MdsColumns::take_learned(std::string_view text) {
  HEADRACE_ASSIGN(const std::vector<TensorSpec> specs, unpack_specs(text));
  size_t i = 0;
  for (MdsColumn& column : all) {
    if (!column.depends_on_first()) continue;
    if (i == specs.size()) return internal_error("expected the kept spec of each column");
    column.spec = specs[i++];
  }
  return {};
}

Status MdsColumns::read(const Record& sample, std::vector<Tensor>& fields) const {
  fields.clear();
  return each_value(*this, sample, [&](const MdsColumn& column, const Record& value) {
    return read_value(column, value, fields);
  });
}

}  // namespace headrace::mds
