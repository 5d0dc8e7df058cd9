// The samples of LitData: a tree of leaves, and the fields that come of them. Pure; any thread.
#pragma once
#include <string>
#include <vector>

#include "headrace/formats/records/record_files.h"

namespace headrace::litdata {

struct Leaf {
  std::string format;  // "int", "no_header_tensor:11"
  enum class Kind : uint8_t {
    bytes,
    text,
    number,
    row,     // numbers without a header
    tensor,  // torch's, behind dtype and shape
    array,   // NumPy's, the same with other numbers for dtypes
    pixels,  // PIL's, behind width, height and mode
  } kind = Kind::bytes;
  TensorSpec spec{DType::bytes, {kAny}};
  bool depends_on_first() const {
    return kind == Kind::tensor || kind == Kind::array || kind == Kind::pixels;
  }
};

struct Leaves {
  std::vector<Leaf> all;           // in the order of the file
  std::vector<std::string> names;  // as many
  std::string structure;           // see Schema

  // `formats`: "data_format" of index.json; `tree`: "data_spec", JSON in a text.
  static Result<Leaves> parse(const Value& formats, const Value& tree);
  bool depends_on_first() const;
  Schema schema() const;
  // Dtypes, ranks and channels that only a sample can say; as text, and back.
  Status learn_from(const Record& first);
  std::string learned() const;
  Status take_learned(std::string_view text);
  Status read(const Record& sample, std::vector<Tensor>& fields) const;
};

}  // namespace headrace::litdata
