#include "headrace/io/archives/zip_directory.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "headrace/codecs/deflate/whole.h"
#include "headrace/codecs/packed/unpack.h"
#include "headrace/core/little_endian.h"
#include "headrace/core/text/text.h"

namespace headrace::zips {
namespace {

constexpr size_t kEnd = 22, kLocator = 20, kEntry = 46;  // sizes of records before their variable part
constexpr uint32_t kEndMark = 0x06054b50, kLocatorMark = 0x07064b50, kWideEndMark = 0x06064b50,
                   kEntryMark = 0x02014b50, kLocalMark = 0x04034b50;
constexpr uint32_t kWide = 0xFFFFFFFF;  // the number is in a field of 64 bits
constexpr uint64_t kMostRatio = 1032;   // deflate packs at most 258 bytes into two bits

Status no_directory() { return corrupt("not a complete zip file: there is no directory at its end"); }

Status check_directory(const Directory& out, uint64_t end) {
  if (out.offset > end || out.length > end - out.offset)
    return corrupt({.expected = "a zip directory before byte " + std::to_string(end),
                    .got = std::to_string(out.length) + " bytes at byte " + std::to_string(out.offset)});
  if (out.members > out.length / kEntry)
    return corrupt({.expected = "at most " + std::to_string(out.length / kEntry) +
                                " members in a zip directory of its size",
                    .got = std::to_string(out.members)});
  return {};
}

constexpr uint16_t kWideExtra = 1, kUnicodeExtra = 0x7075, kEncrypted = 1, kUnicode = 1 << 11;

std::string method_name(uint16_t method) {
  constexpr std::array<std::pair<uint16_t, std::string_view>, 6> names{
      {{9, "deflate64"}, {12, "bzip2"}, {14, "LZMA"}, {95, "xz"}, {96, "JPEG"}, {99, "encryption"}}};
  const auto it = std::ranges::find(names, method, &std::pair<uint16_t, std::string_view>::first);
  const std::string number = "method " + std::to_string(method);
  return it == names.end() ? number : number + " (" + std::string(it->second) + ")";
}

// Sizes and positions of 4 GiB and more: in extra field 1, those that did not fit, in this order. A UTF-8
// name for one that is not: after a version byte and the checksum of the latter.
void take_extra(Member& member, std::span<const std::byte> extra) {
  while (extra.size() >= 4) {
    const auto id = load<uint16_t>(extra);
    const size_t length = std::min<size_t>(load<uint16_t>(extra, 2), extra.size() - 4);
    std::span<const std::byte> field = extra.subspan(4, length);
    if (id == kUnicodeExtra && !(member.flags & kUnicode) && length > 5 && field[0] == std::byte{1} &&
        load<uint32_t>(field, 1) == crc32_of(std::as_bytes(std::span(member.name))))
      member.name.assign(reinterpret_cast<const char*>(field.data() + 5), length - 5);
    if (id == kWideExtra)
      for (uint64_t* wide : {&member.size, &member.packed, &member.local})
        if (*wide == kWide && field.size() >= 8) *wide = load<uint64_t>(field), field = field.subspan(8);
    extra = extra.subspan(4 + length);
  }
}

}  // namespace

Result<Directory> find_directory(std::span<const std::byte> tail, uint64_t file_size) {
  const uint64_t begin = file_size - tail.size();
  for (size_t at = tail.size() < kEnd ? 0 : tail.size() - kEnd + 1; at-- > 0;) {
    if (load<uint32_t>(tail, at) != kEndMark || load<uint16_t>(tail, at + 20) != tail.size() - at - kEnd)
      continue;
    Directory out{load<uint32_t>(tail, at + 16), load<uint32_t>(tail, at + 12),
                  load<uint16_t>(tail, at + 10)};
    if (at >= kLocator && load<uint32_t>(tail, at - kLocator) == kLocatorMark) {
      out.wide_end = load<uint64_t>(tail, at - kLocator + 8);
      if (out.wide_end == 0 || out.wide_end > file_size || file_size - out.wide_end < kWideEnd)
        return corrupt("the end of a zip64 directory must be inside the file, got byte " +
                       std::to_string(out.wide_end));
      return out;
    }
    HEADRACE_TRY(check_directory(out, begin + at));
    return out;
  }
  return no_directory();
}

Result<Directory> read_wide_end(std::span<const std::byte> bytes, uint64_t file_size) {
  if (bytes.size() < kWideEnd || load<uint32_t>(bytes) != kWideEndMark) return no_directory();
  const Directory out{load<uint64_t>(bytes, 48), load<uint64_t>(bytes, 40), load<uint64_t>(bytes, 32)};
  HEADRACE_TRY(check_directory(out, file_size));
  return out;
}

Status walk_members(std::span<const std::byte> bytes, const Directory& directory,
                    const std::function<Status(const Member& member)>& take) {
  Member member;
  for (uint64_t i = 0; i < directory.members; ++i) {
    const auto cut = [&] {
      return corrupt({.expected = "entry " + std::to_string(i) + " in the zip directory at byte " +
                                  std::to_string(directory.offset),
                      .got = "something else"});
    };
    if (bytes.size() < kEntry || load<uint32_t>(bytes) != kEntryMark) return cut();
    const size_t name = load<uint16_t>(bytes, 28), extra = load<uint16_t>(bytes, 30),
                 comment = load<uint16_t>(bytes, 32);
    if (bytes.size() - kEntry < name + extra + comment) return cut();
    member.name.assign(reinterpret_cast<const char*>(bytes.data() + kEntry), name);
    member.made_by = load<uint16_t>(bytes, 4), member.attributes = load<uint32_t>(bytes, 38);
    member.flags = load<uint16_t>(bytes, 8), member.method = load<uint16_t>(bytes, 10);
    member.crc = load<uint32_t>(bytes, 16), member.packed = load<uint32_t>(bytes, 20);
    member.size = load<uint32_t>(bytes, 24), member.local = load<uint32_t>(bytes, 42);
    take_extra(member, bytes.subspan(kEntry + name, extra));
    if (member.local > directory.offset || directory.offset - member.local < kLocalHead ||
        member.packed > directory.offset - member.local - kLocalHead)
      return corrupt(
          {.expected =
               "member " + in_quotes(member.name) + " before byte " + std::to_string(directory.offset),
           .got = std::to_string(member.packed) + " bytes at byte " + std::to_string(member.local)});
    HEADRACE_TRY(take(member));
    bytes = bytes.subspan(kEntry + name + extra + comment);
  }
  return {};
}

Result<std::vector<Member>> read_members(std::span<const std::byte> bytes, const Directory& directory) {
  std::vector<Member> out;
  HEADRACE_TRY(walk_members(bytes, directory, [&](const Member& member) {
    out.push_back(member);
    return Status();
  }));
  return out;
}

bool Member::is_link() const {
  constexpr uint32_t kKind = 0170000, kLink = 0120000;  // of a Unix mode
  return made_by >> 8 == 3 && (attributes >> 16 & kKind) == kLink;
}

Result<uint64_t> data_of(const Member& member, std::span<const std::byte> head, const Directory& directory) {
  if (head.size() < kLocalHead || load<uint32_t>(head) != kLocalMark)
    return corrupt({.expected = "the header of a zip member at byte " + std::to_string(member.local),
                    .got = "something else"});
  const uint64_t out = member.local + kLocalHead + load<uint16_t>(head, 26) + load<uint16_t>(head, 28);
  if (out > directory.offset || member.packed > directory.offset - out)
    return corrupt({.expected = "a zip member before byte " + std::to_string(directory.offset),
                    .got = std::to_string(member.packed) + " bytes at byte " + std::to_string(out)});
  return out;
}

Status check_member(const Member& member) {
  if (member.flags & kEncrypted) return {Code::unavailable, "encrypted zip members cannot be read"};
  if (member.is_stored()) {
    if (member.size == member.packed) return {};
  } else if (member.method == kZstd) {
    return check_unpacked_size(member.packed, member.size);
  } else if (member.method != kDeflated) {
    return {Code::unavailable, Mismatch{.expected = "a zip member that is stored, deflated or in zstd",
                                        .got = std::string(method_name(member.method)),
                                        .fix = "use `zip -0` to store without compression"}};
  } else if (member.size / kMostRatio <= member.packed) {
    return {};
  }
  return corrupt("the sizes of a zip member contradict each other: " + std::to_string(member.packed) +
                 " compressed bytes for " + std::to_string(member.size));
}

Status unpack(const Member& member, std::span<const std::byte> packed, std::span<std::byte> out) {
  if (member.method == kZstd) {
    HEADRACE_TRY(headrace::unpack(Packed::zstd, packed, out));
  } else {
    HEADRACE_ASSIGN(const size_t made, inflate_whole(DeflateFrame::raw, packed, out));
    if (made != out.size())
      return corrupt(
          {.expected = std::to_string(out.size()) + " bytes in a zip member", .got = std::to_string(made)});
  }
  if (crc32_of(out) == member.crc) return {};
  return corrupt("a zip member does not match its checksum");
}

}  // namespace headrace::zips
