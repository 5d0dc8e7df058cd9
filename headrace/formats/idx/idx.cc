// IDX files, the format of MNIST: see README.md.
#include <algorithm>
#include <cstring>
#include <optional>

#include "headrace/codecs/deflate/inflate.h"
#include "headrace/core/stop_flag.h"
#include "headrace/formats/idx/labels.h"
#include "headrace/formats/records/whole_walk.h"
#include "headrace/formats/rows/array_rows.h"

namespace headrace {
namespace {

constexpr uint64_t kLongestHead = 4 + 4 * kMaxRank;
constexpr uint64_t kMostUnpacked = uint64_t{2} << 30;  // bytes
constexpr uint64_t kMostRatio = 1032;                  // deflate packs 258 bytes into two bits at best

std::optional<DType> dtype_of(int type) {
  switch (type) {
    case 0x08: return DType::u8;
    case 0x09: return DType::i8;
    case 0x0B: return DType::i16;
    case 0x0C: return DType::i32;
    case 0x0D: return DType::f32;
    case 0x0E: return DType::f64;
    default: return std::nullopt;
  }
}

// `head`: the first kLongestHead bytes, or all if there are fewer.
Result<NpyHeader> read_head(std::span<const std::byte> head) {
  const auto byte_at = [&](size_t i) { return i < head.size() ? std::to_integer<int>(head[i]) : -1; };
  const std::optional<DType> dtype = dtype_of(byte_at(2));
  const int rank = byte_at(3);
  if (byte_at(0) != 0 || byte_at(1) != 0 || !dtype || rank < 1 || rank > kMaxRank)
    return corrupt(
        {.expected = "00 00, a type of 08 to 0e and 1 to 8 dimensions at byte 0", .got = "something else"});
  NpyHeader out;
  out.dtype = *dtype, out.is_big_endian = true;
  out.data = 4 + 4 * static_cast<size_t>(rank);
  if (head.size() < out.data)
    return corrupt({.expected = "a header of " + std::to_string(out.data) + " bytes",
                    .got = std::to_string(head.size())});
  std::vector<int64_t> dims;
  for (size_t at = 4; at < out.data; at += 4) {
    int64_t dim = 0;
    for (const std::byte b : head.subspan(at, 4)) dim = dim << 8 | std::to_integer<int64_t>(b);
    dims.push_back(dim);
  }
  out.shape = Shape(dims);
  return out;
}

// The first bytes that gzip data unpack to, up to the longest header.
std::string unpacked_head(std::span<const std::byte> packed) {
  std::string out;
  Inflater inflater;
  // Stops when there is enough; errors in the rest are found when everything is unpacked.
  (void)inflater.feed(packed, [&](std::span<const std::byte> piece) {
    out.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return out.size() < kLongestHead ? Status() : stopped();
  });
  out.resize(std::min(out.size(), kLongestHead));
  return out;
}

Result<BufferPtr> unpack(std::span<const std::byte> packed, uint64_t size) {
  if (size > kMostUnpacked)
    return Status(Code::exhausted,
                  {.expected = "at most 2 GiB in gzip, which are unpacked and kept in memory",
                   .got = std::to_string(size) + " bytes",
                   .fix = "decompress the file with gunzip"});
  if (size / kMostRatio > packed.size())
    return corrupt("expected " + std::to_string(size) + " bytes, which " + std::to_string(packed.size()) +
                   " bytes of gzip cannot hold");
  const MutableBufferPtr out = HeapBuffer::make(size);
  size_t done = 0;
  Inflater inflater;
  HEADRACE_TRY(inflater.feed(packed, [&](std::span<const std::byte> piece) -> Status {
    if (piece.size() > size - done)
      return corrupt({.expected = std::to_string(size) + " bytes", .got = "more"});
    std::memcpy(out->mutable_data() + done, piece.data(), piece.size());
    done += piece.size();
    return {};
  }));
  HEADRACE_TRY(inflater.finish());
  if (done != size)
    return corrupt({.expected = std::to_string(size) + " bytes", .got = std::to_string(done)});
  return BufferPtr(out);
}

class FindIdx final : public Opening<std::vector<FoundArray>> {
 public:
  FindIdx(std::string name, uint64_t size) : name_(std::move(name)), size_(size) {}
  Result<Step<std::vector<FoundArray>>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) return ask(kLongestHead);
    if (begins_gzip(bytes[0]->bytes())) {
      if (bytes[0]->size() < size_) return ask(size_);
      const std::string head = unpacked_head(bytes[0]->bytes());
      HEADRACE_ASSIGN(const NpyHeader header, read_head(std::as_bytes(std::span(head))));
      const uint64_t size = saturating_add(header.data, header.shape.size_bytes(header.dtype));
      HEADRACE_ASSIGN(const BufferPtr all, unpack(bytes[0]->bytes(), size));
      return found(array_rows_held(name_, header, all));
    }
    HEADRACE_ASSIGN(const NpyHeader header, read_head(bytes[0]->bytes()));
    return found(array_rows(name_, header, 0, size_));
  }

