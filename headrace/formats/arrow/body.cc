#include "headrace/formats/arrow/body.h"

#include <algorithm>

namespace headrace::arrow {
namespace {

Status too_short(const Cut& cut, uint64_t size) {
  return corrupt("expected " + std::to_string(cut.length) + " bytes at byte " + std::to_string(cut.offset) +
                 " of buffer " + std::to_string(cut.buffer) + ", which has " + std::to_string(size));
}

}  // namespace

Result<Piece> piece_of(const Batch& batch, const Cut& cut) {
  HEADRACE_ASSIGN(const Piece piece, batch.piece(cut.buffer));
  if (!within(cut.offset, cut.length, piece.length)) return too_short(cut, piece.length);
  return Piece{piece.offset + cut.offset, cut.length};
}

Result<Body> Body::whole(const std::vector<Column>& columns, const Batch& batch, Bytes body) {
  if (body.size < batch.body())
    return corrupt({.expected = "a body of " + std::to_string(batch.body()) + " bytes",
                    .got = std::to_string(body.size)});
  if (batch.codec() == Codec::none) {
    Body out;
    out.all_ = std::move(body);
    return out;
  }
  HEADRACE_ASSIGN(const std::vector<uint32_t> buffers, buffers_of(columns, batch));
  std::vector<Bytes> stored;
  for (const uint32_t buffer : buffers) {
    HEADRACE_ASSIGN(const Piece piece, batch.piece(buffer));
    stored.push_back({body.buffer, body.offset + piece.offset, piece.length});
  }
  return parts(buffers, batch, std::move(stored));
}

Result<Body> Body::parts(const std::vector<uint32_t>& buffers, const Batch& batch,
                         std::vector<Bytes> stored) {
  Body out;
  out.buffers_ = buffers;
  HEADRACE_ASSIGN(out.parts_, inflate(batch.codec(), std::move(stored)));
  for (const Bytes& bytes : out.parts_) out.held_ += bytes.size;
  return out;
}

Result<Bytes> Body::cut(const Batch& batch, const Cut& cut) const {
  if (all_.buffer) {
    HEADRACE_ASSIGN(const Piece piece, piece_of(batch, cut));
    return Bytes{all_.buffer, all_.offset + piece.offset, piece.length};
  }
  const auto it = std::ranges::lower_bound(buffers_, cut.buffer);
  if (it == buffers_.end() || *it != cut.buffer)
    return internal_error("expected buffer " + std::to_string(cut.buffer) + ", which was not requested");
  const Bytes& part = parts_[static_cast<size_t>(it - buffers_.begin())];
  if (!within(cut.offset, cut.length, part.size)) return too_short(cut, part.size);
  return Bytes{part.buffer, part.offset + cut.offset, cut.length};
}

Result<std::vector<Values>> Body::read(const Batch& batch, RowsReader reader) const {
  while (!reader.wanted().empty()) {
    std::vector<Bytes> bytes;
    bytes.reserve(reader.wanted().size());
    for (const RowsReader::Wanted& wanted : reader.wanted()) {
      HEADRACE_ASSIGN(Bytes some, cut(batch, wanted.cut));
      bytes.push_back(std::move(some));
    }
    HEADRACE_TRY(reader.take(std::move(bytes)));
  }
  return std::move(reader).finish();
}

}  // namespace headrace::arrow
