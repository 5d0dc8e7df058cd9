// The columns of MDS samples: their encodings, and the fields that come of them. Pure; any thread.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/records/record_files.h"

namespace headrace::mds {

struct MdsColumn {
  std::string name, encoding;
  std::optional<uint32_t> size;  // bytes of each value; nothing where each says its own
  enum class Kind : uint8_t {
    bytes,
    text,
    number,  // as it lies there
    whole,   // digits
    real,    // digits, too
    array,   // NumPy's; what `has_…` does not cover stands before the data
    pixels,  // PIL's, behind width, height and mode
    files,   // of images: sizes, then the bytes of all
    list,    // the same behind a zero
  } kind = Kind::bytes;
  TensorSpec spec{DType::bytes, {kAny}};
  bool has_dtype = true, has_shape = true;  // of an array; else the first sample says dtype and rank

  bool depends_on_first() const {
    return (kind == Kind::array && (!has_dtype || !has_shape)) || kind == Kind::pixels;
  }
  bool operator==(const MdsColumn&) const = default;
};

// `size`: what the index says, which has to agree.
Result<MdsColumn> mds_column(std::string name, std::string encoding, std::optional<uint32_t> size);

struct MdsColumns {
  std::vector<MdsColumn> all;  // in the order of the file

  bool depends_on_first() const;
  Schema schema() const;
  // Dtypes, ranks and channels that only a sample can say.
  Status learn_from(const Record& first);
  std::string learned() const;  // that, as text; and back
  Status take_learned(std::string_view text);
  // The fields of a sample; shared with its bytes where they are aligned.
  Status read(const Record& sample, std::vector<Tensor>& fields) const;
  bool operator==(const MdsColumns&) const = default;
};

// The number by which a file knows a dtype, 0 where it has none; and back.
uint8_t mds_dtype_code(DType dtype);
std::optional<DType> mds_dtype_of(uint8_t code);

}  // namespace headrace::mds
