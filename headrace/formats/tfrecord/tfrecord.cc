// TFRecord: see README.md beside this file.
#include <algorithm>
#include <cstring>

#include "headrace/formats/records/record_files.h"
#include "headrace/formats/tfrecord/framing.h"
#include "headrace/formats/tfrecord/walk.h"

namespace headrace {
namespace {

Status read(const Record& record, bool verify, std::vector<Tensor>& fields) {
  HEADRACE_ASSIGN(const auto data, tfrecord_data(record.bytes(), verify));
  fields.assign(1, Tensor{record.buffer,
                          record.offset + kTfrecordHeader,
                          DType::bytes,
                          {static_cast<int64_t>(data.size())},
                          nullptr});
  return {};
}

int recognise(const Probe& probe) {
  if (!probe.head || probe.head->size() < kTfrecordHeader) return 0;
  return framed_length(probe.head->bytes(), probe.info.size).ok()
             ? 95
             : 0;  // a checksum matches by chance in 2^32
}

Result<SourceOpening> open(const OpenRequest& request) {
  HEADRACE_ASSIGN(const bool verify, request.flag("verify", true));
  RecordOpening out;
  out.kind = "tfrecord 1";
  out.files = request.path().files;
  out.index = [files = out.files](uint64_t file) { return walk_tfrecord(files[file]); };
  out.finish = [request, verify](std::vector<FileIndex> indexes) {
    RecordFormat format;
    format.name = "tfrecord";
    format.schema = Schema::of({"record"}, {{DType::bytes, {kAny}}});
    format.read = [verify](const Record& record, std::vector<Tensor>& fields) {
      return read(record, verify, fields);
    };
    return record_files(std::move(format), request, std::move(indexes));
  };
  return from_records(std::move(out));
}

const FormatRegistration registered({
    .name = "tfrecord",
    .doc = "TensorFlow's records: the bytes of each, from one file or many.",
    .options = {{"verify", "bool", "Check each record's checksum; lengths are checked always.", true}},
    .recognise = recognise,
    .open = open,
    .takes_files = true,
});

}  // namespace
}  // namespace headrace
