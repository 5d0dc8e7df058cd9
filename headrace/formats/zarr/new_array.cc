#include "headrace/formats/zarr/new_array.h"

#include <zstd.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

#include "headrace/codecs/crc32c.h"
#include "headrace/codecs/deflate/deflate.h"
#include "headrace/core/saturate.h"
#include "headrace/core/text/text.h"
#include "headrace/io/file_system.h"

namespace headrace::zarr {
namespace {

constexpr uint64_t kChunkBytes = 64 << 10;            // approximate size of a chunk,
constexpr uint64_t kShardBytes = uint64_t{64} << 20;  // and of a shard
constexpr uint64_t kMostShardChunks = 1024;
constexpr uint64_t kMostWritten = uint64_t{2} << 30;   // bytes of a row,
constexpr uint64_t kMostChunk = uint64_t{256} << 20;   // and of a chunk of several rows: the limit of readers
constexpr uint64_t kCollected = 4 << 20;               // bytes of strings before chunk_rows_ is chosen,
constexpr uint64_t kMostTextRows = 4 << 10;            // at most this, so that strings of 64 KiB always fit,
constexpr uint64_t kMostChosen = uint64_t{128} << 20;  // and at most this even if all were the longest

// Calls `each` with each string of `collected`, where each follows its length.
template <class Each> Status for_each_text(std::string_view collected, Each each) {
  while (!collected.empty()) {
    uint32_t length = 0;
    std::memcpy(&length, collected.data(), sizeof length);
    HEADRACE_TRY(each(collected.substr(sizeof length, length)));
    collected.remove_prefix(sizeof length + length);
  }
  return {};
}

// Rows per chunk for such strings: by their mean, but so that no chunk of them is much larger than others,
// for instance when short ones come first, and so that no chunk becomes too large with strings like the
// longest.
uint64_t text_chunk_rows(std::string_view collected, uint64_t count) {
  std::vector<uint64_t> sizes;
  sizes.reserve(count);
  const Status walked = for_each_text(collected, [&](std::string_view text) {
    sizes.push_back(sizeof(uint32_t) + text.size());
    return Status();
  });
  assert(walked.ok());
  const uint64_t longest = *std::ranges::max_element(sizes);
  const uint64_t most = std::min(kMostTextRows, std::max<uint64_t>(kMostChosen / longest, 1));
  const uint64_t largest_chunk = std::max(16 * kChunkBytes, 2 * longest);
  const auto fits = [&](uint64_t rows) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      bytes = (i % rows == 0 ? 0 : bytes) + sizes[i];
      if (bytes > largest_chunk) return false;
    }
    return true;
  };
  uint64_t rows = std::clamp<uint64_t>(kChunkBytes * count / collected.size(), 1, most);
  while (rows > 1 && !fits(rows)) rows /= 2;
  return rows;
}

uint64_t chunks_of_shard(uint64_t chunk_bytes) {
  return std::clamp<uint64_t>(kShardBytes / std::max<uint64_t>(chunk_bytes, 1), 1, kMostShardChunks);
}

std::string_view v3_name(DType dtype) {
  constexpr std::string_view names[kDTypes] = {
      "bool",  "uint8", "uint16",  "uint32", "uint64",  "int8",    "int16",
      "int32", "int64", "float16", "",       "float32", "float64", "variable_length_bytes",
      "string"};
  return names[static_cast<size_t>(dtype)];
}

Value named(std::string_view name, Value::Object configuration = {}) {
  return Value::Object{{"name", name}, {"configuration", std::move(configuration)}};
}

void append_u32(uint64_t number, std::string& out) {
  const auto value = static_cast<uint32_t>(number);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

Value fill_value(DType dtype) {
  if (is_text(dtype)) return "";
  if (dtype == DType::boolean) return false;
  return is_float(dtype) ? Value(0.0) : Value(0);
}

}  // namespace

Status NewArray::check(const TensorSpec& spec, const NewOptions& options) {
  if (v3_name(spec.dtype).empty())
    return invalid("zarr has no data type for " + std::string(dtype_name(spec.dtype)) +
                   "; cast it to another dtype");
  if (is_text(spec.dtype)) return {};
  if (!spec.shape.is_static())
    return invalid("zarr arrays need a fixed shape, got " + spec.text() +
                   "; resize or pad them, or write Arrow or HDF5, which support varying shapes");
  if (spec.size_bytes() > kMostWritten)
    return invalid("zarr rows can have at most 2 GiB, got " + std::to_string(spec.size_bytes()) + " bytes");
  if (options.chunk_rows > 1 && saturating_mul(options.chunk_rows, spec.size_bytes()) > kMostChunk)
    return invalid("zarr chunks can have at most 256 MiB, which is " +
                   std::to_string(std::max<uint64_t>(kMostChunk / spec.size_bytes(), 1)) +
                   " rows, got rows_per_chunk=" + std::to_string(options.chunk_rows));
  return {};
}

