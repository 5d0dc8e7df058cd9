// Arrow IPC files (the random-access form, also Feather V2): a record batch is a Block, its columns share its
// bytes.
//
// Opening a file: its end (magic, footer length, usually the footer too), the footer when it is longer, then
// the metadata of all record batches at once, for their numbers of rows. Opening a batch: its metadata, then
// the buffers of the chosen columns only. Served: integers, floats, binary, text, lists of numbers, and these
// inside structs ("image/bytes"). Columns with nulls, dictionaries and other types are refused by name when
// they are chosen.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "headrace/formats/source.h"

namespace headrace::trial {

struct ArrowOptions {
  std::vector<std::string> columns;  // all of them when empty
  uint64_t tail = 64 << 10;          // bytes asked from the end at first, at least 10
};

Result<std::unique_ptr<Opening<SourcePtr>>> open_arrow(SourceFile file, ArrowOptions options = {});

}  // namespace headrace::trial
