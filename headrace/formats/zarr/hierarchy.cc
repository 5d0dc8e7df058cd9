#include "headrace/formats/zarr/hierarchy.h"

#include <algorithm>
#include <optional>

#include "headrace/core/text/text.h"
#include "headrace/formats/zarr/json.h"

namespace headrace::zarr {
namespace {

constexpr std::string_view kNode = "zarr.json", kArray2 = ".zarray", kGroup2 = ".zgroup",
                           kAttributes2 = ".zattrs", kAll2 = ".zmetadata", kN5 = "attributes.json";
constexpr size_t kMostNodes = 100'000;
constexpr size_t kMostJson = size_t{64} << 20;  // bytes of a metadata file

// Names are sorted by their bytes.
std::optional<uint64_t> find_name(const Names& files, std::string_view name) {
  size_t begin = 0, end = files.size();
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    if (files[middle] < name)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin < files.size() && files[begin] == name ? std::optional<uint64_t>(begin) : std::nullopt;
}

// The folder of a file with this name; nullopt for other files.
std::optional<std::string_view> folder_of(std::string_view file, std::string_view name) {
  if (file == name) return std::string_view();
  if (file.size() <= name.size() || !file.ends_with(name) || file[file.size() - name.size() - 1] != '/')
    return std::nullopt;
  return file.substr(0, file.size() - name.size() - 1);
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

Result<Value> parse_node(std::string_view text) {
  if (text.size() > kMostJson)
    return Status(Code::exhausted,
                  {.expected = "metadata of at most 64 MiB", .got = std::to_string(text.size()) + " bytes"});
  return parse_json(text);
}

std::string without_slash(std::string path) {
  while (path.starts_with('/')) path.erase(0, 1);
  while (path.ends_with('/')) path.pop_back();
  return path;
}

Status n5() {
  return {Code::unavailable, Mismatch{.expected = "a Zarr store",
                                      .got = "an N5 store, which is not supported",
                                      .fix = "zarr.convenience.copy() of zarr-python 2 converts it to Zarr"}};
}

}  // namespace

const Array* Hierarchy::find(std::string_view path) const {
  const auto it =
      std::ranges::lower_bound(arrays, path, {}, [](const Array& a) { return std::string_view(a.path); });
  return it != arrays.end() && it->path == path ? &*it : nullptr;
}

std::string path_in_store(const std::string& root, std::string_view file) {
  return (root + (root.ends_with('/') ? "" : "/")).append(file);
}

Status check_metadata(const Listing& listing) {
  for (const Listing::Problem& one : listing.problems) {
    const std::string_view name = last_part(one.path);
    if (name == kArray2 || name == kGroup2 || name == kAttributes2 || name == kAll2)
      return Status(Code::io, one.reason + "; what it describes cannot be read without it").in_file(one.path);
  }
  return {};
}

int looks_like_store(const Names& files) {
  for (const std::string_view name : {kNode, kArray2, kGroup2, kAll2})
    if (find_name(files, name)) return 96;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string_view file = files[i];
    if (!file.ends_with('n') && !file.ends_with('y') && !file.ends_with('p')) continue;  // fast rejection
    for (const std::string_view name : {kNode, kArray2, kGroup2})
      if (folder_of(file, name)) return 60;
  }
  return 0;
}

bool looks_like_n5(const Names& files) {
  if (!find_name(files, kN5)) return false;
  for (size_t i = 0; i < files.size(); ++i)
    if (!folder_of(files[i], kN5) && !is_digits(last_part(files[i]))) return false;
  return true;
}

Result<Step<Hierarchy>> OpenHierarchy::advance(std::span<const BufferPtr> bytes) {
  using Kind = Wanted::Kind;
  if (bytes.empty() && wanted_.empty()) {
    if (const auto file = find_name(files_, kNode)) return ask({{*file, "", Kind::v3}});
    if (const auto file = find_name(files_, kAll2)) return ask({{*file, "", Kind::all_v2}});
    if (looks_like_store(files_) == 0 && looks_like_n5(files_))
      return ask({{*find_name(files_, kN5), "", Kind::n5}});
    ask_nodes();
    return ask(std::move(wanted_));
  }
  if (bytes.size() != wanted_.size()) return internal_error("expected as many buffers as extents");
  const std::vector<Wanted> wanted = std::exchange(wanted_, {});
  for (size_t i = 0; i < wanted.size(); ++i) {
    const std::string_view text(reinterpret_cast<const char*>(bytes[i]->data()), bytes[i]->size());
    const bool is_of_array = wanted[i].kind == Kind::array_attributes_v2;
    if (!is_of_array) out_.texts_hash += hash_text(text);
    const auto json = parse_node(text);
    const auto in_file = [&] { return in_quotes(path_in_store(root_, files_[wanted[i].file])) + ": "; };
    if (json.ok()) {
      HEADRACE_TRY(take(wanted[i], *json).before(in_file()));
      continue;
    }
    if (is_of_array || wanted[i].kind == Kind::attributes_v2) continue;  // not needed for reading
    Status status = json.status().before(in_file());
    if (wanted[i].path.empty()) return status;
    out_.arrays.push_back({});
    out_.arrays.back().path = wanted[i].path, out_.arrays.back().refusal = std::move(status);
  }
  if (wanted_.empty()) return finish();
  return ask(std::move(wanted_));
}

Result<Step<Hierarchy>> OpenHierarchy::ask(std::vector<Wanted> wanted) {
  wanted_ = std::move(wanted);
  if (wanted_.empty())
    return invalid({.expected = "a Zarr store", .got = "a folder without .zarray, .zgroup or zarr.json"});
  if (wanted_.size() > kMostNodes)
    return Status(Code::exhausted, {.expected = "at most 100,000 groups and arrays",
                                    .got = std::to_string(wanted_.size()),
                                    .fix = "zarr.consolidate_metadata() writes them into one file"});
  std::vector<Extent> out;
  for (const Wanted& one : wanted_) out.push_back({one.file, 0, kToEnd});
  return Step<Hierarchy>(std::move(out));
}

// Requests every array and group except a root that was already read. In a folder with both versions, the
// newer counts.
void OpenHierarchy::ask_nodes() {
  using Kind = Wanted::Kind;
  const bool has_root = is_asked_for_all_;
  for (size_t i = 0; i < files_.size(); ++i) {
    const std::string_view file = files_[i];
    const auto in = [&](std::string_view folder, std::string_view name) {
      return find_name(files_,
                       folder.empty() ? std::string(name) : std::string(folder).append("/").append(name));
    };
    if (const auto folder = folder_of(file, kNode)) {
      if (!(has_root && folder->empty())) wanted_.push_back({i, std::string(*folder), Kind::v3});
    } else if (const auto array = folder_of(file, kArray2)) {
      if (!in(*array, kNode)) wanted_.push_back({i, std::string(*array), Kind::array_v2});
    } else if (const auto attributes = folder_of(file, kAttributes2)) {
      if (in(*attributes, kNode)) continue;
      if (attributes->empty() || in(*attributes, kGroup2))
        wanted_.push_back({i, std::string(*attributes), Kind::attributes_v2});
      else if (in(*attributes, kArray2))
        wanted_.push_back({i, std::string(*attributes), Kind::array_attributes_v2});
    }
  }
}

Status OpenHierarchy::take(const Wanted& wanted, const Value& json) {
  switch (wanted.kind) {
    case Wanted::Kind::n5: {
      const bool is_n5 = json.find("n5") || (json.find("dimensions") && json.find("blockSize"));
      return is_n5 ? n5()
                   : invalid({.expected = "a Zarr store",
                              .got = "a folder without .zarray, .zgroup or zarr.json"});
    }
    case Wanted::Kind::array_v2: out_.arrays.push_back(array_of_v2(wanted.path, json)); return {};
    case Wanted::Kind::array_attributes_v2:
    case Wanted::Kind::attributes_v2: out_.attributes[wanted.path] = json; return {};
    case Wanted::Kind::v3: break;
    case Wanted::Kind::all_v2: {
      const Value* all = json.find("metadata");
      if (!all || !all->object()) return corrupt({.expected = "an object 'metadata'", .got = "none"});
      for (const auto& [name, node] : *all->object()) {
        if (const auto array = folder_of(name, kArray2))
          out_.arrays.push_back(array_of_v2(std::string(*array), node));
        if (const auto group = folder_of(name, kAttributes2)) out_.attributes[std::string(*group)] = node;
      }
      return {};
    }
  }
  take_node_v3(wanted.path, json);
  if (!wanted.path.empty() || is_asked_for_all_) return {};
  const Value* type = json.find("node_type");
  if (type && *type == Value("array")) return {};
  if (!type || *type != Value("group")) return corrupt("expected a node_type of \"array\" or \"group\"");
  const Value* consolidated = json.find("consolidated_metadata");
  const Value* all = consolidated ? consolidated->find("metadata") : nullptr;
  if (all && all->object()) {
    for (const auto& [name, node] : *all->object())
      if (const std::string path = without_slash(name); !path.empty()) take_node_v3(path, node);
    return {};
  }
  is_asked_for_all_ = true;
  ask_nodes();
  return {};
}

void OpenHierarchy::take_node_v3(const std::string& path, const Value& json) {
  const Value* type = json.find("node_type");
  if (const Value* attributes = json.find("attributes"); attributes && attributes->object())
    out_.attributes[path] = *attributes;
  if (type && *type == Value("group")) return;
  out_.arrays.push_back(array_of_v3(path, json));
}

Result<Step<Hierarchy>> OpenHierarchy::finish() {
  std::ranges::stable_sort(out_.arrays, {}, &Array::path);
  const auto last = std::ranges::unique(out_.arrays, {}, &Array::path);
  out_.arrays.erase(last.begin(), last.end());
  if (!out_.arrays.empty() && out_.arrays[0].path.empty()) out_.arrays.resize(1);
  out_.texts_hash = hash_text(out_.texts_hash);
  return Step<Hierarchy>(std::move(out_));
}

}  // namespace headrace::zarr
