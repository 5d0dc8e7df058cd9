// What the objects of JSON lines have: a tree of keys, and for each what its values were so far.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/formats/jsonl/json_line.h"
#include "headrace/formats/records/mostly_numbers.h"

namespace headrace {

// What was seen of a field.
struct JsonKind {
  uint8_t types = 0, leaves = 0;  // bit_of() its values; and what its lists hold
  bool has_large = false;         // a whole number that no i64 holds
  bool has_lists = false;         // lists of lists
  bool is_uneven = false;         // lists of numbers that have no shape, or not all the same number of levels
  JsonShape shape;                // of its lists of numbers; a size of kAny is not always the same
  MostlyNumbers counts;           // of values that are no lists and no objects

  void see(const JsonSpan& value, uint64_t line);
  void merge(const JsonKind& other, const std::string& path_of_other);
  bool has(JsonType type) const { return (types & bit_of(type)) != 0; }
  bool is_only(JsonType type) const { return (types & ~bit_of(JsonType::null)) == bit_of(type); }
  // Whether its values are lists of texts, not all of them empty.
  bool is_texts() const;
  // Whether they are all null or lists of nothing, which may be lists of anything.
  bool is_of_nothing() const;
  // Numbers or bools, or lists of them in a shape; else text.
  TensorSpec spec() const;
  // The same of another dtype, that of a number; nothing where its lists have no shape.
  std::optional<TensorSpec> spec_as(DType dtype) const;
  // What to say of a field that is text for the sake of few values; "" of others.
  std::string note(const std::string& name) const;

 private:
  DType dtype_of(unsigned seen) const;  // of numbers or bools alone; else str
  void merge(const JsonShape& other);
};

class JsonFields {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0}, kRoot = 0;
  struct Node {
    std::string key;
    uint32_t parent = kNone;
    size_t name_size = 0;                                      // of all keys on the way, with what joins them
    std::vector<uint32_t> members = {};                        // in the order of their first appearance
    std::map<std::string, uint32_t, std::less<>> places = {};  // in `members`, by key
    JsonKind kind = {};
  };

  JsonFields() : nodes_(1) {}
  size_t size() const { return nodes_.size(); }
  const Node& operator[](uint32_t node) const { return nodes_[node]; }
  JsonKind& kind(uint32_t node) { return nodes_[node].kind; }

  // kNone where there is none. `expected`: the place where it is looked for first, that behind the one found
  // last; 0 at the beginning of an object.
  uint32_t find(uint32_t parent, std::string_view key, size_t& expected) const;
  // kNone where there is none and no room for more: in all kMostFields, and kMostName bytes of a name.
  uint32_t find_or_add(uint32_t parent, std::string_view key, size_t& expected);
  static constexpr size_t kMostFields = 4096, kMostName = 4096;

  std::string name(uint32_t node) const;  // "image/width"
  // Whether its members are the fields, and not itself.
  bool is_group(uint32_t node) const;

  bool merge(const JsonFields& other, const std::string& path_of_other);  // false where there is no room
  std::string pack() const;
  static std::optional<JsonFields> unpack(std::string_view bytes);

 private:
  std::vector<Node> nodes_;  // a parent before its members
};

}  // namespace headrace
