// The metadata of Arrow files and streams in the making: messages with their prefix, and the footer.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headrace/formats/arrow/message.h"
#include "headrace/formats/arrow/writing/new_column.h"

namespace headrace::arrow {

// As the footer says where a record batch lies; a struct of File.fbs.
struct BatchPlace {
  int64_t offset = 0;
  int32_t metadata = 0, padding = 0;  // `metadata` with its prefix
  int64_t body = 0;
};

// Keys and values that a schema has of its own.
using About = std::vector<std::pair<std::string, std::string>>;

// Messages begin with their prefix and are as long as a multiple of 8.
std::string schema_message(std::span<const NewColumn> columns, const About& about);
// The same of columns that are members of structs: `paths` has each one's name, last, and those of the
// structs around it, whose members stand side by side.
std::string schema_message(std::span<const NewColumn> columns, const About& about,
                           std::span<const std::vector<std::string>> paths);
// `pieces` of its body, which is `body` bytes long.
std::string batch_message(uint64_t rows, std::span<const Node> nodes, std::span<const Piece> pieces,
                          Codec codec, uint64_t body);
// What ends a stream, and comes before the footer of a file.
std::string end_mark();
// From the first byte after that mark to the last of the file.
std::string file_end(std::span<const NewColumn> columns, const About& about,
                     std::span<const BatchPlace> batches);

}  // namespace headrace::arrow
