#include "headrace/formats/opening/dataset_manifest.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "headrace/core/text/text.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/dataset/manifest.h"
#include "headrace/formats/meaning/class_lists.h"
#include "headrace/formats/opening/patterns.h"
#include "headrace/formats/opening/shards.h"
#include "headrace/formats/wrapped_source.h"
#include "headrace/formats/writer.h"
#include "headrace/io/look_up.h"

namespace headrace {
namespace {

constexpr uint64_t kMostOfManifests = uint64_t{4} << 20;  // bytes, of all manifests: some 20,000 shards
constexpr size_t kMostGlobs = 1000;                       // from the braces of a pattern
constexpr size_t kNamedFiles = 3;
constexpr std::string_view kByNames = " (judging by the numbers in file names)";
constexpr std::string_view kLmdbFile = "/data.mdb";  // a shard of LMDB is a folder

// A manifest, and the files that it lists.
struct ManifestFile {
  ManifestFile(std::string at, std::string of, ReadManifestPtr manifest_read)
      : path(std::move(at)),
        folder(std::move(of)),
        read(std::move(manifest_read)),
        manifest(read->manifest) {}

  std::string path, folder;  // of the manifest; of its shards
  ReadManifestPtr read;
  const Manifest& manifest;                   // of `read`
  std::map<size_t, const SourceFile*> found;  // by index into its shards: those that are there
  bool is_of_one = false;                     // of one file or folder, whatever its current name
  uint64_t unlisted = 0;                      // files of the folder that it does not list

  std::optional<size_t> entry_of(std::string_view name) const {
    const auto entry = read->by_name.find(name);
    return entry == read->by_name.end() ? std::nullopt : std::optional(entry->second);
  }
  bool knows_none() const { return !is_of_one && found.empty(); }
};

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
}
std::string path_in(const std::string& folder, std::string_view name) {
  return folder == "." ? std::string(name) : folder + (folder.ends_with('/') ? "" : "/") + std::string(name);
}
std::string_view last_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }
std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}
std::string shard_of(const std::string& file) {
  return file.ends_with(kLmdbFile) ? file.substr(0, file.size() - kLmdbFile.size()) : file;
}
std::string own_manifest_of(const std::string& file) {
  return file.ends_with(kLmdbFile) ? path_in(folder_of(file), kManifestName)
                                   : file + "." + std::string(kManifestName);
}

// Looks for manifests, each path once.
class ManifestFiles {
 public:
  ManifestFiles(Store& store, const FormatInfo& format) : store_(store), format_(format) {}

  ManifestFile* at(const std::string& path) {
    const auto known = by_path_.find(path);
    if (known != by_path_.end()) return known->second ? &*known->second : nullptr;
    auto& made = by_path_.try_emplace(path, load(path)).first->second;
    return made ? &*made : nullptr;
  }
  // Why the existing manifest at this path is ignored; "" if it is used or does not exist.
  std::string ignored(const std::string& path) const {
    const auto why = ignored_.find(path);
    return why == ignored_.end() ? "" : in_quotes(path) + " is ignored: " + why->second;
  }
  // Why one of them could not be read.
  const Status& unread() const { return unread_; }
  // Those that list any of the files.
  std::vector<ManifestFile*> all() {
    std::vector<ManifestFile*> out;
    for (auto& [path, manifest_file] : by_path_)
      if (manifest_file && (!manifest_file->knows_none() || manifest_file->unlisted > 0))
        out.push_back(&*manifest_file);
    return out;
  }

 private:
  std::optional<ManifestFile> load(const std::string& path) {
    auto manifest = read_manifest(store_, path, left_);
    if (manifest.status().code() == Code::not_found) return std::nullopt;
    if (is_of_the_system(manifest.status())) {
      if (unread_.ok()) unread_ = manifest.status();
      return std::nullopt;
    }
    if (std::string why = manifest.ok() ? why_ignored(**manifest) : std::string(manifest.status().text());
        !why.empty()) {
      ignored_[path] = std::move(why);
      return std::nullopt;
    }
    return std::optional<ManifestFile>(std::in_place, path, folder_of(path), *std::move(manifest));
  }