 private:
  Step<std::vector<FoundArray>> ask(uint64_t length) const {
    return std::vector<Extent>{{0, 0, std::min(size_, length)}};
  }
  static Result<Step<std::vector<FoundArray>>> found(Result<FoundArray> array) {
    if (!array.ok()) return array.status();
    std::vector<FoundArray> out;
    out.push_back(*std::move(array));
    return Step<std::vector<FoundArray>>(std::move(out));
  }

  std::string name_;
  uint64_t size_;
};

int recognise(const Probe& probe) {
  if (!probe.head || probe.files.size() != 1) return 0;
  const std::span<const std::byte> head = probe.head->bytes();
  if (begins_gzip(head)) {
    const std::string unpacked = unpacked_head(head);
    const auto header = read_head(std::as_bytes(std::span(unpacked)));
    return header.ok() && header->shape.count() > 0 ? 80 : 0;
  }
  const auto header = read_head(head.first(std::min<size_t>(head.size(), kLongestHead)));
  return header.ok() && array_rows("", *header, 0, probe.info.size).ok() ? 95 : 0;
}

std::vector<std::pair<std::string, std::string>> files_beside(const std::string& path) {
  std::vector<std::pair<std::string, std::string>> out;
  for (std::string& labels : idx_labels_of(path)) out.emplace_back("labels", std::move(labels));
  return out;
}

Result<std::vector<std::string>> places(const std::string&, const Value& options) {
  std::vector<std::string> out;
  if (const Value* labels = options.find("labels"); labels && labels->text()) out.push_back(*labels->text());
  return out;
}

Result<SourceOpening> open(const OpenRequest& request) {
  const Value* labels = request.options.find("labels");
  if (!labels || !labels->boolean() || *labels->boolean()) HEADRACE_TRY(request.text("labels").status());
  std::vector<SourceFile> files;
  std::vector<ArrayWalk> walks;
  const bool has_labels = request.probes.size() > 1;
  for (const Probe& probe : request.probes) {
    if (probe.files.size() != 1)
      return invalid({.expected = "one file of " + std::string(files.empty() ? "arrays" : "labels"),
                      .got = "'" + probe.path + "'"});
    const char* name = !has_labels ? "array" : files.empty() ? "image" : "label";
    walks.push_back(std::make_unique<FindIdx>(name, probe.files[0].size));
    files.push_back(probe.files[0]);
  }
  return open_rows_side_by_side("idx", request, std::move(files), std::move(walks));
}

const FormatRegistration registered({
    .name = "idx",
    .doc = "IDX files, the format of MNIST: one sample per slice along the first axis; plain or gzip.",
    .fields = "`array`; with labels, `image` and `label`. Dtypes are those of the file: MNIST has images "
              "uint8 (28, 28) and labels uint8.",
    .path = "The file.",
    .options =
        {{"labels", "str | os.PathLike[str] | Literal[False] | None",
          "A file with one label per image. When not given, that of MNIST's images: "
          "`train-labels-idx1-ubyte` beside `train-images-idx3-ubyte`, if there is one; False for none."}},
    .raises = {{"MemoryError", "a gzip file has more than 2 GiB; it is decompressed and kept in memory."},
               {"CorruptSample",
                "the size of a file does not match its dimensions, or the number of labels differs."}},
    .example = "hr.read_idx(\"train-images-idx3-ubyte.gz\", labels=\"train-labels-idx1-ubyte.gz\")",
    .recognise = recognise,
    .places = places,
    .open = open,
    .may_hold_splits = true,
    .files_beside = files_beside,
});

}  // namespace

std::vector<std::string> idx_labels_of(std::string_view images) {
  const size_t name = images.rfind('/') + 1;
  const size_t word = images.find("images", name);
  const size_t rank = images.find("idx3-ubyte", name);
  if (word == std::string_view::npos || rank == std::string_view::npos || word > rank) return {};
  std::string out(images);
  out.replace(rank, 4, "idx1").replace(word, 6, "labels");
  const bool is_packed = out.ends_with(".gz");
  return {out, is_packed ? out.substr(0, out.size() - 3) : out + ".gz"};
}

}  // namespace headrace
