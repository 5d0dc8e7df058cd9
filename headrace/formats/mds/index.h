// index.json of MDS: the columns, and the shards with their samples and sizes. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "headrace/codecs/packed/unpack.h"
#include "headrace/formats/mds/columns.h"

namespace headrace::mds {

inline constexpr std::string_view kMdsIndex = "index.json";

struct MdsShard {
  uint64_t samples = 0;
  struct File {
    std::string name;  // "": no such file
    uint64_t bytes = 0;
    Value hashes;  // an object: {"sha1": "…"}
  } plain, packed;
  std::string compression;  // of `packed`: "zstd:7"
};

struct MdsIndex {
  MdsColumns columns;  // of all shards
  std::vector<MdsShard> shards;
  static Result<MdsIndex> parse(std::string_view json);
};

// How a shard with this compression is unpacked.
Result<Packed> mds_packing(const std::string& compression);

}  // namespace headrace::mds
