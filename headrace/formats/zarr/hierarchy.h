// The groups and arrays of a store, from its metadata files. Pure; any thread.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "headrace/formats/source.h"
#include "headrace/formats/zarr/array.h"
#include "headrace/io/store.h"

namespace headrace::zarr {

struct Hierarchy {
  std::vector<Array> arrays;                             // by path
  std::map<std::string, Value, std::less<>> attributes;  // of groups and arrays
  std::string
      texts_hash;  // of all metadata that was read, but not of arrays' attributes in files of their own

  const Array* find(std::string_view path) const;
  bool is_array() const { return arrays.size() == 1 && arrays[0].path.empty(); }
};

// The full path of a file of a store.
std::string path_in_store(const std::string& root, std::string_view file);

// Confidence that a folder with these files is a Zarr store: 0 to 100; and whether it looks like an N5 store.
// An error if one of the files that describe a store of version 2, whose names are hidden, could not be
// examined.
Status check_metadata(const Listing& listing);
int looks_like_store(const Names& files);
bool looks_like_n5(const Names& files);

// First reads the metadata at the root, which may be consolidated, then any other nodes.
class OpenHierarchy final : public Opening<Hierarchy> {
 public:
  OpenHierarchy(std::string root, const Names& files) : root_(std::move(root)), files_(files) {}
  Result<Step<Hierarchy>> advance(std::span<const BufferPtr> bytes) override;

 private:
  struct Wanted {
    uint64_t file = 0;
    std::string path;  // of the node
    enum class Kind : uint8_t {
      v3,
      array_v2,
      attributes_v2,
      array_attributes_v2,
      all_v2,
      n5
    } kind = Kind::v3;
  };
  Result<Step<Hierarchy>> ask(std::vector<Wanted> wanted);
  void ask_nodes();
  Status take(const Wanted& wanted, const Value& json);
  void take_node_v3(const std::string& path, const Value& json);
  Result<Step<Hierarchy>> finish();

  std::string root_;
  const Names& files_;
  bool is_asked_for_all_ = false;
  std::vector<Wanted> wanted_;
  Hierarchy out_;
};

}  // namespace headrace::zarr
