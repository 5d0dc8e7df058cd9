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
#include "headrace/io/sorted_names.h"

namespace headrace {
namespace {

constexpr size_t kDeepest = 6;      // levels of folders that are searched
constexpr size_t kLeastPrefix = 3;  // letters that folders beside splits have in common with them: "seg_"
constexpr size_t kShownDataSets = 10, kShownNames = 20;  // in a message

// What a folder holds, itself and below.
struct Folder {
  std::string path;  // relative to the root; "" is the root
  std::map<std::string, std::unique_ptr<Folder>, std::less<>> folders;
  std::map<std::string, std::vector<std::string_view>> files;  // by kind; images are only counted
  size_t images = 0;
  bool has_images = false, has_data = false, has_text = false;  // also below

  // Images are worth more than records, and records more than lists and descriptions.
  int rank() const { return has_images ? 3 : has_data ? 2 : has_text ? 1 : 0; }
};

Folder& folder_at(Folder& root, std::string_view path) {
  Folder* at = &root;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string name(path.substr(0, slash));
    std::unique_ptr<Folder>& next = at->folders[name];
    if (!next) {
      next = std::make_unique<Folder>();
      next->path = at->path.empty() ? name : at->path + "/" + name;
    }
    at = next.get();
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return *at;
}

bool is_skipped(std::string_view path) {
  if (is_our_own(path)) return true;
  for (size_t at = 0; at < path.size();) {
    if (path[at] == '.' || path[at] == '_') return true;
    const size_t slash = path.find('/', at);
    if (slash == std::string_view::npos) return false;
    at = slash + 1;
  }
  return false;
}

const Folder* find_folder(const Folder& root, std::string_view path) {
  const Folder* at = &root;
  while (at && !path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const auto next = at->folders.find(path.substr(0, slash));
    at = next == at->folders.end() ? nullptr : next->second.get();
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return at;
}

void sum_up(Folder& folder) {
  folder.has_images = folder.images > 0;
  for (const auto& [kind, names] : folder.files)
    (is_beside_data(kind) ? folder.has_text : folder.has_data) = true;
  for (auto& [name, below] : folder.folders) {
    sum_up(*below);
    folder.has_images = folder.has_images || below->has_images;
    folder.has_data = folder.has_data || below->has_data;
    folder.has_text = folder.has_text || below->has_text;
  }
}

// Code and pages that lie beside data.
bool is_no_data(std::string_view kind) {
  constexpr std::array<std::string_view, 10> kinds{".cfg", ".html", ".ipynb", ".log", ".pdf",
                                                   ".py",  ".r",    ".rst",   ".sh",  ".toml"};
  return std::ranges::find(kinds, kind) != kinds.end();
}

// Names in a listing are sorted, so those of a folder mostly follow each other.
Folder tree_of(const Listing& listing) {
  Folder root;
  Folder* at = &root;
  std::string_view current;
  for (size_t i = 0; i < listing.files.size(); ++i) {
    const std::string_view path = listing.files[i];
    if (is_skipped(path) || is_no_data(shard_kind(path.substr(path.rfind('/') + 1)))) continue;
    const size_t slash = path.rfind('/');
    const std::string_view folder = path.substr(0, slash == std::string_view::npos ? 0 : slash);
    if (folder != current) at = &folder_at(root, folder), current = folder;
    const std::string_view name = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
    if (has_image_ending(name))
      ++at->images;
    else
      at->files[shard_kind(name)].push_back(name);
  }
  sum_up(root);
  return root;
}

// Words of files and folders that usually lie beside splits.
bool is_known_company(std::string_view name) {
  constexpr std::array<std::string_view, 46> known{
      "annotation", "annotations", "attributes",  "categories", "class",         "classes", "code",
      "dataset",    "demo",        "description", "devkit",     "doc",           "docs",    "example",
      "examples",   "features",    "gender",      "gt",         "imagesets",     "index",   "info",
      "infos",      "key",         "label",       "labels",     "licence",       "license", "list",
      "lists",      "manifest",    "mapping",     "mask",       "masks",         "meta",    "metadata",
      "names",      "readme",      "sample",      "scripts",    "segmentations", "stats",   "submission",
      "synsets",    "truth",       "vocab",       "words"};
  const std::string lower = lower_case(name);
  for (size_t at = 0; at < lower.size();) {
    const auto is_letter = [&](size_t i) { return i < lower.size() && lower[i] >= 'a' && lower[i] <= 'z'; };
    size_t end = at;
    while (is_letter(end)) ++end;
    if (end > at && std::ranges::binary_search(known, std::string_view(lower).substr(at, end - at)))
      return true;
    at = std::max(end, at + 1);
  }
  return false;
}

// Files or folders side by side, some of them named like splits.
struct Point {
  const Folder* folder = nullptr;
  std::vector<std::pair<std::string, SplitName>> entries;  // names, in order
  bool are_folders = false;
  int rank = 0;  // the highest of the entries
  bool are_splits =
      false;           // two kinds whose names differ in the word alone; else they may mean something else
  std::string beside;  // the first entry that is neither a split nor usual beside splits
  size_t kinds = 0;
};

bool has_two_kinds_of_one_name(const std::vector<std::pair<std::string, SplitName>>& entries) {
  std::map<std::string_view, std::set<SplitKind>> kinds;
  for (const auto& [name, split] : entries)
    if (split.kind != SplitKind::other) kinds[split.rest].insert(split.kind);
  return std::ranges::any_of(kinds, [](const auto& one) { return one.second.size() > 1; });
}

// The kind of file of which a folder has most, as shards_of() finds it.
const std::vector<std::string_view>* most_common(const Folder& folder) {
  const std::vector<std::string_view>* out = nullptr;
  for (const bool is_text : {false, true}) {
    for (const auto& [kind, names] : folder.files) {
      if (is_beside_data(kind) != is_text || (is_text && !is_text_data(kind))) continue;
      if (!out || names.size() > out->size()) out = &names;
    }
    if (out) return out;
  }
  return nullptr;
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
  out.kinds = kinds.size();
  if (out.kinds == 0) out.entries.clear();
  out.are_splits = has_two_kinds_of_one_name(out.entries);
  if (out.are_splits) add_those_named_alike(others, out);
  const auto unusual = std::ranges::find_if_not(others, is_known_company);
  if (unusual != others.end()) out.beside = *unusual;
  return out;
}

Point folders_of(const Folder& folder) {
  Point out;
  out.folder = &folder, out.are_folders = true;
  for (const auto& [name, below] : folder.folders)
    if (auto split = split_name(name, true); split && below->rank() > 0) {
      out.rank = std::max(out.rank, below->rank());
      out.entries.emplace_back(name, *std::move(split));
    }
  std::set<std::string_view> named;
  for (const auto& [name, split] : out.entries) named.insert(name);
  std::vector<std::string> others;
  for (const auto& [name, below] : folder.folders)
    if (below->rank() >= out.rank && !named.contains(name)) others.push_back(name);
  // Folders of lists beside those of images: "train/", "test/", "labels_train/".
  std::erase_if(out.entries, [&](const auto& entry) {
    return folder.folders.find(entry.first)->second->rank() < out.rank;
  });
  return finished(std::move(out), std::move(others));
}

Point files_of(const Folder& folder) {
  Point out;
  out.folder = &folder;
  const std::vector<std::string_view>* names = most_common(folder);
  if (!names) return out;
  std::vector<std::string> others;
  for (const std::string_view name : *names) {
    if (auto split = split_name(name, false))
      out.entries.emplace_back(name, *std::move(split));
    else
      others.emplace_back(name);
  }
  out.rank = is_beside_data(shard_kind(names->front())) ? 1 : 2;
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
    const bool is_alone = rests[lower_case(split.name)].size() < 2 || split.is_bare();
    const std::string name = is_alone ? split.name : split_stem(entry);
    Split& out = by_name.try_emplace(lower_case(name), Split{name, {}}).first->second;
    out.are_folders = point.are_folders, out.kind = split.kind;
    const std::string& above = point.folder->path;
    out.paths.push_back(point.are_folders ? without_repeated(*point.folder, entry)
                        : above.empty()   ? entry
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
  std::map<Split*, std::set<std::string>> classes;
  for (Split& split : splits) {
    const Folder* folder =
        split.are_folders && split.paths.size() == 1 ? find_folder(root, split.paths[0]) : nullptr;
    if (!folder || folder->images > 0 || !folder->has_images || !split.format.empty()) continue;
    for (const auto& [name, below] : folder->folders)
      if (below->has_images) classes[&split].insert(name);
  }
  const auto most = std::ranges::max_element(classes, {}, [](const auto& one) { return one.second.size(); });
  if (most == classes.end()) return;
  // Others may be folders of another kind: "val/images/".
  std::erase_if(classes, [known = most->second](const auto& one) {
    return std::ranges::none_of(one.second, [&](const std::string& name) { return known.contains(name); });
  });
  std::set<std::string> all;
  bool differ = false;
  for (const auto& [split, names] : classes) {
    differ = differ || names != classes.begin()->second;
    all.insert(names.begin(), names.end());
  }
  if (!differ) return;
  for (const auto& [split, names] : classes) {
    split->format = "image_folder";
    split->options.emplace_back("classes", Value::List(all.begin(), all.end()));
  }
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
    if (takes_files && point.rank < 3) point = std::move(files);
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
  const Folder root = tree_of(listing);
  std::vector<Point> points = points_of(root);
  // Lists of images lie beside the images: they are no data.
  std::erase_if(points, [&](const Point& point) { return point.rank < root.rank(); });
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
    out.are_certain = has_splits;
    return out;
  }
  const Point& point = points.front();
  out.all = splits_at(point);
  add_solution(listing, root, out.all);
  add_annotations(listing, out.all);
  number_classes_alike(root, out.all);
  out.are_certain = point.are_splits && point.beside.empty();
  out.are_likely =
      point.are_splits || (point.kinds > 1 && std::ranges::any_of(point.entries, [&](const auto& entry) {
                             return point.are_folders || entry.second.is_bare();
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
  for (const Split& split : splits.all)
    if (lower_case(split.name) == lower_case(name)) return split;
  const auto kind = split_kind(name);
  const Split* found = nullptr;
  size_t count = 0;
  for (const Split& split : splits.all)
    if (kind && split.kind == *kind && lower_case(split.name) != "trainval") found = &split, ++count;
  if (count == 1) return *found;
  return invalid("split: there is no " + Value(name).dump() + ", only " + split_names_text(splits));
}

}  // namespace

Result<std::vector<Split>> choose_splits(const Splits& splits, const Value& wanted) {
  if (!splits.data_sets.empty()) {
    std::string names;
    for (size_t i = 0; i < std::min(splits.data_sets.size(), kShownDataSets); ++i)
      names += (names.empty() ? "" : ", ") + in_quotes(splits.data_sets[i]);
    return invalid("contains the splits of several data sets; open one of them: " + names +
                   (splits.data_sets.size() > kShownDataSets ? ", …" : ""));
  }
  if (wanted.text()) {
    if (*wanted.text() == "all") return splits.all;
    HEADRACE_ASSIGN(Split one, choose_split(splits, *wanted.text()));
    return std::vector{std::move(one)};
  }
  std::vector<Split> out;
  if (wanted.list())
    for (const Value& name : *wanted.list()) {
      if (!name.text())
        return invalid("split: expected names of splits, got " + name.dump() + " in the list");
      HEADRACE_ASSIGN(Split one, choose_split(splits, *name.text()));
      const auto is_it = [&](const Split& other) { return other.name == one.name; };
      if (std::ranges::any_of(out, is_it)) return invalid("split: " + name.dump() + " is given twice");
      out.push_back(std::move(one));
    }
  if (out.empty()) return invalid("split: expected a name, a list of names or \"all\", got " + wanted.dump());
  return out;
}

}  // namespace headrace
