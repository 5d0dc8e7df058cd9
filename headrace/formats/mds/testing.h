// Makes MDS shards and their index in memory, for tests and fuzz seeds.
#pragma once
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "headrace/core/value.h"

namespace headrace {

template <class T> std::string mds_bytes(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

struct MdsTestColumn {
  std::string name, encoding;
  int64_t size = -1;  // -1: each value has its own
};

// A sample of these values, one per column.
inline std::string mds_sample(const std::vector<MdsTestColumn>& columns,
                              const std::vector<std::string>& values) {
  std::string head, rest;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].size < 0) head += mds_bytes(static_cast<uint32_t>(values[i].size()));
    rest += values[i];
  }
  return head + rest;
}

inline std::string mds_shard(const std::vector<std::string>& samples, const std::string& config = "{}") {
  auto offset = static_cast<uint32_t>(4 * (samples.size() + 2) + config.size());
  std::string head = mds_bytes(static_cast<uint32_t>(samples.size())) + mds_bytes(offset), rest;
  for (const std::string& sample : samples) {
    head += mds_bytes(offset += static_cast<uint32_t>(sample.size()));
    rest += sample;
  }
  return head + config + rest;
}

struct MdsTestShard {
  std::string name, bytes;
  size_t samples = 0;
  std::string packed_name = "", packed = "", compression = "";
  Value hashes = Value(Value::Object());  // of the file that exists
};

inline std::string mds_index(const std::vector<MdsTestColumn>& columns,
                             const std::vector<MdsTestShard>& shards) {
  Value::List list;
  for (const MdsTestShard& shard : shards) {
    Value one;
    Value::List names, encodings, sizes;
    for (const MdsTestColumn& column : columns) {
      names.emplace_back(column.name), encodings.emplace_back(column.encoding);
      sizes.push_back(column.size < 0 ? Value() : Value(column.size));
    }
    one.set("column_encodings", std::move(encodings));
    one.set("column_names", std::move(names)), one.set("column_sizes", std::move(sizes));
    const bool is_packed = !shard.packed_name.empty();
    one.set("compression", is_packed ? Value(shard.compression) : Value());
    one.set("format", "mds"), one.set("version", 2), one.set("samples", shard.samples);
    one.set("raw_data", Value::Object{{"basename", shard.name},
                                      {"bytes", shard.bytes.size()},
                                      {"hashes", is_packed ? Value(Value::Object()) : shard.hashes}});
    one.set("zip_data", is_packed ? Value(Value::Object{{"basename", shard.packed_name},
                                                        {"bytes", shard.packed.size()},
                                                        {"hashes", shard.hashes}})
                                  : Value());
    list.push_back(std::move(one));
  }
  return Value(Value::Object{{"shards", std::move(list)}, {"version", 2}}).dump();
}

}  // namespace headrace