  std::string why_ignored(const ReadManifest& read) const {
    if (read.manifest.format != format_.name)
      return "it describes data of format " + in_quotes(read.manifest.format.substr(0, 100)) +
             ", but the data is read as " + in_quotes(format_.name);
    if (!read.has_plain_names) return "expected plain file names for its shards";
    return read.by_name.size() == read.manifest.shards.size() ? "" : "expected each shard once";
  }

  Store& store_;
  const FormatInfo& format_;
  uint64_t left_ = kMostOfManifests;
  Status unread_;
  std::map<std::string, std::optional<ManifestFile>> by_path_;  // nullopt: none
  std::map<std::string, std::string> ignored_;                  // why, by path
};

const SourceFile kSomeFolder;  // a shard that is a folder, whose files are not looked at

// Finds the manifest of a folder that is one data set by itself.
bool find_of_folder(ManifestFiles& manifest_files, const std::string& path) {
  ManifestFile* inside = manifest_files.at(path_in(path, kManifestName));
  if (inside) return inside->is_of_one = true;
  if (path.find('/') == std::string::npos) return false;
  ManifestFile* set = manifest_files.at(path_in(folder_of(path), kManifestName));
  const auto entry = set ? set->entry_of(last_name(path)) : std::nullopt;
  if (entry) set->found[*entry] = &kSomeFolder;
  return entry.has_value();
}

// Finds the manifests of files; whether each file has one. If the first of several has its own, so may the
// others.
bool find_of_files(ManifestFiles& manifest_files, const std::vector<SourceFile>& files,
                   const std::string& read_folder) {
  bool all = true, look_beside = true;
  for (const SourceFile& file : files) {
    ManifestFile* own = look_beside ? manifest_files.at(own_manifest_of(file.path)) : nullptr;
    look_beside = own != nullptr;
    if (own && own->manifest.shards.size() == 1) {
      own->is_of_one = true, own->found[0] = &file;
      continue;
    }
    const std::string shard = shard_of(file.path), folder = folder_of(shard);
    ManifestFile* set = manifest_files.at(path_in(folder, kManifestName));
    if (const auto entry = set ? set->entry_of(last_name(shard)) : std::nullopt)
      set->found[*entry] = &file;
    else if (set && folder == read_folder)
      ++set->unlisted;
    else
      all = false;
  }
  return all;
}

// Whether a path is among the given ones: below a folder, or matched by a pattern. `files` are those found.
// Null where all are files, named one by one: then no other is asked for.
IsAsked asked(const std::vector<std::string>& given, const std::vector<std::string>& files) {
  const std::unordered_set<std::string_view> plain(files.begin(), files.end());
  std::vector<std::string> folders, globs;
  for (const std::string& path : given) {
    if (plain.contains(path)) continue;  // nothing is below it
    folders.push_back(without_slashes(path) + (path == "/" ? "" : "/"));
    const auto written_out = expand_braces(path);
    if (is_pattern(path) && written_out.ok() && written_out->size() + globs.size() <= kMostGlobs)
      globs.insert(globs.end(), written_out->begin(), written_out->end());
  }
  if (folders.empty()) return nullptr;
  return [folders = std::move(folders), globs = std::move(globs)](const std::string& path) {
    return std::ranges::any_of(
               folders, [&](const std::string& one) { return one == "./" || path.starts_with(one); }) ||
           std::ranges::any_of(globs, [&](const std::string& glob) { return matches_path(path, glob); });
  };
}

bool has_its_size(const SourceFile& file, const ShardEntry& entry) {
  const bool is_of_folder = file.path.ends_with(kLmdbFile);  // where a lock file may come and go
  return is_of_folder ? file.size > 0 && file.size <= entry.bytes : file.size == entry.bytes;
}

