// Decodes the pages of one column: levels become nulls and lists, encoded data becomes values. One thread.
#pragma once
#include "headrace/formats/parquet/pages.h"
#include "headrace/formats/parquet/values.h"

namespace headrace::parquet {

class ChunkReader {
 public:
  // `packed`: bytes of all pages that will be read; the decoded size is bounded by it, and by `most` bytes.
  ChunkReader(const Column& column, Codec codec, uint64_t packed, uint64_t most = kMostMade);

  // Reads consecutive pages, from byte `position` of the file on, until `values` are read or the pages end.
  // Errors name the page's position.
  Status read(const Bytes& pages, uint64_t position, uint64_t values = kToEnd);
  uint64_t made() const { return made_; }  // sum of bytes allocated so far
  // Call once, after all pages; an error unless `rows` rows were read.
  Result<Values> finish(uint64_t rows);

  static constexpr uint64_t kToEnd = ~uint64_t{0};
  static constexpr uint64_t kMostMade = uint64_t{2} << 30;

 private:
  Status dictionary(const Page& page);
  Status data(Page& page);
  Status levels(const Page& page, Bytes& body);
  Result<Span> level_bytes(Encoding encoding, uint8_t most, uint64_t count, Bytes& body) const;
  Status rows_of_lists(uint64_t count);
  Status end_lists(uint8_t rep);
  void begin_lists(uint8_t rep, uint8_t def);
  void mark_wrong();
  uint64_t nulls_for(uint8_t def) const;
  Status values(Encoding encoding, const Bytes& body, bool is_made);
  Status numbers(Encoding encoding, const Bytes& body, std::span<std::byte> out);
  Status stored_numbers(Encoding encoding, const Bytes& body, std::span<std::byte> out);
  Status texts(Encoding encoding, const Bytes& body, bool is_made, std::span<Piece> out);
  Status from_texts(Encoding encoding, const Bytes& body, std::span<std::byte> out);
  Status indices(const Bytes& body, size_t count);
  Status make_room(uint64_t bytes);
  Status check_room(uint64_t more) const;
  uint64_t most_bytes(uint64_t free, uint64_t each = 1) const;
  uint64_t value_bytes() const;
  Result<BufferPtr> delta_texts(Span bytes, uint32_t buffer, std::span<Piece> out);
  uint64_t values_in(size_t list) const;
  Status join_texts();

  const Column& column_;
  Codec codec_;
  uint64_t packed_, most_;
  uint64_t made_ = 0, texts_made_ = 0;  // bytes of all pages so far; texts_made_: of delta-encoded strings
  Values out_;
  std::vector<std::byte> data_;
  uint64_t slots_ = 0;        // values so far, including nulls
  uint64_t values_read_ = 0;  // as counted by page headers

  std::vector<std::byte> dictionary_;  // decoded
  std::vector<Piece> dictionary_texts_;
  size_t dictionary_size_ = 0;
  bool has_dictionary_ = false;

  // Of the current page.
  std::vector<uint8_t> reps_, defs_, present_;  // present_: by slot; empty when all are present
  uint64_t page_slots_ = 0, page_present_ = 0;
  std::vector<int64_t> open_;  // items so far of each nested list; -1: not open
  std::vector<uint32_t> indices_;
};

}  // namespace headrace::parquet
