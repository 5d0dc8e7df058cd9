// The pages of a column, one after the other: their headers read, their checksums verified, their bodies
// unpacked.
#pragma once
#include "headrace/formats/parquet/encodings.h"
#include "headrace/formats/parquet/metadata.h"

namespace headrace::parquet {

// Some of a buffer, shared.
struct Bytes {
  BufferPtr buffer;
  size_t offset = 0, size = 0;
  Span span() const { return {buffer->data() + offset, size}; }
};

struct Page {
  PageHeader header;
  Span rep, def;  // levels, of data_v2; in the body of others
  Bytes body;
  bool is_made = false;  // the body's buffer was made here
};

class Pages {
 public:
  // `bytes`: pages one behind the other, from byte `position` of the file on. `free`: what may be unpacked
  // beside the ratio that is allowed.
  Pages(Codec codec, Bytes bytes, uint64_t position)
      : codec_(codec), bytes_(std::move(bytes)), position_(position) {}

  bool at_end() const { return done_ == bytes_.size; }
  uint64_t position() const { return position_ + done_; }  // in the file
  // Pages that are neither data nor a dictionary are passed over; nothing at the end.
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
