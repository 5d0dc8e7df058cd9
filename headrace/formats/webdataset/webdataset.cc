// WebDataset's tars: see README.md beside this file.
#include <algorithm>

#include "headrace/formats/records/record_files.h"
#include "headrace/formats/webdataset/first_members.h"
#include "headrace/formats/webdataset/index.h"
#include "headrace/formats/webdataset/sample_fields.h"
#include "headrace/formats/webdataset/tar_head.h"

namespace headrace {
namespace {

int recognise(const Probe& probe) {
  if (!probe.head) return 0;
  if (begins_deflated_tar(probe.head->bytes())) return 95;
  if (!is_tar_header(probe.head->bytes())) return 0;
  return probe.text().substr(257, 5) == "ustar" ? 95 : 70;  // the oldest tars have a checksum only
}

// What the walk kept of the first sample may be an old sidecar's, so nothing but its form is believed.
Result<std::vector<FirstMember>> first_members(const std::vector<FileIndex>& indexes) {
  const auto filled = std::ranges::find_if(indexes, [](const FileIndex& i) { return !i.records.empty(); });
  if (filled == indexes.end())
    return invalid("wants samples, members with names like key.jpg and key.cls, got none");
  return unpack_first_members(filled->extra);
}

// Leaves the points of compressed files, which record_files() wants.
void drop_suffixes(FileIndex& index) {
  const size_t end = index.extra.starts_with('\0') ? 0 : index.extra.find(std::string_view("\0\0", 2)) + 1;
  index.extra.erase(0, end + 1);
}

// Where DALI's wds2idx is told to write, most often.
std::vector<std::string> beside(const std::string& path) {
  const size_t dot = path.rfind('.'), slash = path.rfind('/');
  std::vector<std::string> out{path + ".idx"};
  if (dot != std::string::npos && (slash == std::string::npos || dot > slash + 1))
    out.push_back(path.substr(0, dot) + ".idx");
  return out;
}

Result<SampleFields> wanted(const OpenRequest& request) {
  SampleFields out;
  HEADRACE_ASSIGN(out.names, request.texts("fields"));
  HEADRACE_ASSIGN(out.decode, request.flag("decode", true));
  HEADRACE_ASSIGN(const std::string missing, request.text("missing", "error"));
  if (missing != "error" && missing != "empty")
    return invalid("missing wants 'error' or 'empty', got '" + missing + "'");
  out.may_be_missing = missing == "empty";
  HEADRACE_TRY(out.check());
  return out;
}

Result<SourceOpening> open(const OpenRequest& request) {
  HEADRACE_ASSIGN(const SampleFields fields, wanted(request));
  HEADRACE_ASSIGN(const bool unfinished, request.flag("unfinished", false));
  RecordOpening out;
  out.kind = unfinished ? "webdataset 3 unfinished" : "webdataset 3";
  out.files = request.path().files;
  out.index = [files = out.files, unfinished](uint64_t file) {
    return walk_webdataset(files[file], unfinished);
  };
  out.finish = [request, fields](std::vector<FileIndex> indexes) -> Result<SourcePtr> {
    auto chosen = std::make_shared<SampleFields>(fields);
    HEADRACE_ASSIGN(const std::vector<FirstMember> first, first_members(indexes));
    HEADRACE_TRY(chosen->choose(first));
    std::ranges::for_each(indexes, drop_suffixes);
    RecordFormat format;
    format.inflates = true;
    format.name = "webdataset";
    format.schema = chosen->schema();
    format.read = [chosen](const Record& record, std::vector<Tensor>& out_fields) {
      return chosen->read(record, out_fields);
    };
    format.put = [chosen](const RecordRun& run, std::span<const FieldPlace> to) {
      return chosen->put(run, to);
    };
    format.put_mapped = [chosen](std::span<const Text> samples, MappedBytes& mapped, size_t first,
                                 std::span<const FieldPlace> to) {
      return chosen->put_mapped(samples, mapped, first, to);
    };
    return record_files(std::move(format), request, std::move(indexes));
  };
  return from_records(std::move(out));
}

const FormatRegistration registered({
    .name = "webdataset",
    .doc = "WebDataset's tars: members that share a name up to its first dot are one sample.",
    .options =
        {{"fields", "list[str] | None",
          "Suffixes to give, and \"__key__\"; the key and those of the first sample when not given.",
          Value()},
         {"missing", "str", "A sample without one of the fields: \"error\", or \"empty\" bytes.", "error"},
         {"decode", "bool",
          "Give cls, cls2, id, index and inx as numbers, npy as arrays, txt, text, transcript, json and "
          "jsn as str; without, everything as bytes.",
          true},
         {"unfinished", "bool",
          "Take the whole members of tars that have no end; the last sample may lack fields.", false}},
    .recognise = recognise,
    .open = open,
    .takes_files = true,
    .beside = beside,
});

}  // namespace
}  // namespace headrace
