#include "headrace/formats/hdf5/structures/contents.h"

#include <algorithm>
#include <bit>

#include "headrace/core/saturate.h"

namespace headrace::hdf5 {
namespace {

constexpr uint64_t kMostRows = uint64_t{1} << 48;
constexpr uint64_t kMostBytes = uint64_t{2} << 30;  // of a row, or of a chunk
constexpr uint64_t kFreeRow = uint64_t{256} << 20;  // of a row, whatever the size of the file
constexpr uint64_t kMostRowRatio = 1100;            // deflate's is at most 1032

bool within(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

uint64_t product(const std::vector<uint64_t>& dims, size_t from, uint64_t out) {
  for (size_t i = from; i < dims.size(); ++i) out = saturating_mul(out, dims[i]);
  return out;
}

Status check_leaf(const Leaf& leaf, const Dataset& dataset) {
  if (!within(leaf.offset, leaf.bytes, dataset.element))
    return corrupt(
        {.expected = "member '" + leaf.name + "' within its " + std::to_string(dataset.element) + " bytes",
         .got = std::to_string(leaf.bytes) + " at " + std::to_string(leaf.offset)});
  uint64_t bytes = size_of(leaf.dtype);
  for (const int64_t dim : leaf.item)
    bytes = dim < 0 ? kNowhere : saturating_mul(bytes, static_cast<uint64_t>(dim));
  if (leaf.is_vlen() ? bytes == 0 || bytes > kMostBytes : leaf.form != Form::text && bytes != leaf.bytes)
    return corrupt({.expected = "values that fill member '" + leaf.name + "'",
                    .got = std::to_string(bytes) + " bytes for " + std::to_string(leaf.bytes)});
  if (!leaf.places.empty() && leaf.places.size() != dataset.rows())
    return corrupt("expected a place for each of " + std::to_string(dataset.rows()) + " rows");
  return {};
}

Status check_chunks(const Dataset& dataset, uint64_t file_size) {
  if (dataset.chunk.size() != dataset.dims.size())
    return corrupt({.expected = "chunks of " + std::to_string(dataset.dims.size()) + " dimensions",
                    .got = std::to_string(dataset.chunk.size())});
  if (std::ranges::find(dataset.chunk, 0u) != dataset.chunk.end())
    return corrupt("expected chunks without a dimension of 0");
  if (product(dataset.chunk, 0, dataset.element) > kMostBytes)
    return {Code::exhausted, "expected chunks of at most 2 GiB"};
  uint64_t count = 1;
  for (size_t i = 0; i < dataset.dims.size(); ++i)
    count =
        saturating_mul(count, dataset.dims[i] / dataset.chunk[i] + (dataset.dims[i] % dataset.chunk[i] != 0));
  if (count >= kNowhere / 2) return corrupt("the number of chunks overflows");
  for (size_t i = 0; i < dataset.chunks.size(); ++i) {
    const Chunk& chunk = dataset.chunks[i];
    if (!within(chunk.address, chunk.size, file_size))
      return corrupt({.expected = "chunk " + std::to_string(chunk.index) + " inside the file of " +
                                  std::to_string(file_size) + " bytes",
                      .got = std::to_string(chunk.size) + " bytes at byte " + std::to_string(chunk.address)});
    if (chunk.index >= count)
      return corrupt({.expected = "one of " + std::to_string(count) + " chunks",
                      .got = "number " + std::to_string(chunk.index)});
    if (i > 0 && chunk.index <= dataset.chunks[i - 1].index)
      return corrupt(
          {.expected = "each chunk once", .got = "chunk " + std::to_string(chunk.index) + " twice"});
  }
  return {};
}

}  // namespace

uint64_t Leaf::item_bytes() const {
  uint64_t out = size_of(dtype);
  for (const int64_t dim : item) out *= static_cast<uint64_t>(dim);
  return out;
}

uint64_t Dataset::row_elements() const { return product(dims, 1, 1); }
uint64_t Dataset::chunk_bytes() const { return product(chunk, 0, element); }
bool Dataset::is_dimension() const {
  return text_attribute(attributes, "NAME")
      .starts_with("This is a netCDF dimension but not a netCDF variable");
}
bool Dataset::has_vlen() const { return std::ranges::any_of(leaves, &Leaf::is_vlen); }

const Name* Contents::find(std::string_view path) const {
  const auto at =
      std::ranges::lower_bound(names, path, {}, [](const Name& n) { return std::string_view(n.path); });
  return at != names.end() && at->path == path ? &*at : nullptr;
}

Status check(const Dataset& dataset, uint64_t file_size) {
  if (!dataset.has_rows()) return {};
  if (dataset.element == 0) return corrupt("expected elements of at least one byte");
  if (dataset.rows() > kMostRows) return corrupt({.expected = "fewer than 2^48 rows", .got = "more"});
  const uint64_t row = product(dataset.dims, 1, dataset.element);
  if (row > kMostBytes || (row > kFreeRow && row / kMostRowRatio > file_size))
    return {Code::exhausted,
            Mismatch{.expected = "rows of at most 2 GiB, and at most 256 MiB or 1100 times the file",
                     .got = std::to_string(row) + " bytes"}};
  for (const Leaf& leaf : dataset.leaves) HEADRACE_TRY(check_leaf(leaf, dataset));
  if (!dataset.fill.empty() && dataset.fill.size() != dataset.element)
    return corrupt({.expected = "a fill value of " + std::to_string(dataset.element) + " bytes",
                    .got = std::to_string(dataset.fill.size())});
  const uint64_t all = saturating_mul(row, dataset.rows());
  if (!dataset.kept.empty() && dataset.kept.size() != all)
    return corrupt("expected " + std::to_string(all) + " bytes of kept rows");
  switch (dataset.storage) {
    case Storage::compact:
      if (dataset.compact.size() < all)
        return corrupt({.expected = std::to_string(all) + " bytes in its header",
                        .got = std::to_string(dataset.compact.size())});
      return {};
    case Storage::contiguous:
      if (dataset.address != kNowhere && !within(dataset.address, all, file_size))
        return corrupt("expected " + std::to_string(all) + " bytes at byte " +
                       std::to_string(dataset.address) + ", but the file has " + std::to_string(file_size));
      return {};
    case Storage::chunked: return check_chunks(dataset, file_size);
  }
  return corrupt("expected compact, contiguous or chunked storage");
}

namespace {

class Packer {
 public:
  void number(uint64_t number) { out.append(reinterpret_cast<const char*>(&number), sizeof number); }
  void text(std::string_view text) {
    number(text.size());
    out += text;
  }
  void status(const Status& status) {
    number(static_cast<uint64_t>(status.code()));
    if (!status.ok()) text(status.text());
  }
  template <class T> void numbers(const std::vector<T>& list) {
    number(list.size());
    for (const T value : list) number(static_cast<uint64_t>(value));
  }
  void leaf(const Leaf& leaf) {
    text(leaf.name);
    for (const uint64_t value : {leaf.offset, leaf.bytes, uint64_t(leaf.form), uint64_t(leaf.dtype),
                                 uint64_t(leaf.swaps), uint64_t(leaf.padding)})
      number(value);
    numbers(leaf.item);
    status(leaf.refusal), text(leaf.members);
    text({reinterpret_cast<const char*>(leaf.places.data()), leaf.places.size() * sizeof(uint32_t)});
  }
  void dataset(const Dataset& dataset) {
    numbers(dataset.dims), number(dataset.element), number(dataset.leaves.size());
    for (const Leaf& one : dataset.leaves) leaf(one);
    text(dataset.fill), number(static_cast<uint64_t>(dataset.storage)), text(dataset.compact);
    number(dataset.address), numbers(dataset.chunk), number(dataset.filters.size());
    for (const Filter& filter : dataset.filters) number(filter.id), numbers(filter.values);
    number(dataset.edges_are_plain), number(dataset.chunks.size());
    for (const Chunk& chunk : dataset.chunks)
      number(chunk.index), number(chunk.address), number(chunk.size), number(chunk.mask);
    text(dataset.kept), status(dataset.refusal);
    attributes(dataset.attributes), status(dataset.attributes_refusal);
  }
  void attributes(const std::vector<Attribute>& all) {
    number(all.size());
    for (const Attribute& one : all) {
      text(one.name), number(static_cast<uint64_t>(one.dtype)), number(one.is_single);
      number(one.texts.size());
      for (const std::string& value : one.texts) text(value);
      number(one.numbers.size());
      for (const AttributeNumber& value : one.numbers) {
        number(value.index());
        number(std::visit([](auto bits) { return std::bit_cast<uint64_t>(bits); }, value));
      }
    }
  }
  std::string out;
};

// Returns zeros from the first invalid byte on; is_sound() is then false.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : cursor_(std::as_bytes(std::span(bytes))) {}
  bool is_sound() const { return is_sound_ && cursor_.ok(); }
  bool at_end() const { return cursor_.left() == 0; }

