#include "headrace/formats/splits/folder_tree.h"

#include <algorithm>

#include "headrace/codecs/codec.h"
#include "headrace/formats/shard_names.h"
#include "headrace/formats/split_names.h"

namespace headrace {
namespace {

constexpr size_t kMostOthers = 16;  // images beside those of splits

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

void sum_up(Folder& folder) {
  folder.has_images = folder.images > 0;
  for (const auto& [kind, names] : folder.files)
    (is_of_other_images(kind) ? folder.has_other_images
     : is_beside_data(kind)   ? folder.has_text
                              : folder.has_data) = true;
  for (auto& [name, below] : folder.folders) {
    sum_up(*below);
    folder.has_images = folder.has_images || below->has_images;
    folder.has_other_images = folder.has_other_images || below->has_other_images;
    folder.has_data = folder.has_data || below->has_data;
    folder.has_text = folder.has_text || below->has_text;
  }
}

// A folder of which the first images are not named like splits is none whose names say more, and may be
// large.
void add_image(std::string_view name, Folder& folder) {
  const size_t others = folder.images++ - folder.split_images.size();
  if (others > kMostOthers) return;
  if (split_name(name, false))
    folder.split_images.push_back(name);
  else if (others == 0)
    folder.other_image = name;
}

}  // namespace

Folder folder_tree(const Listing& listing) {
  Folder root;
  // Names in a listing are sorted, so those of a folder mostly follow each other.
  Folder* at = &root;
  std::string_view current;
  for (size_t i = 0; i < listing.files.size(); ++i) {
    const std::string_view path = listing.files[i];
    const size_t slash = path.rfind('/');
    if (is_never_data(path) || is_code_or_page(shard_kind(path.substr(slash + 1)))) continue;
    const std::string_view folder = path.substr(0, slash == std::string_view::npos ? 0 : slash);
    if (folder != current) at = &folder_at(root, folder), current = folder;
    const std::string_view name = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
    if (has_image_ending(name))
      add_image(name, *at);
    else
      at->files[shard_kind(name)].push_back(name);
  }
  for (size_t i = 0; i < listing.directories.size(); ++i) {
    const std::string_view path = listing.directories[i];
    const size_t slash = path.rfind('/');
    const std::string_view name = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
    if (name.empty() || is_never_data(std::string(path) + "/")) continue;
    const std::string_view above = path.substr(0, slash == std::string_view::npos ? 0 : slash);
    const Folder* parent = find_folder(root, above);
    if (parent && !parent->folders.contains(name)) folder_at(root, above).empty.emplace_back(name);
  }
  sum_up(root);
  return root;
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

}  // namespace headrace
