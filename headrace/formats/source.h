// The contract of a format: it states which bytes it needs, the engine fetches them, the format decodes them.
//
// A format does no I/O and sees no threads. Reading anything is an Opening: `advance` is first called without
// bytes and returns either the extents it needs or the value; it is then called again with exactly the bytes
// of those extents, as often as needed (footer, then headers, then data). A Source comes from an Opening over
// its files; a Block (one JPEG, one record batch, one chunk) from an Opening made by the Source. Source and
// Block are immutable and thread-safe; an Opening belongs to one caller.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "headrace/core/row_list.h"
#include "headrace/core/sample.h"
#include "headrace/core/status.h"
#include "headrace/core/value.h"

namespace headrace {

inline constexpr uint64_t kToEnd = ~uint64_t{0};
inline constexpr uint64_t kAtEnd = ~uint64_t{0};

// Of a file that an index of an earlier run describes, and that was not looked at. Filled while the data are
// opened, and not changed afterwards.
struct RecalledFile {
  std::optional<uint64_t> sample;   // of its bytes, for one whose times alone have changed
  std::function<void()> drop = {};  // removes the index, which turned out to be stale; any thread
};

// A file passed to the maker of a Source's Opening. The size is queried before the first read and all bounds
// are checked against it, even if the file grows later; it is part of the Source's fingerprint.
struct SourceFile {
  std::string path;  // one the Store understands
  uint64_t size = 0;
  int64_t mtime_ns = 0;                  // only decides whether a stored index is stale
  std::vector<std::string> beside = {};  // companion files from FormatInfo::beside; "" where there is no file
  int64_t changed_ns = 0;                // the same; 0 where the store does not know it
  // What is said here was found in an earlier run, whose index says it: who opens the file checks that it is
  // still so (unchanged.h). Null: it was looked at.
  std::shared_ptr<RecalledFile> recalled = nullptr;

  // The first that exists, as an ordinal in the extents of a RecordOpening; 0: none.
  uint64_t first_beside() const;
};

// Extents of fewer bytes are never answered from a mapped file.
inline constexpr uint64_t kLeastMapped = 32 << 10;

// Answered with exactly these bytes, never fewer; else the opening is dropped with an error. A length of 0 is
// answered with an empty buffer.
struct Extent {
  uint64_t file = 0;    // ordinal in the Source's files; while it is opened, in those given to its maker
  uint64_t offset = 0;  // kAtEnd: the last bytes of a file whose size was not queried
  uint64_t length = kToEnd;
  // May be answered with bytes of a mapped file, which another process can change at any time: code that sets
  // this reads any value that controls further reads only once, or copies it first.
  bool mappable = false;

  // From Source::extents(): a sample that is stored in several places, which put_mapped() may read.
  static Extent apart(uint64_t file, uint64_t offset) { return {file, offset, kToEnd, true}; }
  bool lies_apart() const { return length == kToEnd && mappable; }
  // Where it begins in a file of `size` bytes; past its end if the file is too short.
  uint64_t begin_in(uint64_t size) const {
    return offset != kAtEnd ? offset : length <= size ? size - length : kAtEnd;
  }
};

template <class T> using Step = std::variant<std::vector<Extent>, T>;

template <class T> class Opening {
 public:
  virtual ~Opening() = default;
  // `bytes` answer the extents of the previous step, in order; empty on the first call.
  virtual Result<Step<T>> advance(std::span<const BufferPtr> bytes) = 0;
};

// Where a field of collated rows goes, one row after the other: the bytes of each row's values, whose dtype
// and shape are those of the source's schema; strings, whose bytes are shared; for any other field (rows of
// different shapes, or shared ones) a tensor per row.
struct FieldPlace {
  const TensorSpec* spec = nullptr;
  std::byte* values = nullptr;
  TextRows* texts = nullptr;
  Tensor* tensors = nullptr;  // if the others are null

