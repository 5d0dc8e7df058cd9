// The index of a file, built before any row is read: its schema, its dictionaries, the position of each
// batch and its number of rows. Built once, kept in the file's sidecar.
#pragma once
#include <memory>

#include "headrace/formats/arrow/flatbuffer.h"
#include "headrace/formats/format.h"

namespace headrace::arrow {

// Stored in FileIndex::extra. FileIndex::records are the batches, with their metadata.
struct Contents {
  std::string schema;                     // the message, or kOfFooter and the footer
  std::vector<std::string> dictionaries;  // the messages with their bodies
  bool is_compressed = false;             // any batch
  std::vector<uint64_t> first_row;        // of each batch, then the total; empty when rows_each is used
  uint64_t rows_each = 0;                 // of each batch, when all have the same number
  uint64_t num_rows = 0;

  uint64_t rows_before(uint64_t batch) const {
    return first_row.empty() ? batch * rows_each : first_row[batch];
  }
  uint64_t rows_of(uint64_t batch) const { return rows_before(batch + 1) - rows_before(batch); }
  uint64_t batch_of(uint64_t row) const;  // REQUIRES: row < num_rows
};
inline constexpr char kIndexKind[] = "arrow 1";
inline constexpr std::string_view kOfFooter{"\0\0\0\0", 4};  // no message begins so

// Borrows the bytes.
struct StoredSchema {
  FlatTable table;
  int version;
};
Result<StoredSchema> schema_in(std::string_view stored);

std::string pack(const Contents& contents);
Result<Contents> unpack(const FileIndex& index);  // the number of rows is computed from the records

// An IPC file by its footer, a stream by a scan from message to message. `tail`: bytes first requested from
// the end.
std::unique_ptr<Opening<FileIndex>> index_arrow(SourceFile file, uint64_t tail = 64 << 10);

enum class Form { none, file, stream, feather1 };
Form form_of(std::span<const std::byte> head);

}  // namespace headrace::arrow
