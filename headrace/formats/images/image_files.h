// Encoded images in files of their own, one a sample, with a label or without: what every reader of this
// folder but voc_xml makes, and the rules they share. Pure functions; any thread.
#pragma once
#include <set>

#include "headrace/formats/endings.h"
#include "headrace/formats/format.h"

namespace headrace {

// What a folder holds beside its images. Hidden files are not counted: nobody wants them read.
struct LeftOut {
  Endings endings;                             // of files that do not end like an image
  std::set<std::string, std::less<>> folders;  // the topmost that they lie in
  void add(std::string_view path);
};

struct ImageFiles {
  std::string root;                  // names are relative to it, unless they are absolute
  Names names;                       // one a sample
  std::vector<int64_t> labels;       // as many as names, or none
  std::vector<std::string> classes;  // of labels, where they have names
  std::vector<Listing::Problem> problems;
  LeftOut left_out;
};

// Fields `image` (bytes), with labels `label` (i64), and with the option `key` the name without its ending as
// `__key__` (str). `format` and the request are for describe().
Result<SourcePtr> image_files_source(ImageFiles files, std::string_view format, const OpenRequest& request);

// The option `key` of all that make such a source.
OptionInfo key_option();

// Whether a path ends like the images of one of the codecs (codecs/codec.h), in any case, and no part of it
// is hidden. It selects; what the bytes are is for the decoder to say.
bool names_an_image(std::string_view path);
bool is_hidden(std::string_view path);  // some part of it begins with a dot

std::string join_path(std::string_view root, std::string_view name);  // `name` alone when it is absolute
// Whether a name that a file gives can only be that of something below the folder it is joined to.
bool is_below(std::string_view name);
std::string parent_of(std::string_view path);  // "." for a bare name

// {"files": 12, "endings": {".heic": 10, "none": 2}, "folders": ["eel"]}.
Value left_out_value(const LeftOut& left_out);

// The problems of a listing, at most 100: [{"path", "reason"}].
Value problems_value(const std::vector<Listing::Problem>& problems);

}  // namespace headrace
