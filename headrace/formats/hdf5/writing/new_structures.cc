#include "headrace/formats/hdf5/writing/new_structures.h"

#include <algorithm>

#include "headrace/formats/hdf5/structures/checksum.h"
#include "headrace/formats/hdf5/structures/messages.h"

namespace headrace::hdf5 {
namespace {

constexpr uint16_t kGroupInfo = 10;
constexpr uint64_t kTreeEntries = 64;  // per node; the default of files that state no other number

std::string with_checksum(NewBytes bytes) {
  const uint32_t checksum = lookup3(std::as_bytes(std::span(bytes.get())));
  return bytes.number(checksum, 4).get();
}

struct NewMessage {
  uint16_t type = 0;
  std::string body;
};

std::string header(const std::vector<NewMessage>& messages) {
  NewBytes all;
  for (const NewMessage& message : messages)
    all.number(message.type, 1).number(message.body.size(), 2).number(0, 1).text(message.body);
  return with_checksum(
      NewBytes().text("OHDR").number(2, 1).number(2, 1).number(all.size(), 4).text(all.get()));
}

std::string type_head(int type, int version, uint32_t bits, uint64_t size) {
  return NewBytes()
      .number(static_cast<uint64_t>(version << 4 | type), 1)
      .number(bits, 3)
      .number(size, 4)
      .get();
}

std::string integer_type(uint64_t size, bool is_signed) {
  return type_head(0, 1, is_signed ? 8 : 0, size) + NewBytes().number(0, 2).number(8 * size, 2).get();
}

std::string float_type(uint64_t size, uint32_t exponent, uint32_t mantissa) {
  const uint64_t bias = (uint64_t{1} << (exponent - 1)) - 1;
  const auto sign = static_cast<uint32_t>(8 * size - 1);
  NewBytes out;
  out.text(type_head(1, 1, 0x20 | sign << 8, size)).number(0, 2).number(8 * size, 2);
  out.number(mantissa, 1).number(exponent, 1).number(0, 1).number(mantissa, 1).number(bias, 4);
  return out.get();
}

// As h5py writes it.
std::string boolean_type() {
  NewBytes out;
  out.text(type_head(8, 3, 2, 1)).text(integer_type(1, true));
  return out.text({"FALSE\0TRUE\0", 11}).number(0, 1).number(1, 1).get();
}

std::string number_type(DType dtype) {
  switch (dtype) {
    case DType::boolean: return boolean_type();
    case DType::f16: return float_type(2, 5, 10);
    case DType::bf16: return float_type(2, 8, 7);
    case DType::f32: return float_type(4, 8, 23);
    case DType::f64: return float_type(8, 11, 52);
    default: return integer_type(size_of(dtype), dtype >= DType::i8 && dtype <= DType::i64);
  }
}

std::string array_type(DType dtype, std::span<const int64_t> dims) {
  if (dims.empty()) return number_type(dtype);
  NewBytes out;
  out.text(type_head(10, 3, 0, Shape(dims).size_bytes(dtype))).number(dims.size(), 1);
  for (const int64_t dim : dims) out.number(static_cast<uint64_t>(dim), 4);
  return out.text(number_type(dtype)).get();
}

std::string type_of(const TensorSpec& spec) {
  constexpr uint32_t kText = 1, kUtf8 = 1;
  if (spec.dtype == DType::str)
    return type_head(9, 1, kText | kUtf8 << 8, kReferenceBytes) + type_head(3, 1, kUtf8 << 4, 1);
  if (!is_run(spec)) return number_type(spec.dtype);
  const DType item = spec.dtype == DType::bytes ? DType::u8 : spec.dtype;
  return type_head(9, 1, 0, kReferenceBytes) +
         array_type(item, spec.shape.dims().subspan(spec.shape.rank() > 0));
}

// Dimensions of a dataset with this many rows.
std::vector<uint64_t> dims_of(const NewDataset& dataset, uint64_t rows) {
  std::vector<uint64_t> out{rows};
  if (!is_run(dataset.spec))
    for (const int64_t dim : dataset.spec.shape.dims()) out.push_back(static_cast<uint64_t>(dim));
  return out;
}

uint64_t element_bytes(const TensorSpec& spec) {
  return is_run(spec) ? kReferenceBytes : size_of(spec.dtype);
}

std::string layout_of(const NewDataset& dataset) {
  NewBytes out;
  if (dataset.chunk_rows == 0)
    return out.number(3, 1)
        .number(1, 1)
        .number(dataset.address, 8)
        .number(dataset.rows * stored_row_bytes(dataset.spec), 8)
        .get();
  const std::vector<uint64_t> dims = dims_of(dataset, dataset.chunk_rows);
  out.number(3, 1).number(2, 1).number(dims.size() + 1, 1).number(dataset.address, 8);
  for (const uint64_t dim : dims) out.number(dim, 4);
  return out.number(element_bytes(dataset.spec), 4).get();
}

std::string filters_of(const NewDataset& dataset) {
  constexpr uint64_t kDeflate = 1, kShuffle = 2;
  const uint64_t element = element_bytes(dataset.spec);
  NewBytes out;
  out.number(2, 1).number(element > 1 ? 2 : 1, 1);
  if (element > 1) out.number(kShuffle, 2).number(1, 2).number(1, 2).number(element, 4);
  return out.number(kDeflate, 2)
      .number(1, 2)
      .number(1, 2)
      .number(static_cast<uint64_t>(dataset.gzip_level), 4)
      .get();
}

std::string about_message(std::string_view about) {
  const std::string type = type_head(3, 1, 1 | 1 << 4, about.size());  // padded with NULs, UTF-8
  const std::string space = NewBytes().number(2, 1).number(0, 1).number(0, 1).number(0, 1).get();
  NewBytes out;
  out.number(3, 1)
      .number(0, 1)
      .number(kAboutName.size() + 1, 2)
      .number(type.size(), 2)
      .number(space.size(), 2);
  return out.number(0, 1).text(kAboutName).number(0, 1).text(type).text(space).text(about).get();
}

}  // namespace

bool is_run(const TensorSpec& spec) {
  return is_text(spec.dtype) || (spec.shape.rank() > 0 && spec.shape[0] == kAny);
}

uint64_t stored_row_bytes(const TensorSpec& spec) {
  return is_run(spec) ? kReferenceBytes : spec.shape.size_bytes(spec.dtype);
}

std::string dataset_header(const NewDataset& dataset) {
  NewBytes space;
  const std::vector<uint64_t> dims = dims_of(dataset, dataset.rows);
  space.number(2, 1).number(dims.size(), 1).number(0, 1).number(1, 1);
  for (const uint64_t dim : dims) space.number(dim, 8);
  const uint64_t when = dataset.chunk_rows == 0 ? 2 : 3;  // late or incremental space allocation
  std::vector<NewMessage> messages = {{kDataspace, space.get()},
                                      {kDatatype, type_of(dataset.spec)},
                                      {kFill, NewBytes().number(3, 1).number(8 | when, 1).get()},
                                      {kLayout, layout_of(dataset)}};
  if (dataset.gzip_level > 0) messages.push_back({kFilters, filters_of(dataset)});
  return header(messages);
}

std::string group_header(const std::vector<NewLink>& links, std::string_view about) {
  std::vector<NewMessage> messages = {
      {kLinkInfo, NewBytes().number(0, 2).number(kNowhere, 8).number(kNowhere, 8).get()},
      {kGroupInfo, NewBytes().number(0, 2).get()}};
  for (const NewLink& link : links)  // the name's length in two bytes, UTF-8
    messages.push_back({kLink, NewBytes()
                                   .number(1, 1)
                                   .number(16 | 1, 1)
                                   .number(1, 1)
                                   .number(link.name.size(), 2)
                                   .text(link.name)
                                   .number(link.address, 8)
                                   .get()});
  if (!about.empty()) messages.push_back({kAttribute, about_message(about)});
  return header(messages);
}

std::string new_superblock(uint64_t root, uint64_t end) {
  NewBytes out;
  out.text({"\x89HDF\r\n\x1a\n", 8}).number(2, 1).number(8, 1).number(8, 1).number(0, 1);
  return with_checksum(out.number(0, 8).number(kNowhere, 8).number(end, 8).number(root, 8));
}

std::string chunk_tree(const std::vector<NewChunk>& chunks, uint64_t chunk_rows, int rank, uint64_t address,
                       uint64_t* root) {
  const uint64_t key = 8 + 8 * static_cast<uint64_t>(rank + 1);
  const uint64_t node_bytes = 24 + kTreeEntries * 8 + (kTreeEntries + 1) * key;
  const auto put_key = [&](NewBytes& out, uint64_t chunk) {
    out.number(chunk < chunks.size() ? chunks[chunk].size : 0, 4).number(0, 4).number(chunk * chunk_rows, 8);
    for (int i = 0; i < rank; ++i) out.number(0, 8);
  };
  std::string out;
  std::vector<uint64_t> children;  // of the current level
  for (const NewChunk& chunk : chunks) children.push_back(chunk.address);
  uint64_t below = 1;  // chunks below each child
  for (int level = 0;; ++level, below *= kTreeEntries) {
    const uint64_t begin = address + out.size(), count = (children.size() + kTreeEntries - 1) / kTreeEntries;
    std::vector<uint64_t> nodes;
    for (uint64_t n = 0; n < count; ++n) {
      const uint64_t first = n * kTreeEntries,
                     last = std::min<uint64_t>(first + kTreeEntries, children.size());
      NewBytes node;
      node.text("TREE").number(1, 1).number(static_cast<uint64_t>(level), 1).number(last - first, 2);
      node.number(n == 0 ? kNowhere : begin + (n - 1) * node_bytes, 8);
      node.number(n + 1 == count ? kNowhere : begin + (n + 1) * node_bytes, 8);
      for (uint64_t i = first; i < last; ++i) {
        put_key(node, i * below);
        node.number(children[i], 8);
      }
      put_key(node, std::min<uint64_t>(last * below, chunks.size()));
      nodes.push_back(begin + n * node_bytes);
      out += node.get();
      out.resize((n + 1) * node_bytes + (begin - address));
    }
    children = std::move(nodes);
    if (count == 1) break;
  }
  *root = children[0];
  return out;
}

}  // namespace headrace::hdf5