  // Row n, shared. REQUIRES: `values` is null.
  void share(size_t n, Tensor&& row) const {
    if (texts)
      texts->set(n, row.buffer, row.view().bytes());
    else
      tensors[n] = std::move(row);
  }
  // Row n, copied or shared; false if it does not match the schema.
  bool put(size_t n, Tensor&& row) const;
};

// The unit that is fetched and opened once. Fields may share its bytes.
class Block {
 public:
  virtual ~Block() = default;
  // A file may change between two openings, so a row that this block does not have is an error, not a
  // precondition.
  virtual Status get(uint64_t row, std::vector<Tensor>& fields) const = 0;
  // Whether the value of a field is null, where get() reads nulls as something else (nulls.h). REQUIRES:
  // get() of this row succeeds.
  virtual bool is_null(uint64_t row, int field) const {
    (void)row, (void)field;
    return false;
  }
  // Memory held in addition to the buffers given to its Opening (inflated, decompressed), counted against the
  // memory budget.
  virtual size_t held_bytes() const { return 0; }
  // Copy `field` of several rows one after the other to `out`, whose dtype and shape are (rows, ...spec). For
  // blocks of fixed-size values where that is faster; false if this block does not support it.
  virtual bool gather(std::span<const uint64_t> rows, int field, std::byte* out) const {
    (void)rows, (void)field, (void)out;
    return false;
  }
  // The same for rows of any shape, each shared as by get() and appended to `out`. REQUIRES: rows below the
  // source's size.
  virtual bool append(std::span<const uint64_t> rows, int field, std::vector<Tensor>& out) const {
    (void)rows, (void)field, (void)out;
    return false;
  }
  // All fields of several rows at once, for when making samples of them first would cost more than their
  // contents: a place for each field of the schema. Returns how many rows were put, counted from the first,
  // and does not touch rows after the next one; the next one must be read with get(), which may return its
  // error. REQUIRES: the block's bytes are not those of a mapped file.
  virtual size_t put(std::span<const uint64_t> rows, std::span<const FieldPlace> to) const {
    (void)rows, (void)to;
    return 0;
  }
};
using BlockPtr = std::shared_ptr<const Block>;

// Block::put() by way of get(), for blocks without a faster one.
size_t put_each(const Block& block, std::span<const uint64_t> rows, std::span<const FieldPlace> to);

// Bytes of mapped files, visible during one call. Another process can change them at any time: code that
// reads them reads any value that controls further reads only once.
class MappedBytes {
 public:
  virtual ~MappedBytes() = default;
  // The bytes of an extent; empty if they have to be read instead.
  virtual std::span<const std::byte> at(const Extent& extent) = 0;
  struct Kept {
    const BufferPtr& buffer;
    Text bytes;  // in it
    size_t offset() const { return static_cast<size_t>(bytes.data() - buffer->data()); }
  };
  // A copy of `bytes`, at a multiple of `align`, after the previous one if there is room; nothing if no
  // memory is left.
  std::optional<Kept> keep(Text bytes, size_t align = 1) {
    size_t skip = align > 1 ? -reinterpret_cast<uintptr_t>(left_.data()) % align : 0;
    if (!buffer_ || skip + bytes.size() > left_.size()) {
      if (!take_more(bytes.size())) return std::nullopt;
      skip = 0;
    }
    const auto to = left_.subspan(skip, bytes.size());
    if (!bytes.empty()) __builtin_memcpy(to.data(), bytes.data(), bytes.size());
    left_ = left_.subspan(skip + bytes.size()), kept_ += bytes.size();
    return Kept{buffer_, to};
  }
  // The same for the value of a field; large ones may stay where they are.
  std::optional<Kept> keep_value(Text bytes) {
    if (bytes.size() >= kLeastMapped)
      if (const BufferPtr* there = stay(bytes)) return Kept{*there, bytes};
    return keep(bytes);
  }
  // `size` bytes will be kept: reserve contiguous memory for all of them if possible.
  void expect(size_t size) {
    if (!buffer_ || size > left_.size()) (void)take_more(size);
  }
  uint64_t bytes_kept() const { return kept_; }

 private:
  // Memory for at least this many bytes, aligned for all that is kept; null if there is none.
  virtual MutableBufferPtr take(size_t at_least) = 0;
  // A buffer that keeps these bytes of at() valid as long as it lives; null if they may not stay.
  virtual const BufferPtr* stay(Text bytes) {
    (void)bytes;
    return nullptr;
  }
  bool take_more(size_t at_least);

