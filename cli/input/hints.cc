#include "cli/input/hints.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>

#include "headrace/formats/opening/open.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostHints = 3, kMostCandidates = 64;
constexpr uint64_t kLargestList = 64 << 20;  // enough for a list of ImageNet

std::string python_text(const std::string& text) { return Value(text).dump(); }

bool looks_like(const std::string& format, const std::string& path, Store& store) {
  const FormatInfo* found = find_format(format);
  const auto info = store.info(path);
  if (!found || !info.ok() || info->is_directory || info->size > kLargestList) return false;
  const auto file = store.open(path);
  if (!file.ok()) return false;
  auto head = read_bytes(**file, 0, std::min(info->size, kProbeBytes));
  return head.ok() && found->recognise({path, *info, *std::move(head), nullptr}) > 0;
}

bool finds_its_images(const std::string& format, const std::string& list, const Value& options,
                      Store& store) {
  const auto source = open_source(store, list, format, options);
  return source.ok() && (*source)->size() > 0 && store.info((*source)->file(0)).ok();
}

// The call that reads the images through this list, or "". Its names may be relative to any folder above the
// images.
std::string call_for_list(const std::string& format, const fs::path& list, const fs::path& images,
                          Store& store) {
  const std::string reader = "hr.read_" + format + "(" + python_text(list.string());
  if (finds_its_images(format, list, Value(), store)) return reader + ")";
  for (fs::path root = images;; root = root.parent_path()) {
    Value options;
    options.set("root", root.string());
    if (finds_its_images(format, list, options, store))
      return reader + ", root=" + python_text(root.string()) + ")";
    if (!root.has_relative_path()) return "";
  }
}

bool named_like_annotations(const fs::path& folder) {
  std::string name = folder.filename().string();
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name.starts_with("annotation") || name.starts_with("bbox") || name == "xml" || name == "xmls";
}

std::string call_for_boxes(const fs::path& annotations, const fs::path& images, Store& store) {
  const fs::path root = images.parent_path();
  Value options;
  options.set("images", images.filename().string()),
      options.set("annotations", annotations.filename().string());
  Value opened = options;
  opened.set("classes", Value::List{""});  // given, so that not every file is read to find them
  const auto source = open_source(store, root.string(), "voc_xml", opened);
  if (!source.ok()) return "";
  return fmt::format("hr.read_voc_xml({}, images={}, annotations={})", python_text(root.string()),
                     options.find("images")->dump(), options.find("annotations")->dump());
}

// What may hold labels: text files in the folder or its parent, annotation folders in its parent.
std::vector<fs::path> candidates(const fs::path& images) {
  std::vector<fs::path> out;
  for (const fs::path& folder : {images, images.parent_path()}) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      const std::string ending = entry->path().extension().string();
      const bool list =
          ending == ".json" || ending == ".txt" || ending == ".tsv" || ending == ".csv" || ending == ".lst";
      const bool boxes =
          folder != images && entry->is_directory(error) && named_like_annotations(entry->path());
      if (list || boxes) out.push_back(entry->path());
    }
  }
  std::ranges::sort(out);
  if (out.size() > kMostCandidates) out.resize(kMostCandidates);
  return out;
}

// "labels.json looks like a JSON map …: call", or "".
std::string hint_for(const fs::path& candidate, const fs::path& images, Store& store) {
  std::error_code error;
  std::string what, call;
  if (fs::is_directory(candidate, error)) {
    what = "boxes in XML files", call = call_for_boxes(candidate, images, store);
  } else if (looks_like("json_map", candidate, store)) {
    what = "a JSON map of labels", call = call_for_list("json_map", candidate, images, store);
  } else if (looks_like("file_list", candidate, store)) {
    what = "a list of images", call = call_for_list("file_list", candidate, images, store);
  }
  if (call.empty()) return "";
  return fmt::format("{} looks like {}: {}", candidate.filename().string(), what, call);
}

// If all images are in one class, the class folders may be deeper than the path.
std::string hint_of_one_class(const Source& source, const fs::path& images) {
  const Value metadata = source.metadata();
  const Value* classes = metadata.find("classes");
  if (!classes || !classes->list() || classes->list()->size() != 1 || !(*classes->list())[0].text())
    return "";
  const std::string folder = (images / *(*classes->list())[0].text()).string();
  return fmt::format("all images are in one class; if the classes are folders below it, pass {}",
                     python_text(folder));
}

struct Messages {
  std::string values, what;  // the option, and a description
};

// Set if the values of an LMDB were read as bytes but are messages of a framework.
std::optional<Messages> messages_in(const Source& source, const std::string& path, Store& store) {
  if (source.size() == 0 || source.describe().find("values")) return std::nullopt;
  for (const Messages& one :
       {Messages{"datum", "Caffe's Datum"}, Messages{"tensor_protos", "Caffe2's TensorProtos"}}) {
    Value options;
    options.set("values", one.values);
    if (open_source(store, path, "lmdb", options).ok()) return one;
  }
  return std::nullopt;
}

bool is_lmdb(const Source& source) {
  const auto format = source.describe().get_text("format");
  return format.ok() && *format == "lmdb";
}

}  // namespace

std::vector<std::string> hints_for(const Source& source, const std::string& path, Store& store) {
  std::vector<std::string> out;
  if (is_lmdb(source)) {
    if (const auto found = messages_in(source, path, store))
      out.push_back(fmt::format("the values look like {}: hr.read_lmdb({}, values=\"{}\")", found->what,
                                python_text(path), found->values));
    return out;
  }
  const auto format = source.describe().get_text("format");
  if (!format.ok() || (*format != "images" && *format != "image_folder")) return out;
  std::error_code error;
  fs::path images = fs::path(path).lexically_normal();
  if (!images.has_filename()) images = images.parent_path();  // "photos/"
  // "." has no parent in its name.
  if (!images.has_parent_path() || images.filename() == "." || images.filename() == "..")
    images = fs::absolute(images, error).lexically_normal();
  if (!images.has_filename()) images = images.parent_path();
  if (std::string hint = hint_of_one_class(source, images); !hint.empty()) out.push_back(std::move(hint));
  for (const fs::path& candidate : candidates(images)) {
    if (out.size() >= kMostHints) break;
    if (std::string hint = hint_for(candidate, images, store); !hint.empty()) out.push_back(std::move(hint));
  }
  return out;
}

std::string hint_of_values(const Source& source, const std::string& path, Store& store,
                           const std::string& flag) {
  const auto found = is_lmdb(source) ? messages_in(source, path, store) : std::nullopt;
  if (!found) return "";
  return fmt::format("the values look like {}: {} values={} parses them", found->what, flag, found->values);
}

}  // namespace headrace::cli