  uint64_t number() { return cursor_.u64(); }
  uint64_t below(uint64_t limit) {
    const uint64_t out = number();
    if (out >= limit) is_sound_ = false;
    return out < limit ? out : 0;
  }
  uint64_t count() { return below(cursor_.left() / 8 + 1); }  // of items of at least eight bytes
  std::string text() { return std::string(cursor_.text(number())); }
  Status status() {
    const auto code = static_cast<Code>(below(static_cast<uint64_t>(Code::internal) + 1));
    return code == Code::ok ? Status() : Status(code, text());
  }
  template <class T> std::vector<T> numbers() {
    std::vector<T> out(count());
    for (T& value : out) value = static_cast<T>(number());
    return out;
  }
  Leaf leaf() {
    Leaf out;
    out.name = text(), out.offset = number(), out.bytes = number();
    out.form = static_cast<Form>(below(5)), out.dtype = static_cast<DType>(below(kDTypes));
    out.swaps = below(2) != 0, out.padding = static_cast<uint8_t>(below(256));
    out.item = numbers<int64_t>(), out.refusal = status(), out.members = text();
    const std::string_view places = cursor_.text(number());
    out.places.resize(places.size() / sizeof(uint32_t));
    if (!places.empty()) std::memcpy(out.places.data(), places.data(), out.places.size() * sizeof(uint32_t));
    if (out.item.size() > kMaxRank) is_sound_ = false;
    return out;
  }
  Dataset dataset() {
    Dataset out;
    out.dims = numbers<uint64_t>(), out.element = number();
    out.leaves.resize(count());
    for (Leaf& one : out.leaves) one = leaf();
    out.fill = text(), out.storage = static_cast<Storage>(below(3)), out.compact = text();
    out.address = number(), out.chunk = numbers<uint64_t>(), out.filters.resize(count());
    for (Filter& filter : out.filters) {
      filter.id = static_cast<uint16_t>(below(65536));
      filter.values = numbers<uint32_t>();
    }
    out.edges_are_plain = below(2) != 0, out.chunks.resize(count());
    for (Chunk& chunk : out.chunks) {
      chunk.index = number(), chunk.address = number(), chunk.size = number();
      chunk.mask = static_cast<uint32_t>(number());
    }
    out.kept = text(), out.refusal = status();
    out.attributes = attributes(), out.attributes_refusal = status();
    return out;
  }
  std::vector<Attribute> attributes() {
    std::vector<Attribute> out(count());
    for (Attribute& one : out) {
      one.name = text(), one.dtype = static_cast<DType>(below(kDTypes)), one.is_single = below(2) != 0;
      one.texts.resize(count());
      for (std::string& value : one.texts) value = text();
      one.numbers.resize(count());
      for (AttributeNumber& value : one.numbers) {
        const uint64_t kind = below(3), bits = number();
        if (kind == 0) value = std::bit_cast<int64_t>(bits);
        if (kind == 1) value = bits;
        if (kind == 2) value = std::bit_cast<double>(bits);
      }
      if (!is_sound()) return {};
    }
    return out;
  }

