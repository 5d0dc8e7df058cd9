#include "headrace/formats/array_record/index.h"

#include <algorithm>

#include "headrace/codecs/packed/unpack.h"
#include "headrace/codecs/protobuf.h"
#include "headrace/core/little_endian.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/array_record/chunk.h"

namespace headrace {
namespace {

constexpr uint64_t kFooterMagic = 0x71930e704fdae05e;
constexpr uint64_t kMostFooter = uint64_t{1} << 31;

// A message of integers, by field number; other fields are skipped.
template <size_t n>
Status read_numbers(std::span<const std::byte> message, std::array<uint64_t, n>& out, const char* what) {
  WireReader reader(message, message.data());
  for (WireField field; reader.next(field);)
    if (field.wire != Wire::bytes && field.number < n) out[field.number] = field.value;
  return reader.status(what);
}

// From three postscripts, which must agree.
Result<uint64_t> footer_offset(const BufferPtr& block) {
  const auto bytes = block->bytes().subspan(kRiegeliBlockHeader);
  HEADRACE_ASSIGN(const RiegeliChunk chunk, riegeli_chunk(bytes, true));
  MadeBytes memory(0);
  UnpackedFrame frame;
  HEADRACE_TRY(riegeli_records(chunk, block, memory, frame));
  if (frame.records.size() != 3)
    return corrupt({.expected = "three postscripts", .got = std::to_string(frame.records.size())});
  std::array<uint64_t, 3> offsets{};
  for (size_t i = 0; i < 3; ++i) {
    std::array<uint64_t, 3> numbers{};
    HEADRACE_TRY(read_numbers(frame.bytes->bytes().subspan(frame.records[i].offset, frame.records[i].length),
                              numbers, "a postscript"));
    if (numbers[2] != kFooterMagic)
      return corrupt({.expected = "the postscript of an ArrayRecord", .got = "another"});
    offsets[i] = numbers[1];
  }
  if (offsets[0] != offsets[1] || offsets[0] != offsets[2])
    return corrupt({.expected = "three postscripts that agree",
                    .got = std::to_string(offsets[0]) + ", " + std::to_string(offsets[1]) + " and " +
                           std::to_string(offsets[2])});
  return offsets[0];
}

class ArrayRecordIndexing final : public Opening<FileIndex> {
 public:
  explicit ArrayRecordIndexing(SourceFile file) : file_(std::move(file)) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) {
      if (file_.size < 2 * kRiegeliBlock || file_.size % kRiegeliBlock != 0)
        return corrupt({.expected = "blocks of 64 KiB, at least two",
                        .got = std::to_string(file_.size) + " bytes",
                        .fix = "the file was not closed, or is another Riegeli file"});
      return Step<FileIndex>(std::vector<Extent>{{0, file_.size - kRiegeliBlock, kRiegeliBlock}});
    }
    if (footer_ == 0) {
      const auto offset = footer_offset(bytes[0]);
      if (!offset.ok())
        return offset.status()
            .before("in the last block: ")
            .after("; the file was not closed, or is another Riegeli file");
      const uint64_t end = file_.size - kRiegeliBlock;
      if (*offset == 0 || *offset >= end || end - *offset > kMostFooter)
        return corrupt({.expected = "a footer of at most 2 GiB before byte " + std::to_string(end),
                        .got = "one at byte " + std::to_string(*offset)});
      footer_ = *offset;
      return Step<FileIndex>(std::vector<Extent>{{0, footer_, end - footer_}});
    }
    auto index = read_footer(bytes[0]);
    if (!index.ok()) return index.status().after(" (in the footer at byte " + std::to_string(footer_) + ")");
    return Step<FileIndex>(*std::move(index));
  }

