// A text file that is being written, plain or gzipped: shared by the writers of text formats.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "headrace/codecs/deflate/deflate.h"
#include "headrace/formats/writer.h"
#include "headrace/io/new_file.h"

namespace headrace {

class NewText {
 public:
  // With the options of new_text_options(); errors begin with the format's name.
  static Result<NewText> make(std::string_view format, const WriteRequest& request);

  Status append(std::string_view text);
  Status finish();  // hands all bytes to the operating system

 private:
  std::unique_ptr<AppendedFile> file_;
  std::unique_ptr<Deflater> deflater_;  // null: plain
};

std::vector<OptionInfo> new_text_options();  // compression, level
Value in_gzip();                             // the options implied by an ending in .gz

// Appends a number or bool of a tensor as text, with the fewest digits that read back the same. Floats have a
// point or an exponent, or are "nan", "inf", "-inf". `at`: its bytes, as stored for the dtype.
void append_number(DType dtype, const std::byte* at, std::string& out);

// The option "dtypes" with which readers of text return these fields unchanged.
Value dtypes_of(const Schema& schema);

}  // namespace headrace
