#include "headrace/formats/zarr/array.h"

#include <algorithm>
#include <array>

#include "headrace/core/saturate.h"

namespace headrace::zarr {
namespace {

constexpr uint64_t kMostAcross = 1 << 16;             // chunks per row
constexpr uint64_t kMostTexts = 1 << 24;              // per chunk
constexpr uint64_t kMostIndex = uint64_t{256} << 20;  // bytes of the shard indexes of a row
constexpr size_t kMostAxes = kMaxRank + 1;

Result<Dims> lengths_of(std::string_view key, const Value* list) {
  if (!list || !list->list())
    return corrupt(
        {.expected = "a list '" + std::string(key) + "'", .got = list ? list->dump().substr(0, 80) : "none"});
  if (list->list()->size() > kMostAxes)
    return Status(Code::unavailable,
                  {.expected = "at most 9 axes", .got = std::to_string(list->list()->size())});
  Dims out;
  for (const Value& dim : *list->list()) {
    if (!dim.integer() || *dim.integer() < 0)
      return corrupt(
          {.expected = "numbers >= 0 in '" + std::string(key) + "'", .got = dim.dump().substr(0, 40)});
    out.push_back(static_cast<uint64_t>(*dim.integer()));
  }
  return out;
}

Status take_separator(const Value* separator, char fallback, Array& out) {
  out.separator = fallback;
  if (!separator || separator->is_null()) return {};
  if (!separator->text() || (*separator->text() != "." && *separator->text() != "/"))
    return corrupt({.expected = "a separator of \".\" or \"/\"", .got = separator->dump().substr(0, 40)});
  out.separator = (*separator->text())[0];
  return {};
}

// Checked before products are computed.
Status check_sizes(Array& out) {
  if (out.chunk.size() != out.shape.size())
    return corrupt({.expected = "chunks of " + std::to_string(out.shape.size()) + " axes",
                    .got = std::to_string(out.chunk.size())});
  for (size_t i = 0; i < out.chunk.size(); ++i) {
    if (out.chunk[i] == 0 && out.shape[i] == 0) out.chunk[i] = 1;
    if (out.chunk[i] == 0)
      return corrupt({.expected = "chunks of at least one element along each axis", .got = "0"});
  }
  if (out.shape.empty()) return {};
  if (out.element.is_text() && out.shape.size() > 1)
    return {Code::unavailable, Mismatch{.expected = "strings along one axis",
                                        .got = std::to_string(out.shape.size()) + " axes"}};
  if (out.row_bytes() > kMostChunkBytes)
    return {Code::exhausted,
            Mismatch{.expected = "rows of at most 2 GiB", .got = std::to_string(out.row_bytes()) + " bytes"}};
  return {};
}

Status check_counts(const Array& out) {
  if (out.shape.empty()) return {};
  if (out.element.is_text() && out.cell()[0] > kMostTexts)
    return {Code::exhausted, Mismatch{.expected = "chunks of at most 16,777,216 strings",
                                      .got = std::to_string(out.cell()[0])}};
  const uint64_t each = std::max<uint64_t>(out.element.bytes, 1);
  if (saturating_mul(product(out.cell()), each) > kMostChunkBytes)
    return {Code::exhausted, Mismatch{.expected = "chunks of at most 2 GiB", .got = "larger ones"}};
  if (out.cells_across() > kMostAcross)
    return {Code::exhausted,
            Mismatch{.expected = "rows of at most 65,536 chunks", .got = std::to_string(out.cells_across())}};
  if (out.has_index()) {
    const uint64_t index =
        saturating_mul(out.chain.sharding->index_bytes(out.chunks_in_shard()), out.chunks_across());
    if (index > kMostIndex)
      return {Code::exhausted,
              Mismatch{.expected = "shard indexes of at most 256 MiB per row", .got = std::to_string(index)}};
  }
  if (saturating_mul(out.rows(), std::max<uint64_t>(out.cells_across(), 1)) > uint64_t{1} << 62)
    return {Code::exhausted, Mismatch{.expected = "at most 2^62 chunks", .got = "more"}};
  return {};
}

Status take_v2(const Value& json, Array& out) {
  if (!json.object()) return corrupt({.expected = "an object", .got = json.dump().substr(0, 80)});
  const auto member = [&](std::string_view key) {
    const Value* found = json.find(key);
    return found ? *found : Value();
  };
  if (member("zarr_format") != Value(2))
    return corrupt({.expected = "zarr_format 2", .got = member("zarr_format").dump()});
  HEADRACE_ASSIGN(out.shape, lengths_of("shape", json.find("shape")));
  HEADRACE_ASSIGN(out.chunk, lengths_of("chunks", json.find("chunks")));
  const Value filters = member("filters");
  HEADRACE_ASSIGN(out.element, element_of_v2(member("dtype"), objects_of_v2(filters)));
  HEADRACE_ASSIGN(out.fill, fill_of(out.element, member("fill_value")));
  out.has_fill = !member("fill_value").is_null();
  HEADRACE_TRY(take_separator(json.find("dimension_separator"), '.', out));
  HEADRACE_TRY(check_sizes(out));
  const Value order = member("order");
  if (order != Value("C") && order != Value("F"))
    return corrupt({.expected = "an order of \"C\" or \"F\"", .got = order.dump().substr(0, 40)});
  HEADRACE_ASSIGN(out.chain,
                  chain_of_v2(member("compressor"), filters, order == Value("F"), out.element, out.chunk));
  return check_counts(out);
}

// The configuration of {"name": …, "configuration": …}, and its name.
Result<const Value*> configuration_of(const Value& json, std::string_view key, const Value** name) {
  const Value* found = json.find(key);
  *name = found ? found->find("name") : nullptr;
  if (!*name || !(*name)->text())
    return corrupt({.expected = "'" + std::string(key) + "' with a name",
                    .got = found ? found->dump().substr(0, 80) : "none"});
  return found->find("configuration");
}

Status check_members(const Value& json) {
  static constexpr std::array<std::string_view, 13> kKnown{"zarr_format",
                                                           "node_type",
                                                           "shape",
                                                           "data_type",
                                                           "chunk_grid",
                                                           "chunk_key_encoding",
                                                           "fill_value",
                                                           "codecs",
                                                           "attributes",
                                                           "extensions",
                                                           "storage_transformers",
                                                           "dimension_names",
                                                           "consolidated_metadata"};
  for (const auto& [key, value] : *json.object()) {
    if (std::ranges::find(kKnown, key) != kKnown.end()) continue;
    const Value* must = value.find("must_understand");
    if (must && must->boolean() && !*must->boolean()) continue;
    return {Code::unavailable,
            Mismatch{.expected = "known metadata keys", .got = "'" + key.substr(0, 60) + "'"}};
  }
  const Value* transformers = json.find("storage_transformers");
  if (transformers && transformers->list() && !transformers->list()->empty())
    return {Code::unavailable,
            Mismatch{.expected = "no storage transformers", .got = transformers->dump().substr(0, 80)}};
  return {};
}

Status take_v3(const Value& json, Array& out) {
  if (!json.object()) return corrupt({.expected = "an object", .got = json.dump().substr(0, 80)});
  const Value* version = json.find("zarr_format");
  if (!version || *version != Value(3)) return corrupt("expected zarr_format 3");
  HEADRACE_TRY(check_members(json));
  HEADRACE_ASSIGN(out.shape, lengths_of("shape", json.find("shape")));
  const Value* name = nullptr;
  HEADRACE_ASSIGN(const Value* grid, configuration_of(json, "chunk_grid", &name));
  if (*name->text() != "regular")
    return {Code::unavailable,
            Mismatch{.expected = "a regular chunk grid", .got = "'" + name->text()->substr(0, 60) + "'"}};
  HEADRACE_ASSIGN(out.chunk, lengths_of("chunk_shape", grid ? grid->find("chunk_shape") : nullptr));
  const Value* type = json.find("data_type");
  HEADRACE_ASSIGN(out.element, element_of_v3(type ? *type : Value()));
  const Value* fill = json.find("fill_value");
  HEADRACE_ASSIGN(out.fill, fill_of(out.element, fill ? *fill : Value()));
  const Value* names = json.find("dimension_names");
  out.version = 3, out.has_fill = fill && !fill->is_null(), out.has_names = names && names->list();
  HEADRACE_ASSIGN(const Value* keys, configuration_of(json, "chunk_key_encoding", &name));
  if (*name->text() != "default" && *name->text() != "v2")
    return {Code::unavailable,
            Mismatch{.expected = "chunk keys default or v2", .got = "'" + name->text()->substr(0, 60) + "'"}};
  out.has_prefix = *name->text() == "default";
  HEADRACE_TRY(take_separator(keys ? keys->find("separator") : nullptr, out.has_prefix ? '/' : '.', out));
  HEADRACE_TRY(check_sizes(out));
  const Value* codecs = json.find("codecs");
  HEADRACE_ASSIGN(out.chain, chain_of_v3(codecs ? *codecs : Value(), out.element, out.chunk));
  if (out.element.is_text() && out.chain.sharding && !out.has_index())
    return {Code::unavailable, "cannot read compressed shards of strings"};
  if (out.element.is_text() && out.cell_chain().sharding)
    return {Code::unavailable, "cannot read strings in nested shards"};
  return check_counts(out);
}

template <class Take> Array made(std::string path, const Value& json, Take take) {
  Array out;
  out.path = path;
  if (Status status = take(json, out); !status.ok()) {
    out = {};
    out.path = std::move(path), out.refusal = std::move(status);
  }
  return out;
}

}  // namespace

uint64_t count_along(uint64_t length, uint64_t chunk) { return length / chunk + (length % chunk != 0); }

TensorSpec Array::spec() const {
  if (element.is_text()) return {element.dtype, Shape{kAny}};
  std::vector<int64_t> dims;
  for (size_t i = 1; i < shape.size(); ++i) dims.push_back(static_cast<int64_t>(shape[i]));
  return {element.dtype, Shape(dims)};
}

uint64_t Array::row_bytes() const {
  uint64_t out = element.bytes;
  for (size_t i = 1; i < shape.size(); ++i) out = saturating_mul(out, shape[i]);
  return out;
}

bool Array::cells_are_rows() const {
  const Chain& chain_of_cell = cell_chain();
  return std::equal(shape.begin() + 1, shape.end(), cell().begin() + 1) && chain_of_cell.is_row_major();
}

uint64_t Array::cells_across() const {
  uint64_t out = 1;
  for (size_t i = 1; i < shape.size(); ++i) out = saturating_mul(out, count_along(shape[i], cell()[i]));
  return out;
}

uint64_t Array::chunks_across() const {
  uint64_t out = 1;
  for (size_t i = 1; i < shape.size(); ++i) out = saturating_mul(out, count_along(shape[i], chunk[i]));
  return out;
}

Array array_of_v2(std::string path, const Value& json) { return made(std::move(path), json, take_v2); }
Array array_of_v3(std::string path, const Value& json) { return made(std::move(path), json, take_v3); }

std::string chunk_key(const Array& array, const Dims& at) {
  std::string out = array.has_prefix ? "c" : "";
  for (const uint64_t coordinate : at) {
    if (!out.empty()) out += array.separator;
    out += std::to_string(coordinate);
  }
  return out;
}

}  // namespace headrace::zarr
