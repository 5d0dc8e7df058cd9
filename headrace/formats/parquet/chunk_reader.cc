#include "headrace/formats/parquet/chunk_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "headrace/core/little_endian.h"
#include "headrace/core/saturate.h"
#include "headrace/formats/parquet/changes.h"

namespace headrace::parquet {
namespace {

int width_of(uint8_t most) { return std::bit_width(static_cast<unsigned>(most)); }

const char* encoding_name(Encoding encoding) {
  constexpr const char* names[] = {"PLAIN",
                                   "1",
                                   "PLAIN_DICTIONARY",
                                   "RLE",
                                   "BIT_PACKED",
                                   "DELTA_BINARY_PACKED",
                                   "DELTA_LENGTH_BYTE_ARRAY",
                                   "DELTA_BYTE_ARRAY",
                                   "RLE_DICTIONARY",
                                   "BYTE_STREAM_SPLIT"};
  return names[static_cast<size_t>(encoding)];
}

bool is_dictionary(Encoding encoding) {
  return encoding == Encoding::dictionary || encoding == Encoding::plain_dictionary;
}

// Moves densely stored values to their slots, starting at the last; null slots become zero.
template <class T> void spread(T* values, std::span<const uint8_t> present, size_t count) {
  for (size_t i = present.size(); i-- > 0;) values[i] = present[i] ? values[--count] : T{};
}

void spread_bytes(std::byte* values, size_t size, std::span<const uint8_t> present, size_t count) {
  switch (size) {
    case 1: return spread(reinterpret_cast<uint8_t*>(values), present, count);
    case 2: return spread(reinterpret_cast<uint16_t*>(values), present, count);
    case 4: return spread(reinterpret_cast<uint32_t*>(values), present, count);
    case 8: return spread(reinterpret_cast<uint64_t*>(values), present, count);
    default: break;
  }
  for (size_t i = present.size(); i-- > 0;) {
    if (present[i])
      std::memmove(values + i * size, values + --count * size, size);
    else
      std::memset(values + i * size, 0, size);
  }
}

template <class T> void gather(const std::byte* from, std::span<const uint32_t> indices, std::byte* out) {
  for (size_t i = 0; i < indices.size(); ++i)
    std::memcpy(out + i * sizeof(T), from + size_t{indices[i]} * sizeof(T), sizeof(T));
}

bool has_far_times(std::span<const std::byte> data) {
  for (size_t at = 0; at < data.size(); at += sizeof(int64_t)) {
    const auto time = load<int64_t>(data, at);
    if (time == kTooEarly || time == kTooLate) return true;
  }
  return false;
}

class VectorBuffer final : public Buffer {
 public:
  explicit VectorBuffer(std::vector<std::byte> bytes)
      : Buffer(nullptr, bytes.size()), bytes_(std::move(bytes)) {
    data_ = bytes_.data();
  }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace

ChunkReader::ChunkReader(const Column& column, Codec codec, uint64_t packed, uint64_t most)
    : column_(column), codec_(codec), packed_(packed), most_(most) {
  out_.column = &column;
  if (column.is_text()) out_.buffers.push_back(HeapBuffer::make(0));
  if (column.max_rep() > 0) open_.assign(column.max_rep(), -1);
}

Status ChunkReader::read(const Bytes& pages, uint64_t position, uint64_t values) {
  Pages all(codec_, pages, position);
  while (values_read_ < values && !all.at_end()) {
    const uint64_t at = all.position();
    const auto one = [&]() -> Status {
      HEADRACE_ASSIGN(std::optional<Page> page, all.next());
      if (!page) return {};
      if (page->is_made) HEADRACE_TRY(make_room(page->body.size));
      return page->header.kind == PageHeader::dictionary ? dictionary(*page) : data(*page);
    };
    Status status = one();
    if (!status.ok())
      return std::move(status)
          .with({.field = column_.name, .byte = at})
          .before("column '" + column_.name + "', page at byte " + std::to_string(at) + ": ");
  }
  return {};
}

// Counts `bytes` that are about to be allocated in addition to those of earlier pages.
Status ChunkReader::make_room(uint64_t bytes) {
  made_ = saturating_add(made_, bytes);
  if (made_ <= most_) return {};
  return {Code::exhausted, Mismatch{.expected = "the columns of a row group to decode to at most " +
                                                std::to_string(most_) + " more bytes",
                                    .got = std::to_string(made_),
                                    .fix = "select fewer with columns="}};
}

// Most bytes that the column may decode to: `free`, or a ratio of its bytes, times `each`.
uint64_t ChunkReader::most_bytes(uint64_t free, uint64_t each) const {
  constexpr uint64_t kRatio = 1000;
  return std::min(kMostMade, std::max(free, saturating_mul(saturating_mul(kRatio, packed_), each)));
}

// Before memory is allocated for `more` values and their overhead: runs of equal values are short whatever
// their number, so the limit is on the number of values per byte.
Status ChunkReader::check_room(uint64_t more) const {
  constexpr uint64_t kFree = uint64_t{256} << 20, kLargest = 16;
  const uint64_t each = value_bytes();
  const uint64_t bytes = saturating_mul(saturating_add(slots_, more), each);
  const uint64_t limit = most_bytes(kFree, std::min(each, kLargest));
  if (bytes > limit)
    return {Code::exhausted, Mismatch{.expected = "values of at most " + std::to_string(limit) +
                                                  " bytes in a column of " + std::to_string(packed_),
                                      .got = std::to_string(bytes)}};
  return {};
}

// Memory of a value, including what is kept for it while its page is read.
uint64_t ChunkReader::value_bytes() const {
  return column_.value_size() + 2 + (column_.max_rep() > 0 ? sizeof(uint64_t) : 0);
}

// Strings that repeat the previous one may decode to at most a ratio of the column's bytes, over all pages.
Result<BufferPtr> ChunkReader::delta_texts(Span bytes, uint32_t buffer, std::span<Piece> out) {
  const uint64_t limit = most_bytes(uint64_t{64} << 20);
  HEADRACE_TRY(make_room(out.size() * 2 * sizeof(int32_t)));  // their lengths
  const uint64_t left = std::min(limit - texts_made_, most_ - made_);
  HEADRACE_ASSIGN(BufferPtr made, read_delta_texts(bytes, buffer, left, out));
  texts_made_ += made->size(), made_ += made->size();
  return made;
}

Status ChunkReader::dictionary(const Page& page) {
  if (has_dictionary_) return corrupt({.expected = "one dictionary", .got = "a second one"});
  if (page.header.encoding != Encoding::plain && page.header.encoding != Encoding::plain_dictionary)
    return corrupt(
        {.expected = "a dictionary in PLAIN", .got = std::string(encoding_name(page.header.encoding))});
  const uint64_t count = page.header.values;
  if (count > page.body.size * 8)
    return corrupt({.expected = "a dictionary inside its page", .got = std::to_string(count) + " values"});
  HEADRACE_TRY(check_room(count));
  HEADRACE_TRY(make_room(count * value_bytes()));
  if (column_.is_text()) {
    dictionary_texts_.resize(count);
    HEADRACE_TRY(texts(Encoding::plain, page.body, page.is_made, dictionary_texts_));
  } else {
    dictionary_.resize(count * column_.value_size());
    HEADRACE_TRY(numbers(Encoding::plain, page.body, dictionary_));
  }
  dictionary_size_ = count;
  has_dictionary_ = true;
  return {};
}

Status ChunkReader::data(Page& page) {
  const uint64_t count = page.header.values;
  HEADRACE_TRY(check_room(count));
  HEADRACE_TRY(make_room(count * (value_bytes() + sizeof(uint32_t))));  // and dictionary indices
  Bytes body = page.body;
  HEADRACE_TRY(levels(page, body));
  if (page_slots_ > count) HEADRACE_TRY(make_room((page_slots_ - count) * value_bytes()));
  HEADRACE_TRY(values(page.header.encoding, body, page.is_made));
  values_read_ += count;
  slots_ += page_slots_;
  return {};
}

// The bytes of levels at the front of `body`, which are removed from it.
Result<Span> ChunkReader::level_bytes(Encoding encoding, uint8_t most, uint64_t count, Bytes& body) const {
  Span bytes = body.span();
  uint64_t length = 0, head = 0;
  if (encoding == Encoding::bit_packed) {
    length = (count * static_cast<uint64_t>(width_of(most)) + 7) / 8;
  } else {
    if (encoding != Encoding::rle)
      return corrupt({.expected = "levels in RLE", .got = std::string(encoding_name(encoding))});
    if (bytes.size() < 4) return corrupt("expected levels, but the page ends");
    length = load<uint32_t>(bytes), head = 4;
  }
  if (length > bytes.size() - head)
    return corrupt({.expected = "levels inside the page's " + std::to_string(bytes.size()) + " bytes",
                    .got = std::to_string(length)});
  body.offset += head + length, body.size -= head + length;
  return bytes.subspan(head, length);
}

Status ChunkReader::levels(const Page& page, Bytes& body) {
  const PageHeader& header = page.header;
  const uint64_t count = header.values;
  const bool is_v2 = header.kind == PageHeader::data_v2;
  const uint8_t max_rep = column_.max_rep(), max_def = column_.max_def;
  const auto read = [&](Encoding encoding, Span bytes, uint8_t most, std::vector<uint8_t>& out) -> Status {
    out.resize(count);
    HEADRACE_TRY(encoding == Encoding::bit_packed ? read_old_levels(bytes, width_of(most), out)
                                                  : read_runs(bytes, width_of(most), std::span(out)));
    const auto largest = std::ranges::max_element(out);
    if (largest == out.end() || *largest <= most) return {};
    return corrupt({.expected = "levels up to " + std::to_string(most), .got = std::to_string(*largest)});
  };
  present_.clear();
  if (max_rep > 0) {
    Span bytes = page.rep;
    if (!is_v2) {
      HEADRACE_ASSIGN(bytes, level_bytes(header.rep, max_rep, count, body));
    }
    HEADRACE_TRY(read(is_v2 ? Encoding::rle : header.rep, bytes, max_rep, reps_));
  }
  page_slots_ = page_present_ = count;
  if (max_def > 0) {
    Span bytes = page.def;
    if (!is_v2) {
      HEADRACE_ASSIGN(bytes, level_bytes(header.def, max_def, count, body));
    }
    const Encoding encoding = is_v2 ? Encoding::rle : header.def;
    if (max_rep == 0 && encoding == Encoding::rle && is_one_run(bytes, width_of(max_def), count, max_def)) {
      out_.rows += count;
      if (!out_.null_rows.empty()) out_.null_rows.resize(out_.rows);
      return {};
    }
    HEADRACE_TRY(read(encoding, bytes, max_def, defs_));
  }
  if (max_rep > 0) return rows_of_lists(count);
  out_.rows += count;
  if (max_def > 0) {
    page_present_ = static_cast<uint64_t>(std::ranges::count(defs_, max_def));
    if (page_present_ < count) {
      out_.null_rows.resize(out_.rows);
      present_.resize(count);
      for (size_t i = 0; i < count; ++i) present_[i] = defs_[i] == max_def;
      uint8_t* nulls = out_.null_rows.data() + (out_.rows - count);
      for (size_t i = 0; i < count; ++i) nulls[i] = !present_[i];
      return {};
    }
  }
  if (!out_.null_rows.empty()) out_.null_rows.resize(out_.rows);
  return {};
}

Status ChunkReader::values(Encoding encoding, const Bytes& body, bool is_made) {
  const size_t size = column_.value_size();
  if (column_.is_text()) {
    std::vector<Piece>& pieces = out_.pieces;
    const size_t begin = pieces.size();
    pieces.resize(begin + page_slots_);
    HEADRACE_TRY(texts(encoding, body, is_made, std::span(pieces).subspan(begin, page_present_)));
    if (!present_.empty()) spread(pieces.data() + begin, present_, page_present_);
    return {};
  }
  const size_t begin = data_.size();
  data_.resize(begin + page_slots_ * size);
  HEADRACE_TRY(numbers(encoding, body, std::span(data_).subspan(begin, page_present_ * size)));
  if (!present_.empty()) spread_bytes(data_.data() + begin, size, present_, page_present_);
  return {};
}

Status ChunkReader::indices(const Bytes& body, size_t count) {
  indices_.resize(count);
  if (count == 0) return {};
  if (!has_dictionary_) return corrupt({.expected = "a dictionary before dictionary indices", .got = "none"});
  if (body.size == 0) return corrupt("expected dictionary indices, but the page ends");
  const int width = std::to_integer<int>(body.span()[0]);
  if (width > 32)
    return corrupt({.expected = "dictionary indices of at most 32 bits", .got = std::to_string(width)});
  HEADRACE_TRY(read_runs(body.span().subspan(1), width, std::span(indices_)));
  const uint32_t most = *std::ranges::max_element(indices_);
  if (most < dictionary_size_) return {};
  return corrupt({.expected = "a dictionary index below " + std::to_string(dictionary_size_),
                  .got = std::to_string(most)});
}

Status ChunkReader::texts(Encoding encoding, const Bytes& body, bool is_made, std::span<Piece> out) {
  if (is_dictionary(encoding)) {
    HEADRACE_TRY(indices(body, out.size()));
    for (size_t i = 0; i < out.size(); ++i) out[i] = dictionary_texts_[indices_[i]];
    return {};
  }
  const auto buffer = static_cast<uint32_t>(out_.buffers.size());
  if (encoding == Encoding::delta_bytes) {
    HEADRACE_ASSIGN(const BufferPtr made, delta_texts(body.span(), buffer, out));
    out_.buffers.push_back(made);
    out_.held += made->size();
    return {};
  }
  const Span whole = body.buffer->bytes().first(body.offset + body.size);
  if (encoding == Encoding::plain)
    HEADRACE_TRY(read_plain_texts(whole, body.offset, buffer, out));
  else if (encoding == Encoding::delta_length)
    HEADRACE_TRY(read_delta_lengths(whole, body.offset, buffer, out));
  else
    return corrupt({.expected = "an encoding of strings", .got = std::string(encoding_name(encoding))});
  out_.buffers.push_back(body.buffer);
  if (is_made) out_.held += body.buffer->size();
  return {};
}

// Numbers that are each computed from a string: decimals, lengths.
Status ChunkReader::from_texts(Encoding encoding, const Bytes& body, std::span<std::byte> out) {
  static_assert(sizeof(double) == sizeof(int64_t));
  HEADRACE_TRY(make_room(out.size() / sizeof(double) * sizeof(Piece)));
  std::vector<Piece> pieces(out.size() / sizeof(double));
  const Span whole = body.buffer->bytes().first(body.offset + body.size);
  BufferPtr buffer = body.buffer;
  if (encoding == Encoding::plain)
    HEADRACE_TRY(read_plain_texts(whole, body.offset, 0, pieces));
  else if (encoding == Encoding::delta_length)
    HEADRACE_TRY(read_delta_lengths(whole, body.offset, 0, pieces));
  else if (encoding == Encoding::delta_bytes) {
    HEADRACE_ASSIGN(buffer, delta_texts(body.span(), 0, pieces));
  } else {
    return corrupt({.expected = "an encoding of strings", .got = std::string(encoding_name(encoding))});
  }
  const bool is_length = column_.change == Change::to_length;
  for (size_t i = 0; i < pieces.size(); ++i) {
    std::byte* at = out.data() + i * sizeof(double);
    if (is_length) {
      const int64_t length = pieces[i].length;
      std::memcpy(at, &length, sizeof length);
      continue;
    }
    HEADRACE_ASSIGN(const double value,
                    read_decimal(buffer->bytes().subspan(pieces[i].offset, pieces[i].length), column_.scale));
    std::memcpy(at, &value, sizeof value);
  }
  return {};
}

Status ChunkReader::numbers(Encoding encoding, const Bytes& body, std::span<std::byte> out) {
  if (is_dictionary(encoding)) {
    const size_t size = column_.value_size();
    HEADRACE_TRY(indices(body, out.size() / size));
    switch (size) {
      case 1: gather<uint8_t>(dictionary_.data(), indices_, out.data()); return {};
      case 2: gather<uint16_t>(dictionary_.data(), indices_, out.data()); return {};
      case 4: gather<uint32_t>(dictionary_.data(), indices_, out.data()); return {};
      case 8: gather<uint64_t>(dictionary_.data(), indices_, out.data()); return {};
      default:
        for (size_t i = 0; i < indices_.size(); ++i)
          std::memcpy(out.data() + i * size, dictionary_.data() + indices_[i] * size, size);
        return {};
    }
  }
  if (column_.physical == Physical::bytes) return from_texts(encoding, body, out);
  if (column_.change == Change::none) return stored_numbers(encoding, body, out);
  std::vector<std::byte> stored(out.size() / column_.value_size() * column_.stored_size());
  HEADRACE_TRY(stored_numbers(encoding, body, stored));
  change_values(column_, stored, out.data());
  return {};
}

Status ChunkReader::stored_numbers(Encoding encoding, const Bytes& body, std::span<std::byte> out) {
  const Span bytes = body.span();
  const Physical type = column_.physical;
  const size_t size = column_.stored_size();
  const auto cannot = [&] {
    return corrupt(
        {.expected = "an encoding of this number type", .got = std::string(encoding_name(encoding))});
  };
  switch (encoding) {
    case Encoding::plain:
      if (type == Physical::boolean) return read_plain_bools(bytes, out);
      if (bytes.size() < out.size())
        return corrupt("expected " + std::to_string(out.size()) + " bytes of values, but the page has " +
                       std::to_string(bytes.size()));
      if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size());
      return {};
    case Encoding::rle: return type == Physical::boolean ? read_rle_bools(bytes, out) : cannot();
    case Encoding::delta_binary: {
      Span rest = bytes;
      if (type == Physical::i32)
        return read_delta(rest, std::span(reinterpret_cast<int32_t*>(out.data()), out.size() / 4));
      if (type == Physical::i64)
        return read_delta(rest, std::span(reinterpret_cast<int64_t*>(out.data()), out.size() / 8));
      return cannot();
    }
    case Encoding::byte_split:
      if (type == Physical::boolean || type == Physical::i96) return cannot();
      return read_byte_split(bytes, size, out);
    case Encoding::delta_bytes: {
      if (type != Physical::fixed) return cannot();
      HEADRACE_TRY(make_room(out.size() / size * sizeof(Piece)));
      std::vector<Piece> pieces(out.size() / size);
      HEADRACE_ASSIGN(const BufferPtr made, delta_texts(bytes, 0, pieces));
      for (const Piece& piece : pieces)
        if (piece.length != size)
          return corrupt({.expected = "values of " + std::to_string(size) + " bytes",
                          .got = std::to_string(piece.length)});
      if (made->size() > 0) std::memcpy(out.data(), made->data(), made->size());
      return {};
    }
    default: return cannot();
  }
}

Result<Values> ChunkReader::finish(uint64_t rows) {
  const auto wrong = [&](Status status) { return std::move(status).in_column(column_.name); };
  if (out_.rows != rows)
    return wrong(corrupt({.expected = std::to_string(rows) + " rows", .got = std::to_string(out_.rows)}));
  if (!open_.empty()) (void)end_lists(0);
  if (!open_.empty()) out_.starts.push_back(slots_);
  if (!out_.wrong_rows.empty())
    out_.wrong_rows.resize(rows);
  else if (!column_.is_list)
    out_.starts = {};
  if (!out_.null_rows.empty()) out_.null_rows.resize(rows);
  if (!out_.null_items.empty()) out_.null_items.resize(slots_);
  if (column_.is_text() && column_.is_list) {
    Status status = join_texts();
    if (!status.ok()) return wrong(std::move(status));
  } else if (column_.is_text()) {
    out_.held += out_.pieces.size() * sizeof(Piece);
  } else {
    if (column_.change == Change::from_i96) out_.has_far_times = has_far_times(data_);
    data_.shrink_to_fit();
    out_.held += data_.size();
    out_.data = std::make_shared<VectorBuffer>(std::move(data_));
  }
  return std::move(out_);
}

}  // namespace headrace::parquet