 private:
  Result<FileIndex> read_footer(const BufferPtr& bytes) const {
    MadeBytes memory(0);
    const auto [record, hash] = without_block_headers({bytes, 0, bytes->size()}, footer_, true, memory);
    HEADRACE_ASSIGN(const RiegeliChunk chunk, riegeli_chunk(record.bytes(), true, hash));
    UnpackedFrame frame;
    HEADRACE_TRY(riegeli_records(chunk, record.buffer, memory, frame));
    if (frame.records.empty()) return corrupt({.expected = "metadata", .got = "no record"});
    const auto message = [&](size_t i) {
      return frame.bytes->bytes().subspan(frame.records[i].offset, frame.records[i].length);
    };
    HEADRACE_ASSIGN(const uint64_t num_records, metadata(message(0), frame.records.size() - 1));
    FileIndex out;
    std::vector<uint64_t> counts;
    uint64_t sum = 0, most = 0;
    for (size_t i = 1; i < frame.records.size(); ++i) {
      std::array<uint64_t, 4> entry{};  // 1: where, 2: decoded bytes, 3: records
      HEADRACE_TRY(read_numbers(message(i), entry, "an entry of the footer"));
      if (!out.records.empty()) out.records.back().length = entry[1] - out.records.back().offset;
      const uint64_t least = out.records.empty() ? 1 : out.records.back().offset + 1;
      if (entry[1] < least || entry[1] >= footer_)
        return corrupt({.expected = "chunk " + std::to_string(i - 1) + " from byte " + std::to_string(least) +
                                    " to " + std::to_string(footer_),
                        .got = "byte " + std::to_string(entry[1])});
      out.records.push_back({entry[1], footer_ - entry[1]});
      counts.push_back(entry[3]);
      // A writer that does not give the size promises nothing.
      most = std::max(most, entry[2] == 0 && entry[3] > 0 ? ~uint64_t{0} : entry[2]);
      sum += std::min(entry[3], kMostFooter);
    }
    // Each record takes at least one byte of its chunk's unpacked sizes.
    for (size_t i = 0; i < counts.size(); ++i)
      HEADRACE_TRY(check_unpacked_size(out.records[i].length, counts[i]));
    if (sum != num_records)
      return corrupt("expected " + std::to_string(num_records) + " records, but its chunks have " +
                     std::to_string(sum));
    out.extra = pack_counts(most, counts);
    return out;
  }

  // The number of records; `chunks`: entries that follow.
  static Result<uint64_t> metadata(std::span<const std::byte> message, uint64_t chunks) {
    WireReader reader(message, message.data());
    std::array<uint64_t, 4> numbers{};  // 1: version, 2: chunks, 3: records
    for (WireField field; reader.next(field);)
      if (field.is_bytes(1)) HEADRACE_TRY(read_numbers(field.bytes, numbers, "metadata of an ArrayRecord"));
    HEADRACE_TRY(reader.status("metadata of an ArrayRecord"));
    if (numbers[1] != 1)
      return Status(Code::unavailable, {.expected = "version 1", .got = std::to_string(numbers[1])});
    if (numbers[2] != chunks)
      return corrupt({.expected = std::to_string(numbers[2]) + " chunks", .got = std::to_string(chunks)});
    return numbers[3];
  }

  SourceFile file_;
  uint64_t footer_ = 0;
};

}  // namespace

std::unique_ptr<Opening<FileIndex>> index_array_record(SourceFile file) {
  return std::make_unique<ArrayRecordIndexing>(std::move(file));
}

std::string pack_counts(uint64_t most_unpacked, const std::vector<uint64_t>& counts) {
  std::string out(reinterpret_cast<const char*>(&most_unpacked), sizeof most_unpacked);
  if (std::ranges::all_of(counts, [](uint64_t count) { return count == 1; })) return out;
  return out.append(reinterpret_cast<const char*>(counts.data()), counts.size() * sizeof(uint64_t));
}

std::optional<std::vector<uint64_t>> unpack_counts(std::string_view bytes, size_t chunks,
                                                   uint64_t& most_unpacked) {
  std::vector<uint64_t> out;
  if (bytes.size() < sizeof most_unpacked) return std::nullopt;
  most_unpacked = load<uint64_t>(text_bytes(bytes));
  bytes.remove_prefix(sizeof most_unpacked);
  if (bytes.empty()) return out;
  if (bytes.size() != chunks * sizeof(uint64_t)) return std::nullopt;
  out.push_back(0);
  for (size_t i = 0; i < chunks; ++i) {
    const auto count = load<uint64_t>(text_bytes(bytes), i * sizeof(uint64_t));
    if (count > ~uint64_t{0} - out.back()) return std::nullopt;
    out.push_back(out.back() + count);
  }
  return out;
}

bool begins_riegeli(std::span<const std::byte> head) {
  constexpr std::array<uint64_t, 8> kSignature = {0x3f4a880dd170af83, 0,    64, 0xa9e187923cc2ba91, 0,
                                                  0x72c3b1e9c0139fe1, 0x73, 0};
  return head.size() >= sizeof kSignature &&
         std::memcmp(head.data(), kSignature.data(), sizeof kSignature) == 0;
}

}  // namespace headrace
