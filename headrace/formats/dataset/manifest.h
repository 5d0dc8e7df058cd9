// The description of a data set written by Headrace, in a JSON file: headrace.json in its folder, or
// x.tfrecord.headrace.json next to a single file. It is written last, so its presence means that the data set
// is complete, and later writers rely on it when they replace the data set: they delete nothing that it does
// not list.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/core/value.h"
#include "headrace/io/store.h"

namespace headrace {

inline constexpr std::string_view kManifestName = "headrace.json";
inline constexpr std::string_view kIndexFolder = ".headrace";  // see sidecar.h

struct ShardEntry {
  std::string name;  // relative to the data set's folder
  uint64_t samples = 0;
  uint64_t bytes = 0;    // of its files
  std::string xxh3_128;  // of the hashes of its samples (sample_hash), in order
  // The sum of these hashes: the same for readers that return samples in another order, by folder or by key.
  uint64_t sum = 0;

  Value value() const;
  static Result<ShardEntry> from(const Value& value);
};

// Which files exist: their names, relative to the folder, hashed in sorted order.
struct FileNames {
  uint64_t count = 0;
  std::string xxh3_128;
  bool operator==(const FileNames&) const = default;
};
// Of a folder's files. Links, special files and empty folders count as other names than a regular file of
// that name. The manifest itself, and indexes (.headrace/), are left out.
Result<FileNames> names_of(const std::string& folder);

struct Manifest {
  std::string format;
  Value options;    // of the format, as given
  Schema schema;    // of the written samples
  Value read_with;  // options with which the reader returns the samples unchanged; null: none needed
  Value metadata;   // classes; how the samples were transformed: {"lossy": {…}}
  std::vector<ShardEntry> shards;
  FileNames files;

  uint64_t samples() const;
  uint64_t bytes() const;
  std::string text() const;
  static Result<Manifest> parse(std::string_view text);
};

// A manifest as it was read, with what is asked of it for each file that it lists. Immutable.
struct ReadManifest {
  explicit ReadManifest(Manifest of);
  ReadManifest(const ReadManifest&) = delete;
  ReadManifest& operator=(const ReadManifest&) = delete;

  const Manifest manifest;
  uint64_t samples = 0;
  bool has_plain_names = true;  // its shards lie in its folder, and their names can be shown
  std::unordered_map<std::string_view, size_t> by_name;  // index into its shards; of one name the first
};
using ReadManifestPtr = std::shared_ptr<const ReadManifest>;

// The manifest at a path, read and parsed once a process while its file is the same: shards that are opened
// one by one beside it cost what they hold. Errors: not_found if there is none; the system's (io/look_up.h)
// if it cannot be read; invalid if it is larger than `left`, from which its size is subtracted. Any thread.
Result<ReadManifestPtr> read_manifest(Store& store, const std::string& path, uint64_t& left);
// How many texts this process has parsed. For tests.
uint64_t num_manifests_parsed();

Value schema_to_value(const Schema& schema);  // {"fields": [{"name", "dtype", "shape"}], "structure"}
Result<Schema> schema_from_value(const Value& value);

// XXH3-64 of a sample's fields: types, shapes and bytes.
uint64_t sample_hash(const std::vector<Tensor>& fields);
// Of the hashes of a shard's samples, in order.
std::string shard_hash(const std::vector<uint64_t>& samples);
uint64_t hash_sum(const std::vector<uint64_t>& samples);

}  // namespace headrace
