// Writes a tar member by member: ustar, with a PAX header before members with long names. The same members
// give the same bytes. One thread.
#pragma once
#include <memory>
#include <span>
#include <string_view>

#include "headrace/codecs/deflate/deflate.h"
#include "headrace/io/new_file.h"

namespace headrace {

class TarWriter {
 public:
  // `deflater`: null for a plain tar.
  TarWriter(std::unique_ptr<AppendedFile> file, std::unique_ptr<Deflater> deflater)
      : file_(std::move(file)), deflater_(std::move(deflater)) {}

  // REQUIRES: a name without NUL, and of at most kMostTarName bytes.
  Status add(std::string_view name, std::span<const std::byte> data);
  Status finish();

 private:
  Status append(std::span<const std::byte> bytes);
  Status append_member(std::string_view name, char type, std::span<const std::byte> data);

  std::unique_ptr<AppendedFile> file_;
  std::unique_ptr<Deflater> deflater_;
};

}  // namespace headrace
