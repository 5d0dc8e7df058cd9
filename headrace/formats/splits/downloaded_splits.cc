#include "headrace/formats/splits/downloaded_splits.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "headrace/formats/coco/annotation_names.h"
#include "headrace/formats/idx/labels.h"

namespace headrace {
namespace {

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }
std::string_view folder_of(std::string_view path) {
  return path.substr(0, path.size() - name_of(path).size());
}

std::string_view folder_above(std::string_view path) {
  std::string_view out = folder_of(path);
  if (out.ends_with('/')) out.remove_suffix(1);
  return out;
}

using ByName = std::map<std::string, Split, std::less<>>;

std::vector<Split> sorted(ByName splits) {
  std::vector<Split> out;
  for (auto& [name, split] : splits) out.push_back(std::move(split));
  return out;
}

// "train-images-idx3-ubyte.gz" with its labels. Where a file lies there compressed and not, the latter is
// taken; sets of EMNIST lie beside each other and keep their names: "emnist-letters-train".
std::vector<Split> of_mnist(const std::vector<std::string_view>& files) {
  std::map<std::string, std::string_view, std::less<>> images;  // by name without .gz
  for (const std::string_view path : files) {
    if (idx_labels_of(path).empty()) continue;
    const std::string_view plain = path.ends_with(".gz") ? path.substr(0, path.size() - 3) : path;
    if (const auto [it, is_new] = images.try_emplace(std::string(plain), path); !is_new && path == plain)
      it->second = path;
  }
  std::map<std::string, size_t, std::less<>> sets;
  for (const auto& [plain, path] : images)
    if (const auto name = split_name(name_of(path), false)) ++sets[name->name];
  const bool is_one_set = std::ranges::all_of(sets, [](const auto& set) { return set.second == 1; });
  ByName out;
  for (const auto& [plain, path] : images) {
    const auto name = split_name(name_of(path), false);
    if (!name) continue;
    const std::string_view whole = name_of(plain);
    if (!is_one_set && whole.starts_with("-images")) continue;  // it would have no name
    Split split{is_one_set ? name->name : std::string(whole.substr(0, whole.find("-images"))),
                {std::string(path)},
                "idx"};
    for (const std::string& labels : idx_labels_of(path))
      if (std::ranges::binary_search(files, labels)) {
        split.option_paths = {"labels"};
        split.options.emplace_back("labels", labels);
        break;
      }
    std::string key = split.name;
    out.emplace(std::move(key), std::move(split));
  }
  return sorted(std::move(out));
}

// "data_batch_1.bin" to 5 and "test_batch.bin", or "train.bin" and "test.bin" beside the names of CIFAR-100's
// classes.
std::vector<Split> of_cifar(const std::vector<std::string_view>& files) {
  Split train{"train", {}, "cifar"}, test{"test", {}, "cifar"};
  bool has_fine = false;
  for (const std::string_view path : files) {
    const std::string_view name = name_of(path);
    has_fine = has_fine || name == "fine_label_names.txt";
    const bool is_batch = name.starts_with("data_batch_") && name.ends_with(".bin");
    if (is_batch || name == "train.bin") train.paths.emplace_back(path);
    if (name == "test_batch.bin" || name == "test.bin") test.paths.emplace_back(path);
  }
  if (train.paths.empty() || test.paths.empty()) return {};
  const bool is_10 = name_of(test.paths[0]) == "test_batch.bin" && name_of(train.paths[0]) != "train.bin";
  if (!is_10 && !has_fine) return {};
  for (Split* split : {&train, &test}) split->options.emplace_back("classes", is_10 ? 10 : 100);
  return {test, train};
}

// LVIS's "lvis_v1_train.json" is "train" of "instances".
std::string_view without_version(std::string_view name) {
  constexpr std::string_view lvis = "lvis_v";
  if (!name.starts_with(lvis)) return {};
  const size_t end = name.find('_', lvis.size());
  return end == std::string_view::npos ? std::string_view() : name.substr(end + 1);
}

// "annotations/train.json", as mmdet's users call them: by its content it may be something else.
std::vector<Split> of_annotations(const std::vector<std::string_view>& files) {
  ByName out;
  for (const std::string_view path : files) {
    const std::string_view name = name_of(path);
    if (!path.ends_with(".json") || name_of(folder_above(path)) != "annotations") continue;
    if (const auto found = split_name(name, false); found && found->is_bare())
      out.try_emplace(found->name, Split{found->name, {std::string(path)}});
  }
  return sorted(std::move(out));
}

// "annotations/instances_val2017.json"; of several kinds of annotations for a split, the first of this list.
std::vector<Split> of_coco(const std::vector<std::string_view>& files) {
  ByName out;
  for (const std::string_view kind : kCocoKinds)
    for (const std::string_view path : files) {
      std::string_view name = name_of(path);
      if (!name.ends_with(".json")) continue;
      name.remove_suffix(std::string_view(".json").size());
      const std::string_view of_lvis = kind == kCocoKinds[0] ? without_version(name) : std::string_view();
      const size_t mark = name.rfind('_');
      if (of_lvis.empty() && (!name.starts_with(kind) || mark != kind.size())) continue;
      const std::string split(of_lvis.empty() ? name.substr(mark + 1) : of_lvis);
      if (const auto kind = split_name(split, false); kind && kind->is_bare())
        out.try_emplace(split, Split{split, {std::string(path)}, "coco"});
    }
  return sorted(std::move(out));
}

}  // namespace

std::vector<DownloadedSplits> downloaded_splits(const Listing& listing) {
  std::vector<std::string_view> files;
  for (size_t i = 0; i < listing.files.size(); ++i) {
    const std::string_view name = name_of(listing.files[i]);
    if (name.ends_with(".json") || name.ends_with(".bin") || name.ends_with(".txt") ||
        name.find("-ubyte") != std::string_view::npos)
      files.push_back(listing.files[i]);
  }
  // By folder: the annotations of COCO are in one of their own.
  std::map<std::string, std::vector<std::string_view>, std::less<>> folders;
  for (const std::string_view file : files) {
    std::string_view folder = folder_above(file);
    if (name_of(folder) == "annotations") folder = folder_above(folder);
    folders[std::string(folder)].push_back(file);
  }
  std::vector<DownloadedSplits> out;
  for (const auto& [folder, inside] : folders)
    for (const auto find : {of_mnist, of_cifar, of_coco, of_annotations})
      if (std::vector<Split> splits = find(inside); !splits.empty()) {
        for (Split& split : splits)
          if (const auto name = split_name(split.name, false)) split.kind = name->kind;
        out.push_back({folder, std::move(splits)});
        break;
      }
  return out;
}

}  // namespace headrace
