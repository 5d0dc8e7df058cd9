#include "headrace/formats/splits/splits.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "headrace/codecs/codec.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/shard_names.h"
#include "headrace/formats/splits/downloaded_splits.h"
#include "headrace/formats/splits/folder_tree.h"
#include "headrace/io/sorted_names.h"

namespace headrace {
namespace {

constexpr size_t kDeepest = 6;      // levels of folders that are searched
constexpr size_t kLeastPrefix = 3;  // letters that folders beside splits have in common with them: "seg_"
constexpr size_t kShownDataSets = 10, kShownNames = 20;  // in a message

// Files or folders side by side, some of them named like splits.
struct Point {
  const Folder* folder = nullptr;
  std::vector<std::pair<std::string, SplitName>> entries;  // names, in order
  bool are_folders = false, are_images = false;
  int rank = 0;  // the highest of the entries
  bool are_splits =
      false;           // two words, and the names differ in these alone; else they may mean something else
  std::string beside;  // the first entry that is neither a split nor usual beside splits
  size_t kinds = 0, names = 0;
  std::set<std::string, std::less<>> folders;  // of a point of files: entries that are folders
  std::vector<std::string> copies;             // left out: the same files compressed
};
using NamedEntries = std::vector<std::pair<std::string, SplitName>>;

// "train" of "train2017" and "trainA": these are two sets of one split.
std::string word_of(std::string_view name) {
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  if (name.size() > 1 && is_upper(name.back()) && !is_upper(name[name.size() - 2])) name.remove_suffix(1);
  return lower_case(name);
}

// "train" and "test", but also "val" and "dev", "train" and "trainval": whether two of one kind overlap is
// not known. The rest of the names is the same, or one is just the word: "train" and "dev_matched".
bool have_two_splits(const NamedEntries& entries) {
  std::map<std::string_view, std::set<std::string>> words;  // by the rest
  std::set<SplitKind> bare, all;
  for (const auto& [name, split] : entries) {
    words[split.rest].insert(word_of(split.name));
    if (split.kind == SplitKind::other) continue;  // "train" and "unlabeled", but not "query_log"
    all.insert(split.kind);
    if (split.is_bare()) bare.insert(split.kind);
  }
  return std::ranges::any_of(words, [](const auto& one) { return one.second.size() > 1; }) ||
         (!bare.empty() && all.size() > 1);
}

// Puts the names that are of splits into `entries`, also "mytrain" and "mytest", "train" and "trainannot".
void take_split_names(const std::vector<std::string>& names, bool are_folders, NamedEntries& entries,
                      std::vector<std::string>& others) {
  for (const std::string& name : names) {
    if (auto split = split_name(name, are_folders))
      entries.emplace_back(name, *std::move(split));
    else
      others.push_back(name);
  }
  std::map<std::string, NamedEntries> by_rest;
  for (const std::string& name : others)
    for (SplitName& split : joined_split_names(name, are_folders)) {
      std::string rest = split.rest;
      by_rest[std::move(rest)].emplace_back(name, std::move(split));
    }
  std::set<std::string, std::less<>> taken;
  for (auto& [rest, joined] : by_rest) {
    const SplitKind first = joined.front().second.kind;
    if (std::ranges::all_of(joined, [&](const auto& entry) { return entry.second.kind == first; })) continue;
    for (auto& [name, split] : joined)
      if (taken.insert(name).second) entries.emplace_back(name, std::move(split));
  }
  std::erase_if(others, [&](const std::string& name) { return taken.contains(name); });
  std::ranges::sort(entries, {}, &NamedEntries::value_type::first);
}

constexpr std::string_view kJson = ".json";

// The kind of file of which a folder has most, as shards_of() finds it; files of JSON if there is no other.
const std::vector<std::string_view>* most_common(const Folder& folder) {
  const std::vector<std::string_view>* out = nullptr;
  for (const bool is_text : {false, true}) {
    for (const auto& [kind, names] : folder.files) {
      if (is_beside_data(kind) != is_text || (is_text && !is_text_data(kind))) continue;
      if (!out || names.size() > out->size()) out = &names;
    }
    if (out) return out;
  }
  const auto json = folder.files.find(std::string(kJson));
  return json == folder.files.end() ? nullptr : &json->second;
}

// Splits in other formats than most: "test.parquet" beside "train.csv".
void add_those_of_other_kinds(const Folder& folder, const std::string& most, Point& out) {
  std::set<std::pair<SplitKind, std::string>> known;
  for (const auto& [name, split] : out.entries) known.emplace(split.kind, split.rest);
  const std::set<std::pair<SplitKind, std::string>> of_most = known;
  for (const auto& [kind, names] : folder.files) {
    const bool is_data = !is_beside_data(kind) || (is_text_data(kind) && kind != ".txt");
    if (kind == most || !is_data) continue;
    for (const std::string_view name : names) {
      auto split = split_name(name, false);
      if (!split || split->kind == SplitKind::other || of_most.contains({split->kind, split->rest})) continue;
      const bool is_alike =
          std::ranges::any_of(of_most, [&](const auto& one) { return one.second == split->rest; });
      if (is_alike) out.entries.emplace_back(name, *std::move(split));
    }
  }
}

// "seg_pred" is one of the splits "seg_train" and "seg_test".
void add_those_named_alike(std::vector<std::string>& others, Point& out) {
  std::map<std::string, std::string> rests;  // by their prefix
  for (const auto& [name, split] : out.entries)
    if (const size_t star = split.rest.find('*'); star >= kLeastPrefix && star + 1 == split.rest.size())
      rests.emplace(split.rest.substr(0, star), split.rest);
  std::erase_if(others, [&](const std::string& other) {
    const std::string stem = split_stem(other), lower = lower_case(stem);
    for (const auto& [prefix, rest] : rests) {
      if (!lower.starts_with(prefix) || lower.size() == prefix.size()) continue;
      out.entries.emplace_back(other, SplitName{SplitKind::other, stem.substr(prefix.size()), rest});
      return true;
    }
    return false;
  });
}

Point finished(Point out, std::vector<std::string> others) {
  std::set<SplitKind> kinds;
  for (const auto& [name, split] : out.entries)
    if (split.kind != SplitKind::other) kinds.insert(split.kind);
  std::set<std::string> names;
  for (const auto& [name, split] : out.entries)
    if (split.kind != SplitKind::other) names.insert(lower_case(split.name));
  out.kinds = kinds.size(), out.names = names.size();
  if (out.kinds == 0) out.entries.clear();
  out.are_splits = have_two_splits(out.entries);
  if (out.are_splits) add_those_named_alike(others, out);
  const auto unusual = std::ranges::find_if_not(others, is_usual_beside);
  if (unusual != others.end()) out.beside = *unusual;
  return out;
}

Point folders_of(const Folder& folder) {
  Point out;
  out.folder = &folder, out.are_folders = true;
  std::vector<std::string> names, others;
  for (const auto& [name, below] : folder.folders)
    if (below->rank() > 0) names.push_back(name);
  take_split_names(names, true, out.entries, others);
  const auto rank_of = [&](const std::string& name) { return folder.folders.find(name)->second->rank(); };
  for (const auto& [name, split] : out.entries) out.rank = std::max(out.rank, rank_of(name));
  // Folders of lists beside those of images: "train/", "test/", "labels_train/".
  std::erase_if(others, [&](const std::string& name) { return rank_of(name) < out.rank; });
  std::erase_if(out.entries, [&](const auto& entry) { return rank_of(entry.first) < out.rank; });
  return finished(std::move(out), std::move(others));
}

Point files_of(const Folder& folder) {
  Point out;
  out.folder = &folder;
  const std::vector<std::string_view>* most = most_common(folder);
  if (!most) return out;
  std::vector<std::string> names(most->begin(), most->end()), others;
  take_out_copies(names, out.copies);
  take_split_names(names, false, out.entries, others);
  const std::string kind = shard_kind(names.front());
  out.rank = is_beside_data(kind) ? 1 : 2;
  if (kind == kJson) {  // read only as splits: what else lies there are descriptions
    out = finished(std::move(out), {});
    if (!out.are_splits) out.entries.clear(), out.kinds = 0;
    return out;
  }
  if (!out.entries.empty()) add_those_of_other_kinds(folder, kind, out);
  return finished(std::move(out), std::move(others));
}

// Images in one folder: "train_0.jpg", "val_0.jpg".
Point images_of(const Folder& folder) {
  Point out;
  out.folder = &folder, out.are_images = true, out.rank = 3;
  for (const std::string_view name : folder.split_images)
    out.entries.emplace_back(name, *split_name(name, false));
  std::vector<std::string> others;
  if (!folder.other_image.empty()) others.emplace_back(folder.other_image);
  return finished(std::move(out), std::move(others));
}

bool has_extension(const std::string& name) {
  return name.rfind('.') != std::string::npos && name.rfind('.') > 0;
}

// Kaggle's archives repeat the name: "seg_train/seg_train/sea/1.jpg". A folder may also hold one that is the
// data: "train/0.lmdb".
std::string without_repeated(const Folder& above, const std::string& name) {
  const Folder* at = above.folders.find(name)->second.get();
  std::string last = name;
  while (at->images == 0 && at->files.empty() && at->folders.size() == 1) {
    const auto& [inner, below] = *at->folders.begin();
    const auto outer_name = split_name(last, true), inner_name = split_name(inner, true);
    const bool repeats = inner == last || (at->rank() == 2 && has_extension(inner)) ||
                         (outer_name && inner_name && outer_name->kind == inner_name->kind);
    if (!repeats) break;
    at = below.get(), last = inner;
  }
  return at->path;
}

// Arrays whose names say which field of the same samples they hold: "x_train.npy", "y_train.npy".
bool is_role(std::string_view file, std::string_view rest) {
  constexpr std::array<std::string_view, 8> roles{"x_*",      "y_*",      "*_x",      "*_y",
                                                  "images_*", "labels_*", "*_images", "*_labels"};
  return file.ends_with(".npy") && std::ranges::find(roles, rest) != roles.end();
}

// Splits of one name are one set of samples. Other words make another one of it: "dev_matched" and
// "dev_mismatched", "train_images" and "train_masks".
std::vector<Split> splits_at(const Point& point) {
  std::map<std::string, std::set<std::string_view>> rests;  // of a name
  for (const auto& [entry, split] : point.entries)
    if (!is_role(entry, split.rest)) rests[lower_case(split.name)].insert(split.rest);
  std::map<std::string, Split> by_name;
  for (const auto& [entry, split] : point.entries) {
    const bool is_alone = point.are_images || rests[lower_case(split.name)].size() < 2 || split.is_bare();
    const std::string name = is_alone ? split.name : split_stem(entry);
    Split& out = by_name.try_emplace(lower_case(name), Split{name, {}}).first->second;
    const bool is_folder = point.are_folders || point.folders.contains(entry);
    out.are_folders = is_folder, out.kind = split.kind;
    const std::string& above = point.folder->path;
    if (point.are_images) out.images_in = above;
    for (const std::string& copy : point.copies)
      if (without_compression(copy) == entry)
        out.notes.push_back(in_quotes(copy) + " is left out, since " + in_quotes(entry) +
                            " lies beside it; pass its path to read it");
    out.paths.push_back(is_folder       ? without_repeated(*point.folder, entry)
                        : above.empty() ? entry
                                        : above + "/" + entry);
  }
  std::vector<Split> out;
  for (auto& [name, split] : by_name) out.push_back(std::move(split));
  return out;
}

// ImageNet's validation images have no folders for their classes: Kaggle lists these beside them. Their
// labels are those of the training images.
void add_solution(const Listing& listing, const Folder& root, std::vector<Split>& splits) {
  constexpr std::string_view images = "ILSVRC/Data/CLS-LOC/", solution = "LOC_val_solution.csv";
  for (Split& split : splits) {
    const std::string& path = split.paths[0];
    if (split.paths.size() != 1 || !path.ends_with(std::string(images) + "val")) continue;
    const std::string above = path.substr(0, path.size() - images.size() - 3);
    if (!holds(listing.files, above + std::string(solution))) continue;
    Value::List classes;
    if (const Folder* train = find_folder(root, above + std::string(images) + "train"))
      for (const auto& [name, folder] : train->folders)
        if (folder->has_images) classes.emplace_back(name);
    split.options = {{"root", path}};
    if (!classes.empty()) split.options.emplace_back("classes", std::move(classes));
    split.option_paths = {"root"};
    split.paths = {above + std::string(solution)}, split.format = "imagenet_solution";
    split.are_folders = false;
  }
}

// Roboflow writes COCO's annotations into the folder of each split.
void add_annotations(const Listing& listing, std::vector<Split>& splits) {
  for (Split& split : splits) {
    const std::string annotations = split.paths[0] + "/_annotations.coco.json";
    if (split.paths.size() == 1 && holds(listing.files, annotations))
      split.paths = {annotations}, split.format = "coco", split.are_folders = false;
  }
}

// The classes of all splits, where some lack a few of them: a label means the same in each.
void number_classes_alike(const Folder& root, std::vector<Split>& splits) {
  std::map<std::pair<Split*, std::string>, std::set<std::string>> classes;  // of each folder
  for (Split& split : splits)
    for (const std::string& path : split.paths) {
      const Folder* folder = split.are_folders ? find_folder(root, path) : nullptr;
      if (!folder || folder->images > 0 || !folder->has_images || !split.format.empty()) continue;
      for (const auto& [name, below] : folder->folders)
        if (below->has_images || !is_folder_beside_classes(name)) classes[{&split, path}].insert(name);
      for (const std::string& name : folder->empty) classes[{&split, path}].insert(name);
    }
  const auto most = std::ranges::max_element(classes, {}, [](const auto& one) { return one.second.size(); });
  if (most == classes.end()) return;
  // Others may be folders of another kind: "val/images/". Those of one split are parts of it.
  std::erase_if(classes, [known = most->second](const auto& one) {
    if (one.first.first->paths.size() > 1) return false;
    return std::ranges::none_of(one.second, [&](const std::string& name) { return known.contains(name); });
  });
  std::set<std::string> all;
  bool differ = false;
  std::set<Split*> of_classes;
  for (const auto& [folder, names] : classes) {
    differ = differ || names != classes.begin()->second;
    all.insert(names.begin(), names.end());
    of_classes.insert(folder.first);
  }
  if (!differ) return;
  for (Split* split : of_classes) {
    split->format = "image_folder";
    split->options.emplace_back("classes", Value::List(all.begin(), all.end()));
  }
}

// YOLO's boxes lie in text files beside the images, which no format here reads.
void note_labels_beside(const Folder& root, std::vector<Split>& splits) {
  constexpr std::string_view images = "images";
  for (Split& split : splits) {
    if (!split.are_folders || split.paths.size() != 1) continue;
    const std::string& path = split.paths[0];
    std::string labels = path + "/labels";
    if (const size_t at = ("/" + path + "/").find("/images/"); at != std::string::npos)
      labels = path.substr(0, at) + "labels" + path.substr(at + images.size());
    const Folder* folder = find_folder(root, labels);
    if (!folder || folder->has_images || !folder->files.contains(".txt")) continue;
    split.notes.push_back("the text files in " + in_quotes(labels) +
                          " are not read, only the images; a Python function in map() can read them, or "
                          "convert them to COCO's annotations");
  }
}

// Kaggle's "train.csv" beside the images in "train/".
void note_tables_beside(const Point& point, std::vector<Split>& splits) {
  if (point.rank < 3) return;
  for (const auto& [kind, names] : point.folder->files)
    for (const std::string_view name : names) {
      const auto table = kind == ".txt" ? std::nullopt : split_name(name, false);
      for (Split& split : splits)
        if (table && split.are_folders && table->kind == split.kind &&
            (table->is_bare() || table->rest.starts_with("*_label") || table->rest.starts_with("*_anno")))
          split.notes.push_back(in_quotes(name) + " beside the images of " + Value(split.name).dump() +
                                " is not read; open it by its path if its fields are needed");
    }
}

// "trainval" is "train" and "val" once more.
void note_overlaps(std::vector<Split>& splits) {
  for (Split& split : splits)
    if (lower_case(split.name) == "trainval")
      for (const Split& other : splits)
        if (&other != &split && (other.kind == SplitKind::train || other.kind == SplitKind::validation))
          split.overlaps.push_back(other.name);
}

// "train.csv" beside "test/": neither are splits alone.
Point with_folders(Point files, const Point& folders) {
  Point both = files;
  both.beside.clear();
  for (const auto& entry : folders.entries) both.entries.push_back(entry), both.folders.insert(entry.first);
  std::vector<std::string> others;
  for (const std::string& beside : {files.beside, folders.beside})
    if (!beside.empty()) others.push_back(beside);
  both = finished(std::move(both), std::move(others));
  if (both.are_splits) return both;
  return files.kinds > folders.kinds ? files : folders;
}

// All places with names of splits, the topmost first; not those below folders that are splits.
std::vector<Point> points_of(const Folder& root) {
  std::vector<Point> out;
  std::deque<std::pair<const Folder*, size_t>> left{{&root, 0}};
  while (!left.empty()) {
    const auto [folder, depth] = left.front();
    left.pop_front();
    Point point = folders_of(*folder), files = files_of(*folder);
    const bool takes_files =
        files.kinds > point.kinds || (files.kinds == point.kinds && files.rank > point.rank);
    if (!point.are_splits && !files.are_splits && point.rank == files.rank)
      point = with_folders(std::move(files), point);
    else if (takes_files && point.rank < 3)
      point = std::move(files);
    if (Point images = images_of(*folder); images.are_splits && !point.are_splits) point = std::move(images);
    const bool is_one = !point.entries.empty();
    if (is_one) out.push_back(point);
    if (depth >= kDeepest || (is_one && point.are_splits && point.are_folders)) continue;
    for (const auto& [name, below] : folder->folders)
      if (below->rank() > 0) left.emplace_back(below.get(), depth + 1);
  }
  return out;
}

}  // namespace

Splits find_splits(const Listing& listing) {
  Splits out;
  if (std::vector<DownloadedSplits> downloaded = downloaded_splits(listing); !downloaded.empty()) {
    out.are_certain = downloaded.size() > 1 || downloaded[0].splits.size() > 1;
    if (downloaded.size() == 1) out.all = std::move(downloaded[0].splits);
    for (const DownloadedSplits& one : downloaded)
      if (downloaded.size() > 1) out.data_sets.push_back(one.folder);
    return out;
  }
  const Folder root = folder_tree(listing);
  std::vector<Point> points = points_of(root);
  // Lists of images lie beside the images: they are no data. Other tables are those that would be read,
  // unless what lies below has splits itself.
  const bool has_higher = std::ranges::any_of(
      points, [&](const Point& point) { return point.are_splits && point.rank == root.rank(); });
  std::erase_if(points, [&](const Point& point) {
    const bool is_read = point.folder == &root && !point.are_folders && !root.has_images && !has_higher;
    return point.rank < root.rank() && !is_read;
  });
  const bool has_splits = std::ranges::any_of(points, &Point::are_splits);
  const auto depth = [](const Point& point) {
    const std::string& path = point.folder->path;
    return path.empty() ? 0 : 1 + std::ranges::count(path, '/');
  };
  const auto first = has_splits ? std::ranges::find_if(points, &Point::are_splits) : points.begin();
  if (first == points.end()) return out;
  const auto least = depth(*first);
  // Beside a folder with splits, one with a single split is another data set.
  std::erase_if(points, [&](const Point& point) { return depth(point) != least || point.kinds == 0; });
  if (points.size() > 1) {
    for (const Point& point : points) out.data_sets.push_back(point.folder->path);
    for (const Split& split : splits_at(points.front())) out.names_in_first.push_back(split.name);
    out.are_certain = has_splits;
    return out;
  }
  const Point& point = points.front();
  out.all = splits_at(point);
  add_solution(listing, root, out.all);
  add_annotations(listing, out.all);
  number_classes_alike(root, out.all);
  note_labels_beside(root, out.all);
  note_tables_beside(point, out.all);
  note_overlaps(out.all);
  out.are_certain = point.are_splits && point.beside.empty();
  out.are_likely = point.are_splits || (point.are_folders && point.entries.size() > 1) ||
                   (point.kinds > 1 && std::ranges::any_of(point.entries, [](const auto& entry) {
                      return entry.second.is_bare();
                    }));
  out.beside = point.beside;
  return out;
}

std::string split_names_text(const Splits& splits) {
  std::string out;
  for (size_t i = 0; i < std::min(splits.all.size(), kShownNames); ++i)
    out += (i == 0 ? "" : ", ") + Value(splits.all[i].name).dump();
  return out + (splits.all.size() > kShownNames ? ", …" : "");
}

namespace {

Result<Split> choose_split(const Splits& splits, const std::string& name) {
  std::vector<KnownSplit> known;
  for (const Split& split : splits.all) known.push_back({split.name, split.kind});
  if (const auto found = meant_split(known, name)) return splits.all[*found];
  return invalid("there is no " + Value(name).dump() + ", only " + split_names_text(splits))
      .in_option("split");
}

}  // namespace

Result<std::vector<Split>> choose_splits(const Splits& splits, const Value& wanted) {
  if (!splits.data_sets.empty()) {
    std::string names;
    for (size_t i = 0; i < std::min(splits.data_sets.size(), kShownDataSets); ++i)
      names += (names.empty() ? "" : ", ") + in_quotes(splits.data_sets[i]);
    const std::string example = splits.names_in_first.empty() ? std::string() : splits.names_in_first.back();
    return invalid("contains the splits of several data sets; open one of them: " + names +
                   (splits.data_sets.size() > kShownDataSets ? ", …" : "") +
                   (example.empty() ? ""
                                    : ", with split=, such as \"" + example +
                                          "\"; zip() joins two of them sample by sample, concatenate() one "
                                          "after the other"));
  }
  if (wanted.text()) {
    if (*wanted.text() == "all") return splits.all;
    HEADRACE_ASSIGN(Split one, choose_split(splits, *wanted.text()));
    return std::vector{std::move(one)};
  }
  std::vector<Split> out;
  std::vector<std::string> chosen;
  if (wanted.list())
    for (const Value& name : *wanted.list()) {
      if (!name.text())
        return invalid({.expected = "names of splits", .got = name.dump() + " in the list"})
            .in_option("split");
      HEADRACE_ASSIGN(Split one, choose_split(splits, *name.text()));
      chosen.push_back(one.name);
      out.push_back(std::move(one));
    }
  if (!out.empty()) HEADRACE_TRY(check_named_once(*wanted.list(), chosen));
  if (out.empty())
    return invalid({.expected = "a name, a list of names or \"all\"", .got = wanted.dump()})
        .in_option("split");
  return out;
}

}  // namespace headrace
