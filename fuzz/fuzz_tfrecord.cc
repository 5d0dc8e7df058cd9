// Any bytes as a TFRecord file, plain, gzip or zlib: records inside it in order, or an error. Reading a
// record gives its bytes or an error, and the first bytes are recognised as the whole file is.
#include <cstdlib>

#include "headrace/codecs/deflate/inflate.h"
#include "headrace/formats/opening/open.h"
#include "headrace/formats/testing/put_rows.h"
#include "headrace/formats/tfrecord/index.h"
#include "headrace/io/testing/memory_store.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  headrace::MemoryStore store;
  store.add("x", std::string(reinterpret_cast<const char*>(data), size));
  const auto source = headrace::open_source(store, "x", "tfrecord");
  if (!source.ok()) return source.status().text().empty() ? std::abort(), 0 : 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto head = bytes.first(std::min<size_t>(size, headrace::kProbeBytes));
  const bool recognised = headrace::begins_tfrecord(head, size) || headrace::looks_deflated(head);
  if ((*source)->size() > 0 && !recognised && !(*source)->metadata().find("damaged")) std::abort();
  for (uint64_t i = 0; i < std::min<uint64_t>((*source)->size(), 100); ++i) {
    const auto fields = headrace::read_sample(**source, i, store);
    if (!fields.ok() && fields.status().text().find(" at byte ") == std::string_view::npos) std::abort();
  }
  const auto [block, rows] = headrace::read_together(store, **source, 16);
  if (block && !headrace::puts_what_it_gets(*block, (*source)->schema(), rows)) std::abort();
  return 0;
}
