// Any bytes as a squashfs image: names in order, files whose parts are those of the whole, or an error.
#include "fuzz/read_archive.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto archive = open_squashfs(std::make_shared<BytesFile>(data, size));
  if (archive.ok())
    read_archive(*archive);
  else if (archive.status().text().empty())
    std::abort();
  return 0;
}
