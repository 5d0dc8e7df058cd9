// What a format is: it says which bytes it needs, the engine fetches them, the format makes sense of them.
//
// A format does no I/O and sees no thread. Reading anything is an Opening: `advance` is called with no bytes
// first and answers either "I need these extents" or the value; it is then called again with exactly those
// extents' bytes, as often as it likes (footer, then headers, then data). A Source comes from an Opening over
// its files; a Block (one JPEG, one record batch, one chunk) from an Opening given by the Source. Source and
// Block are immutable and thread-safe; an Opening belongs to one caller.
#pragma once
#include <cstdint>
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

// A file given to whoever makes an Opening of a Source. The size is asked before the first read and is the
// one every bound is checked against, even if the file grows meanwhile; it is part of the Source's
// fingerprint.
struct SourceFile {
  std::string path;  // one the Store understands
  uint64_t size = 0;
  int64_t mtime_ns = 0;             // makes an index stale, nothing else
  std::vector<std::string> beside;  // where FormatInfo::beside says and a file is; "" where none is

  // The first that is there, as an ordinal in the extents of a RecordOpening; 0: none is.
  uint64_t first_beside() const;
};

// Extents of fewer bytes are never answered with those of a mapped file.
inline constexpr uint64_t kLeastMapped = 32 << 10;

// Answered with exactly these bytes, or the opening is dropped with an error: never with fewer. A length of 0
// is answered with an empty buffer.
struct Extent {
  uint64_t file = 0;  // ordinal in the Source's files; while a Source is opened, in those its maker was given
  uint64_t offset = 0;  // kAtEnd: these are the last bytes of a file whose size nobody asked for
  uint64_t length = kToEnd;
  // May be answered with bytes of a mapped file, which another process can change at any time: whoever says
  // so looks once at what decides where he looks next, or copies it first.
  bool mappable = false;

  // As Source::extents() answers: a sample that lies in several, which put_mapped() may have.
  static Extent apart(uint64_t file, uint64_t offset) { return {file, offset, kToEnd, true}; }
  bool lies_apart() const { return length == kToEnd && mappable; }
  // Where it begins in a file of so many bytes; behind its end where the file is too short.
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

// Where a field of rows that are put together goes, a row behind the other: the bytes of a row's values,
// whose dtype and shape the source's schema says; texts, whose bytes are shared; of any other field whose
// rows differ, or that wants to be shared, a tensor.
struct FieldPlace {
  const TensorSpec* spec = nullptr;
  std::byte* values = nullptr;
  TextRows* texts = nullptr;
  Tensor* tensors = nullptr;  // where the others are null

  // Row n, shared. REQUIRES: `values` is null.
  void share(size_t n, Tensor&& row) const {
    if (texts)
      texts->set(n, row.buffer, row.view().bytes());
    else
      tensors[n] = std::move(row);
  }
  // Row n, copied or shared; false where it is not what the schema says.
  bool put(size_t n, Tensor&& row) const;
};

// The unit that is fetched and opened once. Fields may share its bytes.
class Block {
 public:
  virtual ~Block() = default;
  // A file may change between two openings, so a row this block does not have is an error and not a
  // precondition.
  virtual Status get(uint64_t row, std::vector<Tensor>& fields) const = 0;
  // Memory held beside the buffers that were given to its Opening (inflated, decompressed), for the budget's
  // ledger.
  virtual size_t held_bytes() const { return 0; }
  // Copy `field` of several rows one after the other to `out`, whose dtype and shape are (rows, ...spec). For
  // blocks of fixed-size values that are worth it; false when this block does not offer it.
  virtual bool gather(std::span<const uint64_t> rows, int field, std::byte* out) const {
    (void)rows, (void)field, (void)out;
    return false;
  }
  // The same of rows of any shape, each shared as get() gives it and added to `out`. REQUIRES: rows below the
  // source's size.
  virtual bool append(std::span<const uint64_t> rows, int field, std::vector<Tensor>& out) const {
    (void)rows, (void)field, (void)out;
    return false;
  }
  // All fields of several rows at once, where making samples of them first would cost more than what is in
  // them: a place for each field of the schema. Answers how many of the rows were put, from the first on, and
  // leaves those behind the next one alone; that one is to be had by get() alone, or its error told.
  // REQUIRES: the block's bytes are not those of a mapped file.
  virtual size_t put(std::span<const uint64_t> rows, std::span<const FieldPlace> to) const {
    (void)rows, (void)to;
    return 0;
  }
};
using BlockPtr = std::shared_ptr<const Block>;

// Block::put() by way of get(), for blocks that have no shorter one.
size_t put_each(const Block& block, std::span<const uint64_t> rows, std::span<const FieldPlace> to);

// Bytes of mapped files, shown for the time of a call. Another process can change them at any time:
// whoever looks at them looks once at what decides where he looks next.
class MappedBytes {
 public:
  virtual ~MappedBytes() = default;
  // Those of an extent; none where they are to be read.
  virtual std::span<const std::byte> at(const Extent& extent) = 0;
  struct Kept {
    const BufferPtr& buffer;
    Text bytes;  // in it
    size_t offset() const { return static_cast<size_t>(bytes.data() - buffer->data()); }
  };
  // A copy of some of them, at a multiple of `align`, behind the last one where that has room; nothing where
  // no memory is left.
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
  // The same of the value of a field of `bytes`, where large ones may stay where they are.
  std::optional<Kept> keep_value(Text bytes) {
    if (bytes.size() >= kLeastMapped)
      if (const BufferPtr* there = stay(bytes)) return Kept{*there, bytes};
    return keep(bytes);
  }
  // So many bytes are going to be kept, side by side if there is memory for all of them.
  void expect(size_t size) {
    if (!buffer_ || size > left_.size()) (void)take_more(size);
  }
  uint64_t bytes_kept() const { return kept_; }

