// Any bytes as files of CIFAR's binary version, of 10 and of 100 classes: images and labels, or an error.
#include "fuzz/read_rows.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  MemoryStore store;
  store.add("d/data_batch_1.bin", bytes);
  store.add("d/batches.meta.txt", bytes);
  store.add("e/train.bin", bytes);
  store.add("e/fine_label_names.txt", bytes);
  for (const char* path : {"d", "d/data_batch_1.bin", "e", "e/train.bin"})
    for (const int64_t classes : {0, 10, 100}) {
      Value options{Value::Object()};
      if (classes > 0) options.set("classes", classes);
      const auto source = open_source(store, path, "cifar", options);
      if (source.ok()) read_rows(store, **source);
    }
  return 0;
}
