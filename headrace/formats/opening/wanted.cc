#include "headrace/formats/opening/wanted.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "headrace/core/text/closest.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/dataset/manifest.h"
#include "headrace/formats/dataset/unfinished.h"
#include "headrace/formats/images/image_files.h"
#include "headrace/formats/opening/archive_folder.h"
#include "headrace/formats/opening/dataset_manifest.h"
#include "headrace/formats/opening/open.h"
#include "headrace/formats/opening/other_splits.h"
#include "headrace/formats/opening/partitions.h"
#include "headrace/formats/opening/readable.h"
#include "headrace/formats/prepared/selected_rows.h"
#include "headrace/formats/shard_names.h"
#include "headrace/formats/splits/hive.h"
#include "headrace/formats/splits/joined_source.h"
#include "headrace/formats/splits/splits.h"
#include "headrace/formats/wrapped_source.h"
#include "headrace/io/look_up.h"
#include "headrace/io/skipping_store.h"

namespace headrace {
namespace {

// The images of a split that lie in one folder with those of others.
Result<SourcePtr> open_images(Store& store, Wanted part, const std::string& folder, const Split& split,
                              const IndexingOptions& indexing) {
  part.given = {{folder}, false};
  if (part.format.empty()) part.format = "images";
  HEADRACE_ASSIGN(Probe looked, probe(store, folder));
  HEADRACE_ASSIGN(SourcePtr all,
                  open_looked_at(store, part, find_format(part.format), std::move(looked), indexing));
  const std::vector<std::string> paths = paths_of(folder, [&] {
    std::vector<std::string> names;
    for (const std::string& path : split.paths) names.push_back(path.substr(path.rfind('/') + 1));
    return names;
  }());
  const std::set<std::string_view> wanted(paths.begin(), paths.end());
  SelectedRows rows{"images of a split", {}, all->schema(), nullptr, all->describe(), Value(Value::Object())};
  for (uint64_t i = 0; i < all->size(); ++i) {
    if (!wanted.contains(all->where(i).file)) continue;
    if (!rows.ranges.empty() && rows.ranges.back().first + rows.ranges.back().count == i)
      ++rows.ranges.back().count;
    else
      rows.ranges.push_back({i, 1});
  }
  return select_rows(std::move(all), std::move(rows));
}

// Whether all are files with one ending, which one format reads.
bool are_of_one_kind(const std::vector<Split>& splits) {
  std::set<std::string> kinds;
  for (const Split& split : splits)
    for (const std::string& path : split.paths) kinds.insert(shard_kind(path.substr(path.rfind('/') + 1)));
  return kinds.size() < 2;
}

// With a split for each folder: several as one would be looked at as folders of shards.
std::vector<Split> one_by_one(const std::vector<Split>& splits) {
  std::vector<Split> out;
  for (const Split& split : splits) {
    if (!split.are_folders && (split.images_in || !split.format.empty() || are_of_one_kind({split}))) {
      out.push_back(split);
      continue;
    }
    for (const std::string& path : split.paths) {
      out.push_back(split);
      out.back().paths = {path};
    }
  }
  return out;
}

const FormatInfo* format_in(const Value& description) {
  const Value* name = description.find("format");
  return name && name->text() ? find_format(*name->text()) : nullptr;
}

// The option align_labels; nothing if the format does not have it.
std::optional<bool> aligning_of(const Wanted& wanted, const FormatInfo* info) {
  constexpr std::string_view name = "align_labels";
  if (!info || !has_option(*info, name)) return std::nullopt;
  const Value* given = wanted.options.find(name);
  return given && given->boolean() && *given->boolean();
}

// Splits of which each is a folder, or has options of its own: opened one by one and joined.
Result<SourcePtr> open_splits(Store& store, const Wanted& wanted, const Probe& folder,
                              const std::vector<Split>& splits, const IndexingOptions& indexing) {
  std::vector<PartOfJoined> parts;
  std::optional<bool> aligning;
  for (const Split& split : one_by_one(splits)) {
    Wanted part = wanted;
    part.given = {paths_of(folder.path, split.paths), split.paths.size() > 1};
    part.path = wanted.given.value();
    if (split.images_in) {
      const std::string at =
          split.images_in->empty() ? folder.path : paths_of(folder.path, {*split.images_in})[0];
      HEADRACE_ASSIGN(SourcePtr source, open_images(store, part, at, split, indexing));
      parts.push_back({"split " + Value(split.name).dump(), std::move(source)});
      continue;
    }
    if (part.format.empty()) part.format = split.format;
    for (const auto& [option, value] : split.options) {
      const bool is_path = std::ranges::find(split.option_paths, option) != split.option_paths.end();
      if (!part.options.find(option))
        part.options.set(option, is_path ? Value(paths_of(folder.path, {*value.text()})[0]) : value);
    }
    HEADRACE_ASSIGN(SourcePtr source, open_wanted(store, part, indexing));
    if (parts.empty()) aligning = aligning_of(part, format_in(source->describe()));
    parts.push_back({"split " + Value(split.name).dump(), std::move(source)});
  }
  Value description = parts[0].source->describe();
  auto joined = joined_source(std::move(parts), std::move(description), aligning);
  if (!joined.ok()) return joined.status().before(wanted.given.text() + ": ").in_op("read");
  return joined;
}

// The folder that a path is, as the formats see it: also an archive that is none of their files.
Result<std::optional<Probe>> folder_of(Store& store, const Probe& looked, const FormatInfo* info) {
  if (looked.listing) return std::optional(looked);
  if (!looked.inside || (info ? info->recognise && info->recognise(looked) > 0 : surest(looked) != nullptr))
    return std::optional<Probe>();
  HEADRACE_ASSIGN(Probe out, archive_as_folder(store, looked));
  return std::optional(std::move(out));
}

// The format that a folder, or what it holds, is to be read in: the user's, or the one that recognises it.
// Where a format recognises the folder as a data set of its own, as Zarr does, names in it mean nothing.
bool may_hold_splits(const FormatInfo* info, const Probe& folder) {
  const int score = info && info->recognise ? info->recognise(folder) : 0;
  return score == 0 || (info->may_hold_splits && score < 90);
}

// That splits are read as one must be the user's wish. `note`: what makes it doubtful that they are splits.
Status check_joined(const Splits& splits, const Wanted& wanted, const FormatInfo* info, const Probe& folder,
                    std::string& note) {
  const bool is_named = !wanted.format.empty();
  if (is_named && info->recognise && info->recognise(folder) > 0)
    return {};  // the user says that the folders are classes, or mean nothing
  const std::string at = wanted.given.text();
  if (splits.are_certain && splits.all.empty())
    return choose_splits(splits, Value("all")).status().before(at + " ").in_op("read");
  if (splits.are_certain)
    return invalid(at + " contains the splits " + split_names_text(splits) +
                   "; set split= to one of these names, a list of them, or \"all\"" +
                   (splits.all[0].images_in ? "; format=\"images\" reads all images"
                                            : ", or open one of them, such as " +
                                                  in_quotes(paths_of(folder.path, splits.all[0].paths)[0])) +
                   (info && info->name == "image_folder" && splits.all[0].are_folders
                        ? "; if they are classes, set format=\"image_folder\""
                        : ""))
        .in_op("read");
  const std::string silence = " to silence this note";
  if (splits.are_likely && splits.all.size() > 1)
    note = at + " contains " + split_names_text(splits) +
           (splits.beside.empty() ? "" : " beside " + in_quotes(splits.beside)) +
           ", and all are read as one data set; set split= to a name to read one of them, or to \"all\"" +
           silence;
  else if (!splits.all.empty() && info && info->name == "image_folder" && splits.all[0].are_folders &&
           (!splits.beside.empty() || splits.all[0].paths.size() > 1))
    note = at + ": the folder " + in_quotes(splits.all[0].paths[0]) +
           " is read as a class; set split=" + Value(splits.all[0].name).dump() +
           " to read what is in it, or format=\"image_folder\"" + silence;
  return {};
}

Value without_option(const Value& options, std::string_view option) {
  Value out{Value::Object()};
  for (const auto& [key, value] : *options.object())
    if (key != option) out.set(key, value);
  return out;
}
Value without_split(const Value& options) { return without_option(options, kSplit); }

// What a user may not know of the splits that he chose.
SourcePtr with_notes_of(SourcePtr source, const std::vector<Split>& chosen) {
  for (const Split& split : chosen) {
    for (const std::string& note : split.notes) source = with_note(std::move(source), note);
    std::string overlaps;
    for (const Split& other : chosen)
      if (std::ranges::find(split.overlaps, other.name) != split.overlaps.end())
        overlaps += (overlaps.empty() ? "" : " and ") + Value(other.name).dump();
    if (!overlaps.empty())
      source = with_note(std::move(source), "the split " + Value(split.name).dump() +
                                                " usually has the samples of " + overlaps +
                                                " once more; leave one of them out of split=");
  }
  return source;
}

Result<SourcePtr> open_those_chosen(Store& store, const Wanted& wanted, const FormatInfo* named,
                                    const Probe& folder, const std::vector<Split>& chosen,
                                    const IndexingOptions& indexing) {
  const auto is_list = [&](const Split& split) {
    const bool are_fields = chosen.size() > 1 && split.paths.size() > 1 && split.paths[0].ends_with(".npy");
    return split.format.empty() && !split.are_folders && !are_fields && !split.images_in;
  };
  if (!std::ranges::all_of(chosen, is_list) || !are_of_one_kind(chosen))
    return open_splits(store, wanted, folder, chosen, indexing);
  std::vector<std::string> names;
  for (const Split& split : chosen) names.insert(names.end(), split.paths.begin(), split.paths.end());
  if (wanted.split.text() && *wanted.split.text() == "all") std::ranges::sort(names);
  const std::vector<std::string> paths = paths_of(folder.path, names);
  auto files = paths.size() == 1 ? probe(store, paths[0]) : probe_files(store, folder.path, paths);
  if (!files.ok()) return files.status().in_op("read");
  const FormatInfo* info = named ? named : surest(*files);
  if (paths.size() > 1 && (!info || !info->takes_files))  // COCO's, one by one
    return open_splits(store, wanted, folder, chosen, indexing);
  return open_looked_at(store, wanted, named, *std::move(files), indexing);
}

// The splits that the user chose.
Result<SourcePtr> open_chosen(Store& store, Wanted wanted, const FormatInfo* named, const Probe& folder,
                              const Splits& splits, const IndexingOptions& indexing) {
  wanted.split = *wanted.options.find(kSplit);
  wanted.options = without_split(wanted.options);
  if (wanted.path.is_null()) wanted.path = wanted.given.value();
  auto chosen = choose_splits(splits, wanted.split);
  if (!chosen.ok())
    return chosen.status().with({.option = "split"}).before(wanted.given.text() + " ").in_op("read");
  const bool are_all = wanted.split.text() && *wanted.split.text() == "all";
  // Several may be values of a partition column, which is a field then.
  if ((are_all || wanted.split.list()) && (!named || named->takes_files)) {
    std::vector<std::string> copies;
    auto partitions = hive_partitions(*folder.listing, copies);
    const auto is_chosen = [&](const HivePartition& partition) {
      return std::ranges::any_of(*chosen, [&](const Split& split) {
        return std::ranges::any_of(split.paths, [&](const std::string& path) {
          return partition.files.front().starts_with(path + "/");
        });
      });
    };
    if (partitions.ok() && !are_all) std::erase_if(*partitions, std::not_fn(is_chosen));
    if (partitions.ok() && !partitions->empty())
      return open_partitions(store, wanted, named, folder, *std::move(partitions), copies, indexing);
  }
  if (are_all && !splits.are_certain)  // what lies beside them is part of it
    return open_looked_at(store, wanted, named, folder, indexing);
  HEADRACE_ASSIGN(SourcePtr source, open_those_chosen(store, wanted, named, folder, *chosen, indexing));
  return with_notes_of(std::move(source), *chosen);
}

// A path, its folder if it is one that may hold splits, and these.
struct Looked {
  Probe path;
  uint64_t twice = 0;  // files that were named again
  const FormatInfo* named = nullptr;
  std::optional<Probe> folder = std::nullopt;
  const FormatInfo* format = nullptr;  // of the folder: named, recognised, or null
  Splits splits = {};
};

Result<Looked> look(Store& store, const Wanted& wanted) {
  Looked out;
  if (!wanted.format.empty()) {
    out.named = find_format(wanted.format);
    if (!out.named) return invalid(std::string(no_format(wanted.format))).in_op("read");
    if (!out.named->open)
      return invalid(out.named->name + " is generated, not read from a path").in_op("read");
  }
  for (const std::string& path : wanted.given.paths)
    if (Status status = check_finished(store, path); !status.ok()) return std::move(status).in_op("read");
  auto looked = probe(store, wanted.given, out.twice);
  if (!looked.ok()) return looked.status().in_op("read");
  out.path = *std::move(looked);
  // A format with splits of its own, unless the folder is none of its data sets: then each folder in it may
  // be.
  const bool chooses = out.named && has_option(*out.named, kSplit);
  if (wanted.given.is_list || (chooses && (!out.path.listing || surest(out.path) == out.named))) return out;
  HEADRACE_ASSIGN(out.folder, folder_of(store, out.path, out.named));
  if (!out.folder) return out;
  out.format = out.named ? out.named : surest(*out.folder);
  if (may_hold_splits(out.format, *out.folder))
    out.splits = find_splits(*out.folder->listing);
  else
    out.folder.reset();
  if (chooses && out.splits.all.empty()) out.folder.reset();
  return out;
}

Result<std::vector<std::string>> splits_of_format(const FormatInfo& info, Probe looked, Store& store) {
  OpenRequest request;
  request.probes.push_back(std::move(looked));
  HEADRACE_ASSIGN(const SplitsOpening opening, info.splits(request));
  return drive(*opening.steps, opening.files, store);
}

// Words that are no names of the format's splits, but of the kind of one of them, as that one.
Result<std::vector<std::string>> meant_by_format(const FormatInfo& info, const Looked& looked,
                                                 std::vector<std::string> words, Store& store) {
  if (std::ranges::none_of(words, [](const std::string& word) { return split_kind(word).has_value(); }))
    return words;
  HEADRACE_ASSIGN(const std::vector<std::string> names, splits_of_format(info, looked.path, store));
  const std::vector<KnownSplit> known = known_kinds(names);
  for (std::string& word : words)
    if (const auto found = split_kind(word) ? meant_split(known, word) : std::nullopt) word = names[*found];
  return words;
}

// Several splits of a format that opens one at a time; nothing if the user wants one, or the format takes
// them all.
Result<std::optional<SourcePtr>> open_several_of_format(Store& store, const Wanted& wanted,
                                                        const Looked& looked,
                                                        const IndexingOptions& indexing) {
  const Value* choice = wanted.options.find(kSplit);
  if (!choice || !looked.splits.all.empty()) return std::optional<SourcePtr>();
  const FormatInfo* info = looked.named ? looked.named : surest(looked.path);
  const bool are_all = choice->text() && *choice->text() == "all";
  if (!info || !info->splits || (!choice->list() && (!are_all || info->takes_all_splits)))
    return std::optional<SourcePtr>();
  std::vector<std::string> names;
  if (are_all) {
    HEADRACE_ASSIGN(names, splits_of_format(*info, looked.path, store));
  } else {
    HEADRACE_ASSIGN(names, GivenOptions{wanted.options}.strings(kSplit));
  }
  if (names.empty())
    return invalid({.expected = "at least one name", .got = choice->dump()}).in_option("split");
  if (choice->list()) {
    HEADRACE_ASSIGN(names, meant_by_format(*info, looked, names, store));
    HEADRACE_TRY(check_named_once(*choice->list(), names));
  }
  std::vector<PartOfJoined> parts;
  for (const std::string& name : names) {
    Wanted part = wanted;
    part.options.set(std::string(kSplit), name);
    HEADRACE_ASSIGN(SourcePtr source, open_looked_at(store, part, looked.named, looked.path, indexing));
    parts.push_back({"split " + Value(name).dump(), std::move(source)});
  }
  Value description = parts[0].source->describe();
  description.set(std::string(kSplit), *choice);
  HEADRACE_ASSIGN(SourcePtr joined,
                  joined_source(std::move(parts), std::move(description), aligning_of(wanted, info)));
  return std::optional(std::move(joined));
}

// With the option skip_unreadable, which only this function sees: every look-up asks the store.
Result<SourcePtr> open_what_is_readable(Store& store, Wanted wanted, const IndexingOptions& indexing) {
  const auto skips = GivenOptions{wanted.options}.flag(kSkipUnreadable, false);
  if (!skips.ok()) return skips.status().in_op("read");
  wanted.options = without_option(wanted.options, kSkipUnreadable);
  if (!*skips) return open_wanted(store, wanted, indexing);
  SkippingStore skipping(store);
  HEADRACE_ASSIGN(SourcePtr source, open_wanted(skipping, wanted, indexing));
  return with_left_out(std::move(source), skipping.left_out());
}

// Problems of the listing, of a format that does not tell them itself.
SourcePtr with_problems(SourcePtr source, const std::vector<Listing::Problem>& problems) {
  Value metadata = source->metadata();
  if (problems.empty() || metadata.find("problems")) return source;
  metadata.set("problems", problems_value(problems));
  return with_metadata(std::move(source), std::move(metadata));
}

// The name of the split of a format for which the user has another word; "" if there is none.
std::string other_name(Store& store, const Wanted& wanted, const Looked& looked) {
  const Value* choice = wanted.options.find(kSplit);
  const FormatInfo* info = looked.named ? looked.named : surest(looked.path);
  if (!choice || !choice->text() || !info || !info->splits || !looked.splits.all.empty()) return {};
  const auto meant = meant_by_format(*info, looked, {*choice->text()}, store);
  return meant.ok() && (*meant)[0] != *choice->text() ? (*meant)[0] : std::string();
}

// What is there, as the user wants it.
Result<SourcePtr> open_as_looked(Store& store, const Wanted& wanted, Looked looked,
                                 const IndexingOptions& indexing) {
  HEADRACE_ASSIGN(std::optional<SourcePtr> several, open_several_of_format(store, wanted, looked, indexing));
  if (several) return *std::move(several);
  if (!looked.folder) {
    HEADRACE_ASSIGN(SourcePtr source,
                    open_looked_at(store, wanted, looked.named, std::move(looked.path), indexing));
    if (looked.twice == 0) return source;
    return with_note(std::move(source),
                     "files that are named more than once are read once: " + std::to_string(looked.twice) +
                         "; mix() with weights= reads some more often");
  }
  const Value* choice = wanted.options.find(kSplit);
  const bool are_none = looked.splits.all.empty() && looked.splits.data_sets.empty();
  if (choice) {
    if (!are_none) return open_chosen(store, wanted, looked.named, *looked.folder, looked.splits, indexing);
    if (!looked.format || !has_option(*looked.format, kSplit))
      return invalid(wanted.given.text() +
                     " has no splits: no files or folders in it are named train, val, test or alike")
          .in_op("read");
  }
  std::string note;
  HEADRACE_TRY(check_joined(looked.splits, wanted, looked.format, *looked.folder, note));
  if (!looked.format || looked.format->takes_files) {
    std::vector<std::string> copies;
    auto partitions = hive_partitions(*looked.folder->listing, copies);
    if (!partitions.ok()) return partitions.status().before(wanted.given.text() + ": ").in_op("read");
    if (!partitions->empty())
      return open_partitions(store, wanted, looked.named, *looked.folder, *std::move(partitions), copies,
                             indexing);
  }
  // A huge folder is not looked at by all formats again.
  const FormatInfo* recognised = looked.path.listing && !looked.named ? looked.format : nullptr;
  auto source = open_looked_at(store, wanted, looked.named, std::move(looked.path), indexing, recognised);
  if (source.status().code() == Code::invalid && !looked.format && looked.splits.all.size() == 1) {
    Wanted only = wanted;  // one split of a download, which is no data set by itself: MNIST's training files
    only.options.set(std::string(kSplit), looked.splits.all[0].name);
    return open_wanted(store, only, indexing);
  }
  if (source.status().code() == Code::invalid && !looked.format && !looked.splits.all.empty())
    return source.status().after("; split=" + Value(looked.splits.all[0].name).dump() + " reads " +
                                 in_quotes(looked.splits.all[0].paths[0]) + " alone");
  if (!source.ok()) return source;
  return note.empty() ? source : with_note(*std::move(source), std::move(note));
}

// That columns of partitions, which are fields of a folder, are none of files that are named one by one.
SourcePtr with_note_on_partitions(SourcePtr source, const std::vector<SourceFile>& files) {
  std::string names;
  for (const std::string& key : hive_keys(files[0].path))
    if (source->schema().find(key) < 0) names += (names.empty() ? "" : ", ") + in_quotes(key);
  if (names.empty()) return source;
  return with_note(std::move(source),
                   "the folders of the files are values of " + names +
                       ", which is not read for files that are named; pass the folder above "
                       "them to have it as a field");
}

// A format that cannot tell its files by their content would read those of one ending, and lose the others.
Status check_endings(const Looked& looked, const Value& choice) {
  if (!looked.named || looked.named->recognise || !looked.folder) return {};
  const auto chosen = choose_splits(looked.splits, choice);
  if (!chosen.ok()) return {};
  const auto stem = [](std::string_view path) { return path.substr(0, path.find('.', path.rfind('/') + 1)); };
  const Names& all = looked.folder->listing->files;
  for (const Split& split : *chosen) {
    std::map<std::string, std::string> by_kind;  // the first file of each
    if (split.are_folders) continue;
    for (size_t i = 0; i < all.size(); ++i) {
      const std::string kind = shard_kind(all[i].substr(all[i].rfind('/') + 1));
      const auto is_beside = [&](const std::string& path) { return stem(path) == stem(all[i]); };
      if ((!is_beside_data(kind) || is_text_data(kind)) && std::ranges::any_of(split.paths, is_beside))
        by_kind.try_emplace(kind, all[i]);
    }
    if (by_kind.size() < 2) continue;
    std::string files;
    for (const auto& [kind, file] : by_kind)
      files += (files.empty() ? "" : ", ") + in_quotes(paths_of(looked.folder->path, {file})[0]);
    return invalid("split " + Value(split.name).dump() + " has files with different endings: " + files +
                   "; pass one of them, or a list of files with one ending; zip() has the lines of two side "
                   "by side")
        .in_op("read");
  }
  return {};
}

// The files and folders of a split, as paths.
PathArgument paths_of_split(const Looked& looked, const std::string& name) {
  PathArgument out;
  if (const auto split =
          looked.folder ? choose_splits(looked.splits, Value(name)) : Status(Code::not_found, "");
      split.ok())
    out.paths = paths_of(looked.folder->path, (*split)[0].paths);
  out.is_list = out.paths.size() > 1;
  return out;
}

uint64_t bytes_of_split(Store& store, const Looked& looked, const std::string& name) {
  constexpr size_t kMostFiles = 1000;
  std::vector<std::string> files;
  for (const std::string& path : paths_of_split(looked, name).paths) {
    const auto info = store.info(path);
    if (!info.ok()) continue;
    if (!info->is_directory) {
      files.push_back(path);
      continue;
    }
    for (size_t i = 0; i < looked.folder->listing->files.size() && files.size() < kMostFiles; ++i)
      if (std::string file =
              paths_of(looked.folder->path, {std::string(looked.folder->listing->files[i])})[0];
          file.starts_with(path + "/"))
        files.push_back(std::move(file));
  }
  uint64_t out = 0;
  for (const std::string& file : files)
    if (const auto info = store.info(file); info.ok()) out += info->size;
  return files.size() < kMostFiles ? out : ~uint64_t{0};
}

// Cheaper than to look at the files, of which there may be many.
bool may_have_manifest(Store& store, const PathArgument& paths) {
  if (paths.paths.empty()) return false;
  const std::string &path = paths.paths[0], name(kManifestName);
  const std::string places[] = {path + "." + name, join_path(path, name), join_path(parent_of(path), name)};
  return std::ranges::any_of(places, [&](const std::string& place) {
    const auto there = has_file(store, place);
    return !there.ok() || *there;
  });
}

Value said_by_manifest(Store& store, const Looked& looked, const std::string& name,
                       const FormatInfo& format) {
  const PathArgument paths = paths_of_split(looked, name);
  uint64_t twice = 0;
  if (!may_have_manifest(store, paths)) return {};
  auto files = probe(store, paths, twice);
  if (!files.ok() || !fit(format, store, *files).ok()) return {};
  return DatasetManifest(store, format, *files, paths.paths, true).about();
}

// Options that no format has, before anything is said of splits: "splits" for "split".
Status check_known(const Wanted& wanted) {
  if (!wanted.options.object()) return {};
  for (const auto& [key, value] : *wanted.options.object()) {
    const auto has_it = [&key = key](const auto& format) { return has_option(format.second, key); };
    if (key == kSplit || std::ranges::any_of(formats(), has_it)) continue;
    const std::string meant = did_you_mean(key, std::vector<std::string_view>{kSplit});
    if (!meant.empty()) return invalid("no format has an option " + in_quotes(key) + meant).in_op("read");
  }
  return {};
}

Result<SourcePtr> open_chosen_splits(Store& store, const Wanted& wanted, const Looked& looked,
                                     const IndexingOptions& indexing) {
  SplitOpener splits;
  for (const Split& split : looked.splits.all) splits.names.push_back(split.name);
  const FormatInfo* info = looked.named ? looked.named : looked.format;
  if (splits.names.empty() && info && info->splits && !info->takes_all_splits)
    if (auto names = splits_of_format(*info, looked.path, store); names.ok())
      splits.names = *std::move(names), splits.are_of_format = true;
  splits.open = [&](const Value& split, const Value& options) -> Result<SourcePtr> {
    HEADRACE_TRY(check_endings(looked, split));
    Wanted one = wanted;
    one.options = options;
    one.options.set(kSplit, split);
    return open_as_looked(store, one, looked, indexing);
  };
  splits.said = [&](const std::string& name, const FormatInfo& format) {
    return said_by_manifest(store, looked, name, format);
  };
  splits.bytes = [&](const std::string& name) { return bytes_of_split(store, looked, name); };
  return open_beside_others(splits, *wanted.options.find(kSplit), without_split(wanted.options));
}

Result<SourcePtr> open_found(Store& store, Wanted wanted, Looked looked, const IndexingOptions& indexing) {
  if (const std::string meant = other_name(store, wanted, looked); !meant.empty())
    wanted.options.set(std::string(kSplit), meant);
  if (wanted.options.find(kSplit) && !wanted.is_described)
    return open_chosen_splits(store, wanted, looked, indexing);
  if (looked.folder || looked.path.files.size() < 2 || !wanted.path.is_null() || wanted.is_described)
    return open_as_looked(store, wanted, std::move(looked), indexing);
  HEADRACE_ASSIGN(SourcePtr source, open_as_looked(store, wanted, looked, indexing));
  return with_note_on_partitions(std::move(source), looked.path.files);
}

}  // namespace

Result<SourcePtr> open_wanted(Store& store, const Wanted& wanted, const IndexingOptions& indexing) {
  if (wanted.options.find(kSkipUnreadable)) return open_what_is_readable(store, wanted, indexing);
  if (const Value* choice = wanted.options.find(kSplit); choice && choice->is_null()) {
    Wanted without = wanted;
    without.options = without_split(wanted.options);
    return open_wanted(store, without, indexing);
  }
  HEADRACE_TRY(check_known(wanted));
  HEADRACE_ASSIGN(Looked looked, look(store, wanted));
  const std::shared_ptr<const Listing> listing = looked.path.listing;
  HEADRACE_ASSIGN(SourcePtr source, open_found(store, wanted, std::move(looked), indexing));
  return listing ? with_problems(std::move(source), listing->problems) : std::move(source);
}

Result<std::vector<std::string>> list_splits(Store& store, const std::string& path, std::string_view format) {
  HEADRACE_ASSIGN(Looked looked, look(store, {{{path}, false}, format}));
  if (!looked.splits.data_sets.empty())
    return choose_splits(looked.splits, Value("all"))
        .status()
        .with({.file = path})
        .before(in_quotes(path) + " ")
        .in_op("list_splits");
  std::vector<std::string> out;
  for (const Split& split : looked.splits.all) out.push_back(split.name);
  if (!out.empty()) return out;
  const FormatInfo* info = looked.named ? looked.named : surest(looked.path);
  if (!info || !info->splits) return out;
  auto found = splits_of_format(*info, std::move(looked.path), store);
  if (!found.ok()) return found.status().in_file(path).in_format(info->name);
  return found;
}

}  // namespace headrace
