#include "headrace/formats/parquet/writing/new_column.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "headrace/core/little_endian.h"
#include "headrace/formats/arrow/writing/new_column.h"

namespace headrace::parquet {
namespace {

constexpr int kLevel = 1;  // of zstd, as in pyarrow
constexpr size_t kLongestBound = 64;
constexpr uint64_t kMostValue = (uint64_t{1} << 31) - (uint64_t{1} << 20);  // a page has less than 2^31 bytes

template <class T> void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Integers of 8 and 16 bits are stored with 32.
template <class T> void put_widened(std::string& out, const View& value) {
  const auto count = static_cast<size_t>(value.shape.count());
  for (size_t i = 0; i < count; ++i) put(out, static_cast<int32_t>(load<T>(value.data + i * sizeof(T))));
}

void put_text(std::string& out, std::string_view text) {
  put(out, static_cast<uint32_t>(text.size()));
  out += text;
}

void put_values(std::string& out, const View& value) {
  switch (value.dtype) {
    case DType::u8: return put_widened<uint8_t>(out, value);
    case DType::u16: return put_widened<uint16_t>(out, value);
    case DType::i8: return put_widened<int8_t>(out, value);
    case DType::i16: return put_widened<int16_t>(out, value);
    default: break;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(value.data), value.size_bytes());
  if (is_text(value.dtype)) return put_text(out, bytes);
  out += bytes;
}

bool is_signed(DType dtype) { return dtype >= DType::i8 && dtype <= DType::i64; }

}  // namespace

Result<NewColumn> NewColumn::make(FieldColumn column, Path path, bool is_zstd) {
  if (const std::string_view why = arrow::why_no_column(column.spec); !why.empty())
    return invalid(
        "parquet stores numbers, strings, bytes, arrays of a fixed shape and lists of numbers or of such "
        "arrays; " +
        std::string(why) + " ('" + column.name + ": " + column.spec.text() + "')");
  return NewColumn(std::move(column), std::move(path), is_zstd);
}

Physical NewColumn::physical() const {
  switch (spec_.dtype) {
    case DType::boolean: return Physical::boolean;
    case DType::u64:
    case DType::i64: return Physical::i64;
    case DType::f32: return Physical::f32;
    case DType::f64: return Physical::f64;
    case DType::f16: return Physical::fixed;
    case DType::bytes:
    case DType::str: return Physical::bytes;
    default: return Physical::i32;
  }
}

// A list is a group with a repeated group with its element; nothing may be null.
void NewColumn::describe(NewThrift& out) const {
  constexpr int32_t kRequired = 0, kRepeated = 2;
  const int dims = spec_dims();
  for (int dim = 0; dim < dims; ++dim) {
    out.begin_element();
    out.small(3, kRequired), out.text(4, dim == 0 ? path_.back() : "element"), out.small(5, 1);
    out.small(6, 3);  // ConvertedType LIST
    out.begin(10), out.begin(3), out.end(), out.end();
    out.end();
    out.begin_element();
    out.small(3, kRepeated), out.text(4, "list"), out.small(5, 1);
    out.end();
  }
  out.begin_element();
  out.small(1, static_cast<int32_t>(physical()));
  if (spec_.dtype == DType::f16) out.small(2, 2);
  out.small(3, kRequired), out.text(4, dims == 0 ? path_.back() : "element");
  const auto bits = static_cast<int>(8 * size_of(spec_.dtype));
  const bool is_native = spec_.dtype == DType::i32 || spec_.dtype == DType::i64;
  if (spec_.dtype == DType::str) {
    out.small(6, 0);
    out.begin(10), out.begin(1), out.end(), out.end();
  } else if (spec_.dtype == DType::f16) {
    out.begin(10), out.begin(15), out.end(), out.end();
  } else if (spec_.dtype >= DType::u8 && spec_.dtype <= DType::i64 && !is_native) {
    out.small(6, (is_signed(spec_.dtype) ? 15 : 11) + std::countr_zero(static_cast<unsigned>(bits)) - 3);
    out.begin(10), out.begin(10);
    out.byte(1, static_cast<int8_t>(bits)), out.flag(2, is_signed(spec_.dtype));
    out.end(), out.end();
  }
  out.end();
}

void NewColumn::describe(const NewChunk& chunk, NewThrift& out) const {
  out.small(1, static_cast<int32_t>(physical()));
  out.list_of_numbers(2, 2);
  out.element(static_cast<int32_t>(Encoding::plain)), out.element(static_cast<int32_t>(Encoding::rle));
  const int dims = spec_dims();
  out.list_of_texts(3, path_.size() + 2 * static_cast<size_t>(dims));
  for (const std::string& part : path_) out.element(std::string_view(part));
  for (int dim = 0; dim < dims; ++dim) out.element("list"), out.element("element");
  out.small(4, static_cast<int32_t>(is_zstd_ ? Codec::zstd : Codec::none));
  out.number(5, static_cast<int64_t>(chunk.values));
  out.number(6, static_cast<int64_t>(chunk.unpacked));
  out.number(7, static_cast<int64_t>(chunk.size));
  out.number(9, static_cast<int64_t>(chunk.offset));
  out.begin(12);
  out.number(3, 0);
  if (!chunk.least.empty()) out.text(5, chunk.most), out.text(6, chunk.least);
  out.end();
}

void NewColumn::add_levels(const Shape& shape, int dim, uint8_t rep) {
  if (dim == shape.rank()) {
    reps_.push_back(rep), defs_.push_back(static_cast<uint8_t>(dim));
    return;
  }
  const int64_t size = shape[dim];
  if (size == 0) reps_.push_back(rep), defs_.push_back(static_cast<uint8_t>(dim));
  if (size > 0 && dim + 1 == shape.rank()) {
    reps_.push_back(rep);
    reps_.insert(reps_.end(), static_cast<size_t>(size - 1), static_cast<uint8_t>(dim + 1));
    defs_.insert(defs_.end(), static_cast<size_t>(size), static_cast<uint8_t>(dim + 1));
    return;
  }
  for (int64_t i = 0; i < size; ++i) add_levels(shape, dim + 1, i == 0 ? rep : static_cast<uint8_t>(dim + 1));
}

namespace {

// Extends the bounds by `value`.
template <class T> bool widen_bounds(const View& value, std::string& least, std::string& most) {
  const T got = load<T>(value.data);
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(got)) return true;  // readers know that bounds omit NaNs
  const auto bytes = [](T x) { return std::string(reinterpret_cast<const char*>(&x), sizeof x); };
  const auto known = [](const std::string& text) {
    return load<T>(reinterpret_cast<const std::byte*>(text.data()));
  };
  // A zero extends the bounds to -0 and +0.
  T low = got, high = got;
  if constexpr (std::is_floating_point_v<T>)
    if (got == 0) low = -T{0}, high = T{0};
  if (least.empty() || low < known(least)) least = bytes(low);
  if (most.empty() || high > known(most)) most = bytes(high);
  return true;
}

}  // namespace

