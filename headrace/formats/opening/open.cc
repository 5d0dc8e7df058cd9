#include "headrace/formats/opening/open.h"

#include <algorithm>
#include <map>
#include <set>

#include "headrace/core/text/closest.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/index/recalling_store.h"
#include "headrace/formats/index/record_indexes.h"
#include "headrace/formats/index/unchanged.h"
#include "headrace/formats/opening/dataset_manifest.h"
#include "headrace/formats/opening/other_files.h"
#include "headrace/formats/opening/shard_list.h"
#include "headrace/formats/opening/wanted.h"
#include "headrace/formats/strings/utf8_strings.h"
#include "headrace/formats/wrapped_source.h"
#include "headrace/io/look_up.h"
#include "headrace/io/retrying_store.h"

namespace headrace {
namespace {

Status check_options(const FormatInfo& info, const Value& options) {
  if (options.is_null()) return {};
  if (!options.object())
    return invalid({.expected = "an object", .got = options.dump()}).in_option("options");
  for (const auto& [key, value] : *options.object()) {
    if (has_option(info, key)) continue;
    if (key == kSplit)
      return invalid(
                 "split= chooses among files and folders in a folder; got a file, a list or a pattern, "
                 "which already say what is read" +
                 std::string(has_option(info, "group") ? "; group= chooses a group in the file" : ""))
          .with({.option = std::string(kSplit)});
    std::vector<OptionInfo> all = info.options;
    if (auto split = split_option(info)) all.push_back(*std::move(split));
    return invalid(no_option(key, all));
  }
  return {};
}

// Options that are files and were not given, such as the labels beside MNIST's images. Returns notes on those
// that are not there.
Result<std::vector<std::string>> take_files_beside(const FormatInfo& info, Store& store,
                                                   OpenRequest& request) {
  std::vector<std::string> notes;
  if (!info.files_beside || request.path().files.size() != 1) return notes;
  std::map<std::string, std::string> missing;
  for (auto& [option, path] : info.files_beside(request.path().path)) {
    if (request.options.find(option)) continue;
    HEADRACE_ASSIGN(const bool is_there, has_file(store, path));
    if (is_there)
      request.options.set(option, std::move(path));
    else
      missing.try_emplace(option, std::move(path));
  }
  for (const auto& [option, path] : missing)
    if (!request.options.find(option))
      notes.push_back("expected the " + option + " in " + in_quotes(path) + ", which is not there; set " +
                      option + "= to their file, or to False to silence this note");
  return notes;
}

Result<SourcePtr> open_as(const FormatInfo& info, OpenRequest request, Store& store,
                          const IndexingOptions& indexing) {
  HEADRACE_TRY(check_options(info, request.options));
  HEADRACE_TRY(encoding_of(request).status());
  const std::string& path = request.path().path;
  if (info.places) {
    HEADRACE_ASSIGN(const std::vector<std::string> places, info.places(path, request.options));
    for (const std::string& place : places) {
      HEADRACE_ASSIGN(Probe further, probe(store, place));
      if (further.inside && !surest(further)) {
        further.listing = further.inside, further.inside = nullptr;
        further.info.is_directory = true, further.files.clear(), further.head = nullptr;
      }
      request.probes.push_back(std::move(further));
    }
  }
  if (info.folders)
    for (std::string& folder : info.folders(path, request)) {
      HEADRACE_ASSIGN(const bool is_there, has_folder(store, folder));
      if (is_there) request.folders.push_back(std::move(folder));
    }
  HEADRACE_TRY(take_list(info, store, request));
  HEADRACE_ASSIGN(SourceOpening opening, info.open(request));
  if (opening.other) {
    HEADRACE_ASSIGN(const OtherData data, drive(*opening.other, opening.files, store));
    // The files are read by position, so all of them are needed.
    IndexingOptions all = indexing;
    all.wants_all = true;
    Wanted inner{{data.paths, true}, data.format, data.options};
    inner.is_inner = true;
    HEADRACE_ASSIGN(SourcePtr source, open_wanted(store, inner, all));
    return data.finish(std::move(source));
  }
  if (!opening.records) return drive(*opening.steps, opening.files, store);
  HEADRACE_ASSIGN(RecordIndexes indexes, record_indexes(*opening.records, store, indexing));
  if (indexes.refused.empty()) {
    auto source = opening.records->finish(std::move(indexes.of_files));
    if (source.ok() || !indexes.recalled) return source;
    // A stored index that does not fit its file is as good as none.
    IndexingOptions anew = indexing;
    anew.anew = true;
    HEADRACE_ASSIGN(indexes, record_indexes(*opening.records, store, anew));
    if (indexes.refused.empty()) return opening.records->finish(std::move(indexes.of_files));
  }
  if (indexing.wants_all) return refusal(*opening.records, indexes.refused[0]);
  return open_the_others(info, std::move(request), *opening.records, std::move(indexes));
}

// The same, with the options of the manifest next to data that we wrote. The user's options take precedence;
// if the two cannot be combined, the manifest's are dropped.
Result<SourcePtr> open_as_written(const FormatInfo& info, OpenRequest request, Store& store,
                                  const IndexingOptions& indexing, const DatasetManifest& manifests) {
  const Value given = request.options;
  std::string note;
  if (Value options = manifests.options(given); !(options == given)) {
    OpenRequest as_written = request;
    as_written.options = std::move(options);
    auto source = open_as(info, std::move(as_written), store, indexing);
    if (source.ok()) return manifests.with_findings(*std::move(source), given);
    // What the system cannot do now says nothing about the manifest.
    if (source.status().code() == Code::cancelled || is_of_the_system(source.status())) return source;
    note = "the options of the manifest (read_with) are ignored: " + std::string(source.status().text());
  }
  HEADRACE_ASSIGN(SourcePtr source, open_as(info, std::move(request), store, indexing));
  return manifests.with_findings(std::move(source), given, note);
}

// A hint at the actual format, if the user named a format that does not recognise the data.
std::string instead(const FormatInfo& named, const Probe& looked) {
  if (!named.recognise || named.recognise(looked) > 0) return "";
  const FormatInfo* other = surest(looked);
  return other && other != &named ? "; it looks like " + other->name + ", which read() recognises" : "";
}

// Errors about one file name it already.
Status named(Status status, const FormatInfo& info, const PathArgument& given) {
  const bool names_file = !given.is_list && status.facts().file == given.paths[0];
  if (!names_file && !given.is_list) status = std::move(status).in_file(given.paths[0]);
  if (given.is_list) status = std::move(status).before(given.text() + ": ");
  return std::move(status).in_format(info.name);
}

// Every source passes here: the strings of all formats are checked in one place.
Result<SourcePtr> with_checked_strings(SourcePtr source, const FormatInfo& info, const Value& options) {
  HEADRACE_ASSIGN(const Encoding encoding, encoding_of(GivenOptions{options}));
  if (encoding == Encoding::utf8 && checks_its_strings(info.name)) return source;
  return with_utf8_strings(std::move(source), encoding,
                           has_option(info, "encoding")
                               ? "; encoding=\"bytes\" reads any bytes; encoding=\"latin-1\" converts"
                               : "");
}

// With the answers of an earlier run, where there are some: they are believed first and checked afterwards.
Result<SourcePtr> open_remembering(Store& store, const Wanted& wanted, const IndexingOptions& indexing) {
  const std::shared_ptr<Store> retrying = with_usual_retries(store);
  ListMemory memory(*retrying, wanted.given.paths, indexing.beside);
  RecallingStore recalling(memory);
  IndexingOptions with_memory = indexing;
  with_memory.memory = &memory;
  Result<SourcePtr> source = open_wanted(recalling, wanted, with_memory);
  if (source.status().code() == Code::cancelled) return source;
  if (!memory.bears_out(source)) source = open_wanted(recalling, wanted, with_memory);
  if (source.ok()) (void)memory.save(false);  // else the next run asks again
  return source;
}

}  // namespace

bool has_option(const FormatInfo& info, std::string_view name) {
  return std::ranges::any_of(info.options, [&](const OptionInfo& option) { return option.name == name; });
}

Result<SourcePtr> open_looked_at(Store& store, const Wanted& wanted, const FormatInfo* info, Probe looked,
                                 const IndexingOptions& indexing, const FormatInfo* recognised) {
  OpenRequest request;
  request.options = wanted.options;
  request.recognised = !info;
  request.given = wanted.path.is_null() ? wanted.given.value() : wanted.path;
  request.split = wanted.split;
  if (info) {
    if (Status status = fit(*info, store, looked); !status.ok())
      return named(std::move(status), *info, wanted.given);
  } else if (recognised) {
    info = recognised;
  } else {
    HEADRACE_ASSIGN(info, recognise(store, looked));
  }
  if (Status status = look_beside(*info, store, looked); !status.ok())
    return named(std::move(status), *info, wanted.given);
  const std::string hint = request.recognised ? "" : instead(*info, looked);
  const DatasetManifest manifests(store, *info, looked, wanted.given.paths, !wanted.split.is_null());
  if (!manifests.unread().ok()) return named(manifests.unread(), *info, wanted.given);
  if (Status status = manifests.classes_agree(); !status.ok())
    return named(std::move(status), *info, wanted.given);
  request.probes.push_back(std::move(looked));
  std::vector<std::string> notes;
  if (!wanted.is_described) {
    auto beside = take_files_beside(*info, store, request);
    if (!beside.ok()) return named(beside.status(), *info, wanted.given);
    notes = *std::move(beside);
  }
  auto source = open_as_written(*info, std::move(request), store, indexing, manifests);
  if (!source.ok()) return named(source.status(), *info, wanted.given).after(hint);
  for (std::string& note : notes) source = with_note(*std::move(source), std::move(note));
  return wanted.is_inner ? *std::move(source)
                         : with_checked_strings(*std::move(source), *info, wanted.options);
}

std::string no_format(std::string_view wrong) {
  const std::string meant = did_you_mean(
      wrong, names_of_all(formats(), [](const auto& entry) { return std::string_view(entry.first); }));
  const std::string out = "no format named " + in_quotes(wrong) + meant;
  return out + (meant.empty() ? "; there are " + known_formats() : " (there are " + known_formats() + ")");
}

Result<SourcePtr> open_source(Store& store, const std::string& path, std::string_view format,
                              const Value& options, const IndexingOptions& indexing) {
  return open_remembering(store, {{{path}, false}, format, options}, indexing);
}

Result<SourcePtr> open_source(Store& store, const std::vector<std::string>& paths, std::string_view format,
                              const Value& options, const IndexingOptions& indexing) {
  if (paths.empty()) return invalid({.expected = "at least one path", .got = "an empty list"}).in_op("read");
  return open_remembering(store, {{paths, true}, format, options}, indexing);
}

Result<SourcePtr> open_described(Store& store, const Value& description, const IndexingOptions& indexing) {
  const auto named = description.get_text("format");
  if (!named.ok()) return named.status().before("source: ").in_op("plan");
  const std::string& format = *named;
  Value options{Value::Object()};
  for (const auto& [key, value] : *description.object())
    if (key != "format" && key != "path") options.set(key, value);
  if (const FormatInfo* info = find_format(format); info && info->make) {
    HEADRACE_TRY(check_options(*info, options).in_format(format));
    auto made = info->make(options);
    if (!made.ok()) return made.status().in_format(format);
    return made;
  }
  if (const Value* path = description.find("path"); path && path->list()) {
    std::vector<std::string> paths;
    for (const Value& one : *path->list()) {
      if (!one.text())
        return invalid("'path' must be a list of strings, got " + one.dump() + " in it").in_op("plan");
      paths.push_back(*one.text());
    }
    if (paths.empty()) return invalid("'path' must be a list of at least one path").in_op("plan");
    return open_remembering(store, {{paths, true}, format, options, false, true}, indexing);
  }
  const auto path = description.get_text("path");
  if (!path.ok()) return path.status().before("source: ").in_op("plan");
  return open_remembering(store, {{{*path}, false}, format, options, false, true}, indexing);
}

namespace {

using OpensFile = std::function<Result<std::unique_ptr<OpenFile>>(uint64_t ordinal)>;

Result<std::vector<BufferPtr>> read_from(std::span<const Extent> extents, const FilePaths& files,
                                         const OpensFile& open) {
  std::vector<BufferPtr> out;
  std::unique_ptr<OpenFile> file;
  uint64_t opened = 0;
  for (const Extent& extent : extents) {
    const auto name = [&] { return in_quotes(files(extent.file)) + ": "; };
    if (!file || opened != extent.file) {
      HEADRACE_ASSIGN(file, open(extent.file));
      opened = extent.file;
    }
    uint64_t offset = extent.offset;
    if (offset == kAtEnd) {
      HEADRACE_ASSIGN(const uint64_t size, file->size());
      offset = extent.begin_in(size);
      if (offset > size)
        return corrupt(name() + "expected " + std::to_string(extent.length) +
                       " bytes at the end, but the file has " + std::to_string(size));
    }
    auto bytes = read_bytes(*file, offset, extent.length);
    if (!bytes.ok()) return bytes.status().before(name());
    out.push_back(*std::move(bytes));
  }
  return out;
}

}  // namespace

Result<std::vector<BufferPtr>> read_extents(std::span<const Extent> extents, const FilePaths& files,
                                            Store& store) {
  return read_from(extents, files, [&](uint64_t ordinal) { return store.open(files(ordinal)); });
}

Result<BlockPtr> drive_block(const Source& source, uint64_t block, Store& store) {
  const auto opening = source.open(block);
  const auto path = [&](uint64_t ordinal) { return source.file(ordinal); };
  const auto open = [&](uint64_t ordinal) { return open_unchanged(store, source, ordinal); };
  std::vector<BufferPtr> bytes;
  while (true) {
    HEADRACE_ASSIGN(Step<BlockPtr> step, opening->advance(bytes));
    if (auto* value = std::get_if<BlockPtr>(&step)) return std::move(*value);
    bytes.clear();
    HEADRACE_ASSIGN(bytes, read_from(*std::get_if<std::vector<Extent>>(&step), path, open));
  }
}

Result<std::vector<Tensor>> read_sample(const Source& source, uint64_t index, Store& store) {
  const auto of_sample = [&](Status status) {
    const SamplePlace place = source.where(index);
    return with_place(std::move(status), place, index).after(": " + place.text());
  };
  const Place place = source.place(index);
  auto block = drive_block(source, place.block, store);
  if (!block.ok()) return of_sample(block.status());
  std::vector<Tensor> fields;
  if (Status status = (*block)->get(place.row, fields); !status.ok()) return of_sample(std::move(status));
  return fields;
}

}  // namespace headrace
