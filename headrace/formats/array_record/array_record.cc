// ArrayRecord: see README.md.
#include "headrace/formats/array_record/chunk.h"
#include "headrace/formats/array_record/index.h"
#include "headrace/formats/records/framed_files.h"

namespace headrace {
namespace {

int recognise(const Probe& probe) { return probe.head && begins_riegeli(probe.head->bytes()) ? 95 : 0; }

// The chunks of a file: where each begins, and the most bytes that one unpacks to.
struct Chunks {
  std::vector<uint64_t> offsets;
  uint64_t most_unpacked = 0;
};

Result<SourcePtr> finish(const OpenRequest& request, bool verify, std::vector<FileIndex> indexes) {
  std::vector<FramedFile> files;
  auto chunks = std::make_shared<std::vector<Chunks>>();
  for (size_t i = 0; i < indexes.size(); ++i) {
    Chunks& of_file = chunks->emplace_back();
    auto first = unpack_counts(indexes[i].extra, indexes[i].records.size(), of_file.most_unpacked);
    if (!first) return internal_error("expected the kept index of an ArrayRecord");
    for (const RecordExtent& chunk : indexes[i].records) of_file.offsets.push_back(chunk.offset);
    files.push_back({request.path().files[i], std::move(indexes[i].records), *std::move(first), true,
                     of_file.most_unpacked});
  }
  FramedFormat format;
  format.name = "array_record";
  format.schema = Schema::of({"record"}, {{DType::bytes, {kAny}}});
  format.copies_frames = true;
  format.unpack = [chunks, verify](size_t file, uint64_t frame, const Record& packed, MadeBytes& memory,
                                   UnpackedFrame& out) -> Status {
    const Chunks& of_file = (*chunks)[file];
    const auto [bytes, hash] = without_block_headers(packed, of_file.offsets[frame], verify, memory);
    HEADRACE_ASSIGN(const RiegeliChunk chunk, riegeli_chunk(bytes.bytes(), verify, hash));
    if (chunk.decoded_size > of_file.most_unpacked)
      return corrupt({.expected = "a chunk of at most " + std::to_string(of_file.most_unpacked) +
                                  " bytes as the footer states",
                      .got = std::to_string(chunk.decoded_size)});
    return riegeli_records(chunk, bytes.buffer, memory, out);
  };
  return framed_files(std::move(format), request, std::move(files));
}

Result<SourceOpening> open(const OpenRequest& request) {
  HEADRACE_ASSIGN(const bool verify, request.flag("verify", true));
  RecordOpening out;
  out.kind = "array_record 2";
  out.files = request.path().files;
  out.index = [files = out.files](uint64_t file) { return index_array_record(files[file]); };
  out.finish = [request, verify](std::vector<FileIndex> indexes) {
    return finish(request, verify, std::move(indexes));
  };
  return from_records(std::move(out));
}

const FormatRegistration registered({
    .name = "array_record",
    .doc = "ArrayRecord files of any group size, plain, zstd, brotli or snappy: one sample per record.",
    .fields = "`record` (bytes), as in `read_tfrecord`.",
    .path = "A file, a pattern, a folder of shards, or a list of files and patterns.",
    .options = {{"verify", "bool",
                 "Compare the data of each chunk with its hash; headers are always checked.", true}},
    .raises = {{"CorruptSample",
                "a chunk or the footer is damaged, or the file was not closed. The message has file, record "
                "and byte."},
               {"NotImplementedError", "the file was written with `transpose:true`."}},
    .example = "hr.read_array_record(\"train.array_record*\")",
    .recognise = recognise,
    .open = open,
    .takes_files = true,
});

}  // namespace
}  // namespace headrace