 private:
  // Memory for so many bytes or more, aligned for all that is kept; null where there is none.
  virtual MutableBufferPtr take(size_t at_least) = 0;
  // The buffer in which bytes of at() stay, as long as this lives and they do; null where they may not.
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

// Samples that lie together: up to `end`, in so many blocks.
struct Lot {
  uint64_t end = 0, blocks = 1;
};

class Source;
using SourcePtr = std::shared_ptr<const Source>;

class Source {
 public:
  virtual ~Source() = default;
  virtual const Schema& schema() const = 0;
  virtual uint64_t size() const = 0;              // exact number of samples
  virtual Place place(uint64_t index) const = 0;  // REQUIRES: index < size()
  virtual std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const = 0;

  // Small samples may be opened many at a time, in whatever mix a batch wants them. `out[i]` becomes the one
  // extent in which all of sample indices[i] lies, others beside it perhaps; its length kToEnd where there is
  // no such extent, or a block holds more that is worth keeping; Extent::apart() where the sample lies in
  // several, of which put_mapped() may have it. False: this source never offers it.
  virtual bool extents(std::span<const uint64_t> indices, std::span<Extent> out) const {
    (void)indices, (void)out;
    return false;
  }
  // A block whose row i is sample indices[i], and of whose `bytes` its extent begins at[i]; it puts its rows.
  // REQUIRES: extents() gave one to each of them.
  virtual BlockPtr together(std::vector<uint64_t> indices, std::vector<size_t> at, BufferPtr bytes) const {
    (void)indices, (void)at, (void)bytes;
    return nullptr;
  }
  // The same straight out of mapped files, where samples need no block for that: how many were put, from the
  // first on; those behind are to be read. REQUIRES: extents() gave one to each of them, or said that it may
  // be had so.
  virtual size_t put_mapped(std::span<const uint64_t> indices, MappedBytes& mapped,
                            std::span<const FieldPlace> to) const {
    (void)indices, (void)mapped, (void)to;
    return 0;
  }
  // Samples that nobody reads, for calls of somebody's code make them: from the first on, as many as are
  // small and made soon. Row i of the block is sample indices[i]; of one that could not be made get() says
  // why. No rows: this source never offers it.
  struct Made {
    BlockPtr block;
    size_t rows = 0;
  };
  virtual Made make(std::span<const uint64_t> indices) const {
    (void)indices;
    return {};
  }
  // Those from `index` on that are unpacked as one; where samples can be read alone, those of one file. Found
  // by asking for their blocks and extents, unless the source knows better. REQUIRES: index < size(), and
  // blocks that do not come back.
  virtual Lot lot(uint64_t index) const;
  virtual uint64_t num_files() const { return 0; }
  virtual std::string file(uint64_t ordinal) const {
    (void)ordinal;
    return {};
  }  // a path the Store understands
  // Where a sample lies, for people: "imagenet/train/n01440764/x.JPEG", "train-00017.tfrecord at byte
  // 9120311". A path is whole, so that it can be pasted where the program runs.
  virtual std::string where(uint64_t index) const = 0;
  // How to make this source again (format, path, options): part of a plan. Absolute paths are allowed here.
  virtual Value describe() const = 0;
  // Identity of the data: relative names, counts, and sizes of files opened; no absolute path, no mtime.
  virtual std::string fingerprint() const = 0;
  // What a user may ask about the whole of it, an object: {"classes": ["cat", "dog"]}. Not part of plans or
  // fingerprints.
  virtual Value metadata() const { return Value(Value::Object()); }
  // The same samples with these of their fields alone, in this order: other columns are neither read nor made
  // sense of. Blocks may be others; what is said of the data (size(), where(), fingerprint() …) is not asked.
  // Null: this source never offers it. REQUIRES: fields that it has, each once.
  virtual SourcePtr with_fields(std::span<const int> fields) const {
    (void)fields;
    return nullptr;
  }
  // A source whose only block needs no bytes: arrays, ranges. The engine opens it once and keeps it, and does
  // not ask place(): sample i is row i.
  virtual bool resident() const { return false; }
};

// Whether its samples can be had by themselves, whatever block they are of: the first one can.
bool lie_alone(const Source& source);
// Its with_fields() under its own name: place, identity and lots are those of `whole`. Null: it has none.
SourcePtr narrowed(const SourcePtr& whole, std::span<const int> fields);

}  // namespace headrace