NewArray::NewArray(std::string folder, const TensorSpec& spec, const NewOptions& options)
    : folder_(std::move(folder)), spec_(spec), options_(options) {
  if (!is_text(spec.dtype)) row_bytes_ = spec.size_bytes();
  if (options.chunk_rows > 0)
    chunk_rows_ = options.chunk_rows;
  else if (!is_text(spec.dtype))
    chunk_rows_ = std::max<uint64_t>(kChunkBytes / std::max<uint64_t>(row_bytes_, 1), 1);
}

Status NewArray::check_value(const View& value) const {
  if (!is_text(value.dtype)) return {};
  const uint64_t size = value.size_bytes() + sizeof(uint32_t);
  if (size >= kMostWritten - sizeof(uint32_t))
    return invalid("zarr strings must be smaller than 2 GiB, got " + std::to_string(value.size_bytes()) +
                   " bytes in row " + std::to_string(rows_));
  if (chunk_rows_ <= 1 || waiting_.size() + size <= kMostChunk) return {};
  return invalid("zarr chunks can have at most 256 MiB, got " + std::to_string(waiting_.size() + size) +
                 " bytes with row " + std::to_string(rows_) + "; instead of " + std::to_string(chunk_rows_) +
                 " set rows_per_chunk=" + std::to_string(std::max<uint64_t>(kMostChosen / size, 1)) +
                 " or so");
}

Status NewArray::add(const View& value) {
  ++rows_;
  return add_row({reinterpret_cast<const char*>(value.data), value.size_bytes()});
}

Status NewArray::add_row(std::string_view bytes) {
  if (is_text(spec_.dtype)) append_u32(bytes.size(), waiting_);
  waiting_.append(bytes);
  ++waiting_rows_;
  if (chunk_rows_ == 0) return waiting_.size() < kCollected ? Status() : choose_chunk_rows();
  return waiting_rows_ == chunk_rows_ ? end_chunk() : Status();
}

// The number of rows is final: a grid is regular, even if the first strings are unlike all others.
Status NewArray::choose_chunk_rows() {
  const std::string collected = std::exchange(waiting_, {});
  const uint64_t count = std::exchange(waiting_rows_, 0);
  chunk_rows_ = text_chunk_rows(collected, count);
  shard_chunks_ = chunks_of_shard(saturating_mul(collected.size(), chunk_rows_) / count);
  return for_each_text(collected, [&](std::string_view text) { return add_row(text); });
}

Result<std::string> NewArray::packed(std::string_view bytes) const {
  if (options_.packing == NewPacking::none) return std::string(bytes);
  std::string out;
  if (options_.packing == NewPacking::gzip) {
    Deflater deflater(DeflateWrap::gzip, options_.level);
    const auto take = [&](std::span<const std::byte> piece) {
      out.append(reinterpret_cast<const char*>(piece.data()), piece.size());
      return Status();
    };
    HEADRACE_TRY(deflater.feed(text_bytes(bytes), take));
    HEADRACE_TRY(deflater.finish(take));
    return out;
  }
  thread_local const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                                ZSTD_freeCCtx);
  out.resize(ZSTD_compressBound(bytes.size()));
  const size_t size = context ? ZSTD_compressCCtx(context.get(), out.data(), out.size(), bytes.data(),
                                                  bytes.size(), options_.level)
                              : 0;
  if (!context || ZSTD_isError(size)) return Status(Code::exhausted, "no memory to compress a chunk");
  out.resize(size);
  return out;
}

