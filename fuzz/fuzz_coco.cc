// Any bytes as COCO's JSON with masks: fields match the schema, or there is an error; splitting the bytes
// into pieces changes nothing.
#include "fuzz/read_rows.h"
#include "headrace/formats/coco/annotation_reader.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t window = data[0] + size_t{1};
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  MemoryStore store;
  store.add("d/x.json", text);
  for (const char* name : {"d/a", "d/b", "d/a.png", "d/x/a.png"}) store.add(name, name);
  const auto walked = [&](size_t pieces) {
    const auto opening = walk_coco({"d/x.json", text.size(), 0, {}}, pieces);
    return drive(*opening, [](uint64_t) { return std::string("d/x.json"); }, store);
  };
  const auto whole = walked(size_t{1} << 20), cut = walked(window);
  if (whole.ok() != cut.ok() || (whole.ok() && whole->extra != cut->extra)) std::abort();
  if (whole.ok() && !CocoTable::unpack(whole->extra)) std::abort();
  for (const char* options : {"{}", R"({"masks": true})", R"({"masks": "map", "boxes": "xywh"})",
                              R"({"each": "caption"})", R"({"labels": "category_id", "empty": "drop"})"}) {
    const auto source = open_source(store, "d/x.json", "coco", *Value::parse(options));
    if (source.ok()) read_rows(store, **source);
  }
  return 0;
}
