// ArrayRecord: see README.md beside this file.
#include "headrace/formats/array_record/chunk.h"
#include "headrace/formats/array_record/index.h"
#include "headrace/formats/records/framed_files.h"

namespace headrace {
namespace {

int recognise(const Probe& probe) { return probe.head && begins_riegeli(probe.head->bytes()) ? 95 : 0; }

Result<SourcePtr> finish(const OpenRequest& request, bool verify, std::vector<FileIndex> indexes) {
  std::vector<FramedFile> files;
  auto starts = std::make_shared<std::vector<std::vector<uint64_t>>>();  // of the chunks of each file
  for (size_t i = 0; i < indexes.size(); ++i) {
    auto first = unpack_counts(indexes[i].extra, indexes[i].records.size());
    if (!first) return internal_error("wants what is kept of an ArrayRecord");
    std::vector<uint64_t>& offsets = starts->emplace_back();
    for (const RecordExtent& chunk : indexes[i].records) offsets.push_back(chunk.offset);
    files.push_back({request.path().files[i], std::move(indexes[i].records), *std::move(first), true});
  }
  FramedFormat format;
  format.name = "array_record";
  format.schema = Schema::of({"record"}, {{DType::bytes, {kAny}}});
  format.unpack = [starts, verify](size_t file, uint64_t frame,
                                   const Record& packed) -> Result<UnpackedFrame> {
    BufferPtr copied;
    const Record bytes =
        without_block_headers(packed.buffer, packed.offset, packed.length, (*starts)[file][frame], copied);
    HEADRACE_ASSIGN(const RiegeliChunk chunk, riegeli_chunk(bytes.bytes(), verify));
    return riegeli_records(chunk, bytes.buffer);
  };
  format.read = [](const Record& record, std::vector<Tensor>& fields) -> Status {
    const auto length = static_cast<int64_t>(record.length);
    fields.assign(1, Tensor{record.buffer, record.offset, DType::bytes, {length}, nullptr});
    return {};
  };
  return framed_files(std::move(format), request, std::move(files));
}

Result<SourceOpening> open(const OpenRequest& request) {
  HEADRACE_ASSIGN(const bool verify, request.flag("verify", true));
  RecordOpening out;
  out.kind = "array_record 1";
  out.files = request.path().files;
  out.index = [files = out.files](uint64_t file) { return index_array_record(files[file]); };
  out.finish = [request, verify](std::vector<FileIndex> indexes) {
    return finish(request, verify, std::move(indexes));
  };
  return from_records(std::move(out));
}

const FormatRegistration registered({
    .name = "array_record",
    .doc = "ArrayRecord files of any group size, plain, zstd, brotli or snappy: the bytes of each record.",
    .options = {{"verify", "bool", "Compare the data of each chunk with their hash; headers always are.",
                 true}},
    .recognise = recognise,
    .open = open,
    .takes_files = true,
});

}  // namespace
}  // namespace headrace
