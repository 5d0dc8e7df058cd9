// Shared by the archive targets: lists an archive, and reads each of its files whole and in part.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "headrace/io/archives/archive.h"

namespace headrace {

inline void read_archive(const std::shared_ptr<const Archive>& archive) {
  constexpr uint64_t kMost = 1 << 20;  // bytes of a file, and of all of them
  constexpr size_t kMostFiles = 200;
  const ArchiveNames& names = archive->names();
  const Listing listing = names.list("");
  if (listing.files.size() != names.size()) std::abort();
  uint64_t left = kMost;
  for (size_t i = 0; i < std::min(names.size(), kMostFiles); ++i) {
    if (i > 0 && names[i - 1] >= names[i]) std::abort();  // not in order, or duplicates
    const std::string path(names[i]);
    if (clean_path(path) != path) std::abort();
    const auto number = names.find(path);
    if (!number) std::abort();
    for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
      if (!names.has_folder(path.substr(0, slash))) std::abort();
    const auto file = archive->open(*number, archive);
    if (!file.ok()) continue;
    const uint64_t size = *(*file)->size();
    if (size != archive->size_of(*number)) std::abort();
    const uint64_t some = std::min(size, left);
    std::vector<std::byte> whole(some), part(some / 3);
    const bool is_read = read_exactly(**file, 0, whole).ok();
    left -= some;
    // A part equals that part of the whole; a damaged member may be refused in one of them.
    if (is_read && read_exactly(**file, some / 2, part).ok() &&
        !std::equal(part.begin(), part.end(), whole.begin() + static_cast<ptrdiff_t>(some / 2)))
      std::abort();
    std::byte beyond;
    const auto end = (*file)->read(size, {&beyond, 1});
    if (!end.ok() || *end != 0) std::abort();
  }
  const Entries root = names.entries("");
  for (size_t i = 0; i < root.folders.size(); ++i) (void)names.entries(root.folders[i]);
}

// A file with the given bytes.
class BytesFile final : public OpenFile {
 public:
  BytesFile(const uint8_t* data, size_t size) : data_(data, data + size) {}
  Result<uint64_t> size() override { return uint64_t{data_.size()}; }
  Result<size_t> read(uint64_t offset, std::span<std::byte> out) override {
    if (offset >= data_.size() || out.empty()) return size_t{0};
    const size_t count = std::min<size_t>(out.size(), data_.size() - offset);
    std::memcpy(out.data(), data_.data() + offset, count);
    return count;
  }

 private:
  std::vector<uint8_t> data_;
};

}  // namespace headrace
