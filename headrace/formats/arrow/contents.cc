#include <algorithm>
#include <cstring>

#include "headrace/formats/arrow/flatbuffer.h"
#include "headrace/formats/arrow/index.h"

namespace headrace::arrow {
namespace {

void put(std::string& out, uint64_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}
void put_text(std::string& out, const std::string& text) {
  put(out, text.size());
  out += text;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  Result<uint64_t> number() {
    HEADRACE_ASSIGN(const std::string_view bytes, take(sizeof(uint64_t)));
    return load<uint64_t>(reinterpret_cast<const std::byte*>(bytes.data()));
  }
  Result<std::string> text() {
    HEADRACE_ASSIGN(const uint64_t size, number());
    HEADRACE_ASSIGN(const std::string_view bytes, take(size));
    return std::string(bytes);
  }
  // The number of items that follow, each of at least eight bytes.
  Result<uint64_t> count() {
    HEADRACE_ASSIGN(const uint64_t count, number());
    if (count > bytes_.size() / 8) return damaged();
    return count;
  }
  bool at_end() const { return bytes_.empty(); }
  static Status damaged() {
    return corrupt({.expected = "the index as it was stored", .got = "other bytes"});
  }

 private:
  Result<std::string_view> take(uint64_t size) {
    if (size > bytes_.size()) return damaged();
    const std::string_view out = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return out;
  }
  std::string_view bytes_;
};

}  // namespace

uint64_t Contents::batch_of(uint64_t row) const {
  if (first_row.empty()) return row / rows_each;
  return static_cast<uint64_t>(std::ranges::upper_bound(first_row, row) - first_row.begin() - 1);
}

std::string pack(const Contents& contents) {
  std::string out;
  put(out, contents.is_compressed);
  put_text(out, contents.schema);
  put(out, contents.dictionaries.size());
  for (const std::string& dictionary : contents.dictionaries) put_text(out, dictionary);
  put(out, contents.rows_each);
  put(out, contents.first_row.size());
  for (const uint64_t row : contents.first_row) put(out, row);
  return out;
}

Result<Contents> unpack(const FileIndex& index) {
  Contents out;
  Reader reader(index.extra);
  HEADRACE_ASSIGN(const uint64_t is_compressed, reader.number());
  out.is_compressed = is_compressed != 0;
  HEADRACE_ASSIGN(out.schema, reader.text());
  HEADRACE_ASSIGN(const uint64_t dictionaries, reader.count());
  for (uint64_t i = 0; i < dictionaries; ++i) {
    HEADRACE_ASSIGN(std::string dictionary, reader.text());
    out.dictionaries.push_back(std::move(dictionary));
  }
  HEADRACE_ASSIGN(out.rows_each, reader.number());
  HEADRACE_ASSIGN(const uint64_t rows, reader.count());
  out.first_row.resize(rows);
  for (uint64_t& row : out.first_row) {
    HEADRACE_ASSIGN(row, reader.number());
  }
  const uint64_t batches = index.records.size();
  const bool fits =
      rows == 0 || (rows == batches + 1 && std::ranges::is_sorted(out.first_row) && out.first_row[0] == 0);
  if (!fits || !reader.at_end()) return Reader::damaged();
  if (__builtin_mul_overflow(out.rows_each, batches, &out.num_rows)) return Reader::damaged();
  if (rows != 0) out.num_rows = out.first_row.back();
  return out;
}

}  // namespace headrace::arrow
