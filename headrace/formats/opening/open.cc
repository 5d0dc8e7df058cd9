#include "headrace/formats/opening/open.h"

#include <algorithm>
#include <set>

#include "headrace/core/text/closest.h"
#include "headrace/core/text/text.h"
#include "headrace/core/text/utf8.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/dataset/unfinished.h"
#include "headrace/formats/endings.h"
#include "headrace/formats/index/record_indexes.h"
#include "headrace/formats/opening/archive_folder.h"
#include "headrace/formats/opening/dataset_manifest.h"
#include "headrace/formats/opening/other_files.h"
#include "headrace/formats/opening/patterns.h"
#include "headrace/formats/opening/remembered_listing.h"
#include "headrace/formats/opening/shard_list.h"
#include "headrace/formats/opening/shards.h"
#include "headrace/formats/shard_names.h"
#include "headrace/formats/strings/utf8_strings.h"
#include "headrace/formats/with_metadata.h"
#include "headrace/formats/writer.h"

namespace headrace {
namespace {

std::string format_names(bool (*wanted)(const FormatInfo&)) {
  std::string out;
  for (const auto& [name, info] : formats())
    if (wanted(info)) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "none" : out;
}

std::string known_formats() {
  return format_names([](const FormatInfo& info) { return info.open != nullptr; });
}

// What a user gave: one path or several, each of which may be a pattern.
struct PathArgument {
  std::vector<std::string> paths;
  bool is_list = false;

  std::string text() const {  // for messages
    if (!is_list) return in_quotes(paths[0]);
    constexpr size_t kShown = 3;
    std::string out = "[";
    for (size_t i = 0; i < std::min(paths.size(), kShown); ++i)
      out += (i == 0 ? "" : ", ") + in_quotes(paths[i]);
    return out + (paths.size() > kShown ? ", …]" : "]");
  }
  Value value() const { return is_list ? Value(Value::List(paths.begin(), paths.end())) : Value(paths[0]); }
};

// Of the first file that is not empty: parallel writers may leave empty shards.
Status read_head(Store& store, Probe& out) {
  const auto has_bytes = [](const SourceFile& file) { return file.size > 0; };
  const auto first = std::find_if(out.files.begin(), out.files.end(), has_bytes);
  const SourceFile& looked_at = first == out.files.end() ? out.files[0] : *first;
  out.info.size = looked_at.size, out.info.mtime_ns = looked_at.mtime_ns;
  HEADRACE_ASSIGN(const std::unique_ptr<OpenFile> file, store.open(looked_at.path));
  HEADRACE_ASSIGN(const uint64_t size, file->size());
  HEADRACE_ASSIGN(out.head, read_bytes(*file, 0, std::min(size, kProbeBytes)));
  return {};
}

Result<Probe> probe(Store& store, const std::string& path) {
  Probe out;
  out.path = path;
  HEADRACE_ASSIGN(out.info, store.info(path));
  if (out.info.is_directory) {
    HEADRACE_ASSIGN(out.listing, remembered_listing(store, path));
    return out;
  }
  out.files.push_back({path, out.info.size, out.info.mtime_ns});
  HEADRACE_TRY(read_head(store, out));
  if (!looks_like_archive(out)) return out;
  // A truncated archive has none, and neither has a file that only starts like one.
  auto listing = store.list(path);
  if (listing.ok())
    out.inside = std::make_shared<const Listing>(*std::move(listing));
  else
    out.not_inside = listing.status();
  return out;
}

std::vector<std::string> paths_of(const std::string& folder, const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) out.push_back(folder + (folder.ends_with('/') ? "" : "/") + name);
  return out;
}

// `names`: files, and folders, each of which is replaced by the shards in it.
Status add_files(Store& store, const std::vector<std::string>& names, Probe& out) {
  for (const std::string& name : names) {
    HEADRACE_ASSIGN(const FileInfo info, store.info(name));
    if (info.is_directory) {
      HEADRACE_ASSIGN(const auto listing, remembered_listing(store, name));
      auto shards = shards_of(*listing);
      if (!shards.ok()) return shards.status().before(in_quotes(name) + ": ");
      HEADRACE_TRY(add_files(store, paths_of(name, shards->names), out));
      continue;
    }
    if (out.files.empty()) out.info = info;
    out.files.push_back({name, info.size, info.mtime_ns});
  }
  return {};
}

// Several files as one.
Result<Probe> probe_files(Store& store, std::string path, const std::vector<std::string>& names) {
  Probe out;
  out.path = std::move(path);
  HEADRACE_TRY(add_files(store, names, out));
  HEADRACE_TRY(read_head(store, out));
  return out;
}

// Several archives, each read as a folder; nothing if one of them is not an archive.
Result<std::optional<Probe>> probe_archives(Store& store, const Probe& several) {
  std::vector<std::string> shards;
  for (const SourceFile& file : several.files) {
    HEADRACE_ASSIGN(const Probe one, probe(store, file.path));
    if (!one.inside) return std::optional<Probe>();
    HEADRACE_ASSIGN(const Probe folder, archive_as_folder(store, one));
    HEADRACE_ASSIGN(const Shards inside, shards_of(*folder.listing));
    for (std::string& path : paths_of(folder.path, inside.names)) shards.push_back(std::move(path));
  }
  HEADRACE_ASSIGN(Probe out, probe_files(store, several.path, shards));
  return std::optional(std::move(out));
}

Result<Probe> probe_shards(Store& store, const Probe& folder) {
  HEADRACE_ASSIGN(const Shards shards, shards_of(*folder.listing));
  HEADRACE_ASSIGN(Probe out, probe_files(store, folder.path, paths_of(folder.path, shards.names)));
  out.left_out = shards.left_out;
  return out;
}

// `twice`: how many files were named again, and are read once.
Result<Probe> probe(Store& store, const PathArgument& given, uint64_t& twice) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const std::string& path : given.paths) {
    HEADRACE_ASSIGN(const std::vector<std::string> some, expand(store, path));
    for (const std::string& name : some) {
      HEADRACE_ASSIGN(const auto listed, listed_shards(store, name));
      for (const std::string& one : listed ? *listed : std::vector{name})
        if (seen.insert(one).second)
          names.push_back(one);
        else
          ++twice;
    }
  }
  if (names.empty()) return invalid("expected at least one path, got none");
  if (names.size() == 1) return probe(store, names[0]);
  return probe_files(store, given.text(), names);
}