Status NewArray::end_chunk() {
  if (options_.shard_rows > 0)
    shard_chunks_ = std::max<uint64_t>(options_.shard_rows / chunk_rows_, 1);
  else if (shard_chunks_ == 0)
    shard_chunks_ = chunks_of_shard(saturating_mul(chunk_rows_, row_bytes_));
  // The last chunk has the full size.
  if (is_text(spec_.dtype)) {
    std::string count;
    append_u32(chunk_rows_, count);
    waiting_.insert(0, count);
    waiting_.resize(waiting_.size() + 4 * (chunk_rows_ - waiting_rows_));
  } else {
    waiting_.resize(chunk_rows_ * row_bytes_);
  }
  if (is_text(spec_.dtype) || row_bytes_ > 0) {
    if (!shard_) HEADRACE_TRY(begin_shard());
    HEADRACE_ASSIGN(const std::string bytes, packed(waiting_));
    chunks_.push_back({shard_->size(), bytes.size()});
    HEADRACE_TRY(shard_->append(text_bytes(bytes)));
    if (chunks_.size() == shard_chunks_) HEADRACE_TRY(end_shard());
  }
  waiting_.clear();
  waiting_rows_ = 0;
  return {};
}

Status NewArray::begin_shard() {
  std::string path = folder_ + "/c";
  if (shards_ == 0) HEADRACE_TRY(make_folder(path));
  path += "/" + std::to_string(shards_);
  for (int i = 0; i < spec_.shape.rank() && !is_text(spec_.dtype); ++i) {
    HEADRACE_TRY(make_folder(path));
    path += "/0";
  }
  HEADRACE_ASSIGN(shard_, AppendedFile::make(path));
  return {};
}

Status NewArray::end_shard() {
  chunks_.resize(shard_chunks_, {~uint64_t{0}, ~uint64_t{0}});
  std::string index(reinterpret_cast<const char*>(chunks_.data()), chunks_.size() * sizeof(Chunk));
  append_u32(crc32c(text_bytes(index)), index);
  HEADRACE_TRY(shard_->append(text_bytes(index)));
  HEADRACE_TRY(shard_->finish());
  shard_ = nullptr;
  chunks_.clear();
  ++shards_;
  return {};
}

Status NewArray::finish() {
  if (chunk_rows_ == 0 && waiting_.size() > kChunkBytes) HEADRACE_TRY(choose_chunk_rows());
  const bool is_first_chunk = !shard_ && shards_ == 0;
  if (is_first_chunk && options_.chunk_rows == 0 && waiting_rows_ > 0) chunk_rows_ = waiting_rows_;
  if (waiting_rows_ > 0) HEADRACE_TRY(end_chunk());
  chunk_rows_ = std::max<uint64_t>(chunk_rows_, 1);
  if (shard_ && shards_ == 0 && options_.shard_rows == 0) shard_chunks_ = chunks_.size();
  if (shard_) HEADRACE_TRY(end_shard());
  shard_chunks_ = std::max<uint64_t>(shard_chunks_, 1);
  return {};
}

Value NewArray::metadata() const {
  Value::List shape{rows_}, chunk{chunk_rows_}, shard{chunk_rows_ * shard_chunks_};
  for (int i = 0; i < spec_.shape.rank() && !is_text(spec_.dtype); ++i) {
    const int64_t dim = spec_.shape[i];
    shape.emplace_back(dim), chunk.emplace_back(std::max<int64_t>(dim, 1)),
        shard.emplace_back(std::max<int64_t>(dim, 1));
  }
  const Value little = named("bytes", {{"endian", "little"}});
  Value::List inner;
  if (is_text(spec_.dtype))
    inner.push_back(named(spec_.dtype == DType::str ? "vlen-utf8" : "vlen-bytes"));
  else
    inner.push_back(size_of(spec_.dtype) > 1 ? little : Value(Value::Object{{"name", "bytes"}}));
  if (options_.packing == NewPacking::zstd)
    inner.push_back(named("zstd", {{"level", options_.level}, {"checksum", false}}));
  if (options_.packing == NewPacking::gzip) inner.push_back(named("gzip", {{"level", options_.level}}));
  const Value sharding = named(
      "sharding_indexed", {{"chunk_shape", std::move(chunk)},
                           {"codecs", std::move(inner)},
                           {"index_codecs", Value::List{little, Value(Value::Object{{"name", "crc32c"}})}},
                           {"index_location", "end"}});
  return Value::Object{{"shape", std::move(shape)},
                       {"data_type", v3_name(spec_.dtype)},
                       {"chunk_grid", named("regular", {{"chunk_shape", std::move(shard)}})},
                       {"chunk_key_encoding", named("default", {{"separator", "/"}})},
                       {"fill_value", fill_value(spec_.dtype)},
                       {"codecs", Value::List{sharding}},
                       {"attributes", Value::Object()},
                       {"zarr_format", 3},
                       {"node_type", "array"},
                       {"storage_transformers", Value::List()}};
}

}  // namespace headrace::zarr
