// Any text as DALI's index of a tar: samples in order and inside it, each with members.
#include <cstdlib>

#include "headrace/formats/webdataset/dali_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kTar = 1 << 20;
  const auto index = headrace::read_dali_tar_index({reinterpret_cast<const char*>(data), size}, kTar);
  if (!index) return 0;
  if (!headrace::is_in_order({index->samples, "", {}}, kTar)) std::abort();
  if (index->samples.empty() || index->data.size() != index->samples.size() || index->first.empty())
    std::abort();
  for (const headrace::Extent& extent : headrace::looks_at(*index))
    if (extent.offset > kTar || extent.length > kTar - extent.offset) std::abort();
  return 0;
}