// What was found, for the message that no format recognised it.
std::string seen(const Probe& probe) {
  if (probe.listing) {
    const Names& files = probe.listing->files;
    std::string out = "a folder of " + std::to_string(files.size()) + " files";
    for (size_t i = 0; i < std::min<size_t>(files.size(), 3); ++i)
      out += (i == 0 ? ": " : ", ") + in_quotes(files[i]) + (i == 2 && files.size() > 3 ? ", …" : "");
    Endings endings;
    for (size_t i = 0; i < files.size(); ++i) endings.add(files[i]);
    return files.empty() ? out : out + "; extensions " + endings_text(endings.value());
  }
  std::string out = probe.files.size() > 1
                        ? std::to_string(probe.files.size()) + " files, the first of them " +
                              in_quotes(probe.files[0].path) + ", one"
                        : "a file";
  out += " of " + std::to_string(probe.info.size) + " bytes";
  constexpr std::string_view digits = "0123456789abcdef";
  const std::string_view head = probe.text().substr(0, 8);
  if (!head.empty()) out += " that begins with";
  for (const char c : head) {
    out += ' ';
    out += digits[static_cast<uint8_t>(c) >> 4];
    out += digits[static_cast<uint8_t>(c) & 15];
  }
  if (begins_as_utf16(head)) out += ", which looks like UTF-16; convert it with iconv -f UTF-16 -t UTF-8";
  return out;
}

