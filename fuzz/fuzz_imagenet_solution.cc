// Any text as Kaggle's list of ImageNet's classes: a label for each image, among the classes, or an error.
#include <cstdlib>

#include "headrace/formats/opening/open.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  MemoryStore store;
  store.add("LOC_val_solution.csv", {reinterpret_cast<const char*>(data), size});
  const auto source = open_source(store, "LOC_val_solution.csv", "imagenet_solution");
  if (!source.ok()) return source.status().text().empty() ? std::abort(), 0 : 0;
  const Value metadata = (*source)->metadata();
  if ((*source)->size() == 0 || metadata.find("classes")->list()->empty()) std::abort();
  for (uint64_t i = 0; i < (*source)->size(); ++i)
    if ((*source)->file(i).find("CLS-LOC/val/") == std::string::npos) std::abort();
  return 0;
}
