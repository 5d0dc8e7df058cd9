// RecordIO: see README.md.
#include <cstring>

#include "headrace/formats/recordio/framing.h"
#include "headrace/formats/recordio/index.h"
#include "headrace/formats/recordio/ir_header.h"

namespace headrace {
namespace {

static_assert(sizeof(IrHeader) == kRecordioExtra);

// The fields of a record.
struct Fields {
  bool has_header = false;
  int64_t labels = kAny;  // of each record; 1: a scalar
  Schema schema() const {
    if (!has_header) return Schema::of({"record"}, {{DType::bytes, {kAny}}});
    const Shape label = labels == 1 ? Shape() : Shape{labels};
    return Schema::of({"image", "label", "id"},
                      {{DType::bytes, {kAny}}, {DType::f32, label}, {DType::i64, {}}});
  }
};

// Part of the bytes of `data`, copied if they are not aligned.
Tensor part_of(const Tensor& data, size_t begin, DType dtype, const Shape& shape) {
  const std::byte* bytes = data.view().data + begin;
  if (reinterpret_cast<uintptr_t>(bytes) % size_of(dtype) == 0)
    return Tensor{data.buffer, data.offset + begin, dtype, shape, nullptr};
  return make_tensor({dtype, shape, bytes});
}

Status read_image(const Tensor& data, int64_t wanted, std::vector<Tensor>& fields) {
  const auto bytes = data.view().bytes();
  if (bytes.size() < sizeof(IrHeader))
    return corrupt({.expected = "an IRHeader of 24 bytes",
                    .got = "a record of " + std::to_string(bytes.size()) + " bytes",
                    .fix = "header=False reads records without one"});
  IrHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (!header.fits(bytes.size()))
    return corrupt("expected " + std::to_string(header.flag) + " labels, but only " +
                   std::to_string(bytes.size() - sizeof header) +
                   " bytes are left; header=False reads records without an IRHeader");
  const int64_t labels = header.flag == 0 ? 1 : header.flag;
  if (wanted != kAny && labels != wanted)
    return corrupt({.expected = std::to_string(wanted) + " label" + (wanted == 1 ? "" : "s"),
                    .got = std::to_string(labels),
                    .fix = "label_width=0 reads any number"});
  const size_t image = sizeof header + header.flag * sizeof(float);
  fields.resize(3);
  fields[0] = part_of(data, image, DType::bytes, {static_cast<int64_t>(bytes.size() - image)});
  fields[1] = part_of(data, header.flag == 0 ? offsetof(IrHeader, label) : sizeof header, DType::f32,
                      wanted == 1 ? Shape() : Shape{labels});
  fields[2] = part_of(data, offsetof(IrHeader, id), DType::i64, {});
  return {};
}

Status read(const Record& record, const Fields& what, std::vector<Tensor>& fields) {
  HEADRACE_ASSIGN(const Tensor data, recordio_data(record));
  if (what.has_header) return read_image(data, what.labels, fields);
  fields.assign(1, data);
  return {};
}

// Records without a header, as they are.
size_t put(const RecordRun& run, TextRows& out) {
  for (size_t i = 0; i < run.records.size(); ++i) {
    const auto bytes = run[i].bytes();
    if (bytes.size() < kRecordioHeader) return i;
    const auto part = recordio_part(bytes, bytes.size());
    if (part.ok() && part->is_all_of(bytes.size())) {
      out.set(i, run.buffer, bytes.subspan(kRecordioHeader, part->length));
      continue;
    }
    const auto joined = recordio_data(run[i]);
    if (!joined.ok()) return i;
    out.set(i, joined->buffer, joined->view().bytes());
  }
  return run.records.size();
}

// The same from mapped files. Records of several parts are left to be read.
size_t put_mapped(std::span<const Text> records, MappedBytes& mapped, size_t first, TextRows& out) {
  expect_small(records, mapped);
  for (size_t i = 0; i < records.size(); ++i) {
    expect_record(records, i);
    const auto data = whole_recordio_data(records[i]);
    const auto kept = data ? mapped.keep_value(*data) : std::nullopt;
    if (!kept) return i;
    out.set(first + i, kept->buffer, kept->bytes);
  }
  return records.size();
}

// From the options, else from the first records.
Result<Fields> fields_of(const OpenRequest& request, const std::vector<FileIndex>& indexes) {
  Fields out;
  IrHeader header{};
  for (const FileIndex& index : indexes) {
    if (index.records.empty()) continue;
    if (index.extra.size() == sizeof header) {
      std::memcpy(&header, index.extra.data(), sizeof header);
      out.has_header = header.fits(index.records[0].length - kRecordioHeader);
    }
    break;
  }
  HEADRACE_ASSIGN(out.has_header, request.flag("header", out.has_header));
  HEADRACE_ASSIGN(out.labels, request.integer("label_width", header.flag == 0 ? 1 : 0));
  if (out.labels < 0) return invalid("label_width must be at least 0, got " + std::to_string(out.labels));
  if (out.labels == 0) out.labels = kAny;
  return out;
}

int recognise(const Probe& probe) {
  if (!probe.head || probe.head->size() < kRecordioHeader) return 0;
  const auto part = recordio_part(probe.head->bytes(), probe.info.size);
  return part.ok() && part->begins() ? 90 : 0;
}

std::vector<std::string> beside(const std::string& path) {
  const size_t stem = path.ends_with(".rec") ? path.size() - 4 : path.size();
  return {path.substr(0, stem) + ".idx", path + ".idx"};
}

Result<SourceOpening> open(const OpenRequest& request) {
  RecordOpening out;
  out.kind = "recordio 5";
  out.files = request.path().files;
  out.index = [files = out.files](uint64_t file) { return index_recordio(files[file]); };
  out.finish = [request](std::vector<FileIndex> indexes) -> Result<SourcePtr> {
    HEADRACE_ASSIGN(const Fields what, fields_of(request, indexes));
    RecordFormat format;
    format.name = "recordio";
    format.schema = what.schema();
    format.read = [what](const Record& record, std::vector<Tensor>& fields) {
      return read(record, what, fields);
    };
    if (!what.has_header) {
      format.put = [](const RecordRun& run, std::span<const FieldPlace> to) {
        return put(run, *to[0].texts);
      };
      format.put_mapped = [](std::span<const Text> records, MappedBytes& mapped, size_t first,
                             std::span<const FieldPlace> to) {
        return put_mapped(records, mapped, first, *to[0].texts);
      };
    }
    return record_files(std::move(format), request, std::move(indexes));
  };
  return from_records(std::move(out));
}

const FormatRegistration registered({
    .name = "recordio",
    .doc = "RecordIO files (.rec) of MXNet, dmlc or SageMaker.",
    .fields = "with MXNet's header `image` (encoded, bytes), `label` (float32, scalar or (n,)) and `id` "
              "(int64 scalar); without it `record` (bytes).",
    .details = {"An `.idx` file next to a file is used if it matches."},
    .path = "A file, a pattern, a folder of shards, or a list of files and patterns.",
    .options =
        {{"header", "bool | None",
          "Whether records begin with MXNet's IRHeader; determined by the first records when not given."},
         {"label_width", "int | None",
          "Number of labels per record, 0 for any number. When not given: one, or any number if the first "
          "record has several."}},
    .raises = {{"CorruptSample",
                "the parts of a file are not contiguous. The message has file, record and byte."}},
    .example = "hr.read_recordio(\"train.rec\")",
    .recognise = recognise,
    .open = open,
    .takes_files = true,
    .beside = beside,
});

}  // namespace
}  // namespace headrace
