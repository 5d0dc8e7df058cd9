// The columns of MDS samples: their encodings, and the fields they become. Pure; any thread.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/records/record_files.h"

namespace headrace::mds {

struct MdsColumn {
  std::string name, encoding;
  std::optional<uint32_t> size;  // bytes of each value; nothing if each has its own size
  enum class Kind : uint8_t {
    bytes,
    text,
    number,  // as stored
    whole,   // an integer as digits
    real,    // a float as digits
    array,   // NumPy's; dtype or shape precede the data where `has_…` is false
    pixels,  // PIL's, after width, height and mode
    files,   // of images: sizes, then the bytes of all
    list,    // the same after a zero
  } kind = Kind::bytes;
  TensorSpec spec{DType::bytes, {kAny}};
  bool has_dtype = true, has_shape = true;  // of an array; else the first sample decides dtype and rank

  bool depends_on_first() const {
    return (kind == Kind::array && (!has_dtype || !has_shape)) || kind == Kind::pixels;
  }
  bool operator==(const MdsColumn&) const = default;
};

// `size`: that in the index, which must fit the encoding.
Result<MdsColumn> mds_column(std::string name, std::string encoding, std::optional<uint32_t> size);

struct MdsColumns {
  std::vector<MdsColumn> all;  // in the order of the file

  bool depends_on_first() const;
  Schema schema() const;
  // Takes dtypes, ranks and channels that only a sample has.
  Status learn_from(const Record& first);
  std::string learned() const;  // these as text; take_learned() reads it
  Status take_learned(std::string_view text);
  // The fields of a sample; they share its bytes where these are aligned.
  Status read(const Record& sample, std::vector<Tensor>& fields) const;
  bool operator==(const MdsColumns&) const = default;
};

// The code of a dtype in a file, 0 if it has none; and back.
uint8_t mds_dtype_code(DType dtype);
std::optional<DType> mds_dtype_of(uint8_t code);

}  // namespace headrace::mds
