// Captions as Flickr8k and Flickr30k list them: an image's name and a text a line. Pure; any thread.
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
  pipes,   // image_name| comment_number| comment, below a line that says so
  commas,  // image,caption, likewise
};
CaptionForm caption_form(std::string_view head);  // from the first line, or two

struct Captions {
  Names images;                 // in the order of their first line
  std::vector<uint64_t> first;  // captions in the images before each; the number of all at its end
  Names texts;                  // those of an image side by side, in the order of the lines
};
// An error names the line.
Result<Captions> parse_captions(std::string_view text);

// A name a line.
std::set<std::string, std::less<>> parse_names(std::string_view text);

}  // namespace headrace
