// Zip files: see README.md in this folder.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <list>
#include <mutex>

#include "headrace/codecs/deflate/inflate.h"
#include "headrace/core/text/text.h"
#include "headrace/core/text/utf8.h"
#include "headrace/io/archives/archive.h"
#include "headrace/io/archives/reused_bytes.h"
#include "headrace/io/archives/unpacked_cache.h"
#include "headrace/io/archives/zip_directory.h"

namespace headrace {
namespace {

constexpr uint64_t kUnpackedWhole = uint64_t{32}
                                    << 20;             // bytes of a member; larger ones are read from points
constexpr uint64_t kMostAtOnce = uint64_t{4} << 20;    // bytes of a read from a point
constexpr uint64_t kPiece = uint64_t{1} << 20;         // read at once where points are recorded
constexpr uint64_t kMostPoints = uint64_t{256} << 20;  // bytes of an archive's points
constexpr uint64_t kLongestTarget = 4096;              // of a link

// Code page 437, the encoding of names in a zip that are not UTF-8, from 0x80 on.
constexpr std::u32string_view kCodePage =
    U"ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµ"
    U"τΦΘΩδ∞φε∩≡±≥≤"
    U"⌠⌡÷≈°∙·√ⁿ²■\u00a0";
static_assert(kCodePage.size() == 128);

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6), out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xE0 | c >> 12), out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

// Names made on Unix are kept as bytes, as unpackers do; otherwise names that are not UTF-8 are in the code
// page.
std::string name_of(const zips::Member& member) {
  constexpr uint16_t kUnix = 3, kMac = 19;
  const uint16_t system = member.made_by >> 8;
  if (system == kUnix || system == kMac || utf8_prefix(member.name) == member.name.size()) return member.name;
  std::string out;
  for (const char c : member.name) {
    const auto byte = static_cast<uint8_t>(c);
    append_utf8(out, byte < 0x80 ? byte : kCodePage[byte - 0x80]);
  }
  return out;
}

class ZipArchive final : public Archive {
 public:
  ZipArchive(std::shared_ptr<OpenFile> file, zips::Directory directory)
      : file_(std::move(file)), directory_(directory), id_(next_archive_id()) {}

  Status read(std::span<const std::byte> bytes);

  const ArchiveNames& names() const override { return names_; }
  uint64_t size_of(uint32_t number) const override { return members_[number].size; }
  Result<std::unique_ptr<OpenFile>> open(uint32_t number, std::shared_ptr<const Archive> self) const override;
  size_t held_bytes() const override {
    return names_.held_bytes() + members_.size() * (sizeof(Kept) + sizeof(uint32_t));
  }

  Result<size_t> read(uint32_t number, uint64_t offset, std::span<std::byte> out) const;

 private:
  struct Kept {  // zips::Member without its name
    uint64_t local = 0, packed = 0, size = 0;
    uint32_t crc = 0;
    uint16_t method = 0, flags = 0;
  };
  struct Points {
    uint32_t number = 0;
    std::mutex making;
    std::shared_ptr<const InflatePoints> value;  // guarded by making
  };

  zips::Member member(uint32_t number) const {
    const Kept& kept = members_[number];
    zips::Member out;
    out.method = kept.method, out.flags = kept.flags, out.crc = kept.crc;
    out.packed = kept.packed, out.size = kept.size, out.local = kept.local;
    return out;
  }
  Result<uint64_t> data_of(uint32_t number) const;
  Status unpack_whole(uint32_t number, std::span<std::byte> out) const;
  Result<size_t> read_from_point(uint32_t number, uint64_t offset, std::span<std::byte> out) const;
  Status read_as_gzip(uint32_t number, uint64_t offset, std::span<std::byte> out) const;
  Result<std::shared_ptr<const InflatePoints>> points_of(uint32_t number) const;
  Result<std::shared_ptr<const InflatePoints>> make_points(uint32_t number) const;

  std::shared_ptr<OpenFile> file_;
  zips::Directory directory_;
  uint64_t id_;
  ArchiveNames names_;
  std::vector<Kept> members_;
  mutable std::vector<uint32_t> heads_;  // size of each member's local header, 0: not known; atomic
  mutable std::mutex mutex_;
  mutable std::list<std::shared_ptr<Points>> points_;  // newest first; guarded by mutex_
};

class ZipMember final : public OpenFile {
 public:
  ZipMember(std::shared_ptr<const Archive> archive, const ZipArchive& zip, uint32_t number)
      : archive_(std::move(archive)), zip_(zip), number_(number) {}
  Result<uint64_t> size() override { return zip_.size_of(number_); }
  Result<size_t> read(uint64_t offset, std::span<std::byte> out) override {
    return zip_.read(number_, offset, out);
  }

 private:
  std::shared_ptr<const Archive> archive_;  // is zip_
  const ZipArchive& zip_;
  uint32_t number_;
};

