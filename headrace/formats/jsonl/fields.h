// The fields of JSON lines: a tree of keys, with the types of the values seen for each.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/formats/jsonl/json_line.h"
#include "headrace/formats/records/mostly_numbers.h"

namespace headrace {

// The values of a field seen so far.
struct JsonKind {
  uint8_t types = 0, leaves = 0;  // bit_of() its values, and of the items of its lists
  bool has_large = false;         // an integer outside int64
  bool has_lists = false;         // nested lists
  bool is_uneven = false;         // its lists of numbers have no shape, or differ in rank
  JsonShape shape;                // of its lists of numbers; kAny for a size that varies
  MostlyNumbers counts;           // of values other than lists and objects

  void see(const JsonSpan& value, uint64_t line);
  void merge(const JsonKind& other, const std::string& path_of_other);
  bool has(JsonType type) const { return (types & bit_of(type)) != 0; }
  bool is_only(JsonType type) const { return (types & ~bit_of(JsonType::null)) == bit_of(type); }
  // Whether its values are lists of strings, not all of them empty.
  bool is_texts() const;
  // Whether all values are null or empty lists, which may be lists of anything.
  bool is_of_nothing() const;
  // Numbers or bools, or lists of them with a shape; otherwise str.
  TensorSpec spec() const;
  // The same with another dtype of numbers; nullopt if its lists have no shape.
  std::optional<TensorSpec> spec_as(DType dtype) const;
  // A warning for a field that is str because of few values; "" for others.
  std::string note(const std::string& name) const;

 private:
  DType dtype_of(unsigned seen) const;  // if all are numbers or all bools; otherwise str
  void merge(const JsonShape& other);
};

class JsonFields {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0}, kRoot = 0;
  struct Node {
    std::string key;
    uint32_t parent = kNone;
    size_t name_size = 0;                                      // of name()
    std::vector<uint32_t> members = {};                        // in the order of first appearance
    std::map<std::string, uint32_t, std::less<>> places = {};  // index into `members`, by key
    JsonKind kind = {};
  };

  JsonFields() : nodes_(1) {}
  size_t size() const { return nodes_.size(); }
  const Node& operator[](uint32_t node) const { return nodes_[node]; }
  JsonKind& kind(uint32_t node) { return nodes_[node].kind; }

  // kNone if there is none. `expected`: the index to try first, which is then set to the one after the key
  // that was found; 0 at the start of an object.
  uint32_t find(uint32_t parent, std::string_view key, size_t& expected) const;
  // kNone if there is none and no room for more: at most kMostFields in all, and kMostName bytes of a name.
  uint32_t find_or_add(uint32_t parent, std::string_view key, size_t& expected);
  static constexpr size_t kMostFields = 4096, kMostName = 4096;

  std::string name(uint32_t node) const;  // "image/width"
  // Whether it is replaced by its members.
  bool is_group(uint32_t node) const;

  bool merge(const JsonFields& other, const std::string& path_of_other);  // false if there is no room
  std::string pack() const;
  static std::optional<JsonFields> unpack(std::string_view bytes);

 private:
  std::vector<Node> nodes_;  // parents before their members
};

}  // namespace headrace
