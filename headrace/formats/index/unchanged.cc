#include "headrace/formats/index/unchanged.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#include "headrace/core/text/text.h"

namespace headrace {
namespace {

constexpr uint64_t kSampleBytes = 4096;  // at the beginning, the middle and the end

// What a server says of a file that was replaced there is the same number, without the function.
constexpr std::string_view kIndexed = "index";
Status marked_stale(Status status) {
  return std::move(status).with({.op = std::string(kIndexed)}).refused(ESTALE, "");
}

std::string date_of(int64_t ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t part = (ns % kSecond + kSecond) % kSecond;
  const auto seconds = static_cast<std::time_t>((ns - part) / kSecond);
  std::tm date = {};
  std::array<char, 64> text = {};
  if (!::gmtime_r(&seconds, &date) ||
      std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &date) == 0)
    return std::to_string(seconds) + " s";
  const std::string digits = std::to_string(part);
  return std::string(text.data()) + "." + std::string(9 - digits.size(), '0') + digits + " UTC";
}

Mismatch difference(const FileInfo& then, const FileInfo& now) {
  if (then.size != now.size)
    return {.expected = std::to_string(then.size) + " bytes", .got = std::to_string(now.size)};
  if (then.mtime_ns != now.mtime_ns)
    return {.expected = "the one written at " + date_of(then.mtime_ns),
            .got = "one written at " + date_of(now.mtime_ns)};
  return {.expected = "the one last changed at " + date_of(then.changed_ns),
          .got = "one changed at " + date_of(now.changed_ns)};
}

Status changed(const FileInfo& then, const FileInfo& now) {
  Mismatch about = difference(then, now);
  about.fix =
      "the index is believed when a data set is opened, and is dropped now: call hr.read again, which "
      "looks at all files, and load the last state to go on from there";
  return marked_stale(Status(Code::io, std::move(about))).before("changed since its index was made: ");
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

Status stale(std::string text) { return marked_stale(Status(Code::io, std::move(text))); }

bool is_stale(const Status& failure) {
  return failure.error_number() == ESTALE && failure.facts().op == kIndexed;
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
  return changed(info_of(file), now).in_file(file.path);
}

Result<std::unique_ptr<OpenFile>> open_unchanged(Store& store, const Source& source, uint64_t ordinal) {
  const SourceFile* known = source.known_file(ordinal);
  return known ? open_unchanged(store, *known) : store.open(source.file(ordinal));
}

}  // namespace headrace