// The format whose writer uses this ending, or whose name is the ending.
const FormatInfo* format_of_ending(const std::string& path) {
  const std::string ending = shard_kind(path);
  if (ending.empty()) return nullptr;
  for (const auto& [name, writer] : writers()) {
    const auto is_it = [&](const auto& other) { return other.first == ending; };
    if (writer.ending == ending || std::ranges::any_of(writer.other_endings, is_it)) return find_format(name);
  }
  return find_format(ending.substr(1));
}

// If no samples were written, a file may be empty or contain only zeros, so that only its ending tells the
// format.
const FormatInfo* known_by_ending(const Probe& probe) {
  const auto is_zero = [](char c) { return c == 0; };
  const bool is_blank = probe.info.size <= probe.text().size() && std::ranges::all_of(probe.text(), is_zero);
  if (probe.files.empty() || !probe.head || !is_blank) return nullptr;
  return format_of_ending(probe.files[0].path);
}

// The format with the highest score; null if none recognises it. Formats of one file are not asked about
// several.
const FormatInfo* surest(const Probe& probe) {
  const FormatInfo* best = nullptr;
  int score = 0;
  const bool needs_files = probe.files.size() > 1 || !probe.left_out.is_null();
  for (const auto& [name, info] : formats()) {
    if (!info.recognise || (needs_files && !info.takes_files)) continue;
    if (const int s = info.recognise(probe); s > score) best = &info, score = s;
  }
  return best ? best : known_by_ending(probe);
}

Status not_recognised(const Probe& probe) {
  if (!probe.not_inside.ok()) return Status(probe.not_inside).before("read: ");
  const FormatInfo* likely = probe.listing ? nullptr : format_of_ending(probe.path);
  const std::string hint = likely
                               ? "; its extension is that of " + std::string(likely->name) + ": format=\"" +
                                     std::string(likely->name) + "\" reports what is wrong with it"
                               : "";
  return invalid("read: expected data of a known format, got " + in_quotes(probe.path) + ", " + seen(probe) +
                 hint + "; set format= to one of " + known_formats());
}

// The format that recognises the path. A folder that none recognises is tried as a set of shards, an archive
// as a folder.
Result<const FormatInfo*> recognise(Store& store, Probe& looked) {
  if (const FormatInfo* known = surest(looked)) return known;
  if (looked.inside) {
    HEADRACE_ASSIGN(looked, archive_as_folder(store, looked));
    return recognise(store, looked);
  }
  if (looked.files.size() > 1 && looks_like_archive(looked)) {
    auto archives = probe_archives(store, looked);
    if (!archives.ok() || !*archives) return not_recognised(looked);
    looked = **std::move(archives);
    if (const FormatInfo* known = surest(looked)) return known;
  }
  if (!looked.listing) return not_recognised(looked);
  auto shards = probe_shards(store, looked);
  if (!shards.ok()) return not_recognised(looked);
  const FormatInfo* known = surest(*shards);
  if (!known && looks_like_archive(*shards)) {
    auto archives = probe_archives(store, *shards);
    if (!archives.ok() || !*archives) return not_recognised(looked);
    shards = **std::move(archives);
    known = surest(*shards);
  }
  if (!known || !known->takes_files) return not_recognised(looked);
  looked = *std::move(shards);
  return known;
}

// The same for a format chosen by the user.
Status fit(const FormatInfo& info, Store& store, Probe& looked) {
  const bool is_known = info.recognise && info.recognise(looked) > 0;
  if (looked.inside && !is_known) {
    HEADRACE_ASSIGN(looked, archive_as_folder(store, looked));
  } else if (looked.files.size() > 1 && info.takes_files && !is_known && looks_like_archive(looked)) {
    HEADRACE_ASSIGN(std::optional<Probe> archives, probe_archives(store, looked));
    if (archives) looked = *std::move(archives);
  }
  if (!info.takes_files) {
    if (looked.files.size() < 2) return {};
    return invalid("reads a single path, got " + std::to_string(looked.files.size()) +
                   " files; formats that read several files: " +
                   format_names([](const FormatInfo& other) { return other.takes_files; }));
  }
  if (!looked.listing || (info.recognise && info.recognise(looked) > 0)) return {};
  HEADRACE_ASSIGN(looked, probe_shards(store, looked));
  if (looks_like_archive(looked) && !(info.recognise && info.recognise(looked) > 0)) {
    HEADRACE_ASSIGN(std::optional<Probe> archives, probe_archives(store, looked));
    if (archives) looked = *std::move(archives);
  }
  return {};
}