 private:
  Cursor cursor_;
  bool is_sound_ = true;
};

// Rows with references must be in memory, unless there are none or all are fill values.
bool is_kept_as_needed(const Dataset& dataset) {
  if (!dataset.has_rows() || !dataset.has_vlen() || dataset.row_elements() != 1 || dataset.rows() == 0)
    return true;
  return !dataset.kept.empty() || dataset.storage == Storage::compact ||
         (dataset.storage == Storage::contiguous && dataset.address == kNowhere);
}

}  // namespace

std::string pack(const Contents& contents) {
  Packer packer;
  packer.number(static_cast<uint64_t>(contents.address_bytes));
  packer.number(static_cast<uint64_t>(contents.length_bytes)), packer.number(contents.base);
  packer.text(contents.about), packer.number(contents.is_netcdf), packer.attributes(contents.attributes);
  packer.number(contents.datasets.size());
  for (const Dataset& dataset : contents.datasets) packer.dataset(dataset);
  packer.number(contents.names.size());
  for (const Name& name : contents.names) {
    packer.text(name.path), packer.number(name.dataset);
    packer.status(name.refusal);
  }
  return std::move(packer.out);
}

Result<Contents> unpack(std::string_view bytes, uint64_t file_size) {
  const Status damaged = corrupt({.expected = "the index as it was stored", .got = "other bytes"});
  Unpacker unpacker(bytes);
  Contents out;
  out.address_bytes = static_cast<int>(unpacker.below(9)),
  out.length_bytes = static_cast<int>(unpacker.below(9));
  out.base = unpacker.number();
  out.about = unpacker.text();
  out.is_netcdf = unpacker.below(2) != 0, out.attributes = unpacker.attributes();
  out.datasets.resize(unpacker.count());
  for (Dataset& dataset : out.datasets) {
    if (!unpacker.is_sound()) return damaged;
    dataset = unpacker.dataset();
  }
  out.names.resize(unpacker.count());
  for (Name& name : out.names) {
    name.path = unpacker.text(), name.dataset = unpacker.number(), name.refusal = unpacker.status();
    if (name.refusal.ok() && name.dataset >= out.datasets.size()) return damaged;
  }
  if (!unpacker.is_sound() || !unpacker.at_end() || !std::ranges::is_sorted(out.names, {}, &Name::path))
    return damaged;
  for (const Dataset& dataset : out.datasets)
    if (dataset.refusal.ok() && (!check(dataset, file_size).ok() || !is_kept_as_needed(dataset)))
      return damaged;
  return out;
}

}  // namespace headrace::hdf5
