// Captions as listed by Flickr8k and Flickr30k: an image name and a caption per line. Pure; any thread.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/io/name_list.h"

namespace headrace {

enum class CaptionForm {
  none,
  tokens,  // x.jpg#0 <tab> a caption
  pipes,   // image_name| comment_number| comment, after a line with these names
  commas,  // image,caption, likewise
};
CaptionForm caption_form(std::string_view head);  // from the first line, or two

struct Captions {
  Names images;                 // in the order of their first line
  std::vector<uint64_t> first;  // captions of the images before each; the total at its end
  Names texts;                  // those of an image are adjacent, in the order of the lines
};
// An error names the line.
Result<Captions> parse_captions(std::string_view text);

// One name per line.
std::set<std::string, std::less<>> parse_names(std::string_view text);

}  // namespace headrace
