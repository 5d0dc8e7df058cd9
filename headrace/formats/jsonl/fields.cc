#include "headrace/formats/jsonl/fields.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "headrace/core/text/text.h"
#include "headrace/core/value.h"

namespace headrace {
namespace {

constexpr unsigned kBool = bit_of(JsonType::boolean);
constexpr unsigned kWhole = bit_of(JsonType::integer), kReal = bit_of(JsonType::real);

bool fits_i64(std::string_view digits) {
  constexpr size_t kAlways = 18;  // digits
  if (digits.size() <= kAlways) return true;
  int64_t value = 0;
  return std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc();
}

bool is_whole(std::string_view leaf) {
  return leaf.find_first_not_of("-0123456789") == std::string_view::npos;
}

const char* see_leaf(void* kind, std::string_view text) {
  const std::string_view leaf = first_leaf(text);
  if (leaf.size() > 18 && is_whole(leaf) && !fits_i64(leaf)) static_cast<JsonKind*>(kind)->has_large = true;
  return leaf.data() + leaf.size();
}

}  // namespace

void JsonKind::see(const JsonSpan& value, uint64_t line) {
  types |= bit_of(value.type);
  const bool is_large = value.type == JsonType::integer && !fits_i64(value.text);
  has_large = has_large || is_large;
  if (value.type != JsonType::list) {
    if (counts.is_of_texts || value.type == JsonType::null || value.type == JsonType::object) return;
    if ((value.type == JsonType::integer || value.type == JsonType::real) && !is_large)
      counts.see_number();
    else
      counts.see_text(value.text, line);
    return;
  }
  leaves |= value.leaves, has_lists = has_lists || value.has_lists;
  if ((leaves & ~(kBool | kWhole | kReal)) != 0 || is_uneven) return;
  JsonShape seen;
  if (!walk_json_list(value.text, seen, see_leaf, this))
    is_uneven = true;
  else
    merge(seen);
}

void JsonKind::merge(const JsonShape& other) {
  if (shape.rank != 0 && other.rank != 0 && shape.rank != other.rank) is_uneven = true;
  shape.rank = std::max(shape.rank, other.rank), shape.depth = std::max(shape.depth, other.depth);
  if (shape.rank != 0 && shape.depth > shape.rank) is_uneven = true;
  for (size_t i = 0; i < shape.sizes.size(); ++i) {
    int64_t& size = shape.sizes[i];
    if (size == JsonShape::kUnseen)
      size = other.sizes[i];
    else if (other.sizes[i] != JsonShape::kUnseen && other.sizes[i] != size)
      size = kAny;
  }
}

void JsonKind::merge(const JsonKind& other, const std::string& path_of_other) {
  counts.merge(other.counts, path_of_other);
  types |= other.types, leaves |= other.leaves;
  has_large = has_large || other.has_large, is_uneven = is_uneven || other.is_uneven;
  has_lists = has_lists || other.has_lists;
  merge(other.shape);
}

bool JsonKind::is_texts() const {
  return is_only(JsonType::list) && leaves == bit_of(JsonType::text) && !has_lists;
}

bool JsonKind::is_of_nothing() const {
  constexpr unsigned kEither = bit_of(JsonType::null) | bit_of(JsonType::list);
  return (types & ~kEither) == 0 && leaves == 0 && !has_lists;
}

DType JsonKind::dtype_of(unsigned seen) const {
  if (seen == kBool) return DType::boolean;
  if (seen == 0 || (seen & ~(kWhole | kReal)) != 0 || has_large) return DType::str;
  return seen == kWhole ? DType::i64 : DType::f64;
}

TensorSpec JsonKind::spec() const {
  const unsigned seen = types & ~unsigned{bit_of(JsonType::null)};
  const DType dtype = dtype_of(is_only(JsonType::list) ? leaves : seen);
  const std::optional<TensorSpec> out = is_text(dtype) ? std::nullopt : spec_as(dtype);
  return out.value_or(TensorSpec{DType::str, {kAny}});
}

std::optional<TensorSpec> JsonKind::spec_as(DType dtype) const {
  if (!has(JsonType::list)) return TensorSpec{dtype, {}};
  if (is_uneven || (leaves & ~(kBool | kWhole | kReal)) != 0) return std::nullopt;
  const int rank = shape.rank == 0 ? shape.depth : shape.rank;
  std::vector<int64_t> sizes;
  for (int i = 0; i < rank; ++i) {
    const int64_t size = shape.sizes[static_cast<size_t>(i)];
    sizes.push_back(shape.rank == 0 || size < 0 ? kAny : size);
  }
  return TensorSpec{dtype, Shape(sizes)};
}

std::string JsonKind::note(const std::string& name) const {
  const bool has_numbers = (leaves & (kWhole | kReal)) != 0,
             has_null = (leaves & bit_of(JsonType::null)) != 0,
             has_others = (leaves & ~(kWhole | kReal | bit_of(JsonType::null))) != 0;
  if (is_only(JsonType::list) && has_numbers && has_null && !has_others)
    return "column " + in_quotes(name) +
           " is read as strings, the JSON of its lists, because some of them have null among their numbers; "
           "write a number for it, or set dtypes={" +
           Value(name).dump() + ": \"str\"} to silence this note";
  if (has(JsonType::list) || has(JsonType::object)) return {};
  return counts.note(name, has(JsonType::real) ? DType::f64 : DType::i64);
}

uint32_t JsonFields::find(uint32_t parent, std::string_view key, size_t& expected) const {
  const Node& from = nodes_[parent];
  if (expected < from.members.size() && nodes_[from.members[expected]].key == key)
    return from.members[expected++];
  const auto found = from.places.find(key);
  if (found == from.places.end()) return kNone;
  expected = found->second + 1;
  return from.members[found->second];
}

uint32_t JsonFields::find_or_add(uint32_t parent, std::string_view key, size_t& expected) {
  if (const uint32_t found = find(parent, key, expected); found != kNone) return found;
  const size_t before = parent == kRoot ? 0 : nodes_[parent].name_size + 1;
  if (nodes_.size() > kMostFields || key.size() > kMostName - std::min(before, kMostName)) return kNone;
  const auto node = static_cast<uint32_t>(nodes_.size());
  Node& from = nodes_[parent];
  from.places.emplace(std::string(key), static_cast<uint32_t>(from.members.size()));
  from.members.push_back(node);
  expected = from.members.size();
  nodes_.push_back({std::string(key), parent, before + key.size()});
  return node;
}

std::string JsonFields::name(uint32_t node) const {
  const Node& here = nodes_[node];
  return here.parent == kRoot || here.parent == kNone ? here.key : name(here.parent) + "/" + here.key;
}

bool JsonFields::is_group(uint32_t node) const {
  return !nodes_[node].members.empty() && nodes_[node].kind.is_only(JsonType::object);
}

bool JsonFields::merge(const JsonFields& other, const std::string& path_of_other) {
  std::vector<uint32_t> here(other.size(), kRoot);
  for (uint32_t i = 1; i < other.size(); ++i) {
    size_t expected = 0;
    here[i] = find_or_add(here[other[i].parent], other[i].key, expected);
    if (here[i] == kNone) return false;
    nodes_[here[i]].kind.merge(other[i].kind, path_of_other);
  }
  return true;
}

namespace {

// A packed node, before its key and the start of the first value that is not a number.
struct PackedField {
  uint32_t parent = 0, key_size = 0;
  uint8_t types = 0, leaves = 0, flags = 0, rank = 0;
  int32_t depth = 0;
  int64_t sizes[kMaxRank] = {};
  uint64_t num_numbers = 0, num_texts = 0, text_line = 0, text_size = 0;
};

}  // namespace

std::string JsonFields::pack() const {
  std::string out;
  for (size_t i = 1; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    const JsonKind& kind = node.kind;
    const MostlyNumbers& counts = kind.counts;
    PackedField packed{node.parent,
                       static_cast<uint32_t>(node.key.size()),
                       kind.types,
                       kind.leaves,
                       static_cast<uint8_t>((kind.has_large ? 1 : 0) | (kind.is_uneven ? 2 : 0) |
                                            (kind.has_lists ? 4 : 0) | (counts.is_of_texts ? 8 : 0)),
                       static_cast<uint8_t>(kind.shape.rank),
                       kind.shape.depth,
                       {},
                       counts.num_numbers,
                       counts.num_texts,
                       counts.text_line,
                       counts.text.size()};
    std::ranges::copy(kind.shape.sizes, packed.sizes);
    out.append(reinterpret_cast<const char*>(&packed), sizeof packed).append(node.key).append(counts.text);
  }
  return out;
}

std::optional<JsonFields> JsonFields::unpack(std::string_view bytes) {
  JsonFields out;
  while (!bytes.empty()) {
    PackedField packed;
    if (bytes.size() < sizeof packed) return std::nullopt;
    std::memcpy(&packed, bytes.data(), sizeof packed);
    bytes.remove_prefix(sizeof packed);
    if (packed.parent >= out.size() || packed.key_size > bytes.size() || packed.flags > 15 ||
        packed.rank > kMaxRank || packed.depth < 0 || packed.depth > kMaxRank)
      return std::nullopt;
    size_t expected = 0;
    const size_t node = out.size();
    if (out.find_or_add(packed.parent, bytes.substr(0, packed.key_size), expected) != node)
      return std::nullopt;
    bytes.remove_prefix(packed.key_size);
    if (packed.text_size > bytes.size()) return std::nullopt;
    JsonKind& kind = out.nodes_[node].kind;
    kind.types = packed.types, kind.leaves = packed.leaves;
    kind.has_large = packed.flags & 1, kind.is_uneven = packed.flags & 2;
    kind.has_lists = packed.flags & 4;
    kind.shape.rank = packed.rank, kind.shape.depth = packed.depth;
    std::ranges::copy(packed.sizes, kind.shape.sizes.begin());
    kind.counts = {packed.num_numbers,
                   packed.num_texts,
                   (packed.flags & 8) != 0,
                   packed.text_line,
                   std::string(bytes.substr(0, packed.text_size)),
                   {}};
    bytes.remove_prefix(packed.text_size);
    if (std::ranges::any_of(packed.sizes, [](int64_t size) { return size < JsonShape::kUnseen; }))
      return std::nullopt;
  }
  return out;
}

}  // namespace headrace
