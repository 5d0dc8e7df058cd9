#include "headrace/formats/index/unchanged.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "headrace/core/text/text.h"

namespace headrace {
namespace {

constexpr uint64_t kSampleBytes = 4096;  // at the beginning, the middle and the end

std::string seen(const FileInfo& info) {
  return std::to_string(info.size) + " bytes, written at " + std::to_string(info.mtime_ns) + " ns";
}

}  // namespace

SourceFile source_file(std::string path, const FileInfo& info) {
  SourceFile out{std::move(path), info.size, info.mtime_ns};
  out.changed_ns = info.changed_ns;
  if (info.is_recalled) out.recalled = std::make_shared<RecalledFile>();
  return out;
}

bool is_same(const FileInfo& one, const FileInfo& other) {
  const auto agree = [](auto a, auto b) { return a == b || a == 0 || b == 0; };
  return one.size == other.size && one.mtime_ns == other.mtime_ns && one.is_directory == other.is_directory &&
         agree(one.changed_ns, other.changed_ns);
}

FileInfo info_of(const SourceFile& file) {
  return {.size = file.size, .mtime_ns = file.mtime_ns, .changed_ns = file.changed_ns};
}

Result<uint64_t> sample_of(OpenFile& file, uint64_t size) {
  const uint64_t count = std::min(size, kSampleBytes);
  std::vector<std::byte> bytes(3 * count);
  uint64_t part = 0;
  for (const uint64_t offset : {uint64_t{0}, (size - count) / 2, size - count})
    HEADRACE_TRY(read_exactly(file, offset, std::span(bytes).subspan(count * part++, count)));
  return XXH3_64bits(bytes.data(), bytes.size());
}

Result<std::unique_ptr<OpenFile>> open_unchanged(Store& store, const SourceFile& file) {
  HEADRACE_ASSIGN(std::unique_ptr<OpenFile> opened, store.open_known(file.path));
  if (!file.recalled) return opened;
  HEADRACE_ASSIGN(const FileInfo now, opened->as_opened());
  if (is_same(now, info_of(file))) return opened;
  if (now.size == file.size && now.mtime_ns == file.mtime_ns && file.recalled->sample) {
    const auto sample = sample_of(*opened, file.size);
    if (sample.ok() && *sample == *file.recalled->sample) return opened;
  }
  if (file.recalled->drop) file.recalled->drop();
  return Status(
             Code::io,
             "changed since its index was made, which was believed when the data set was opened: expected " +
                 seen(info_of(file)) + ", got " + seen(now) +
                 ". The index is dropped: read the data set anew")
      .in_file(file.path);
}

}  // namespace headrace
