#include <algorithm>

#include "headrace/io/store.h"

namespace headrace {
namespace {

Status too_short(uint64_t wanted, uint64_t offset, uint64_t size) {
  return corrupt("expected " + std::to_string(wanted) + " bytes at " + std::to_string(offset) +
                 ", but the file has " + std::to_string(size));
}

}  // namespace

Result<Entries> Store::entries(const std::string& folder) {
  HEADRACE_ASSIGN(const Listing listing, list(folder));
  Entries out;
  for (size_t i = 0; i < listing.files.size(); ++i) {
    const std::string_view name = listing.files[i];
    const size_t slash = name.find('/');
    if (slash == std::string_view::npos)
      out.files.add(name);
    else if (out.folders.empty() || out.folders[out.folders.size() - 1] != name.substr(0, slash))
      out.folders.add(name.substr(0, slash));
  }
  return out;
}

Status read_exactly(OpenFile& file, uint64_t offset, std::span<std::byte> out) {
  if (offset > ~uint64_t{0} - out.size())
    return corrupt("expected " + std::to_string(out.size()) + " bytes at " + std::to_string(offset) +
                   ", which is beyond the end of any file");
  for (size_t done = 0; done < out.size();) {
    HEADRACE_ASSIGN(const size_t count, file.read(offset + done, out.subspan(done)));
    if (count > out.size() - done) return internal_error("a read returned more bytes than requested");
    if (count == 0) {
      HEADRACE_ASSIGN(const uint64_t size, file.size());
      return too_short(out.size(), offset, done > 0 ? offset + done : std::min(offset, size));
    }
    done += count;
  }
  return {};
}

Result<BufferPtr> read_bytes(OpenFile& file, uint64_t offset, uint64_t length, uint64_t limit) {
  HEADRACE_ASSIGN(const uint64_t size, file.size());
  const bool to_end = length == ~uint64_t{0};
  if (offset > size || (!to_end && length > size - offset))
    return too_short(to_end ? 0 : length, offset, size);
  const uint64_t count = to_end ? size - offset : length;
  if (count > limit)
    return Status(Code::exhausted, {.expected = "at most " + std::to_string(limit) + " bytes in one piece",
                                    .got = std::to_string(count)});
  MutableBufferPtr buffer = HeapBuffer::make(count);
  HEADRACE_TRY(read_exactly(file, offset, {buffer->mutable_data(), count}));
  return BufferPtr(std::move(buffer));
}

}  // namespace headrace
