// What a data set that Headrace wrote says of itself, in a file of JSON: headrace.json in its folder, or
// x.tfrecord.headrace.json beside a single file. It is written last, so its presence says that all is there,
// and it is what later writers go by when they replace the data set: they delete nothing that it does not
// know.
#pragma once
#include <cstdint>
#include <string>
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
  // The sum of these hashes: the same for readers that have an order of their own, of folders or of keys.
  uint64_t sum = 0;

  Value value() const;
  static Result<ShardEntry> from(const Value& value);
};

// Which entries there are: their names, relative to the folder, hashed in sorted order.
struct FileNames {
  uint64_t count = 0;
  std::string xxh3_128;
  bool operator==(const FileNames&) const = default;
};
// Of a folder's files; links and all else that is none, and empty folders, count as other names than a file
// of that name would. The manifest itself, and indexes (.headrace/), are left out.
Result<FileNames> names_of(const std::string& folder);

struct Manifest {
  std::string format;
  Value options;    // of the format, as given
  Schema schema;    // of the samples that were written
  Value read_with;  // options with which the reader gives the samples as they were; null: none are needed
  Value metadata;   // classes; what was done to the samples: {"lossy": {…}}
  std::vector<ShardEntry> shards;
  FileNames files;

  uint64_t samples() const;
  uint64_t bytes() const;
  std::string text() const;
  static Result<Manifest> parse(std::string_view text);
};

// The manifest at a path. Not found: there is none; exhausted: it has more bytes than are `left` to read,
// which become fewer.
Result<Manifest> read_manifest(Store& store, const std::string& path, uint64_t& left);

Value schema_to_value(const Schema& schema);  // {"fields": [{"name", "dtype", "shape"}], "structure"}
Result<Schema> schema_from_value(const Value& value);

// XXH3-64 of a sample's fields: types, shapes and bytes.
uint64_t sample_hash(const std::vector<Tensor>& fields);
// Of the hashes of a shard's samples.
std::string shard_hash(const std::vector<uint64_t>& samples);
uint64_t hash_sum(const std::vector<uint64_t>& samples);

}  // namespace headrace
