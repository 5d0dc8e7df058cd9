// The samples of LitData: a tree of leaves, and the fields they become. Pure; any thread.
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
    tensor,  // torch's, after dtype and shape
    array,   // NumPy's, the same with other dtype codes
    pixels,  // PIL's, after width, height and mode
  } kind = Kind::bytes;
  TensorSpec spec{DType::bytes, {kAny}};
  bool depends_on_first() const {
    return kind == Kind::tensor || kind == Kind::array || kind == Kind::pixels;
  }
};

struct Leaves {
  std::vector<Leaf> all;           // in the order of the file
  std::vector<std::string> names;  // one for each leaf
  std::string structure;           // see Schema

  // `formats`: "data_format" of index.json; `tree`: "data_spec", JSON in a string.
  static Result<Leaves> parse(const Value& formats, const Value& tree);
  bool depends_on_first() const;
  Schema schema() const;
  // Takes dtypes, ranks and channels that only a sample has.
  Status learn_from(const Record& first);
  std::string learned() const;  // these as text; take_learned() reads it
  Status take_learned(std::string_view text);
  Status read(const Record& sample, std::vector<Tensor>& fields) const;
};

}  // namespace headrace::litdata
