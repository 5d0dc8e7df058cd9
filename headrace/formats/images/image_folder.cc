#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "headrace/codecs/codec.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/images/image_files.h"
#include "headrace/formats/shard_names.h"
#include "headrace/formats/strings/utf8_strings.h"

namespace headrace {
namespace {

constexpr size_t kShownFolders = 10;  // in a message

// How images are distributed over a folder.
struct Layout {
  size_t at_root = 0, in_folders = 0;
  bool voc = false;  // folders of PASCAL VOC: those next to JPEGImages are masks, and none of them is a class
};

Layout layout_of(const Listing& listing) {
  Layout out;
  for (size_t i = 0; i < listing.files.size(); ++i) {
    const std::string_view name = listing.files[i];
    if (!names_an_image(name)) continue;
    ++(name.find('/') == std::string_view::npos ? out.at_root : out.in_folders);
    out.voc = out.voc || name.starts_with("JPEGImages/");
  }
  return out;
}

int recognise_folder(const Probe& probe) {
  if (!probe.listing) return 0;
  const Layout layout = layout_of(*probe.listing);
  if (layout.in_folders == 0) return 0;
  return layout.at_root == 0 ? 60 : 20;
}

int recognise_flat(const Probe& probe) {
  if (!probe.listing) return 0;
  const Layout layout = layout_of(*probe.listing);
  if (layout.at_root == 0) return 0;
  return layout.in_folders == 0 ? 60 : 30;
}

Result<const Listing*> listing_of(const OpenRequest& request) {
  if (request.path().listing) return request.path().listing.get();
  return invalid({.expected = "a folder", .got = "a file"});
}

// Names of folders, at most ten, for messages.
std::string folder_names(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), kShownFolders); ++i)
    out += (i == 0 ? "" : ", ") + in_quotes(names[i]);
  return out + (names.size() > kShownFolders ? ", …" : "");
}

// What stands at the root for a name that could not be examined: a class, unless it is named like a file.
std::string_view unread_class(const Listing::Problem& unread) {
  const std::string_view path = unread.path;
  if (const size_t slash = path.find('/'); slash != std::string_view::npos) return path.substr(0, slash);
  return has_image_ending(path) ? std::string_view() : path;
}

// Folders at the root without an image that can be read: classes of which a subset has none, whose labels
// must not go to the classes behind them. Not those whose names are usual beside classes and that hold other
// files, as "annotations" and "labels" do. The same for folders that could not be read.
std::vector<std::string> folders_without_images(const Listing& listing,
                                                const std::map<std::string_view, int64_t>& with_images) {
  std::set<std::string, std::less<>> out, with_files;
  const auto add = [&](std::string_view folder) {
    if (!folder.empty() && !is_hidden(folder) && !folder.starts_with("__") && !with_images.contains(folder) &&
        !out.contains(folder))
      out.emplace(folder);
  };
  for (size_t i = 0; i < listing.directories.size(); ++i)
    if (const std::string_view name = listing.directories[i]; name.find('/') == std::string_view::npos)
      add(name);
  for (size_t i = 0; i < listing.files.size(); ++i) {  // where a store lists no directories
    const std::string_view name = listing.files[i], folder = name.substr(0, name.find('/'));
    if (folder.size() == name.size()) continue;
    add(folder);
    if (!is_hidden(name) && out.contains(folder)) with_files.emplace(folder);
  }
  std::erase_if(out, [&](const std::string& name) {
    return with_files.contains(name) && is_folder_beside_classes(name);
  });
  for (const Listing::Problem& one : listing.unread)
    if (const std::string_view name = unread_class(one); !name.empty() && !with_images.contains(name))
      out.emplace(name);
  for (const Listing::Problem& problem : listing.problems) {  // a link above the data is no class
    const std::string_view path = problem.path;
    if (const auto it = out.find(path.substr(0, path.find('/'))); it != out.end()) out.erase(it);
  }
  return {out.begin(), out.end()};
}

