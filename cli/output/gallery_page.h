// A page of pictures with captions, as a single self-contained HTML file.
#pragma once
#include <string>
#include <vector>

#include "cli/output/picture.h"

namespace headrace::cli {

struct Tile {
  Picture picture;
  std::string caption, place;  // what it is, and where it is stored; either may be empty
};

Result<std::string> gallery_page(const std::string& title, const std::vector<Tile>& tiles);

}  // namespace headrace::cli
