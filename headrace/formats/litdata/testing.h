// Makes LitData's chunks and their index in memory, for tests and fuzz seeds.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "headrace/core/value.h"

namespace headrace {

template <class T> std::string litdata_bytes(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string litdata_sample(const std::vector<std::string>& leaves) {
  std::string head, rest;
  for (const std::string& leaf : leaves)
    head += litdata_bytes(static_cast<uint32_t>(leaf.size())), rest += leaf;
  return head + rest;
}

inline std::string litdata_chunk(const std::vector<std::string>& samples) {
  auto offset = static_cast<uint32_t>(4 * (samples.size() + 2));
  std::string head = litdata_bytes(static_cast<uint32_t>(samples.size())) + litdata_bytes(offset), rest;
  for (const std::string& sample : samples) {
    head += litdata_bytes(offset += static_cast<uint32_t>(sample.size()));
    rest += sample;
  }
  return head + rest;
}

// "LDFZ01": frames of `each` samples, which `pack` compresses.
template <class Pack>
std::string litdata_framed(const std::vector<std::string>& samples, size_t each, const Pack& pack) {
  std::string offsets = litdata_bytes(uint32_t{0}), entries, frames;
  uint32_t end = 0;
  for (const std::string& sample : samples)
    offsets += litdata_bytes(end += static_cast<uint32_t>(sample.size()));
  const size_t num_frames = (samples.size() + each - 1) / each, begin = 24 + offsets.size() + 24 * num_frames;
  for (size_t first = 0; first < samples.size(); first += each) {
    std::string plain;
    const size_t last = std::min(first + each, samples.size());
    for (size_t i = first; i < last; ++i) plain += samples[i];
    const std::string packed = pack(plain);
    entries +=
        litdata_bytes(static_cast<uint32_t>(first)) + litdata_bytes(static_cast<uint32_t>(last - first)) +
        litdata_bytes(uint64_t{begin + frames.size()}) + litdata_bytes(static_cast<uint32_t>(packed.size())) +
        litdata_bytes(static_cast<uint32_t>(plain.size()));
    frames += packed;
  }
  return std::string("LDFZ01\0\0", 8) + litdata_bytes(uint16_t{1}) + litdata_bytes(uint16_t{0}) +
         litdata_bytes(static_cast<uint32_t>(samples.size())) + litdata_bytes(static_cast<uint32_t>(each)) +
         litdata_bytes(static_cast<uint32_t>(num_frames)) + offsets + entries + frames;
}

inline Value litdata_leaf() {
  return Value::Object{{"type", Value()}, {"context", Value()}, {"children_spec", Value::List()}};
}
// A dict of these leaves.
inline Value litdata_dict(const std::vector<std::string>& keys) {
  Value::List names, children;
  for (const std::string& key : keys) names.emplace_back(key), children.push_back(litdata_leaf());
  return Value::Object{{"type", "builtins.dict"},
                       {"context", Value(std::move(names)).dump()},
                       {"children_spec", std::move(children)}};
}

// Chunks by name and number of samples.
inline std::string litdata_index(const std::vector<std::pair<std::string, size_t>>& chunks,
                                 const std::vector<std::string>& formats, const Value& tree) {
  Value::List list, leaves(formats.begin(), formats.end());
  for (const auto& [name, samples] : chunks)
    list.push_back(
        Value::Object{{"chunk_bytes", 1}, {"chunk_size", samples}, {"dim", Value()}, {"filename", name}});
  return Value(Value::Object{{"chunks", std::move(list)},
                             {"config", Value::Object{{"compression", Value()},
                                                      {"data_format", std::move(leaves)},
                                                      {"data_spec", Value(Value::List{1, tree}).dump()},
                                                      {"encryption", Value()},
                                                      {"item_loader", "PyTreeLoader"}}}})
      .dump();
}

}  // namespace headrace
