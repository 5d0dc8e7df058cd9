// Hand-made stores in memory for tests, as zarr-python writes them.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "headrace/codecs/crc32c.h"
#include "headrace/core/little_endian.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/opening/open.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace::zarr {

using Files = std::vector<std::pair<std::string, std::string>>;

template <class T> std::string as_bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string with_crc32c(std::string bytes) {
  return bytes + as_bytes_of<uint32_t>({crc32c(text_bytes(bytes))});
}

// Chunks, then the index; "" is a missing chunk.
inline std::string shard_of(const std::vector<std::string>& chunks) {
  std::string bytes;
  std::vector<uint64_t> index;
  for (const std::string& chunk : chunks) {
    index.push_back(chunk.empty() ? ~uint64_t{0} : bytes.size());
    index.push_back(chunk.empty() ? ~uint64_t{0} : chunk.size());
    bytes += chunk;
  }
  return bytes + with_crc32c(as_bytes_of(index));
}

inline std::string array_v2(const std::string& shape, const std::string& chunks, const std::string& dtype,
                            const std::string& more = R"("compressor":null,"filters":null,"fill_value":0)") {
  return R"({"zarr_format":2,"order":"C","shape":)" + shape + R"(,"chunks":)" + chunks + R"(,"dtype":")" +
         dtype + "\"," + more + "}";
}

inline std::string array_v3(const std::string& shape, const std::string& chunks, const std::string& type,
                            const std::string& codecs, const std::string& fill = "0") {
  return R"({"zarr_format":3,"node_type":"array","shape":)" + shape + R"(,"data_type":")" + type +
         R"(","chunk_grid":{"name":"regular","configuration":{"chunk_shape":)" + chunks +
         R"(}},"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"fill_value":)" +
         fill + R"(,"codecs":)" + codecs + R"(,"attributes":{}})";
}

inline std::string sharded(const std::string& chunks, const std::string& codecs) {
  return R"([{"name":"sharding_indexed","configuration":{"chunk_shape":)" + chunks + R"(,"codecs":)" +
         codecs +
         R"(,"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}],)"
         R"("index_location":"end"}}])";
}

inline const std::string kLittle = R"({"name":"bytes","configuration":{"endian":"little"}})";
inline const std::string kZstd = R"({"name":"zstd","configuration":{"level":3,"checksum":false}})";
inline const std::string kGroup = R"({"zarr_format":3,"node_type":"group","attributes":{}})";

inline MemoryStore zarr_store(const Files& files) {
  MemoryStore out;
  for (const auto& [name, bytes] : files) out.add("x.zarr/" + name, bytes);
  return out;
}

// All numbers of the first field, or an error.
template <class T>
std::pair<std::vector<T>, std::string> read_numbers(MemoryStore store, const Value& options = {}) {
  const auto source = open_source(store, "x.zarr", "", options);
  if (!source.ok()) return {{}, std::string(source.status().text())};
  std::vector<T> out;
  for (uint64_t i = 0; i < std::min<uint64_t>((*source)->size(), 1000); ++i) {
    const auto fields = read_sample(**source, i, store);
    if (!fields.ok()) return {out, std::string(fields.status().text())};
    const View view = (*fields)[0].view();
    for (size_t at = 0; at < view.size_bytes(); at += sizeof(T)) out.push_back(load<T>(view.data + at));
  }
  return {out, ""};
}

inline std::string why_refused(const Files& files) { return read_numbers<uint8_t>(zarr_store(files)).second; }

}  // namespace headrace::zarr
