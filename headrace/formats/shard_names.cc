#include "headrace/formats/shard_names.h"

#include <algorithm>
#include <array>
#include <set>

#include "headrace/core/text/text.h"

namespace headrace {
namespace {

constexpr std::array<std::string_view, 7> kCompressions{".gz", ".zlib", ".zz", ".zst", ".lz4", ".bz2", ".xz"};

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string last_ending(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 || dot + 1 == name.size() ? "" : name.substr(dot);
}

template <size_t n> bool is_one_of(std::string_view ending, const std::array<std::string_view, n>& list) {
  return std::find(list.begin(), list.end(), ending) != list.end();
}

}  // namespace

std::optional<NumberedName> numbered(const std::string& name) {
  for (size_t of = name.rfind("-of-"); of != std::string::npos && of > 0; of = name.rfind("-of-", of - 1)) {
    const size_t dash = name.rfind('-', of - 1);
    const size_t end = std::min(name.find_first_not_of("0123456789", of + 4), name.size());
    if (dash == std::string::npos || !is_digits(std::string_view(name).substr(dash + 1, of - dash - 1)) ||
        end == of + 4)
      continue;
    return NumberedName{name.substr(0, dash + 1), name.substr(dash + 1, of - dash - 1),
                        name.substr(of + 4, end - of - 4), name.substr(end)};
  }
  return std::nullopt;
}

std::string without_number(const std::string& name) {
  const auto parts = numbered(name);
  return parts ? parts->before.substr(0, parts->before.size() - 1) + parts->after : name;
}

std::string_view without_compression(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot != std::string_view::npos && dot > 0 && is_one_of(lower_case(name.substr(dot)), kCompressions)
             ? name.substr(0, dot)
             : name;
}

void take_out_copies(std::vector<std::string>& names, std::vector<std::string>& copies) {
  const std::set<std::string_view> all(names.begin(), names.end());
  std::vector<std::string> kept;
  for (const std::string& name : names) {
    const std::string_view plain = without_compression(name);
    (plain != name && all.contains(plain) ? copies : kept).push_back(name);
  }
  names = std::move(kept);
}

std::string shard_kind(std::string_view name) {
  std::string left = without_number(lower_case(name));
  std::string ending = last_ending(left);
  if (is_one_of(ending, kCompressions)) {
    left = without_number(left.substr(0, left.size() - ending.size()));
    if (const std::string inner = last_ending(left); !inner.empty())
      ending = inner;
    else
      ending = "";
  }
  return ending;
}

bool is_beside_data(std::string_view kind) {
  constexpr std::array<std::string_view, 18> kinds{
      ".idx", ".index", ".json",  ".txt",   ".md",     ".lst", ".csv",    ".tsv",    ".yaml",
      ".yml", ".xml",   ".pbtxt", ".jsonl", ".ndjson", ".md5", ".sha256", ".sha512", ".crc"};
  return is_one_of(kind, kinds);
}

bool is_text_data(std::string_view kind) {
  constexpr std::array<std::string_view, 5> kinds{".csv", ".tsv", ".txt", ".jsonl", ".ndjson"};
  return is_one_of(kind, kinds);
}

bool is_of_other_images(std::string_view kind) {
  constexpr std::array<std::string_view, 13> kinds{".arw",  ".cr2",  ".cr3", ".dcm", ".dng", ".exr", ".hdr",
                                                   ".heic", ".heif", ".ico", ".nef", ".psd", ".tga"};
  return is_one_of(kind, kinds);
}

bool is_code_or_page(std::string_view kind) {
  constexpr std::array<std::string_view, 10> kinds{".cfg", ".html", ".ipynb", ".log", ".pdf",
                                                   ".py",  ".r",    ".rst",   ".sh",  ".toml"};
  return is_one_of(kind, kinds);
}

bool is_never_data(std::string_view path) {
  constexpr std::array<std::string_view, 8> documents{"authors", "changelog", "citation", "copying",
                                                      "licence", "license",   "notice",   "readme"};
  if (is_our_own(path) || is_one_of(lower_case(path.substr(path.rfind('/') + 1)), documents)) return true;
  for (size_t at = 0; at < path.size();) {
    if (path[at] == '.' || path[at] == '_') return true;
    const size_t slash = path.find('/', at);
    if (slash == std::string_view::npos) return false;
    at = slash + 1;
  }
  return false;
}

bool is_usual_beside(std::string_view name) {
  constexpr std::array<std::string_view, 48> known{
      "annotation", "annotations", "attributes", "categories", "class",       "classes", "code",
      "config",     "configs",     "dataset",    "demo",       "description", "devkit",  "doc",
      "docs",       "example",     "examples",   "features",   "gender",      "gt",      "imagesets",
      "index",      "info",        "infos",      "key",        "label",       "labels",  "licence",
      "license",    "list",        "lists",      "manifest",   "mapping",     "mask",    "masks",
      "meta",       "metadata",    "names",      "readme",     "sample",      "scripts", "segmentations",
      "stats",      "submission",  "synsets",    "truth",      "vocab",       "words"};
  const std::string lower = lower_case(name);
  for (size_t at = 0; at < lower.size();) {
    const auto is_letter = [&](size_t i) { return i < lower.size() && lower[i] >= 'a' && lower[i] <= 'z'; };
    size_t end = at;
    while (is_letter(end)) ++end;
    if (end > at && std::ranges::binary_search(known, std::string_view(lower).substr(at, end - at)))
      return true;
    at = std::max(end, at + 1);
  }
  return false;
}

bool is_folder_beside_classes(std::string_view name) {
  constexpr std::array<std::string_view, 36> known{
      "annotation", "annotations",    "attributes", "cache",     "checkpoint", "checkpoints",
      "code",       "config",         "configs",    "devkit",    "doc",        "docs",
      "example",    "examples",       "gt",         "imagesets", "info",       "label",
      "labels",     "lightning_logs", "lists",      "log",       "logs",       "masks",
      "meta",       "metadata",       "mlruns",     "models",    "outputs",    "results",
      "runs",       "scripts",        "temp",       "tmp",       "weights",    "wandb"};
  return is_one_of(lower_case(name), known);
}

bool is_our_own(std::string_view name) {
  return name.starts_with(".headrace/") || name == "headrace.json" || name == "quarantine.json" ||
         name.ends_with(".headrace.json") || name.ends_with(".quarantine.json");
}

}  // namespace headrace
