// Strings are UTF-8: the one place where those of all formats are checked, when they are read and before they
// are written. A string that is not UTF-8 is an error of its sample, unless the user chose another encoding.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/core/status.h"
#include "headrace/formats/options.h"
#include "headrace/formats/source.h"

namespace headrace {

enum class Encoding {
  utf8,    // strings are checked
  latin1,  // strings are converted to UTF-8
  bytes,   // fields of strings become bytes, as they are
};

// The option `encoding` of every format that has fields of strings.
OptionInfo encoding_option();
Result<Encoding> encoding_of(const GivenOptions& given);

// The fields of strings in a schema, and whether their values are UTF-8. Any thread.
class StringFields {
 public:
  explicit StringFields(const Schema& schema);
  bool empty() const { return fields_.empty(); }
  // An error names the field, the byte and its position, and ends with `cure`. Each string of a list is UTF-8
  // by itself.
  Status check(std::span<const Tensor> fields, std::string_view cure = {}) const;

  struct Field {
    size_t at;         // in the schema
    std::string name;  // of a list of strings without "/values"
    bool is_list;      // the next field has the lengths of its strings
  };
  const std::vector<Field>& fields() const { return fields_; }

 private:
  std::vector<Field> fields_;
};

// "expected UTF-8, got byte 0xe9 at position 3 of 'caf\xe9'". REQUIRES: the text is not UTF-8.
std::string expected_utf8(std::string_view text);
// Bytes for a message, in quotes: those that are no characters as \xe9.
std::string shown_bytes(std::string_view text);

// The same characters in UTF-8.
std::string utf8_of_latin1(std::string_view text);

// How many of these strings, counted from the first, are UTF-8 up to the first that is not. Faster if all are
// in one buffer.
size_t num_utf8(std::span<const Text> texts, bool in_one_buffer = false);

// The same samples, with their strings checked or converted. `cure`: the end of the error message. The source
// itself if there is nothing to do.
SourcePtr with_utf8_strings(SourcePtr source, Encoding encoding, std::string cure);

// Registers a format that checks its strings itself, because it can check those of many samples at once. With
// another encoding than UTF-8 it must leave them as they are.
struct ChecksItsStrings {
  explicit ChecksItsStrings(std::string_view format);
};
bool checks_its_strings(std::string_view format);

}  // namespace headrace
