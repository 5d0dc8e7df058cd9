// The metadata of Arrow files and streams being written: messages with their prefix, and the footer.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headrace/formats/arrow/message.h"
#include "headrace/formats/arrow/writing/new_column.h"

namespace headrace::arrow {

// The position of a record batch in the footer; a struct of File.fbs.
struct BatchPlace {
  int64_t offset = 0;
  int32_t metadata = 0, padding = 0;  // `metadata` includes its prefix
  int64_t body = 0;
};

// Keys and values of a schema's own metadata.
using About = std::vector<std::pair<std::string, std::string>>;

// Messages begin with their prefix and have a length that is a multiple of 8.
std::string schema_message(std::span<const NewColumn> columns, const About& about);
// The same for columns that are members of structs: `paths` holds for each the names of the structs around
// it, then its own; members of one struct are adjacent.
std::string schema_message(std::span<const NewColumn> columns, const About& about,
                           std::span<const std::vector<std::string>> paths);
// `pieces`: of its body, which is `body` bytes long.
std::string batch_message(uint64_t rows, std::span<const Node> nodes, std::span<const Piece> pieces,
                          Codec codec, uint64_t body);
// Ends a stream, and precedes the footer of a file.
std::string end_mark();
// The bytes of a file after that mark.
std::string file_end(std::span<const NewColumn> columns, const About& about,
                     std::span<const BatchPlace> batches);

}  // namespace headrace::arrow
