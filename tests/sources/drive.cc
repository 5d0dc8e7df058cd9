#include "tests/sources/drive.h"

#include "headrace/io/archives/archive_store.h"

namespace headrace::trial {

Result<BufferPtr> read_extent(Store& store, const std::string& path, const Extent& extent) {
  const auto archives = with_archives(std::shared_ptr<Store>(&store, [](Store*) {}));
  auto opened = archives->open(path);
  if (!opened.ok()) return Status(opened.status()).after(" (opening it, at byte 0 of " + path + ")");
  const auto& file = *opened;
  HEADRACE_ASSIGN(const uint64_t size, file->size());
  const uint64_t offset = extent.begin_in(size);
  const uint64_t left = offset <= size ? size - offset : 0;
  const uint64_t length = extent.length == kToEnd ? left : extent.length;
  if (offset > size || length > left)
    return corrupt("wanted " + std::to_string(length) + " bytes at byte " + std::to_string(offset) + " of " +
                   path + ", which has " + std::to_string(size));
  const MutableBufferPtr buffer = HeapBuffer::make(length);
  Status status = read_exactly(*file, offset, {buffer->mutable_data(), length});
  if (!status.ok())
    return std::move(status).after(" (reading " + std::to_string(length) + " bytes at byte " +
                                   std::to_string(offset) + " of " + path + ")");
  return BufferPtr(buffer);
}

}  // namespace headrace::trial
