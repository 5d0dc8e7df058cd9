#include "headrace/formats/arrow/message.h"

namespace headrace::arrow {
namespace {

// Fewest bits of body per row: a boolean at the highest accepted compression ratio.
constexpr uint64_t kMaxRowsPerByte = 8 * 1000;

// Feather files of 0.17 name their codec in the message's own metadata.
Result<Codec> old_codec_of(const FlatTable& message) {
  HEADRACE_ASSIGN(const auto pairs, message.vector(4, 4));
  for (uint32_t i = 0; i < pairs.count; ++i) {
    HEADRACE_ASSIGN(const FlatTable pair, message.element(pairs, i));
    HEADRACE_ASSIGN(const auto key, pair.text(0));
    if (key != "ARROW:experimental_compression") continue;
    HEADRACE_ASSIGN(const auto name, pair.text(1));
    if (name == "lz4" || name == "LZ4") return Codec::lz4;
    if (name == "zstd" || name == "ZSTD") return Codec::zstd;
    return Status(Code::unavailable, "cannot read buffers compressed with '" + std::string(name) + "'");
  }
  return Codec::none;
}

Result<Codec> codec_of(const FlatTable& batch, Codec old) {
  HEADRACE_ASSIGN(const auto compression, batch.table(3));
  if (!compression) return old;
  HEADRACE_ASSIGN(const auto codec, compression->number<int8_t>(0, 0));
  HEADRACE_ASSIGN(const auto method, compression->number<int8_t>(1, 0));
  if (codec < 0 || codec > 1 || method != 0)
    return Status(Code::unavailable, {.expected = "buffers compressed with LZ4 or zstd",
                                      .got = "compression " + std::to_string(codec)});
  return static_cast<Codec>(codec);
}

uint64_t prefix_of(std::span<const std::byte> bytes) {
  return load<uint32_t>(bytes.data()) == kContinuation ? 8 : 4;
}

}  // namespace

uint64_t metadata_length(std::span<const std::byte> bytes) {
  const uint64_t prefix = prefix_of(bytes);
  if (bytes.size() < prefix) return 0;
  const auto length = load<uint32_t>(bytes.data() + prefix - 4);
  return length == 0 ? 0 : prefix + length;
}

Status check_version(int version) {
  if (version == 3 || version == 4) return {};
  return Status(Code::unavailable,
                {.expected = "metadata of version V4 or V5", .got = "V" + std::to_string(version + 1)});
}

Result<Message> Message::read(std::span<const std::byte> bytes) {
  if (bytes.size() < kPrefix)
    return corrupt({.expected = "a message", .got = std::to_string(bytes.size()) + " bytes"});
  const uint64_t length = metadata_length(bytes), prefix = prefix_of(bytes);
  if (length == 0 || length > bytes.size())
    return corrupt({.expected = "message metadata in " + std::to_string(bytes.size()) + " bytes",
                    .got = length == 0 ? "none" : std::to_string(length)});
  HEADRACE_ASSIGN(const FlatTable root, FlatTable::root(bytes.subspan(prefix, length - prefix)));
  HEADRACE_ASSIGN(const auto version, root.number<int16_t>(0, 0));
  HEADRACE_ASSIGN(const auto kind, root.number<uint8_t>(1, 0));
  HEADRACE_ASSIGN(const auto header, root.table(2));
  HEADRACE_ASSIGN(const auto body, root.number<int64_t>(3, 0));
  HEADRACE_TRY(check_version(version));
  if (!header || body < 0)
    return corrupt({.expected = "a message with a header and a body length", .got = "none"});
  HEADRACE_ASSIGN(const Codec old, old_codec_of(root));
  return Message{version, kind, *header, static_cast<uint64_t>(body), old};
}

Result<Batch> Batch::of(const Message& message) {
  std::optional<FlatTable> table = message.header;
  if (message.kind == Message::dictionary) {
    HEADRACE_ASSIGN(table, message.header.table(1));
  }
  if (!table || (message.kind != Message::batch && message.kind != Message::dictionary))
    return corrupt({.expected = "a record batch", .got = "message type " + std::to_string(message.kind)});
  Batch out;
  out.body_ = message.body;
  HEADRACE_ASSIGN(out.rows_, table->number<uint64_t>(0, 0));
  if (out.rows_ / kMaxRowsPerByte > out.body_)
    return corrupt(
        {.expected = "a number of rows that fits a body of " + std::to_string(out.body_) + " bytes",
         .got = std::to_string(out.rows_)});
  HEADRACE_ASSIGN(out.nodes_, table->vector(1, 16));
  HEADRACE_ASSIGN(out.buffers_, table->vector(2, 16));
  HEADRACE_ASSIGN(out.codec_, codec_of(*table, message.old_codec));
  HEADRACE_ASSIGN(const auto views, table->vector(4, 8));
  uint64_t sum = 0;
  for (uint32_t i = 0; i < views.count; ++i) {
    const auto count = load<uint64_t>(views.bytes.data() + uint64_t{8} * i);
    if (count > out.buffers_.count - sum)
      return corrupt(
          {.expected = "columns of views with at most " + std::to_string(out.buffers_.count) + " buffers",
           .got = std::to_string(count)});
    out.views_.push_back(sum += count);
  }
  return out;
}

Status Batch::fits(const Layout& layout) const {
  const uint64_t buffers = layout.num_buffers + (views_.empty() ? 0 : views_.back());
  if (nodes_.count != layout.num_nodes || buffers_.count != buffers || views_.size() != layout.num_views)
    return corrupt({.expected = std::to_string(layout.num_nodes) + " nodes and " + std::to_string(buffers) +
                                " buffers in a record batch",
                    .got = std::to_string(nodes_.count) + " and " + std::to_string(buffers_.count)});
  // Buffers that share bytes would let a small file require much memory.
  uint64_t left = body_;
  for (uint32_t i = 0; i < buffers_.count; ++i) {
    HEADRACE_ASSIGN(const Piece piece, this->piece(i));
    if (piece.length > left)
      return corrupt(
          {.expected = "buffers of at most " + std::to_string(body_) + " bytes together", .got = "more"});
    left -= piece.length;
  }
  return {};
}

Result<Node> Batch::node(uint32_t i) const {
  if (i >= nodes_.count)
    return corrupt("expected node " + std::to_string(i) + " of a record batch, which has " +
                   std::to_string(nodes_.count));
  const std::byte* at = nodes_.bytes.data() + uint64_t{16} * i;
  return Node{load<uint64_t>(at), load<uint64_t>(at + 8)};
}

Result<uint32_t> Batch::buffer(BufferAt at) const {
  if (at.views > views_.size())
    return corrupt({.expected = "buffer counts for columns of views", .got = "none"});
  const uint64_t i = at.fixed + (at.views == 0 ? 0 : views_[at.views - 1]);
  if (i >= buffers_.count)
    return corrupt("expected buffer " + std::to_string(i) + " of a record batch, which has " +
                   std::to_string(buffers_.count));
  return static_cast<uint32_t>(i);
}

uint64_t Batch::num_behind(uint32_t views) const {
  if (views >= views_.size()) return 0;
  return views_[views] - (views == 0 ? 0 : views_[views - 1]);
}

Result<Piece> Batch::piece(uint32_t buffer) const {
  const std::byte* at = buffers_.bytes.data() + uint64_t{16} * buffer;
  const Piece out{load<uint64_t>(at), load<uint64_t>(at + 8)};
  if (!within(out.offset, out.length, body_))
    return corrupt({.expected = "buffer " + std::to_string(buffer) + " inside a body of " +
                                std::to_string(body_) + " bytes",
                    .got = std::to_string(out.length) + " bytes at " + std::to_string(out.offset)});
  return out;
}

Result<DictionaryMessage> dictionary_of(const Message& message) {
  DictionaryMessage out;
  HEADRACE_ASSIGN(out.id, message.header.number<int64_t>(0, 0));
  HEADRACE_ASSIGN(const auto delta, message.header.number<uint8_t>(2, 0));
  out.is_delta = delta != 0;
  return out;
}

}  // namespace headrace::arrow