void look_beside(const FormatInfo& info, Store& store, Probe& looked) {
  if (!info.beside) return;
  for (SourceFile& file : looked.files)
    for (std::string& path : info.beside(file.path)) {
      const auto found = store.info(path);
      file.beside.push_back(found.ok() && !found->is_directory ? std::move(path) : std::string());
    }
}

Status check_options(const FormatInfo& info, const Value& options) {
  if (options.is_null()) return {};
  if (!options.object()) return invalid("options: expected an object, got " + options.dump());
  for (const auto& [key, value] : *options.object()) {
    const auto named = [&key = key](const OptionInfo& option) { return option.name == key; };
    if (std::any_of(info.options.begin(), info.options.end(), named)) continue;
    return invalid(no_option(key, info.options));
  }
  return {};
}

struct Opened {
  SourcePtr source;  // its strings are not checked yet
  const FormatInfo* format;
};
Result<Opened> open_unchecked(Store& store, const PathArgument& given, std::string_view format,
                              const Value& options, const IndexingOptions& indexing);

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
    for (std::string& folder : info.folders(path, request))
      if (const auto found = store.info(folder); found.ok() && found->is_directory)
        request.folders.push_back(std::move(folder));
  HEADRACE_TRY(take_list(info, store, request));
  HEADRACE_ASSIGN(SourceOpening opening, info.open(request));
  if (opening.other) {
    HEADRACE_ASSIGN(const OtherData data, drive(*opening.other, opening.files, store));
    // The files are read by position, so all of them are needed.
    IndexingOptions all = indexing;
    all.wants_all = true;
    HEADRACE_ASSIGN(Opened inner, open_unchecked(store, {data.paths, true}, data.format, data.options, all));
    return data.finish(std::move(inner.source));
  }
  if (!opening.records) return drive(*opening.steps, opening.files, store);
  HEADRACE_ASSIGN(RecordIndexes indexes, record_indexes(*opening.records, store, indexing));
  if (indexes.refused.empty()) return opening.records->finish(std::move(indexes.of_files));
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
    if (source.status().code() == Code::cancelled) return source;
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
  const bool names_file = !given.is_list && status.text().starts_with(in_quotes(given.paths[0]));
  return std::move(status).before(info.name + ": " + (names_file ? "" : given.text() + ": "));
}

Result<Opened> open_unchecked(Store& store, const PathArgument& given, std::string_view format,
                              const Value& options, const IndexingOptions& indexing) {
  const FormatInfo* info = nullptr;
  if (!format.empty()) {
    info = find_format(format);
    if (!info) return invalid("read: " + no_format(format));
    if (!info->open) return invalid("read: " + info->name + " is generated, not read from a path");
  }
  for (const std::string& path : given.paths)
    if (Status status = check_finished(store, path); !status.ok()) return std::move(status).before("read: ");
  uint64_t twice = 0;
  auto looked = probe(store, given, twice);
  if (!looked.ok()) return looked.status().before("read: ");
  OpenRequest request;
  request.options = options;
  request.recognised = !info;
  request.given = given.value();
  if (info) {
    if (Status status = fit(*info, store, *looked); !status.ok())
      return named(std::move(status), *info, given);
  } else {
    HEADRACE_ASSIGN(info, recognise(store, *looked));
  }
  look_beside(*info, store, *looked);
  const std::string hint = format.empty() ? "" : instead(*info, *looked);
  const DatasetManifest manifests(store, *info, *looked, given.paths);
  request.probes.push_back(*std::move(looked));
  auto source = open_as_written(*info, std::move(request), store, indexing, manifests);
  if (!source.ok()) return named(source.status(), *info, given).after(hint);
  if (twice == 0) return Opened{*std::move(source), info};
  Value metadata = (*source)->metadata();
  add_note(metadata, "files that are named more than once are read once: " + std::to_string(twice) +
                         "; mix() with weights= reads some more often");
  return Opened{with_metadata(*std::move(source), std::move(metadata)), info};
}