  BufferPtr buffer_;
  std::span<std::byte> left_;  // of it
  uint64_t kept_ = 0;
};

struct Place {
  uint64_t block = 0, row = 0;
};

// A contiguous run of samples, up to `end`, stored in this many blocks.
struct Lot {
  uint64_t end = 0, blocks = 1;
};

// Where a sample is stored.
struct SamplePlace {
  std::string file;         // its path; "" for data that is in no file
  std::string within = {};  // human-readable, behind the path: ", record 5 at byte 9120311"
  std::optional<uint64_t> record = {}, byte = {};  // in the file, where there are such
  std::string text() const { return file + within; }
};
// The error of a sample with the facts of its place; those that are nearer to the cause stay.
Status with_place(Status status, const SamplePlace& place, uint64_t sample);

class Source;
using SourcePtr = std::shared_ptr<const Source>;

class Source {
 public:
  virtual ~Source() = default;
  virtual const Schema& schema() const = 0;
  virtual uint64_t size() const = 0;              // exact number of samples
  virtual Place place(uint64_t index) const = 0;  // REQUIRES: index < size()
  virtual std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const = 0;

  // Small samples may be opened many at a time, in any combination that a batch needs. `out[i]` becomes the
  // one extent that contains all of sample indices[i], possibly along with others; its length is kToEnd if
  // there is no such extent, or if a block holds more that is worth keeping; Extent::apart() if the sample is
  // stored in several places and put_mapped() may read it. False: this source does not support it.
  virtual bool extents(std::span<const uint64_t> indices, std::span<Extent> out) const {
    (void)indices, (void)out;
    return false;
  }
  // A block whose row i is sample indices[i], whose extent begins at[i] bytes into `bytes`; it supports
  // put(). REQUIRES: extents() returned an extent for each of them.
  virtual BlockPtr together(std::vector<uint64_t> indices, std::vector<size_t> at, BufferPtr bytes) const {
    (void)indices, (void)at, (void)bytes;
    return nullptr;
  }
  // The same directly from mapped files, for samples that need no block: returns how many were put, counted
  // from the first; the others have to be read. REQUIRES: extents() returned an extent or Extent::apart() for
  // each of them.
  virtual size_t put_mapped(std::span<const uint64_t> indices, MappedBytes& mapped,
                            std::span<const FieldPlace> to) const {
    (void)indices, (void)mapped, (void)to;
    return 0;
  }
  // For samples that user code makes instead of reading them: as many, counted from the first, as are small
  // and quick to make. Row i of the block is sample indices[i]; get() of a sample that could not be made
  // returns the error. No rows: this source does not support it.
  struct Made {
    BlockPtr block;
    size_t rows = 0;
  };
  virtual Made make(std::span<const uint64_t> indices) const {
    (void)indices;
    return {};
  }
  // The run of samples from `index` on that are decoded as one block; if samples can be read alone, those of
  // one file. The default finds it from their blocks and extents. REQUIRES: index < size(), and the samples
  // of a block are contiguous.
  virtual Lot lot(uint64_t index) const;
  virtual uint64_t num_files() const { return 0; }
  virtual std::string file(uint64_t ordinal) const {
    (void)ordinal;
    return {};
  }  // a path the Store understands
  // The file as it was when the source was opened; null where the source does not know. It is checked when
  // the file is opened if it is `recalled`.
  virtual const SourceFile* known_file(uint64_t ordinal) const {
    (void)ordinal;
    return nullptr;
  }
  // Where a sample is stored. Paths are complete, so that they can be pasted where the program runs.
  virtual SamplePlace where(uint64_t index) const = 0;
  // How to open this source again (format, path, options): part of a plan. Absolute paths are allowed here.
  virtual Value describe() const = 0;
  // Identity of the data: relative names, counts, and sizes of files opened; no absolute path, no mtime.
  virtual std::string fingerprint() const = 0;
  // Metadata of the whole source that a user may query, an object: {"classes": ["cat", "dog"]}. Not part of
  // plans or fingerprints.
  virtual Value metadata() const { return Value(Value::Object()); }
  // The same samples with only these fields, in this order: other columns are neither read nor decoded.
  // Blocks may differ; callers do not ask it about the data (size(), where(), fingerprint() …). Null: this
  // source does not support it. REQUIRES: existing fields, each at most once.
  virtual SourcePtr with_fields(std::span<const int> fields) const {
    (void)fields;
    return nullptr;
  }
  // A source whose only block needs no bytes: arrays, ranges. The engine opens it once and keeps it, and does
  // not call place(): sample i is row i.
  virtual bool resident() const { return false; }
};

// Whether samples can be read individually, outside their block; checks the first one.
bool lie_alone(const Source& source);
// Its with_fields(), with the locations, identity and runs of `whole`. Null: not supported.
SourcePtr narrowed(const SourcePtr& whole, std::span<const int> fields);

}  // namespace headrace