Status ZipArchive::read(std::span<const std::byte> bytes) {
  ArchiveContents contents;
  std::vector<std::pair<std::string, uint32_t>> links;
  members_.reserve(directory_.members);
  HEADRACE_TRY(zips::walk_members(bytes, directory_, [&](const zips::Member& member) -> Status {
    const std::string name = name_of(member);
    if (name.ends_with('/')) {
      contents.add_folder(name);
      return {};
    }
    const auto number = static_cast<uint32_t>(members_.size());
    members_.push_back({member.local, member.packed, member.size, member.crc, member.method, member.flags});
    if (member.is_link() && member.size <= kLongestTarget && zips::check_member(member).ok())
      links.emplace_back(name, number);
    else
      contents.add_file(name, number);
    return {};
  }));
  heads_.resize(members_.size());
  // Many links may refer to the same bytes, and each is unpacked here.
  uint64_t packed = 0;
  for (auto& [name, number] : links) {
    packed += members_[number].packed;
    if (packed > directory_.offset)
      return corrupt({.expected = "links that do not overlap in the file",
                      .got = "overlapping ones up to " + in_quotes(name)});
    if (contents.held_bytes() + members_[number].size > most_held(directory_.offset + directory_.length))
      return {Code::exhausted, "targets of links take more memory than the file allows: more than " +
                                   std::to_string(contents.held_bytes()) + " bytes"};
    std::string target(members_[number].size, '\0');
    const auto count = read(number, 0, std::as_writable_bytes(std::span(target)));
    HEADRACE_TRY(count.status().before(in_quotes(name) + ": "));
    contents.add_link(name, std::move(target));
  }
  HEADRACE_ASSIGN(names_, contents.finish());
  return {};
}

Result<std::unique_ptr<OpenFile>> ZipArchive::open(uint32_t number,
                                                   std::shared_ptr<const Archive> self) const {
  HEADRACE_TRY(zips::check_member(member(number)));
  return std::unique_ptr<OpenFile>(std::make_unique<ZipMember>(std::move(self), *this, number));
}

// A member's local header states where its data begins; once read, the header's length is kept.
Result<uint64_t> ZipArchive::data_of(uint32_t number) const {
  const Kept& kept = members_[number];
  const std::atomic_ref<uint32_t> known(heads_[number]);
  if (const uint32_t length = known.load(std::memory_order_relaxed)) return kept.local + length;
  std::array<std::byte, zips::kLocalHead> head;
  HEADRACE_TRY(read_exactly(*file_, kept.local, head));
  HEADRACE_ASSIGN(const uint64_t data, zips::data_of(member(number), head, directory_));
  known.store(static_cast<uint32_t>(data - kept.local), std::memory_order_relaxed);
  return data;
}

Status ZipArchive::unpack_whole(uint32_t number, std::span<std::byte> out) const {
  HEADRACE_ASSIGN(const uint64_t data, data_of(number));
  ReusedBytes packed(members_[number].packed);
  HEADRACE_TRY(read_exactly(*file_, data, packed.bytes()));
  return zips::unpack(member(number), packed.bytes(), out);
}

Result<size_t> ZipArchive::read(uint32_t number, uint64_t offset, std::span<std::byte> out) const {
  const Kept& kept = members_[number];
  if (offset >= kept.size || out.empty()) return size_t{0};
  out = out.first(std::min<uint64_t>(out.size(), kept.size - offset));
  if (kept.method == zips::kStored) {
    HEADRACE_ASSIGN(const uint64_t data, data_of(number));
    HEADRACE_TRY(read_exactly(*file_, data + offset, out));
    return out.size();
  }
  if (out.size() == kept.size) {
    HEADRACE_TRY(unpack_whole(number, out));
    return out.size();
  }
  if (kept.size > kUnpackedWhole && kept.method == zips::kDeflated)
    return read_from_point(number, offset, out);
  if (kept.size > kMostUnpacked)
    return Status(Code::unavailable,
                  {.expected = "zip members in zstd of at most " + std::to_string(kMostUnpacked >> 20) +
                               " MiB to read a part, because zstd has no entry points",
                   .got = std::to_string(kept.size) + " bytes",
                   .fix = "use `zip -0` to store without compression"});
  HEADRACE_ASSIGN(const BufferPtr whole,
                  unpacked_cache().get({id_, number}, kept.size, [&]() -> Result<BufferPtr> {
                    const MutableBufferPtr made = HeapBuffer::make(kept.size);
                    HEADRACE_TRY(unpack_whole(number, {made->mutable_data(), kept.size}));
                    return BufferPtr(made);
                  }));
  std::memcpy(out.data(), whole->data() + offset, out.size());
  return out.size();
}

// A deflated member is the body of a gzip file, without header and trailer.
constexpr std::array<unsigned char, 10> kGzipHead{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};
constexpr uint64_t kGzipTail = 8;

