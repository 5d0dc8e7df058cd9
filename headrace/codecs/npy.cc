#include "headrace/codecs/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

#include "headrace/core/little_endian.h"

namespace headrace {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMostHeader = 1 << 16;
constexpr size_t kAlignment = 64;

std::string_view descr(DType dtype) {
  switch (dtype) {
    case DType::boolean: return "|b1";
    case DType::u8: return "|u1";
    case DType::u16: return "<u2";
    case DType::u32: return "<u4";
    case DType::u64: return "<u8";
    case DType::i8: return "|i1";
    case DType::i16: return "<i2";
    case DType::i32: return "<i4";
    case DType::i64: return "<i8";
    case DType::f16: return "<f2";
    case DType::f32: return "<f4";
    case DType::f64: return "<f8";
    default: return "";
  }
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A dict as Python writes it: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class Literal {
 public:
  explicit Literal(std::string_view text) : left_(text) {}

  bool take(char c) {
    skip();
    if (left_.empty() || left_[0] != c) return false;
    left_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    skip();
    if (!left_.starts_with(word)) return false;
    left_.remove_prefix(word.size());
    return true;
  }
  bool quoted(std::string_view& out) {
    skip();
    if (left_.empty() || (left_[0] != '\'' && left_[0] != '"')) return false;
    const size_t end = left_.find(left_[0], 1);
    if (end == std::string_view::npos) return false;
    out = left_.substr(1, end - 1);
    left_.remove_prefix(end + 1);
    return true;
  }
  bool number(int64_t& out) {
    skip();
    const auto [after, error] = std::from_chars(left_.data(), left_.data() + left_.size(), out);
    if (error != std::errc() || out < 0) return false;
    left_.remove_prefix(static_cast<size_t>(after - left_.data()));
    if (left_.starts_with('L')) left_.remove_prefix(1);  // as Python 2 wrote a long
    return true;
  }
  bool is_done() {
    skip();
    return left_.empty();
  }

 private:
  void skip() {
    while (!left_.empty() && (left_[0] == ' ' || left_[0] == '\n')) left_.remove_prefix(1);
  }
  std::string_view left_;
};

struct Kind {
  std::string_view code;
  DType dtype;
};
constexpr Kind kKinds[] = {{"b1", DType::boolean}, {"u1", DType::u8},  {"u2", DType::u16},
                           {"u4", DType::u32},     {"u8", DType::u64}, {"i1", DType::i8},
                           {"i2", DType::i16},     {"i4", DType::i32}, {"i8", DType::i64},
                           {"f2", DType::f16},     {"f4", DType::f32}, {"f8", DType::f64}};

// What to do about a type that is not supported.
std::string_view instead_of(std::string_view descr) {
  switch (descr.size() < 2 ? '\0' : descr[1]) {
    case 'O':
      return "objects are pickled, which is not supported: save arrays of numbers, each in its own file";
    case 'c': return "save x.view(x.real.dtype), which stores each number as two";
    case 'S':
    case 'U': return "write strings to Arrow or CSV, or save their bytes as uint8";
    case 'M':
    case 'm': return "save x.view('i8')";
    case 'V': return "save x.view('u1'), or another dtype of that size";
    default: return "save it as another dtype, x.astype('f8')";
  }
}

Status take_descr(std::string_view descr, NpyHeader& out) {
  const auto kind = std::ranges::find(kKinds, descr.substr(std::min<size_t>(1, descr.size())), &Kind::code);
  const bool has_order = !descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  if (!has_order || kind == std::end(kKinds))
    return {Code::unavailable, Mismatch{.expected = "an array of numbers",
                                        .got = "one of '" + std::string(descr.substr(0, 20)) + "'",
                                        .fix = std::string(instead_of(descr))}};
  out.dtype = kind->dtype;
  out.is_big_endian = descr[0] == '>';
  return {};
}

Status broken() { return corrupt("not an .npy file: its header is invalid"); }

Status take_shape(Literal& text, NpyHeader& out) {
  std::vector<int64_t> dims;
  if (!text.take('(')) return broken();
  while (!text.take(')')) {
    int64_t dim = 0;
    if (!text.number(dim)) return broken();
    dims.push_back(dim);
    if (dims.size() > static_cast<size_t>(kMaxRank))
      return {Code::unavailable, Mismatch{.expected = "an array of at most 8 dimensions", .got = "more"}};
    if (text.take(',')) continue;
    if (!text.take(')')) return broken();
    break;
  }
  out.shape = Shape(dims);
  return {};
}

Status take_header(std::string_view all, NpyHeader& out) {
  Literal text(all);
  int seen = 0;
  bool records = false;
  if (!text.take('{')) return broken();
  while (!text.take('}')) {
    std::string_view key, descr;
    if (!text.quoted(key) || !text.take(':')) return broken();
    if (key == "descr") {
      if (!text.quoted(descr)) records = true;  // a list: the rest cannot be read
      if (records)
        return {
            Code::unavailable,
            Mismatch{
                .expected = "an array of numbers",
                .got = "one of records",
                .fix = "save each field as an array: numpy.savez(path, **{n: x[n] for n in x.dtype.names})"}};
      HEADRACE_TRY(take_descr(descr, out));
      seen |= 1;
    } else if (key == "fortran_order") {
      out.column_major = text.take(std::string_view("True"));
      if (!out.column_major && !text.take(std::string_view("False"))) return broken();
      seen |= 2;
    } else if (key == "shape") {
      HEADRACE_TRY(take_shape(text, out));
      seen |= 4;
    } else {
      return broken();
    }
    if (!text.take(',') && !text.take('}')) return broken();
    if (seen == 7) break;
  }
  return seen == 7 ? Status() : broken();
}

// Column-major to row-major, each element of `size` bytes: the last index varies slowest in `in`.
void reorder(const std::byte* in, const Shape& shape, size_t size, std::byte* out) {
  std::array<int64_t, kMaxRank> at{}, step{};
  int64_t elements = 1;
  for (int i = 0; i < shape.rank(); ++i) step[static_cast<size_t>(i)] = elements, elements *= shape[i];
  int64_t from = 0;
  for (int64_t n = 0; n < elements; ++n) {
    std::memcpy(out + static_cast<size_t>(n) * size, in + static_cast<size_t>(from) * size, size);
    for (int i = shape.rank(); i-- > 0;) {
      const auto d = static_cast<size_t>(i);
      from += step[d];
      if (++at[d] < shape[i]) break;
      from -= step[d] * shape[i];
      at[d] = 0;
    }
  }
}

template <class T, class Swap> void swap_bytes(std::byte* at, size_t count, Swap swap) {
  for (size_t i = 0; i < count; ++i, at += sizeof(T)) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    value = swap(value);
    std::memcpy(at, &value, sizeof(T));
  }
}

void to_little_endian(std::byte* at, size_t count, size_t each) {
  switch (each) {
    case 2: return swap_bytes<uint16_t>(at, count, [](uint16_t v) { return __builtin_bswap16(v); });
    case 4: return swap_bytes<uint32_t>(at, count, [](uint32_t v) { return __builtin_bswap32(v); });
    case 8: return swap_bytes<uint64_t>(at, count, [](uint64_t v) { return __builtin_bswap64(v); });
    default: return;
  }
}

}  // namespace

