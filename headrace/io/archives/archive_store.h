// A store in which archives are folders: any path may lead through one, "photos.zip/train/a.jpg".
//
// An archive is a file where it is named, "photos.zip": it has a size, and its bytes are those of the zip.
// What would be an error otherwise is the folder: a listing of it, "photos.zip/", and all below. Archives are
// known by their first bytes, are read once, and again when the file has changed.
#pragma once
#include <memory>
#include <string>

#include "headrace/io/store.h"

namespace headrace {

std::shared_ptr<Store> with_archives(std::shared_ptr<Store> store);

// A path on this machine, in what is there without looking into archives and what is not: "x.zip" and "a.jpg"
// of "x.zip/a.jpg". Where nothing is there, `there` is empty.
struct PathParts {
  std::string there, rest;
  bool is_folder = false;  // `there`
};
PathParts parts_there(const std::string& path);

// The folder beside which lies what is kept about data at `path`: itself, or that of its file or archive.
std::string folder_for_keeping(const std::string& path);

}  // namespace headrace
