// The pages of a column, in order: parses their headers, verifies their checksums, decompresses their bodies.
#pragma once
#include "headrace/formats/parquet/encodings.h"
#include "headrace/formats/parquet/metadata.h"

namespace headrace::parquet {

// A part of a buffer, shared.
struct Bytes {
  BufferPtr buffer;
  size_t offset = 0, size = 0;
  Span span() const { return {buffer->data() + offset, size}; }
};

struct Page {
  PageHeader header;
  Span rep, def;  // levels, for data_v2; in the body for others
  Bytes body;
  bool is_made = false;  // the body's buffer was allocated here
};

class Pages {
 public:
  // `bytes`: consecutive pages, from byte `position` of the file on.
  Pages(Codec codec, Bytes bytes, uint64_t position)
      : codec_(codec), bytes_(std::move(bytes)), position_(position) {}

  bool at_end() const { return done_ == bytes_.size; }
  uint64_t position() const { return position_ + done_; }  // in the file
  // Skips pages that are neither data nor a dictionary; nullopt at the end.
  Result<std::optional<Page>> next();

 private:
  Status unpack_body(Span packed, Page& page);

  Codec codec_;
  Bytes bytes_;
  uint64_t position_;
  size_t done_ = 0;
  uint64_t unpacked_ = 0;  // of all pages so far
};

}  // namespace headrace::parquet
