// TFRecord: see README.md.
#include "headrace/core/text/text.h"
#include "headrace/formats/records/record_files.h"
#include "headrace/formats/tfrecord/framing.h"
#include "headrace/formats/tfrecord/index.h"

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

size_t put(const RecordRun& run, bool verify, TextRows& out) {
  for (size_t i = 0; i < run.records.size(); ++i) {
    const auto data = tfrecord_data(run[i].bytes(), verify);
    if (!data.ok()) return i;
    out.set(i, run.buffer, *data);
  }
  return run.records.size();
}

// The same from mapped files. The checksum is compared with the copy, which does not change.
size_t put_mapped(std::span<const Text> records, bool verify, MappedBytes& mapped, size_t first,
                  TextRows& out) {
  expect_small(records, mapped);
  for (size_t i = 0; i < records.size(); ++i) {
    expect_record(records, i);
    const auto data = tfrecord_data(records[i], false);
    const auto kept = data.ok() ? mapped.keep_value(*data) : std::nullopt;
    if (!kept || (verify && !is_tfrecord_data(kept->bytes, records[i]))) return i;
    out.set(first + i, kept->buffer, kept->bytes);
  }
  return records.size();
}

// A checksum of four bytes matches by chance once in 2^32.
int recognise(const Probe& probe) {
  if (!probe.head) return 0;
  const auto head = probe.head->bytes();
  return begins_tfrecord(head, probe.info.size) || begins_deflated_tfrecord(head) ? 95 : 0;
}

// The usual output paths of DALI's tfrecord2idx.
std::vector<std::string> beside(const std::string& path) {
  const size_t dot = path.rfind('.'), slash = path.rfind('/');
  std::vector<std::string> out{path + ".idx"};
  if (dot != std::string::npos && (slash == std::string::npos || dot > slash + 1))
    out.push_back(path.substr(0, dot) + ".idx");
  return out;
}

Result<SourceOpening> open(const OpenRequest& request) {
  HEADRACE_ASSIGN(const bool verify, request.flag("verify", true));
  RecordOpening out;
  out.kind = "tfrecord 2";
  out.files = request.path().files;
  out.index = [files = out.files](uint64_t file) { return walk_tfrecord(files[file]); };
  out.finish = [request, verify](std::vector<FileIndex> indexes) {
    RecordFormat format;
    format.name = "tfrecord";
    format.inflates = true;
    format.schema = Schema::of({"record"}, {{DType::bytes, {kAny}}});
    format.read = [verify](const Record& record, std::vector<Tensor>& fields) {
      return read(record, verify, fields);
    };
    format.put = [verify](const RecordRun& run, std::span<const FieldPlace> to) {
      return put(run, verify, *to[0].texts);
    };
    format.put_mapped = [verify](std::span<const Text> records, MappedBytes& mapped, size_t first,
                                 std::span<const FieldPlace> to) {
      return put_mapped(records, verify, mapped, first, *to[0].texts);
    };
    std::vector<std::string> claims;
    for (size_t i = 0; i < indexes.size(); ++i)
      claims.push_back(take_claim(request.path().files[i], indexes[i]));
    format.called = [claims = std::move(claims)](size_t file, uint64_t record) {
      return "record " + std::to_string(record) +
             (claims[file].empty() ? "" : " of the index " + in_quotes(claims[file]));
    };
    return record_files(std::move(format), request, std::move(indexes));
  };
  return from_records(std::move(out));
}

const FormatRegistration registered({
    .name = "tfrecord",
    .doc = "TFRecord files, plain, gzip, zlib or zstd: one sample per record.",
    .fields = "`record` (bytes).",
    .details = {"`ops.parse_example` parses records that are a tf.train.Example."},
    .path = "A file, a folder of shards, a pattern such as \"train-????\?-of-01024\", or a list of files and "
            "patterns.",
    .options = {{"verify", "bool", "Check the checksum of each record; lengths are always checked.", true}},
    .raises = {{"CorruptSample", "a record is damaged. The message has file, record and byte."}},
    .example = "features = {\"label\": hr.FixedLenFeature((), \"int64\")}\n"
               "hr.read_tfrecord(\"train-*\").map(lambda s: ops.parse_example(s.record, features=features))",
    .recognise = recognise,
    .open = open,
    .takes_files = true,
    .beside = beside,
});

}  // namespace
}  // namespace headrace