Status ZipArchive::read_as_gzip(uint32_t number, uint64_t offset, std::span<std::byte> out) const {
  const Kept& kept = members_[number];
  HEADRACE_ASSIGN(const uint64_t data, data_of(number));
  const uint32_t tail[] = {kept.crc, static_cast<uint32_t>(kept.size)};
  const uint64_t end = kGzipHead.size() + kept.packed;
  while (!out.empty()) {
    uint64_t count = 0;
    if (offset < kGzipHead.size()) {
      count = std::min<uint64_t>(out.size(), kGzipHead.size() - offset);
      std::memcpy(out.data(), kGzipHead.data() + offset, count);
    } else if (offset < end) {
      count = std::min<uint64_t>(out.size(), end - offset);
      HEADRACE_TRY(read_exactly(*file_, data + offset - kGzipHead.size(), out.first(count)));
    } else {
      if (offset - end >= kGzipTail) return corrupt("a deflated member ends early");
      count = std::min<uint64_t>(out.size(), kGzipTail - (offset - end));
      std::memcpy(out.data(), reinterpret_cast<const std::byte*>(tail) + (offset - end), count);
    }
    out = out.subspan(count), offset += count;
  }
  return {};
}

Result<std::shared_ptr<const InflatePoints>> ZipArchive::make_points(uint32_t number) const {
  const Kept& kept = members_[number];
  const uint64_t length = kGzipHead.size() + kept.packed + kGzipTail;
  Inflater inflater;
  uint64_t made = 0;
  std::vector<std::byte> piece(std::min(kPiece, length));
  for (uint64_t at = 0; at < length; at += piece.size()) {
    const auto some = std::span(piece).first(std::min<uint64_t>(piece.size(), length - at));
    HEADRACE_TRY(read_as_gzip(number, at, some));
    HEADRACE_TRY(inflater.feed(some, [&](std::span<const std::byte> bytes) {
      made += bytes.size();
      return made <= kept.size
                 ? Status()
                 : corrupt("a deflated member holds more bytes than its directory entry states");
    }));
  }
  HEADRACE_TRY(inflater.finish());
  if (made == kept.size) return std::make_shared<const InflatePoints>(inflater.points());
  return corrupt(
      {.expected = std::to_string(kept.size) + " bytes in a zip member", .got = std::to_string(made)});
}

Result<std::shared_ptr<const InflatePoints>> ZipArchive::points_of(uint32_t number) const {
  std::shared_ptr<Points> one;
  {
    const std::lock_guard lock(mutex_);
    const auto it = std::ranges::find(points_, number, [](const auto& p) { return p->number; });
    if (it != points_.end()) {
      points_.splice(points_.begin(), points_, it);
    } else {
      points_.push_front(std::make_shared<Points>());
      points_.front()->number = number;
      // A window of 32 KiB for 2 MiB.
      uint64_t bytes = 0;
      auto last = points_.begin();
      for (; last != points_.end(); ++last) {
        bytes += members_[(*last)->number].size / 64;
        if (bytes > kMostPoints && last != points_.begin()) break;
      }
      points_.erase(last, points_.end());
    }
    one = points_.front();
  }
  const std::lock_guard lock(one->making);
  if (!one->value) {
    HEADRACE_ASSIGN(one->value, make_points(number));
  }
  return one->value;
}

Result<size_t> ZipArchive::read_from_point(uint32_t number, uint64_t offset, std::span<std::byte> out) const {
  HEADRACE_ASSIGN(const auto points, points_of(number));
  out = out.first(std::min<uint64_t>(out.size(), kMostAtOnce));
  const InflatePoint& point = points->points[points->before(offset)];
  const uint64_t before = offset - point.unpacked, begin = point.packed - (point.bits > 0 ? 1 : 0);
  std::vector<std::byte> packed(points->packed_end(offset + out.size()) - begin);
  HEADRACE_TRY(read_as_gzip(number, begin, packed));
  std::vector<std::byte> unpacked(before + out.size());
  HEADRACE_TRY(inflate_from(point, packed, unpacked));
  std::memcpy(out.data(), unpacked.data() + before, out.size());
  return out.size();
}

}  // namespace

Result<std::shared_ptr<const Archive>> open_zip(std::shared_ptr<OpenFile> file) {
  HEADRACE_ASSIGN(const uint64_t size, file->size());
  const uint64_t tail = std::min(size, zips::kTail);
  HEADRACE_ASSIGN(BufferPtr bytes, read_bytes(*file, size - tail, tail));
  HEADRACE_ASSIGN(zips::Directory directory, zips::find_directory(bytes->bytes(), size));
  if (directory.wide_end != 0) {
    HEADRACE_ASSIGN(bytes, read_bytes(*file, directory.wide_end, zips::kWideEnd));
    HEADRACE_ASSIGN(directory, zips::read_wide_end(bytes->bytes(), size));
  }
  HEADRACE_ASSIGN(bytes, read_bytes(*file, directory.offset, directory.length));
  const auto out = std::make_shared<ZipArchive>(std::move(file), directory);
  HEADRACE_TRY(out->read(bytes->bytes()));
  return std::shared_ptr<const Archive>(out);
}

}  // namespace headrace
