// A page of pictures with captions, in one HTML file that needs no other.
#pragma once
#include <string>
#include <vector>

#include "cli/output/picture.h"

namespace headrace::cli {

struct Tile {
  Picture picture;
  std::string caption, place;  // what it is, and where it lies; either may be empty
};

Result<std::string> gallery_page(const std::string& title, const std::vector<Tile>& tiles);

}  // namespace headrace::cli
