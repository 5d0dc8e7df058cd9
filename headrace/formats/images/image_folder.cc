#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "headrace/formats/images/image_files.h"

namespace headrace {
namespace {

constexpr size_t kShownFolders = 10;  // in a message

// How the images of a folder lie: what recognition and the warning about splits look at.
struct Layout {
  size_t at_root = 0, in_folders = 0;
  // The first of the folders at the root, when these are splits of a set and not classes.
  std::string_view split;
  bool voc = false;  // PASCAL VOC's folders: what lies beside JPEGImages are masks, and neither is a class
};

bool is_split_name(std::string_view name) {
  constexpr std::array<std::string_view, 8> names{"train",      "training", "val",     "valid",
                                                  "validation", "test",     "testing", "dev"};
  std::string lower(name);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return std::find(names.begin(), names.end(), lower) != names.end();
}

Layout layout_of(const Listing& listing) {
  Layout out;
  std::set<std::string_view> splits;
  bool only_splits = true;
  for (size_t i = 0; i < listing.files.size(); ++i) {
    const std::string_view name = listing.files[i];
    if (!names_an_image(name)) continue;
    const size_t slash = name.find('/');
    ++(slash == std::string_view::npos ? out.at_root : out.in_folders);
    out.voc = out.voc || name.starts_with("JPEGImages/");
    if (slash == std::string_view::npos || !only_splits) continue;
    only_splits = is_split_name(name.substr(0, slash)) && name.find('/', slash + 1) != std::string_view::npos;
    if (only_splits) splits.insert(name.substr(0, slash));
  }
  if (only_splits && splits.size() > 1) out.split = *splits.begin();
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
  return invalid("wants a folder, got a file");
}

// Labels are places in `classes`; first those that occur are numbered as they come, then renumbered in sorted
// order.
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
  std::vector<int64_t> sorted(number.size());
  for (const auto& [folder, first_number] : number) {
    sorted[static_cast<size_t>(first_number)] = static_cast<int64_t>(out.classes.size());
    out.classes.emplace_back(folder);
  }
  std::erase_if(out.left_out.folders, [&](const std::string& name) { return number.contains(name); });
  for (int64_t& l : out.labels) l = sorted[static_cast<size_t>(l)];
}

// A list of all classes serves a split that lacks some. But a class that is not there beside a folder that
// nobody names is a slip of the pen, and would leave images out without a word.
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
  return invalid("classes wants folders with images, got " + missing + "; not named are " + unnamed);
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
  return check_classes(found, out.classes);
}

// Labels that are folders of another meaning would be wrong without anybody noticing.
Status check_folders_are_classes(const Layout& layout, const std::string& path) {
  const std::string named = "', or format=\"image_folder\" if they are classes";
  if (layout.voc)
    return invalid("holds PASCAL VOC's folders without their XML files, not classes; give '" +
                   join_path(path, "JPEGImages") + named);
  if (layout.split.empty()) return {};
  return invalid("holds splits, not classes; give one of them, such as '" + join_path(path, layout.split) +
                 named + ", or format=\"images\" for no labels");
}

Result<SourceOpening> open_folder(const OpenRequest& request) {
  HEADRACE_ASSIGN(const Listing* listing, listing_of(request));
  if (request.recognised) HEADRACE_TRY(check_folders_are_classes(layout_of(*listing), request.path().path));
  ImageFiles out;
  out.root = request.path().path;
  out.problems = listing->problems;
  HEADRACE_ASSIGN(out.classes, request.texts("classes"));
  if (out.classes.empty()) {
    label_by_folder(*listing, out);
  } else {
    HEADRACE_TRY(label_by_classes(*listing, out));
  }
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
  out.left_out.folders.clear();  // no class hangs on them
  HEADRACE_ASSIGN(SourcePtr source, image_files_source(std::move(out), "images", request));
  return ready(std::move(source));
}

const FormatRegistration folder_format({
    .name = "image_folder",
    .doc = "Images in one folder a class; labels are the places of the folders' names in sorted order.",
    .options = {{"classes", "Sequence[str] | None",
                 "Folders to read, in the order of their labels; all, sorted, when not given.", Value()},
                key_option()},
    .recognise = recognise_folder,
    .open = open_folder,
});
const FormatRegistration flat_format({
    .name = "images",
    .doc = "Every image below a folder, without labels.",
    .options = {key_option()},
    .recognise = recognise_flat,
    .open = open_flat,
});

}  // namespace
}  // namespace headrace
