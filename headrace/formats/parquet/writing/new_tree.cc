#include "headrace/formats/parquet/writing/new_tree.h"

#include <algorithm>
#include <map>
#include <set>

namespace headrace::parquet {
namespace {

constexpr size_t kMostParts = 16;

// The parts between slashes; the whole name if one is empty.
Path parts_of(const std::string& name) {
  Path out;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    if (end == begin) return {name};
    out.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  const bool is_usable = !name.empty() && name.back() != '/' && out.size() <= kMostParts;
  return is_usable ? out : Path{name};
}

bool is_single(const FieldColumn& column, DType dtype) {
  return column.spec.dtype == dtype && !column.is_texts;
}

// Whether the column is an image's bytes, followed by its path and nothing else below its name.
bool has_path(const std::vector<FieldColumn>& columns, size_t i) {
  const std::string& name = columns[i].name;
  if (!is_single(columns[i], DType::bytes) || i + 1 == columns.size()) return false;
  const auto is_below = [&](const FieldColumn& other) { return other.name.starts_with(name + "/"); };
  return columns[i + 1].name == name + "/path" && is_single(columns[i + 1], DType::str) &&
         std::ranges::count_if(columns, is_below) == 1;
}

class Trees {
 public:
  Trees(const std::vector<FieldColumn>& columns, const std::vector<Path>& paths,
        const std::set<size_t>& images)
      : columns_(columns), paths_(paths), images_(images) {}

  // Whether the columns form a tree below `depth` that reads back with the same names.
  bool are_one(size_t begin, size_t end, size_t depth) const {
    if (end - begin == 1 && paths_[begin].size() == depth) return true;
    std::set<std::string> seen;
    for (size_t i = begin; i < end;) {
      if (paths_[i].size() <= depth || !seen.insert(paths_[i][depth]).second) return false;
      const size_t next = end_of_member(paths_, i, end, depth);
      if (!are_one(i, next, depth + 1)) return false;
      i = next;
    }
    return !looks_like_image(begin, end, depth) || images_.contains(begin);
  }

 private:
  bool looks_like_image(size_t begin, size_t end, size_t depth) const {
    if (end - begin != 2) return false;
    const auto is = [&](size_t i, const char* member, DType dtype) {
      return paths_[i].size() == depth + 1 && paths_[i][depth] == member && is_single(columns_[i], dtype);
    };
    const auto are = [&](size_t bytes, size_t path) {
      return is(bytes, "bytes", DType::bytes) && is(path, "path", DType::str);
    };
    return are(begin, begin + 1) || are(begin + 1, begin);
  }

  const std::vector<FieldColumn>& columns_;
  const std::vector<Path>& paths_;
  const std::set<size_t>& images_;
};

}  // namespace

size_t end_of_member(const std::vector<Path>& paths, size_t begin, size_t end, size_t depth) {
  size_t out = begin + 1;
  while (out < end && paths[out].size() > depth && paths[out][depth] == paths[begin][depth]) ++out;
  return out;
}

size_t num_members(const std::vector<Path>& paths, size_t begin, size_t end, size_t depth) {
  size_t out = 0;
  for (; begin < end; begin = end_of_member(paths, begin, end, depth)) ++out;
  return out;
}

std::vector<Path> column_paths(const std::vector<FieldColumn>& columns) {
  std::vector<Path> out;
  std::set<size_t> images;
  for (size_t i = 0; i < columns.size(); ++i) {
    out.push_back(parts_of(columns[i].name));
    if (!has_path(columns, i) || parts_of(columns[i + 1].name).size() != out.back().size() + 1) continue;
    out.back().push_back("bytes");
    images.insert(i);
  }
  std::map<std::string, int> runs;
  for (size_t i = 0; i < out.size(); i = end_of_member(out, i, out.size(), 0)) ++runs[out[i][0]];
  const Trees trees(columns, out, images);
  std::set<size_t> flat;
  for (size_t i = 0; i < out.size();) {
    const size_t end = end_of_member(out, i, out.size(), 0);
    const bool is_tree = runs[out[i][0]] == 1 && trees.are_one(i, end, 1);
    for (; i < end; ++i)
      if (!is_tree) flat.insert(i);
  }
  for (const size_t i : flat) out[i] = {columns[i].name};
  return out;
}

}  // namespace headrace::parquet