// Labels are indexes into `classes`: folders are numbered in order of appearance first, then renumbered in
// sorted order.
void label_by_folder(const Listing& listing, ImageFiles& out) {
  std::map<std::string_view, int64_t> number;
  std::string_view current;
  int64_t label = -1;
  for (size_t i = 0; i < listing.files.size(); ++i) {
    const std::string_view name = listing.files[i];
    const size_t slash = name.find('/');
    const bool taken = names_an_image(name);
    if (!taken) out.left_out.add(name);
    if (!taken || slash == std::string_view::npos) continue;
    if (const std::string_view folder = name.substr(0, slash); label < 0 || folder != current) {
      label = number.emplace(folder, static_cast<int64_t>(number.size())).first->second;
      current = folder;
    }
    out.names.add(name);
    out.labels.push_back(label);
  }
  const std::vector<std::string> empty = folders_without_images(listing, number);
  if (!number.empty())
    for (const std::string& folder : empty) number.emplace(folder, static_cast<int64_t>(number.size()));
  if (!number.empty() && !empty.empty())
    out.notes.push_back(std::to_string(empty.size()) + " of " + std::to_string(number.size()) +
                        " class folders " +
                        (empty.size() == 1 ? "has no images that can be read and keeps its label: "
                                           : "have no images that can be read and keep their labels: ") +
                        folder_names(empty) + "; set classes= to choose the classes");
  std::vector<int64_t> sorted(number.size());
  for (const auto& [folder, first_number] : number) {
    sorted[static_cast<size_t>(first_number)] = static_cast<int64_t>(out.classes.size());
    out.classes.emplace_back(folder);
  }
  std::erase_if(out.left_out.folders, [&](const std::string& name) { return number.contains(name); });
  for (int64_t& l : out.labels) l = sorted[static_cast<size_t>(l)];
}

// A list of all classes may be used for a split that lacks some of them. But a listed class that does not
// exist, together with a folder that is not listed, is most likely a typo, and would silently leave images
// out.
Status check_classes(const std::set<std::string_view>& found, const std::vector<std::string>& classes) {
  const std::set<std::string_view> named(classes.begin(), classes.end());
  std::string missing, unnamed;
  for (const std::string& name : classes)
    if (!found.contains(name)) missing += (missing.empty() ? "'" : ", '") + name + "'";
  size_t left = 0;
  for (const std::string_view folder : found) {
    if (named.contains(folder) || ++left > kShownFolders) continue;
    unnamed += (left == 1 ? "'" : ", '") + std::string(folder) + "'";
  }
  if (missing.empty() || left == 0) return {};
  if (left > kShownFolders) unnamed += " and " + std::to_string(left - kShownFolders) + " more";
  return invalid(
             {.expected = "folders with images", .got = missing, .fix = "folders not listed are " + unnamed})
      .in_option("classes");
}

Status label_by_classes(const Listing& listing, ImageFiles& out) {
  std::map<std::string_view, int64_t> number;
  std::set<std::string_view> found;
  for (size_t i = 0; i < out.classes.size(); ++i) number.emplace(out.classes[i], static_cast<int64_t>(i));
  for (size_t i = 0; i < listing.files.size(); ++i) {
    const std::string_view name = listing.files[i];
    const size_t slash = name.find('/');
    const bool taken = names_an_image(name);
    if (!taken) out.left_out.add(name);
    if (!taken || slash == std::string_view::npos) continue;
    found.insert(name.substr(0, slash));
    const auto it = number.find(name.substr(0, slash));
    if (it == number.end()) continue;
    out.names.add(name);
    out.labels.push_back(it->second);
  }
  std::erase_if(out.left_out.folders, [&](const std::string& folder) { return found.contains(folder); });
  for (const Listing::Problem& one : listing.unread)
    if (const std::string_view name = unread_class(one); number.contains(name)) found.insert(name);
  return check_classes(found, out.classes);
}

// Labels from folders that are not classes would be silently wrong.
Status check_folders_are_classes(const Layout& layout, const std::string& path) {
  if (!layout.voc) return {};
  return invalid("contains the folders of PASCAL VOC without their XML files, not classes; open " +
                 in_quotes(join_path(path, "JPEGImages")) +
                 ", or set format=\"image_folder\" if they are classes");
}

// Names of inputs and targets that lie side by side: images/ and masks/.
bool is_part_of_samples(std::string_view name) {
  constexpr std::array<std::string_view, 24> known{
      "annotations", "color", "depth", "gt",     "ground_truth", "groundtruth", "image",   "images",
      "img",         "imgs",  "input", "inputs", "label",        "labels",      "left",    "mask",
      "masks",       "rgb",   "right", "seg",    "segmentation", "target",      "targets", "groundtruths"};
  return std::ranges::find(known, lower_case(name)) != known.end();
}

