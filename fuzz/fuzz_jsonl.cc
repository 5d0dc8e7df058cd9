// Any bytes as JSON lines: the index does not depend on how the bytes are split into pieces, objects accepted
// by nlohmann are accepted here, and lines are read or refused with an error.
#include <nlohmann/json.hpp>

#include "fuzz/read_rows.h"
#include "headrace/core/text/utf8.h"
#include "headrace/formats/jsonl/chosen_fields.h"
#include "headrace/formats/testing/put_rows.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

namespace {

FileIndex index_of(std::string_view bytes, size_t piece) {
  FileIndex index;
  const auto finder = json_lines();
  for (size_t at = 0; at < bytes.size(); at += piece)
    if (!finder->take(std::as_bytes(std::span(bytes.substr(at, piece))), index).ok()) std::abort();
  finder->finish(true, index);
  return index;
}

void compare_with_nlohmann(std::string_view line) {
  JsonReader reader(line);
  JsonSpan value;
  const bool is_taken = reader.begins_with('{') && reader.value(value) && reader.is_at_end();
  // Accepted here and refused by nlohmann: bytes other than UTF-8, halves of surrogates, NaN and Infinity,
  // numbers beyond all floats. The reverse: more than 128 levels, a NUL as the end, a byte order mark at the
  // beginning.
  const bool is_odd = line.find('\0') != std::string_view::npos || line.starts_with(kByteOrderMark);
  if (is_taken || is_odd || !nlohmann::json::accept(line)) return;
  const auto parsed = nlohmann::json::parse(line, nullptr, false);
  const std::string error(reader.error().text());
  if (parsed.is_object() && error.find("at most 128") == std::string::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const FileIndex index = index_of(bytes, bytes.size() + 1);
  if (!is_in_order(index, bytes.size())) std::abort();
  if (index != index_of(bytes, 1) || index != index_of(bytes, 7)) std::abort();
  const auto contents = JsonlContents::unpack(index.extra);
  if (!contents || contents->pack() != index.extra) std::abort();
  (void)JsonlContents::unpack(bytes);
  compare_with_nlohmann(bytes);
  MemoryStore store;
  store.add("x", bytes);
  const auto source = open_source(store, "x", "jsonl");
  if (!source.ok()) return 0;
  read_rows(store, **source);
  const auto [block, rows] = read_together(store, **source, 16);
  if (block && !puts_what_it_gets(*block, (*source)->schema(), rows)) std::abort();
  const auto masked = open_source(store, "x", "jsonl", Value(Value::Object{{"nulls", "mask"}}));
  if (masked.ok()) read_rows(store, **masked);
  return 0;
}