void NewColumn::note(const View& value) {
  if (!has_bounds_ || spec_dims() > 0) return;
  std::string &least = about_.least, &most = about_.most;
  switch (spec_.dtype) {
    case DType::i32: widen_bounds<int32_t>(value, least, most); return;
    case DType::i64: widen_bounds<int64_t>(value, least, most); return;
    case DType::u32: widen_bounds<uint32_t>(value, least, most); return;
    case DType::u64: widen_bounds<uint64_t>(value, least, most); return;
    case DType::f32: widen_bounds<float>(value, least, most); return;
    case DType::f64: widen_bounds<double>(value, least, most); return;
    case DType::i8:
    case DType::i16:
    case DType::u8:
    case DType::u16: {
      std::string wide;
      put_values(wide, value);
      const View as_i32{DType::i32, {}, reinterpret_cast<const std::byte*>(wide.data())};
      widen_bounds<int32_t>(as_i32, least, most);
      return;
    }
    case DType::str: {
      const std::string_view text(reinterpret_cast<const char*>(value.data), value.size_bytes());
      if (text.empty() || text.size() > kLongestBound) {
        has_bounds_ = false, least.clear(), most.clear();
        return;
      }
      if (least.empty() || text < least) least = text;
      if (most.empty() || text > most) most = text;
      return;
    }
    default: return;
  }
}

Status NewColumn::check(const std::vector<Tensor>& fields) const {
  HEADRACE_TRY(column_.check(fields));
  const View value = column_.value(fields);
  const int64_t items = column_.is_texts ? column_.num_texts(fields) : value.shape.count();
  const size_t words = 4 * static_cast<size_t>(items);
  const size_t size = column_.is_texts       ? value.size_bytes() + words
                      : is_text(spec_.dtype) ? value.size_bytes()
                                             : std::max(value.size_bytes(), words);
  if (size <= kMostValue) return {};
  return invalid({.expected = "values of less than 2^31 bytes", .got = std::to_string(size)})
      .in_format("parquet")
      .in_field(column_.name);
}