Result<SourceOpening> open_folder(const OpenRequest& request) {
  HEADRACE_ASSIGN(const Listing* listing, listing_of(request));
  if (request.recognised) HEADRACE_TRY(check_folders_are_classes(layout_of(*listing), request.path().path));
  ImageFiles out;
  out.root = request.path().path;
  out.problems = listing->problems;
  HEADRACE_ASSIGN(out.classes, request.strings("classes"));
  if (out.classes.empty()) {
    label_by_folder(*listing, out);
  } else {
    HEADRACE_TRY(label_by_classes(*listing, out));
  }
  const auto is_of_first = [&](int64_t label) { return label == out.labels[0]; };
  if (request.recognised && !out.labels.empty() && std::ranges::all_of(out.labels, is_of_first)) {
    const auto only = static_cast<size_t>(out.labels[0]);
    out.notes.push_back("all images are in the folder " + in_quotes(out.classes[only]) +
                        ", so that every label is " + std::to_string(only) + "; open " +
                        in_quotes(join_path(out.root, out.classes[only])) +
                        " if that is not a class, or set format=\"image_folder\" to silence this note");
  }
  const std::vector<std::string> classes(out.classes.begin(), out.classes.end());
  if (request.recognised && classes.size() > 1 && std::ranges::all_of(classes, is_part_of_samples))
    out.notes.push_back("the folders " + in_quotes(classes[0]) + " and " + in_quotes(classes[1]) +
                        " are read as classes, but look like parts of the same samples; open each and join "
                        "them with zip(), or set format=\"image_folder\" to silence this note");
  HEADRACE_ASSIGN(SourcePtr source, image_files_source(std::move(out), "image_folder", request));
  return ready(std::move(source));
}

Result<SourceOpening> open_flat(const OpenRequest& request) {
  HEADRACE_ASSIGN(const Listing* listing, listing_of(request));
  ImageFiles out;
  out.root = request.path().path;
  out.problems = listing->problems;
  for (size_t i = 0; i < listing->files.size(); ++i) {
    if (names_an_image(listing->files[i]))
      out.names.add(listing->files[i]);
    else
      out.left_out.add(listing->files[i]);
  }
  out.left_out.folders.clear();  // they would not be classes
  const Layout layout = layout_of(*listing);
  if (request.recognised && layout.at_root > 0 && layout.in_folders > 0)
    out.notes.push_back(
        std::to_string(layout.at_root) + " of " + std::to_string(layout.at_root + layout.in_folders) +
        " images lie beside the folders of the others, so that all are read without labels; set "
        "format=\"image_folder\" for the folders as classes, or format=\"images\" to silence this note");
  HEADRACE_ASSIGN(SourcePtr source, image_files_source(std::move(out), "images", request));
  return ready(std::move(source));
}

const FormatRegistration folder_format({
    .name = "image_folder",
    .doc = "A folder with one subfolder of images per class.",
    .fields = "`image` (encoded, bytes) and `label` (int64 scalar).",
    .details =
        {"Files without an image extension are left out; `metadata[\"left_out\"]` counts them. A folder "
         "with only such files is a class without images, unless it is called `annotations`, `labels` or "
         "the like. `metadata[\"classes\"]` has the class names."},
    .path = "The folder that contains the class folders.",
    .options = {{"classes", "Sequence[str] | None",
                 "Names of class folders in the order of their labels; all, sorted, when not given."},
                key_option(),
                encoding_option()},
    .example = "hr.read_image_folder(\"imagenet/train\")",
    .recognise = recognise_folder,
    .open = open_folder,
    .may_hold_splits = true,
});
const FormatRegistration flat_format({
    .name = "images",
    .doc = "Every image below a folder, without labels.",
    .fields = "`image` (encoded, bytes).",
    .details = {"Files without an image extension are left out; `metadata[\"left_out\"]` counts them."},
    .path = "The folder.",
    .options = {key_option(), encoding_option()},
    .example = "hr.read_images(\"photos\")",
    .recognise = recognise_flat,
    .open = open_flat,
    .may_hold_splits = true,
});

}  // namespace
}  // namespace headrace