size_t npy_header_bytes(std::span<const std::byte> bytes) {
  if (!as_text(bytes).starts_with(kMagic) || bytes.size() < kNpyPrefix) return 0;
  const bool is_first = bytes[6] == std::byte{1};
  const uint64_t length = is_first ? load<uint16_t>(bytes, 8) : load<uint32_t>(bytes, 8);
  return length > kMostHeader ? 0 : (is_first ? 10 : 12) + length;
}

Result<NpyHeader> read_npy_header(std::span<const std::byte> bytes) {
  const std::string_view text = as_text(bytes);
  if (!text.starts_with(kMagic) || text.size() < kNpyPrefix) return broken();
  const char version = text[6];
  if (version < 1 || version > 3)
    return Status(Code::unavailable,
                  {.expected = "an .npy file of version 1 to 3", .got = std::to_string(version)});
  NpyHeader out;
  out.data = npy_header_bytes(bytes);
  if (out.data == 0 || out.data > bytes.size()) return broken();
  const size_t begin = version == 1 ? 10 : 12;
  HEADRACE_TRY(take_header(text.substr(begin, out.data - begin), out));
  return out;
}

bool is_npy_plain(const NpyHeader& header) {
  const bool is_bytes = size_of(header.dtype) == 1;
  return (!header.column_major || header.shape.rank() < 2) && (!header.is_big_endian || is_bytes) &&
         header.dtype != DType::boolean;
}

Status read_npy_data(std::span<const std::byte> file, const NpyHeader& header, std::byte* out) {
  const size_t size = header.shape.size_bytes(header.dtype), each = size_of(header.dtype);
  if (size != file.size() - header.data)
    return corrupt(
        {.expected = std::to_string(size) + " bytes for " + TensorSpec{header.dtype, header.shape}.text(),
         .got = std::to_string(file.size() - header.data)});
  if (size == 0) return {};
  const std::byte* in = file.data() + header.data;
  if (header.column_major && header.shape.rank() > 1)
    reorder(in, header.shape, each, out);
  else
    std::memcpy(out, in, size);
  if (header.dtype == DType::boolean)
    std::transform(out, out + size, out, [](std::byte b) { return std::byte(b != std::byte{0}); });
  if (header.is_big_endian) to_little_endian(out, size / each, each);
  return {};
}

Status check_npy(DType dtype) {
  return descr(dtype).empty() ? invalid("npy cannot store " + std::string(dtype_name(dtype)) + "; cast it")
                              : Status();
}

std::string new_npy_header(const TensorSpec& spec, size_t least) {
  std::string dims;
  for (const int64_t dim : spec.shape.dims()) dims += (dims.empty() ? "" : " ") + std::to_string(dim) + ",";
  if (spec.shape.rank() > 1) dims.pop_back();
  std::string header = "{'descr': '" + std::string(descr(spec.dtype)) +
                       "', 'fortran_order': False, 'shape': (" + dims + "), }";
  const size_t before = kMagic.size() + 4;
  size_t size = (before + header.size() + 1) / kAlignment * kAlignment + kAlignment;  // as NumPy does
  size = std::max(size, (least + kAlignment - 1) / kAlignment * kAlignment);
  header.append(size - before - header.size() - 1, ' ') += '\n';
  std::string out(kMagic);
  out.append("\1\0", 2);  // version 1.0
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  return out + header;
}

void append_npy(const View& array, std::string& out) {
  out += new_npy_header(array.spec());
  out.append(reinterpret_cast<const char*>(array.data), array.size_bytes());
}

}  // namespace headrace