void NewColumn::add_texts(const std::vector<Tensor>& fields) {
  const int64_t count = column_.num_texts(fields);
  add_levels(Shape{count}, 0, 0);
  count_ += static_cast<uint64_t>(count);
  for_each_text(column_, fields, [&](std::string_view text) { put_text(values_, text); });
}

void NewColumn::add(const std::vector<Tensor>& fields) {
  if (column_.is_texts) return add_texts(fields);
  const View value = column_.value(fields);
  note(value);
  const int dims = spec_dims();
  if (dims > 0) add_levels(value.shape, 0, 0);
  count_ += dims > 0 ? static_cast<uint64_t>(value.shape.count()) : 1;
  if (spec_.dtype == DType::boolean)
    values_.append(reinterpret_cast<const char*>(value.data), value.size_bytes());  // a byte each, for now
  else
    put_values(values_, value);
}

// One run where all are equal, else one bit-packed run.
std::string NewColumn::level_bytes(const std::vector<uint8_t>& levels, int most) const {
  const auto varint = [](std::string& out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
    out.push_back(static_cast<char>(value));
  };
  std::string out(4, '\0');
  const auto width = static_cast<size_t>(std::bit_width(static_cast<unsigned>(most)));
  if (levels.size() == static_cast<size_t>(std::count(levels.begin(), levels.end(), levels[0]))) {
    varint(out, uint64_t{levels.size()} << 1);
    out.push_back(static_cast<char>(levels[0]));
  } else {
    const size_t groups = (levels.size() + 7) / 8;
    varint(out, groups << 1 | 1);
    const size_t begin = out.size();
    out.resize(begin + groups * width);
    for (size_t i = 0; i < levels.size(); ++i)
      for (size_t bit = i * width, b = 0; b < width; ++b, ++bit)
        out[begin + bit / 8] = static_cast<char>(out[begin + bit / 8] | (levels[i] >> b & 1) << (bit % 8));
  }
  const auto length = static_cast<uint32_t>(out.size() - 4);
  std::memcpy(out.data(), &length, sizeof length);
  return out;
}

Status NewColumn::end_page(uint64_t row) {
  const int dims = spec_dims();
  std::string body;
  if (dims > 0) body = level_bytes(reps_, dims) + level_bytes(defs_, dims);
  const uint64_t entries = dims > 0 ? reps_.size() : count_;
  if (spec_.dtype == DType::boolean) {
    const size_t begin = body.size();
    body.resize(begin + (values_.size() + 7) / 8);
    for (size_t i = 0; i < values_.size(); ++i)
      body[begin + i / 8] = static_cast<char>(body[begin + i / 8] | (values_[i] != 0) << (i % 8));
  } else if (body.empty()) {
    body.swap(values_);
  } else {
    body += values_;
  }
  const size_t unpacked = body.size();
  if (is_zstd_) {
    std::string packed(ZSTD_compressBound(body.size()), '\0');
    const size_t made = ZSTD_compress(packed.data(), packed.size(), body.data(), body.size(), kLevel);
    if (ZSTD_isError(made)) return internal_error(std::string("zstd: ") + ZSTD_getErrorName(made));
    packed.resize(made);
    body = std::move(packed);
  }
  NewThrift head;
  head.small(1, PageHeader::data);
  head.small(2, static_cast<int32_t>(unpacked)), head.small(3, static_cast<int32_t>(body.size()));
  head.begin(5);
  head.small(1, static_cast<int32_t>(entries)), head.small(2, static_cast<int32_t>(Encoding::plain));
  head.small(3, static_cast<int32_t>(Encoding::rle)), head.small(4, static_cast<int32_t>(Encoding::rle));
  head.end();
  const std::string header = std::move(head).finish();
  about_.pages.push_back({chunk_.size(), header.size() + body.size(), row});
  about_.values += entries, about_.unpacked += header.size() + unpacked;
  chunk_ += header, chunk_ += body;
  values_.clear(), reps_.clear(), defs_.clear();
  count_ = 0;
  return {};
}

NewChunk NewColumn::end_chunk(std::string& pages) {
  about_.size = chunk_.size();
  pages.swap(chunk_);
  chunk_.clear();
  has_bounds_ = true;
  return std::exchange(about_, {});
}

}  // namespace headrace::parquet
