// An archive: a folder of files inside one file, read without unpacking or mounting it.
//
// Its directory is read once, when it is opened; after that a file in it is a few numbers. Everything here
// except ArchiveContents is immutable and may be used from several threads.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/io/store.h"

namespace headrace {

// The files of an archive by path, sorted by bytes, each with the number that identifies it in its archive.
class ArchiveNames {
 public:
  size_t size() const { return files_.size(); }
  std::string_view operator[](size_t i) const { return files_[i]; }

  // `path`, `folder`: as clean_path returns them; "" is the root.
  std::optional<uint32_t> find(std::string_view path) const;
  bool has_folder(std::string_view folder) const;
  // REQUIRES, for both: the folder exists. Links that lead nowhere are `unread`.
  Listing list(std::string_view folder) const;
  Entries entries(std::string_view folder) const;
  size_t held_bytes() const;

 private:
  friend class ArchiveContents;
  template <class Take> void each_below(std::string_view folder, const Take& take) const;

  Names files_;
  std::vector<uint32_t> numbers_;
  Names empty_folders_;  // sorted; all others are parts of paths of files
  std::vector<Listing::Problem> problems_;
  std::vector<Listing::Problem> unread_;
  bool has_no_data_ = false;  // whether a part of a path is_no_data()
};

// Without "//", "." and "..", or a slash at either end. Nothing when the path leads out of the archive.
std::optional<std::string> clean_path(std::string_view path);

// Memory that an archive's directory may take; readers refuse an archive that needs more before they
// allocate. Directories can be compressed, and can refer to one thing many times.
constexpr uint64_t most_held(uint64_t file_bytes) { return (uint64_t{64} << 20) + 32 * file_bytes; }

// What is found while an archive is read, in any order. One caller.
class ArchiveContents {
 public:
  // Paths as they are in the archive, of any bytes. Of two files with one path the later one counts.
  void add_file(std::string_view path, uint32_t number);
  void add_folder(std::string_view path);
  void add_link(std::string_view path,
                std::string target);  // resolved from their folder, as symbolic links are
  void add_problem(std::string_view path, std::string reason);
  // The memory of everything added, without overallocation.
  uint64_t held_bytes() const {
    return bytes_.size() + (files_.size() + folders_.size()) * sizeof(Item) + link_bytes_;
  }
  // Links are followed inside the archive; their targets are also listed under the links' names.
  Result<ArchiveNames> finish();

 private:
  struct Item {
    uint64_t begin = 0;
    uint32_t length = 0, number = 0;
  };
  struct Link {
    std::string path, target;
  };
  std::optional<Item> keep(std::string_view path, uint32_t number);
  std::string_view name(const Item& item) const {
    return std::string_view(bytes_).substr(item.begin, item.length);
  }
  void sort(std::vector<Item>& items) const;
  Status follow_links();
  Result<bool> follow(const Link& link, uint64_t most_bytes, std::vector<Item>& out);

  std::string bytes_;  // of all names
  std::vector<Item> files_, folders_;
  std::vector<Link> links_;
  uint64_t link_bytes_ = 0;  // of links_
  std::vector<Listing::Problem> problems_, unread_;
};

class Archive {
 public:
  virtual ~Archive() = default;
  virtual const ArchiveNames& names() const = 0;
  virtual uint64_t size_of(uint32_t number) const = 0;
  // A file of it, which keeps `self`, this archive, alive.
  virtual Result<std::unique_ptr<OpenFile>> open(uint32_t number,
                                                 std::shared_ptr<const Archive> self) const = 0;
  virtual size_t held_bytes() const = 0;
};

// Whether a file that begins like this is an archive: "zip", "squashfs" or "".
std::string_view archive_kind(std::span<const std::byte> head);
inline constexpr size_t kArchiveHead = 4;  // bytes

Result<std::shared_ptr<const Archive>> open_zip(std::shared_ptr<OpenFile> file);
Result<std::shared_ptr<const Archive>> open_squashfs(std::shared_ptr<OpenFile> file);
// Opens either kind, by its first bytes. Null when it is neither.
Result<std::shared_ptr<const Archive>> open_archive(std::shared_ptr<OpenFile> file);

}  // namespace headrace