// Whether its options for reading apply to the current bytes: another tool may have rewritten the files. A
// truncated file still counts as the written one if others are unchanged.
bool is_applicable(const ManifestFile& manifest_file) {
  if (manifest_file.unlisted > 0) return false;
  bool has_files = false, has_whole = false;
  for (const auto& [i, file] : manifest_file.found) {
    if (file == &kSomeFolder) continue;
    const ShardEntry& entry = manifest_file.manifest.shards[i];
    if (file->size > entry.bytes) return false;
    has_files = true, has_whole = has_whole || has_its_size(*file, entry);
  }
  return has_whole || !has_files;
}

// Whether its options are those that the format's writer sets for such data, and not made up.
bool is_of_writer(const Manifest& manifest) {
  const WriterInfo* writer = find_writer(manifest.format);
  if (manifest.read_with.is_null()) return true;
  if (!writer || !writer->read_with) return false;
  WriteRequest request;
  request.options = manifest.options.object() ? manifest.options : Value(Value::Object());
  request.schema = manifest.schema;
  request.metadata = manifest.metadata.object() ? manifest.metadata : Value(Value::Object());
  return writer->read_with(request) == manifest.read_with;
}

// Whether it contains anything that affects reading.
bool says_how(const Manifest& manifest) {
  const Value* classes = manifest.metadata.find("classes");
  return (manifest.read_with.object() && !manifest.read_with.object()->empty()) || classes;
}

// `names`: the first of the missing shards.
std::string lost_text(std::span<const std::string> names, uint64_t missing, uint64_t samples,
                      const Manifest& manifest, const std::string& path) {
  return missing_text(names, missing, manifest.shards.size()) + " (" + std::to_string(samples) + " of " +
         std::to_string(manifest.samples()) + " samples, according to " + in_quotes(path) + ")";
}

std::string missing_of(const ManifestFile& manifest_file, const IsAsked& is_asked) {
  if (manifest_file.is_of_one || manifest_file.knows_none() || !is_asked) return {};
  std::vector<std::string> names;
  uint64_t missing = 0, samples = 0;
  for (size_t i = 0; i < manifest_file.manifest.shards.size(); ++i) {
    const ShardEntry& entry = manifest_file.manifest.shards[i];
    const std::string path = path_in(manifest_file.folder, entry.name);
    if (manifest_file.found.contains(i) || !(is_asked(path) || is_asked(path + std::string(kLmdbFile))))
      continue;
    ++missing, samples += entry.samples;
    if (missing <= kNamedFiles + 1) names.push_back(path);
  }
  return missing == 0 ? "" : lost_text(names, missing, samples, manifest_file.manifest, manifest_file.path);
}

uint64_t samples_there(const ManifestFile& manifest_file) {
  if (manifest_file.is_of_one || manifest_file.knows_none()) return manifest_file.read->samples;
  uint64_t out = 0;
  for (const auto& [i, file] : manifest_file.found) out += manifest_file.manifest.shards[i].samples;
  return out;
}

// The folders in a folder that is read as one data set; empty unless all of their names are numbered
// ("-of-").
std::vector<std::string> folders_in(const Listing& listing, const std::string& place) {
  std::vector<std::string> out;
  std::unordered_set<std::string_view> seen;
  for (size_t i = 0; i < listing.files.size(); ++i) {
    const std::string_view file = listing.files[i];
    const std::string_view name = file.substr(0, file.find('/'));
    if (name.size() == file.size() || !seen.insert(name).second) continue;
    out.push_back(path_in(place, name));
    if (!says_how_many(out.back())) return {};
  }
  return out;
}

// The same as missing_of(), for such folders.
std::string missing_folders(const std::vector<std::string>& folders, const ManifestFile& inside) {
  const std::unordered_set<std::string_view> there(folders.begin(), folders.end());
  std::vector<std::string> missing;
  uint64_t samples = 0;
  for (const ShardEntry& one : inside.manifest.shards) {
    std::string path = path_in(inside.folder, one.name);
    if (!there.contains(path)) missing.push_back(std::move(path)), samples += one.samples;
  }
  const bool is_known = missing.size() < inside.manifest.shards.size();
  if (is_known && !missing.empty())
    return lost_text(missing, missing.size(), samples, inside.manifest, inside.path);
  std::string by_names = is_known ? "" : missing_shards(folders);
  return by_names.empty() ? "" : by_names + std::string(kByNames);
}

