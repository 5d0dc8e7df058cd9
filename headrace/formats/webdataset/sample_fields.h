// A sample's members as fields: `__key__`, integers, strings, arrays, and bytes as they are.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/formats/records/record_files.h"
#include "headrace/formats/webdataset/first_members.h"

namespace headrace {

inline constexpr std::string_view kSampleKey = "__key__";

struct SampleFields {
  std::vector<std::string> names;  // suffixes in lower case, and kSampleKey if the key is wanted
  bool decode = true;              // cls is a number, txt a str, npy an array; false: everything is bytes
  bool may_be_missing = false;     // missing bytes are empty; false: an error
  bool has_links = false;          // some members are links: a field may be missing because of that

  Status check() const;  // no name twice, none that would need unpickling
  // Takes the fields of the first sample, unless names are given, and the dtype and rank of its arrays.
  Status choose(const std::vector<FirstMember>& first);
  Schema schema() const;
  // The fields of the sample in `record`. Any thread.
  Status read(const Record& record, std::vector<Tensor>& values) const;
  // The same for several samples, see RecordFormat.
  size_t put(const RecordRun& run, std::span<const FieldPlace> to) const;
  size_t put_mapped(std::span<const Text> samples, MappedBytes& mapped, size_t first,
                    std::span<const FieldPlace> to) const;

  enum class Kind : uint8_t { bytes, key, number, text, array };
  struct Field {
    Kind kind = Kind::bytes;
    TensorSpec spec{DType::bytes, {kAny}};
  };
  std::vector<Field> fields = {};  // set by choose(); one per name
};

// Whether the part after its last dot is one of `kinds`.
bool ends_as(std::string_view suffix, std::span<const std::string_view> kinds);
// What members with this suffix are decoded as.
SampleFields::Kind member_kind(std::string_view suffix);
bool is_pickle(std::string_view suffix);
// The values of members of these kinds; errors name the suffix.
Result<Tensor> read_whole_number(std::string_view text, std::string_view suffix);
Result<Tensor> read_array(const Tensor& file, std::string_view suffix);  // shares the bytes where possible

}  // namespace headrace
