// Encoded images in separate files, one per sample, with or without labels: the source of every reader in
// this folder except voc_xml, and the rules they share. Pure functions; any thread.
#pragma once
#include <set>

#include "headrace/formats/endings.h"
#include "headrace/formats/format.h"

namespace headrace {

// Files of a folder that are not images. Hidden files are not counted.
struct LeftOut {
  Endings endings;                             // of files that do not end like an image
  std::set<std::string, std::less<>> folders;  // the topmost folders that contain them
  std::string table;  // the first that lists fields of the images, as Hugging Face's ImageFolder reads them
  void add(std::string_view path);
};

struct ImageFiles {
  std::string root;                  // names are relative to it, unless they are absolute
  Names names;                       // one per sample
  std::vector<int64_t> labels;       // one per name, or none
  std::vector<std::string> classes;  // names of the labels, if they have some
  std::vector<Listing::Problem> problems;
  LeftOut left_out;
  std::vector<std::string> notes = {};  // of what may not be as the user thinks
};

// Fields `image` (bytes), with labels `label` (int64), and with the option `key` the name without its ending
// as `__key__` (str). `format` and the request are for describe().
Result<SourcePtr> image_files_source(ImageFiles files, std::string_view format, const OpenRequest& request);

// The option `key` of all formats that make such a source.
OptionInfo key_option();

// Whether a path ends like the images of one of the codecs (codecs/codec.h), in any case, and no part of it
// is hidden. Only selects files; their content is checked by the decoder.
bool names_an_image(std::string_view path);
bool is_hidden(std::string_view path);  // some part of it begins with a dot

std::string join_path(std::string_view root, std::string_view name);  // `name` alone if it is absolute
// Whether a name from a file can only refer to something below the folder it is joined to.
bool is_below(std::string_view name);
std::string parent_of(std::string_view path);  // "." for a bare name

// {"files": 12, "endings": {".heic": 10, "none": 2}, "folders": ["eel"]}.
Value left_out_value(const LeftOut& left_out);

// The problems of a listing, at most 100: [{"path", "reason"}].
Value problems_value(const std::vector<Listing::Problem>& problems);

}  // namespace headrace
