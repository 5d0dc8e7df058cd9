// The files of a listing by folder, as the search for splits looks at them. Pure; any thread.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/io/store.h"

namespace headrace {

// What a folder holds, itself and below.
struct Folder {
  std::string path;  // relative to the root; "" is the root
  std::map<std::string, std::unique_ptr<Folder>, std::less<>> folders;
  std::map<std::string, std::vector<std::string_view>> files;  // by kind
  std::vector<std::string> empty;                              // folders in it without any file
  size_t images = 0;
  // Images are counted, and those whose names are of splits kept, as long as most are: "train_0.jpg".
  std::vector<std::string_view> split_images;
  std::string_view other_image;  // the first of the others
  // Also below. Other images are those that no codec reads.
  bool has_images = false, has_other_images = false, has_data = false, has_text = false;

  // Images are worth more than records, and records more than lists and descriptions.
  int rank() const { return has_images || has_other_images ? 3 : has_data ? 2 : has_text ? 1 : 0; }
};

// Views of the listing's names.
Folder folder_tree(const Listing& listing);
// Null if there is none.
const Folder* find_folder(const Folder& root, std::string_view path);

}  // namespace headrace
