// The encapsulated messages that Arrow files and streams are made of: a prefix, metadata, a body.
//
// What is parsed here borrows the bytes it was parsed from. No byte is trusted: counts are checked against
// the available bytes, positions in the body when they are used.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "headrace/formats/arrow/schema.h"

namespace headrace::arrow {

inline constexpr uint64_t kPrefix = 8;  // continuation marker and length; before 0.15 the length alone
inline constexpr uint32_t kContinuation = 0xffffffffu;

enum class Codec : int8_t { none = -1, lz4 = 0, zstd = 1 };

// Bytes of prefix and metadata; 0 at the end-of-stream marker. REQUIRES: at least 8 bytes, or all that are
// left and at least 4.
uint64_t metadata_length(std::span<const std::byte> bytes);

// Of metadata: 3 is V4, 4 is V5.
Status check_version(int version);

struct Message {
  enum Kind : uint8_t { schema = 1, dictionary = 2, batch = 3 };  // Message.fbs: the union MessageHeader

  int version = 4;
  uint8_t kind = 0;
  FlatTable header;
  uint64_t body = 0;              // its length
  Codec old_codec = Codec::none;  // of 0.17, which stored it elsewhere

  // `bytes` begin with the message and hold all of its metadata.
  static Result<Message> read(std::span<const std::byte> bytes);
};

struct Piece {
  uint64_t offset = 0, length = 0;  // in the body
};

struct Node {
  uint64_t rows = 0, nulls = 0;
};

class Batch {
 public:
  // A record batch, or the values of a dictionary.
  static Result<Batch> of(const Message& message);

  uint64_t rows() const { return rows_; }
  Codec codec() const { return codec_; }
  uint64_t body() const { return body_; }
  // Checks that it has as many nodes and buffers as the schema requires.
  Status fits(const Layout& layout) const;
  Result<Node> node(uint32_t i) const;
  Result<uint32_t> buffer(BufferAt at) const;  // its ordinal in this batch
  uint64_t num_behind(uint32_t views) const;   // variadic buffers of the views column with this ordinal
  Result<Piece> piece(uint32_t buffer) const;  // within the body

 private:
  Batch() = default;
  uint64_t rows_ = 0, body_ = 0;
  Codec codec_ = Codec::none;
  FlatVector nodes_, buffers_;
  std::vector<uint64_t>
      views_;  // running sum of variadic buffers: of the first, the first two … columns of views
};

struct DictionaryMessage {
  int64_t id = 0;
  bool is_delta = false;
};
Result<DictionaryMessage> dictionary_of(const Message& message);

}  // namespace headrace::arrow
