// A store in which archives are folders: any path may lead through one, "photos.zip/train/a.jpg".
//
// "photos.zip" itself is a file: it has a size, and its bytes are those of the zip. Where a file would be an
// error it is a folder: when it is listed, as "photos.zip/", and in all paths below. Archives are recognised
// by their first bytes, are read once, and again when the file has changed.
#pragma once
#include <memory>
#include <string>

#include "headrace/io/store.h"

namespace headrace {

std::shared_ptr<Store> with_archives(std::shared_ptr<Store> store);

// Splits a path on this machine into the part that exists without looking into archives and the rest: "x.zip"
// and "a.jpg" of "x.zip/a.jpg". Where nothing exists, `there` is empty.
struct PathParts {
  std::string there, rest;
  bool is_folder = false;  // `there`
};
PathParts parts_there(const std::string& path);

// The folder in which files about data at `path` are kept: itself, or that of its file or archive.
std::string folder_for_keeping(const std::string& path);

}  // namespace headrace
