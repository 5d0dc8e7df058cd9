// Parquet's metadata as stored: the footer, page headers, page indexes. Here numbers are only checked to be
// present and not negative; their values are checked where they are used.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/formats/parquet/thrift.h"

namespace headrace::parquet {

enum class Physical : uint8_t { boolean, i32, i64, i96, f32, f64, bytes, fixed };
enum class Repetition : uint8_t { required, optional, repeated };
enum class Codec : uint8_t { none, snappy, gzip, lzo, brotli, lz4, zstd, lz4_raw };
inline constexpr int kCodecs = 8;
enum class Encoding : uint8_t {
  plain = 0,
  plain_dictionary = 2,
  rle = 3,
  bit_packed = 4,
  delta_binary = 5,
  delta_length = 6,
  delta_bytes = 7,
  dictionary = 8,
  byte_split = 9,
};

// LogicalType, or ConvertedType where there is none.
enum class Meaning : uint8_t {
  none,
  text,  // STRING, ENUM, JSON
  map,
  list,
  decimal,
  date,
  time_ms,
  time,       // micro- or nanoseconds
  timestamp,  // milli-, micro- or nanoseconds
  integer,
  null,
  bson,
  uuid,
  f16,
  interval,
};

struct SchemaElement {
  std::string_view name;
  std::optional<Physical> type;  // none: a group
  int32_t length = 0;            // of Physical::fixed
  Repetition repetition = Repetition::required;
  uint32_t children = 0;
  Meaning meaning = Meaning::none;
  int32_t scale = 0, precision = 0;  // of decimals
  int unit = 0;                      // of times and timestamps: 1 milli-, 2 micro-, 3 nanoseconds
  bool is_utc = false;               // of a timestamp
  int bits = 0;                      // of Meaning::integer
  bool is_signed = true;
};

struct Statistics {
  std::optional<std::string_view> least, most;  // in PLAIN encoding, without a length
  std::optional<int64_t> nulls;
};

struct Chunk {
  Physical type = Physical::boolean;
  Codec codec = Codec::none;
  uint64_t values = 0;            // nulls and empty lists included
  uint64_t offset = 0, size = 0;  // of its pages, compressed
  uint64_t unpacked = 0;
  uint64_t index_offset = 0, index_size = 0;  // of its OffsetIndex; 0: none
  bool is_encrypted = false;
  Statistics statistics;
};

struct RowGroup {
  uint64_t rows = 0;
  std::vector<Chunk> chunks;  // one for each leaf of the schema
};

// Borrows the footer's bytes.
struct Footer {
  std::vector<SchemaElement> schema;
  std::vector<RowGroup> groups;
  std::vector<std::pair<std::string_view, std::string_view>> about;  // keys and values
  std::string_view find(std::string_view key) const;                 // "" when there is none
};
// Every row group must have a column for each leaf of the schema.
Result<Footer> read_footer(std::span<const std::byte> bytes);

struct PageHeader {
  enum Kind : uint8_t { data = 0, index = 1, dictionary = 2, data_v2 = 3 };
  uint8_t kind = 0;
  size_t length = 0;  // of the header itself
  uint64_t packed = 0, unpacked = 0;
  std::optional<uint32_t> checksum;
  uint64_t values = 0;
  uint64_t rows = 0, def_bytes = 0, rep_bytes = 0;  // of data_v2
  bool is_packed = true;
  Encoding encoding = Encoding::plain, def = Encoding::rle, rep = Encoding::rle;
};
// `bytes` begin with it. `is_cut`: whether it may be valid with more bytes.
Result<PageHeader> read_page_header(std::span<const std::byte> bytes, bool* is_cut = nullptr);

struct PagePlace {
  uint64_t offset = 0, size = 0;  // header included
  uint64_t first_row = 0;
};
Result<std::vector<PagePlace>> read_offset_index(std::span<const std::byte> bytes);

}  // namespace headrace::parquet