// Every source passes here: the strings of all formats are checked in one place.
Result<SourcePtr> open_given(Store& store, const PathArgument& given, std::string_view format,
                             const Value& options, const IndexingOptions& indexing) {
  HEADRACE_ASSIGN(Opened opened, open_unchecked(store, given, format, options, indexing));
  HEADRACE_ASSIGN(const Encoding encoding, encoding_of(GivenOptions{options}));
  if (encoding == Encoding::utf8 && checks_its_strings(opened.format->name)) return opened.source;
  const bool has_option = std::ranges::find(opened.format->options, "encoding", &OptionInfo::name) !=
                          opened.format->options.end();
  return with_utf8_strings(
      std::move(opened.source), encoding,
      has_option ? "; encoding=\"bytes\" reads any bytes; encoding=\"latin-1\" converts" : "");
}

}  // namespace

std::string no_format(std::string_view wrong) {
  const std::string meant = did_you_mean(
      wrong, names_of_all(formats(), [](const auto& entry) { return std::string_view(entry.first); }));
  const std::string out = "no format named " + in_quotes(wrong) + meant;
  return out + (meant.empty() ? "; there are " + known_formats() : " (there are " + known_formats() + ")");
}

Result<SourcePtr> open_source(Store& store, const std::string& path, std::string_view format,
                              const Value& options, const IndexingOptions& indexing) {
  return open_given(store, {{path}, false}, format, options, indexing);
}

Result<SourcePtr> open_source(Store& store, const std::vector<std::string>& paths, std::string_view format,
                              const Value& options, const IndexingOptions& indexing) {
  if (paths.empty()) return invalid("read: expected at least one path, got an empty list");
  return open_given(store, {paths, true}, format, options, indexing);
}

Result<SourcePtr> open_described(Store& store, const Value& description, const IndexingOptions& indexing) {
  HEADRACE_ASSIGN(const std::string format, description.get_text("format"));
  Value options{Value::Object()};
  for (const auto& [key, value] : *description.object())
    if (key != "format" && key != "path") options.set(key, value);
  if (const FormatInfo* info = find_format(format); info && info->make) {
    HEADRACE_TRY(check_options(*info, options).before(format + ": "));
    auto made = info->make(options);
    if (!made.ok()) return made.status().before(format + ": ");
    return made;
  }
  if (const Value* path = description.find("path"); path && path->list()) {
    std::vector<std::string> paths;
    for (const Value& one : *path->list()) {
      if (!one.text()) return invalid("plan: 'path' must be a list of strings, got " + one.dump() + " in it");
      paths.push_back(*one.text());
    }
    return open_source(store, paths, format, options, indexing);
  }
  HEADRACE_ASSIGN(const std::string path, description.get_text("path"));
  return open_source(store, path, format, options, indexing);
}

Result<std::vector<BufferPtr>> read_extents(std::span<const Extent> extents, const FilePaths& files,
                                            Store& store) {
  std::vector<BufferPtr> out;
  std::unique_ptr<OpenFile> file;
  uint64_t opened = 0;
  for (const Extent& extent : extents) {
    const auto name = [&] { return in_quotes(files(extent.file)) + ": "; };
    if (!file || opened != extent.file) {
      HEADRACE_ASSIGN(file, store.open(files(extent.file)));
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

Result<std::vector<Tensor>> read_sample(const Source& source, uint64_t index, Store& store) {
  const auto at = [&] { return ": " + source.where(index); };
  const Place place = source.place(index);
  auto block = drive_block(source, place.block, store);
  if (!block.ok()) return block.status().after(at());
  std::vector<Tensor> fields;
  if (Status status = (*block)->get(place.row, fields); !status.ok()) return std::move(status).after(at());
  return fields;
}

}  // namespace headrace
