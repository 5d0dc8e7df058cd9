// Writes samples with a registered writer and reads the file back, for the tests of writers.
#pragma once
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "headrace/formats/opening/open.h"
#include "headrace/formats/writer.h"

namespace headrace {

using Samples = std::vector<std::vector<Tensor>>;

struct Table {
  Schema schema;
  Samples samples;
};

inline Status write_samples(std::string_view format, const std::string& path, const Schema& schema,
                            const Samples& samples, const Value& options = Value(Value::Object()),
                            const Value& metadata = Value(Value::Object())) {
  WriteRequest request;
  request.options = options, request.path = path, request.schema = schema;
  request.metadata = metadata;
  HEADRACE_ASSIGN(const auto writer, find_writer(format)->make(request));
  for (const std::vector<Tensor>& fields : samples) HEADRACE_TRY(writer->add(fields));
  return writer->finish();
}

struct ReadBack {
  Schema schema;
  Samples samples;
  Value metadata;
};

inline Result<ReadBack> read_samples(const std::string& path, std::string_view format = {},
                                     const Value& options = {}) {
  const auto store = file_store();
  HEADRACE_ASSIGN(const SourcePtr source, open_source(*store, path, format, options));
  ReadBack out{source->schema(), {}, source->metadata()};
  BlockPtr block;
  uint64_t opened = 0;
  for (uint64_t i = 0; i < source->size(); ++i) {
    const Place place = source->place(i);
    if (!block || place.block != opened) {
      HEADRACE_ASSIGN(block, drive_block(*source, place.block, *store));
      opened = place.block;
    }
    HEADRACE_TRY(block->get(place.row, out.samples.emplace_back()));
  }
  return out;
}

inline Value options_of(std::initializer_list<std::pair<const char*, Value>> options) {
  Value out{Value::Object()};
  for (const auto& [name, value] : options) out.set(name, value);
  return out;
}

// A tensor of these numbers.
template <class T> Tensor numbers(DType dtype, const Shape& shape, const std::vector<T>& values) {
  return make_tensor({dtype, shape, reinterpret_cast<const std::byte*>(values.data())});
}
template <class T> Tensor number(DType dtype, T value) { return numbers<T>(dtype, {}, {value}); }

// Bytes of element `i`: any for numbers, 0 and 1 for booleans.
inline Tensor element(DType dtype, const Shape& shape, size_t i) {
  std::vector<uint8_t> bytes(shape.size_bytes(dtype));
  for (size_t b = 0; b < bytes.size(); ++b) {
    bytes[b] = static_cast<uint8_t>(b * 7 + i * 31 + 1);
    if (dtype == DType::boolean) bytes[b] = bytes[b] / 3 % 2;
    if (is_text(dtype)) bytes[b] = 'a' + bytes[b] % 26;
  }
  return make_tensor({dtype, shape, reinterpret_cast<const std::byte*>(bytes.data())});
}

// How two tensors differ, as text; empty if they are equal bit by bit.
inline std::string difference(const Tensor& wanted, const Tensor& got) {
  const View a = wanted.view(), b = got.view();
  const auto text = [](const View& view) {
    return std::string(dtype_name(view.dtype)) + " " + view.shape.text();
  };
  if (a.dtype != b.dtype || a.shape != b.shape) return "expected " + text(a) + ", got " + text(b);
  if (a.size_bytes() > 0 && std::memcmp(a.data, b.data, a.size_bytes()) != 0) return "bytes differ";
  return {};
}

inline std::string difference(const Samples& wanted, const Samples& got) {
  if (wanted.size() != got.size())
    return "expected " + std::to_string(wanted.size()) + " samples, got " + std::to_string(got.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].size() != got[i].size()) return "sample " + std::to_string(i) + " has other fields";
    for (size_t field = 0; field < wanted[i].size(); ++field)
      if (const std::string differs = difference(wanted[i][field], got[i][field]); !differs.empty())
        return "sample " + std::to_string(i) + ", field " + std::to_string(field) + ": " + differs;
  }
  return {};
}

}  // namespace headrace