// Labels of files whose lists of classes do not continue each other mean different things.
Status check_classes(const std::vector<ManifestFile*>& all) {
  const auto lists_of = [](const ManifestFile& file) {
    return class_lists(file.manifest.metadata,
                       Schema::of(file.manifest.schema.names, file.manifest.schema.specs));
  };
  std::vector<std::pair<ClassList, std::string>> known;  // and a manifest
  for (const ManifestFile* file : all) {
    for (ClassList& list : lists_of(*file)) {
      const auto same = std::ranges::find_if(known, [&](const auto& one) {
        return one.first.key == list.key && one.first.member == list.member;
      });
      if (same == known.end()) {
        known.emplace_back(std::move(list), file->path);
        continue;
      }
      if (auto common = common_classes(same->first.names, list.names)) {
        same->first.names = *std::move(common);
        continue;
      }
      return invalid("the files have different classes, so that their labels mean different things: " +
                     classes_text(same->first.names) + " according to " + in_quotes(same->second) + ", and " +
                     classes_text(list.names) + " according to " + in_quotes(file->path) +
                     "; read them apart and join them with concatenate(…, align_labels=True)");
    }
  }
  return {};
}

// Appends to a list of names that shows only the first few.
void add_name(std::string text, size_t& shown, std::string& out) {
  if (++shown <= kNamedFiles)
    out += (out.empty() ? "" : ", ") + std::move(text);
  else if (shown == kNamedFiles + 1)
    out += ", …";
}

std::string empty_files(const std::vector<SourceFile>& files) {
  size_t empty = 0;
  std::string names;
  if (files.size() > 1)
    for (const SourceFile& file : files)
      if (file.size == 0) add_name(in_quotes(file.path), empty, names);
  return empty == 0 ? ""
                    : std::to_string(empty) + " of " + std::to_string(files.size()) + " files " +
                          (empty == 1 ? "is" : "are") + " empty: " + names;
}

// Options that do not change the number of samples.
bool keeps_number(std::string_view option) {
  constexpr std::string_view all[] = {"columns", "defaults", "dtypes", "fields", "key", "nulls", "verify"};
  return std::ranges::find(all, option) != std::end(all);
}

}  // namespace

