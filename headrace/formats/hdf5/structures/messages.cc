#include "headrace/formats/hdf5/structures/messages.h"

#include <algorithm>

namespace headrace::hdf5 {
namespace {

Status version_not_read(std::string_view what, int version) {
  return not_read("version " + std::to_string(version) + " of " + std::string(what));
}

constexpr int kMostDimensions = 32;

// The last dimension is the element's size, which the datatype states too.
Status read_chunk_dimensions(Cursor& cursor, int count, int bytes, Dataset& dataset) {
  if (count < 2 || count > kMostDimensions + 1)
    return corrupt({.expected = "chunks of 1 to 32 dimensions", .got = std::to_string(count - 1)});
  dataset.storage = Storage::chunked;
  for (int i = 0; i + 1 < count; ++i) dataset.chunk.push_back(cursor.number(bytes));
  cursor.skip(static_cast<size_t>(bytes));
  return cursor.check("a layout");
}

Result<ChunkPlace> read_old_layout(Cursor& cursor, Dataset& dataset) {
  const uint8_t rank = cursor.u8(), kind = cursor.u8();
  cursor.skip(5);
  ChunkPlace out;
  if (kind != 0) out.address = cursor.address();
  if (kind == 2) {
    HEADRACE_TRY(read_chunk_dimensions(cursor, rank, 4, dataset));
    out.kind = ChunkIndex::tree;
    return out;
  }
  cursor.skip(size_t{4} * rank);
  dataset.address = out.address;
  if (kind == 0) {
    dataset.storage = Storage::compact;
    dataset.compact = cursor.text(cursor.u32());
  }
  HEADRACE_TRY(cursor.check("a layout"));
  return out;
}

Result<ChunkPlace> read_chunked(Cursor& cursor, Dataset& dataset) {
  ChunkPlace out;
  const uint8_t count = cursor.u8();
  out.kind = ChunkIndex::tree;
  out.address = cursor.address();
  HEADRACE_TRY(read_chunk_dimensions(cursor, count, 4, dataset));
  return out;
}

Result<ChunkPlace> read_chunked_4(Cursor& cursor, Dataset& dataset) {
  ChunkPlace out;
  const uint8_t flags = cursor.u8(), count = cursor.u8(), bytes = cursor.u8();
  if (bytes < 1 || bytes > 8)
    return corrupt({.expected = "chunk dimensions of 1 to 8 bytes", .got = std::to_string(bytes)});
  dataset.edges_are_plain = (flags & 1) != 0;
  HEADRACE_TRY(read_chunk_dimensions(cursor, count, bytes, dataset));
  const uint8_t kind = cursor.u8();
  constexpr ChunkIndex kinds[] = {ChunkIndex::none,        ChunkIndex::single,           ChunkIndex::implicit,
                                  ChunkIndex::fixed_array, ChunkIndex::extensible_array, ChunkIndex::tree2};
  if (kind < 1 || kind > 5) return not_read("chunk index " + std::to_string(kind));
  out.kind = kinds[kind];
  if (out.kind == ChunkIndex::single && (flags & 2) != 0) {
    out.single_size = cursor.length();
    out.single_mask = cursor.u32();
  }
  constexpr size_t parameters[] = {0, 0, 0, 1, 5, 6};  // repeated in the index itself
  cursor.skip(parameters[kind]);
  out.address = cursor.address();
  HEADRACE_TRY(cursor.check("a layout"));
  return out;
}

}  // namespace

Status read_dataspace(Cursor cursor, Dataset& dataset) {
  const uint8_t version = cursor.u8(), rank = cursor.u8(), flags = cursor.u8();
  if (version != 1 && version != 2) return version_not_read("dataspaces", version);
  const uint8_t kind = cursor.u8();  // in version 2; reserved before
  if (version == 1) cursor.skip(4);
  if (rank > kMostDimensions)
    return corrupt({.expected = "at most 32 dimensions", .got = std::to_string(rank)});
  if (version == 2 && kind == 2) return cursor.check("a dataspace");
  for (int i = 0; i < rank; ++i) dataset.dims.push_back(cursor.length());
  dataset.max_dims = dataset.dims;
  if ((flags & 1) != 0)
    for (uint64_t& dim : dataset.max_dims) {
      dim = cursor.length();
      if (cursor.ok() && dim == kNowhere >> (64 - 8 * cursor.sizes().length)) dim = kNowhere;
    }
  return cursor.check("a dataspace");
}

Result<ChunkPlace> read_layout(Cursor cursor, Dataset& dataset) {
  const uint8_t version = cursor.u8();
  if (version < 1 || version > 5) return version_not_read("layouts", version);
  if (version < 3) return read_old_layout(cursor, dataset);
  const uint8_t kind = cursor.u8();
  switch (kind) {
    case 0:
      dataset.storage = Storage::compact;
      dataset.compact = cursor.text(cursor.u16());
      break;
    case 1: dataset.address = cursor.address(); break;
    case 2: return version == 3 ? read_chunked(cursor, dataset) : read_chunked_4(cursor, dataset);
    case 3: return Status(Code::unavailable, "cannot read virtual datasets, whose data is in other files");
    default: return corrupt({.expected = "a layout of 0 to 3", .got = std::to_string(kind)});
  }
  HEADRACE_TRY(cursor.check("a layout"));
  return ChunkPlace{};
}

Result<std::vector<Filter>> read_filters(Cursor cursor) {
  const uint8_t version = cursor.u8(), count = cursor.u8();
  if (version != 1 && version != 2) return version_not_read("filter pipelines", version);
  if (version == 1) cursor.skip(6);
  if (count > 32) return corrupt({.expected = "at most 32 filters", .got = std::to_string(count)});
  std::vector<Filter> out(count);
  for (Filter& filter : out) {
    filter.id = cursor.u16();
    const bool has_name = version == 1 || filter.id >= 256;
    const uint16_t name = has_name ? cursor.u16() : uint16_t{0};
    cursor.skip(2);  // whether it is optional; each chunk states if it was skipped
    const uint16_t values = cursor.u16();
    cursor.skip(version == 1 ? (name + 7u) / 8 * 8 : name);
    if (values > cursor.left() / 4) cursor.skip(cursor.left() + 1);
    for (int i = 0; i < values && cursor.ok(); ++i) filter.values.push_back(cursor.u32());
    if (version == 1 && values % 2 == 1) cursor.skip(4);
  }
  HEADRACE_TRY(cursor.check("a filter pipeline"));
  return out;
}

Result<std::string> read_fill(Cursor cursor, bool is_old) {
  bool is_set = true;
  if (!is_old) {
    const uint8_t version = cursor.u8();
    if (version < 1 || version > 3) return version_not_read("fill values", version);
    if (version == 3) {
      is_set = (cursor.u8() & 32) != 0;
    } else {
      cursor.skip(2);
      is_set = cursor.u8() != 0 || version == 1;
    }
  }
  if (!is_set) return std::string();
  const uint32_t size = cursor.u32();
  if (size == 0 || size == ~uint32_t{0}) return std::string();
  std::string out(cursor.text(size));
  HEADRACE_TRY(cursor.check("a fill value"));
  return out;
}

Result<Link> read_link(Cursor cursor) {
  const uint8_t version = cursor.u8(), flags = cursor.u8();
  if (version != 1) return version_not_read("links", version);
  const uint8_t kind = (flags & 8) != 0 ? cursor.u8() : uint8_t{0};
  if ((flags & 4) != 0) cursor.skip(8);   // creation order
  if ((flags & 16) != 0) cursor.skip(1);  // character set
  Link out;
  out.name = cursor.text(cursor.number(1 << (flags & 3)));
  if (kind == 0) {
    out.address = cursor.address();
  } else if (kind == 1) {
    out.kind = Link::Kind::soft;
    out.target = cursor.text(cursor.u16());
  } else {
    out.kind = kind == 64 ? Link::Kind::external : Link::Kind::other;
  }
  HEADRACE_TRY(cursor.check("a link"));
  return out;
}

}  // namespace headrace::hdf5
