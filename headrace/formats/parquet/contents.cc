#include "headrace/formats/parquet/contents.h"

#include <algorithm>
#include <cstring>

#include "headrace/core/little_endian.h"
#include "headrace/core/saturate.h"

namespace headrace::parquet {
namespace {

void put(std::string& out, uint64_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

class Unpacking {
 public:
  explicit Unpacking(std::string_view bytes) : bytes_(bytes) {}
  uint64_t number() {
    if (bytes_.size() < sizeof(uint64_t)) return ok_ = false, bytes_ = {}, 0;
    const auto out = load<uint64_t>(reinterpret_cast<const std::byte*>(bytes_.data()));
    bytes_.remove_prefix(sizeof out);
    return out;
  }
  // The number of items that follow, each of at least `size` bytes.
  uint64_t count(size_t size) {
    const uint64_t out = number();
    if (out > bytes_.size() / size) return ok_ = false, 0;
    return out;
  }
  std::string_view bytes(uint64_t size) {
    const std::string_view out = bytes_.substr(0, size);
    bytes_.remove_prefix(out.size());
    return out;
  }
  bool ended_well() const { return ok_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace

std::string pack(const Contents& contents) {
  std::string out;
  put(out, contents.footer.size());
  out += contents.footer;
  put(out, contents.pages.size());
  for (const auto& [at, pages] : contents.pages) {
    put(out, uint64_t{at.group} << 32 | at.leaf);
    put(out, pages.size());
    for (const PagePlace& page : pages) put(out, page.offset), put(out, page.size), put(out, page.first_row);
  }
  put(out, contents.rows.has_value());
  if (contents.rows) {
    put(out, contents.rows->size());
    out.append(reinterpret_cast<const char*>(contents.rows->data()),
               contents.rows->size() * sizeof(uint32_t));
  }
  return out;
}

Result<Contents> unpack(const std::string& extra) {
  Contents out;
  Unpacking in(extra);
  out.footer = in.bytes(in.count(1));
  const uint64_t chunks = in.count(16);
  for (uint64_t i = 0; i < chunks; ++i) {
    const uint64_t at = in.number();
    auto& pages = out.pages[{static_cast<uint32_t>(at >> 32), static_cast<uint32_t>(at)}];
    pages.resize(in.count(24));
    for (PagePlace& page : pages) page = {in.number(), in.number(), in.number()};
  }
  if (in.number() != 0) {
    const uint64_t rows = in.count(sizeof(uint32_t));
    const std::string_view bytes = in.bytes(rows * sizeof(uint32_t));
    out.rows.emplace(bytes.size() / sizeof(uint32_t));
    if (!bytes.empty()) std::memcpy(out.rows->data(), bytes.data(), bytes.size());
    if (!std::ranges::is_sorted(*out.rows))
      return corrupt({.expected = "the index as it was stored", .got = "other rows"});
  }
  if (!in.ended_well()) return corrupt({.expected = "the index as it was stored", .got = "other bytes"});
  return out;
}

Status check_chunk(const Chunk& chunk, uint64_t file_size) {
  if (chunk.is_encrypted) return {Code::unavailable, "cannot read encrypted columns"};
  if (chunk.offset >= 4 && chunk.offset <= file_size && chunk.size <= file_size - chunk.offset) return {};
  return corrupt({.expected = "pages inside the file's " + std::to_string(file_size) + " bytes",
                  .got = std::to_string(chunk.size) + " at byte " + std::to_string(chunk.offset)});
}

Status check_chunk(const Chunk& chunk, const Column& column, uint64_t rows, uint64_t file_size) {
  HEADRACE_TRY(check_chunk(chunk, file_size));
  if (chunk.type != column.physical)
    return corrupt({.expected = "pages of the schema's type", .got = "another type"});
  if (column.max_rep() == 0 && chunk.values != rows)
    return corrupt({.expected = std::to_string(rows) + " values", .got = std::to_string(chunk.values)});
  return {};
}

// Runs of equal values are short whatever their number, so rows cannot be counted by bytes; but a small
// file with many millions of rows is suspicious.
Status check_sizes(const Footer& footer, uint64_t file_size) {
  constexpr uint64_t kFree = uint64_t{1} << 24, kRatio = 1000;
  const uint64_t most = std::max(kFree, saturating_mul(kRatio, file_size));
  uint64_t rows = 0, bytes = 0;
  for (const RowGroup& group : footer.groups) {
    rows = saturating_add(rows, group.rows);
    for (const Chunk& chunk : group.chunks) bytes = saturating_add(bytes, chunk.size);
  }
  if (bytes > file_size)
    return corrupt({.expected = "pages of at most the file's " + std::to_string(file_size) + " bytes",
                    .got = std::to_string(bytes)});
  if (rows <= most) return {};
  return {Code::exhausted, Mismatch{.expected = "at most " + std::to_string(most) + " rows in " +
                                                std::to_string(file_size) + " bytes",
                                    .got = std::to_string(rows)}};
}

}  // namespace headrace::parquet
