// WebDataset tars: see README.md.
#include <algorithm>

#include "headrace/formats/records/record_files.h"
#include "headrace/formats/strings/utf8_strings.h"
#include "headrace/formats/webdataset/first_members.h"
#include "headrace/formats/webdataset/index.h"
#include "headrace/formats/webdataset/passed_over.h"
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

// What was kept of the first sample may come from an old sidecar, so only its form is trusted.
Result<std::vector<FirstMember>> first_members(const std::vector<FileIndex>& indexes) {
  const auto filled = std::ranges::find_if(indexes, [](const FileIndex& i) { return !i.records.empty(); });
  if (filled == indexes.end())
    return invalid({.expected = "samples, members with names like key.jpg and key.cls", .got = "none"});
  return unpack_first_members(filled->extra);
}

// Leaves only the points of compressed files, as record_files() expects, and adds what was passed over.
void take_extra(FileIndex& index, PassedOver& out) {
  std::string& extra = index.extra;
  for (const FirstMember& member : unpack_first_members(extra)) out.add_suffix(member.suffix);
  const size_t end = extra.starts_with('\0') ? 0 : extra.find(std::string_view("\0\0", 2)) + 1;
  extra.erase(0, end + 1);
  const size_t length = std::min(extra.find('\0'), extra.size());
  out.add(PassedOver::unpack(std::string_view(extra).substr(0, length)));
  extra.erase(0, std::min(length + 1, extra.size()));
}

// The usual output paths of DALI's wds2idx.
std::vector<std::string> beside(const std::string& path) {
  const size_t dot = path.rfind('.'), slash = path.rfind('/');
  std::vector<std::string> out{path + ".idx"};
  if (dot != std::string::npos && (slash == std::string::npos || dot > slash + 1))
    out.push_back(path.substr(0, dot) + ".idx");
  return out;
}

Result<SampleFields> wanted(const OpenRequest& request) {
  SampleFields out;
  HEADRACE_ASSIGN(out.names, request.strings("fields"));
  HEADRACE_ASSIGN(out.decode, request.flag("decode", true));
  HEADRACE_ASSIGN(const std::string missing, request.text("missing", "error"));
  if (missing != "error" && missing != "empty")
    return invalid("missing must be 'error' or 'empty', got '" + missing + "'");
  out.may_be_missing = missing == "empty";
  HEADRACE_TRY(out.check());
  return out;
}

Result<SourceOpening> open(const OpenRequest& request) {
  HEADRACE_ASSIGN(const SampleFields fields, wanted(request));
  HEADRACE_ASSIGN(const bool unfinished, request.flag("unfinished", false));
  RecordOpening out;
  out.kind = unfinished ? "webdataset 5 unfinished" : "webdataset 5";
  out.files = request.path().files;
  out.index = [files = out.files, unfinished](uint64_t file) {
    return walk_webdataset(files[file], unfinished);
  };
  out.finish = [request, fields](std::vector<FileIndex> indexes) -> Result<SourcePtr> {
    auto chosen = std::make_shared<SampleFields>(fields);
    HEADRACE_ASSIGN(const std::vector<FirstMember> first, first_members(indexes));
    HEADRACE_TRY(chosen->choose(first));
    PassedOver passed_over;
    for (FileIndex& index : indexes) take_extra(index, passed_over);
    chosen->has_links = passed_over.has_links();
    std::vector<std::string> suffixes;
    for (const FirstMember& member : first) suffixes.push_back(member.suffix);
    RecordFormat format;
    format.notes = passed_over.notes(suffixes, !fields.names.empty());
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
    .doc = "WebDataset tars: members with the same name up to the first dot are one sample.",
    .fields = "the lower-case suffixes of the members: `jpg`, `cls`, `seg.png`; `__key__` (str) is the name "
              "before the suffix. `cls`, `cls2`, `id`, `index` and `inx` are int64 scalars, `npy` arrays, "
              "`txt`, `text`, `transcript`, `json` and `jsn` str; everything else is bytes.",
    .details = {"Samples have random access. Nothing is ever unpickled."},
    .path = "A tar, plain or gzip, a pattern (`\"train-{000000..000999}.tar\"`), a list of these, or the "
            "folder of the tars.",
    .options = {{"fields", "Sequence[str] | None",
                 "The suffixes to read, and \"__key__\"; the key and the suffixes of the first sample when "
                 "not given."},
                {"missing", "Literal[\"error\", \"empty\"]",
                 "How to read a sample that lacks a field: \"error\", or \"empty\" bytes.", "error"},
                {"decode", "bool", "False gives bytes also for numbers, arrays and text, and for pickles.",
                 true},
                encoding_option(),
                {"unfinished", "bool",
                 "Read the complete members of tars that are truncated or not closed; their last sample may "
                 "lack fields.",
                 false}},
    .raises = {{"FileNotFoundError", "there is nothing at the path, or a pattern matches no file."},
               {"ValueError", "a field would have to be unpickled."},
               {"CorruptSample", "a tar is truncated, or a header is damaged."}},
    .example = "hr.read_webdataset(\"train-{000..127}.tar\", fields=[\"jpg\", \"cls\"])",
    .recognise = recognise,
    .open = open,
    .takes_files = true,
    .beside = beside,
});

}  // namespace
}  // namespace headrace
