// Any bytes as a CSV file: the index of its rows does not depend on how the bytes are split into pieces, and
// rows are read or refused with an error. The first byte selects the dialect.
#include "fuzz/read_rows.h"
#include "headrace/formats/csv/index.h"
#include "headrace/formats/testing/put_rows.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

namespace {

FileIndex index_of(std::string_view bytes, const CsvDialect& dialect, bool has_header, size_t piece) {
  FileIndex index;
  const auto finder = csv_rows(dialect, has_header);
  for (size_t at = 0; at < bytes.size(); at += piece)
    if (!finder->take(std::as_bytes(std::span(bytes.substr(at, piece))), index).ok()) std::abort();
  finder->finish(true, index);
  return index;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const bool has_header = data[0] & 1, has_quotes = data[0] & 2;
  const CsvDialect dialect{data[0] & 4 ? ';' : ',', has_quotes ? '"' : '\0'};
  const std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const FileIndex index = index_of(bytes, dialect, has_header, bytes.size() + 1);
  if (!is_in_order(index, bytes.size())) std::abort();
  if (index != index_of(bytes, dialect, has_header, 1) || index != index_of(bytes, dialect, has_header, 7))
    std::abort();
  const auto contents = CsvContents::unpack(index.extra);
  if (!contents || contents->pack() != index.extra) std::abort();
  (void)CsvContents::unpack(bytes);
  MemoryStore store;
  store.add("x", bytes);
  Value options;
  options.set("header", has_header), options.set("quote", has_quotes ? "\"" : "");
  options.set("delimiter", std::string(1, dialect.delimiter));
  const auto source = open_source(store, "x", "csv", options);
  if (!source.ok()) return 0;
  read_rows(store, **source);
  const auto [block, rows] = read_together(store, **source, 16);
  if (block && !puts_what_it_gets(*block, (*source)->schema(), rows)) std::abort();
  options.set("nulls", "mask");
  const auto masked = open_source(store, "x", "csv", options);
  if (masked.ok()) read_rows(store, **masked);
  return 0;
}