DatasetManifest::DatasetManifest(Store& store, const FormatInfo& format, const Probe& looked,
                                 const std::vector<std::string>& given, bool is_chosen)
    : format_(format), num_files_(looked.files.size()) {
  ManifestFiles manifest_files(store, format);
  const std::string place = without_slashes(looked.path);
  const bool all_known = looked.files.empty() ? find_of_folder(manifest_files, place)
                                              : find_of_files(manifest_files, looked.files, place);
  unread_ = manifest_files.unread();
  const std::vector<ManifestFile*> all = manifest_files.all();
  std::vector<std::string> paths;
  for (const SourceFile& file : looked.files) paths.push_back(file.path);
  if (paths.empty() && looked.listing) paths = folders_in(*looked.listing, place);
  const IsAsked is_asked = asked(given, paths);
  for (const std::string& path : {path_in(place, kManifestName), own_manifest_of(place)})
    if (std::string why = manifest_files.ignored(path); !why.empty()) notes_.push_back(std::move(why));
  if (given.size() == 1 && !is_chosen && !is_pattern(given[0])) several_ = several_sets(paths);
  if (all.empty()) {
    if (is_asked) numbered_ = missing_shards(paths, is_asked);
    empty_ = empty_files(looked.files);
    return;
  }
  if (looked.files.empty()) missing_ = missing_folders(paths, *all[0]);
  if (const auto is_align = [](const OptionInfo& option) { return option.name == "align_labels"; };
      std::ranges::none_of(format.options, is_align))  // else the format asks formats/meaning
    classes_agree_ = check_classes(all);
  bool is_applied = all_known;
  size_t odd = 0;
  for (const ManifestFile* manifest_file : all) {
    is_applied = is_applied && is_applicable(*manifest_file) && is_of_writer(manifest_file->manifest) &&
                 manifest_file->manifest.read_with == all[0]->manifest.read_with &&
                 manifest_file->manifest.metadata == all[0]->manifest.metadata;
    if (const std::string missing = missing_of(*manifest_file, is_asked); !missing.empty())
      missing_ += (missing_.empty() ? "" : "; ") + missing;
    samples_ += samples_there(*manifest_file);
    for (const auto& [i, file] : manifest_file->found)
      if (file != &kSomeFolder && !has_its_size(*file, manifest_file->manifest.shards[i]))
        add_name(in_quotes(file->path) + " (" + std::to_string(file->size) + " bytes)", odd, odd_);
  }
  if (all_known)
    counted_by_ = all.size() == 1 ? in_quotes(all[0]->path) : std::to_string(all.size()) + " manifests";
  if (is_applied)
    read_with_ = all[0]->manifest.read_with, about_ = all[0]->manifest.metadata;
  else if (std::ranges::any_of(all, [](const ManifestFile* one) { return says_how(one->manifest); }))
    notes_.push_back(in_quotes(all[0]->path) +
                     (all[0]->unlisted > 0 || !all_known ? ": it does not list all of these files"
                      : odd > 0                          ? ": file sizes differ from when it was written"
                      : all.size() > 1                   ? ": it differs from the manifests of other files"
                                                         : ": its read_with is not what its writer sets") +
                     "; its dtypes, options and classes are ignored");
}

Value DatasetManifest::options(const Value& given) const {
  if (!read_with_.object() || !(given.is_null() || given.object())) return given;
  Value out = given;
  for (const auto& [key, value] : *read_with_.object()) {
    const auto is_it = [&key = key](const OptionInfo& option) { return option.name == key; };
    if (!given.find(key) && std::ranges::any_of(format_.options, is_it)) out.set(key, value);
  }
  return out;
}

SourcePtr DatasetManifest::with_findings(SourcePtr source, const Value& given,
                                         const std::string& note) const {
  Value facts{Value::Object()};
  const bool is_file_a_sample = num_files_ >= source->size();
  if (!missing_.empty()) facts.set("missing", missing_);
  if (!numbered_.empty() && !is_file_a_sample) facts.set("missing", numbered_ + std::string(kByNames));
  if (!empty_.empty()) facts.set("empty", empty_);
  const bool all_read = !given.object() || std::ranges::all_of(*given.object(), [&](const auto& option) {
    const Value* usual = read_with_.find(option.first);
    return keeps_number(option.first) || (usual && *usual == option.second);
  });
  const std::string sizes = odd_.empty() ? "" : "size differs from when it was written: " + odd_;
  if (!sizes.empty() && (counted_by_.empty() || samples_ == source->size())) facts.set("differs", sizes);
  if (!counted_by_.empty() && all_read && samples_ != source->size())
    facts.set("differs", counted_by_ + ": expected " + std::to_string(samples_) + " samples, got " +
                             std::to_string(source->size()) + (sizes.empty() ? "" : "; " + sizes));
  std::vector<std::string> notes = notes_;
  if (!note.empty()) notes.push_back(note);
  if (!several_.empty() && !is_file_a_sample)
    notes.push_back(several_ + "; all are read as one data set; to read one of them, pass its pattern");
  if (facts.object()->empty() && notes.empty() && !(about_.object() && !about_.object()->empty()))
    return source;
  Value metadata = source->metadata();
  for (const auto& [key, value] : *facts.object()) metadata.set(key, value);
  for (std::string& one : notes) add_note(metadata, std::move(one));
  add_about(about_, metadata);
  return with_metadata(std::move(source), std::move(metadata));
}

}  // namespace headrace
