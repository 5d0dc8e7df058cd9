// A file of text in the making, plain or in gzip: what writers of text formats share.
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
  Status finish();  // every byte is with the system

 private:
  std::unique_ptr<AppendedFile> file_;
  std::unique_ptr<Deflater> deflater_;  // null: plain
};

std::vector<OptionInfo> new_text_options();  // compression, level
Value in_gzip();                             // what an ending in .gz says of them

// A number or a bool of a tensor as text: in as few digits as read back the same. Floats have a point or an
// exponent, or are "nan", "inf", "-inf". `at`: its bytes, as the dtype has them.
void append_number(DType dtype, const std::byte* at, std::string& out);

// The option "dtypes" with which readers of text give these fields back as they were.
Value dtypes_of(const Schema& schema);

}  // namespace headrace
