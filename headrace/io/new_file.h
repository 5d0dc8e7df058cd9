// Files of this machine that are being written. One thread each.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/core/status.h"

namespace headrace {

// A file being written: readers of its path see the old bytes or, from commit() on, the new ones, whatever
// fails and however many write at once. Without commit() nothing is left of it. The directory must exist.
// Local files only, one thread.
class NewFile {
 public:
  static Result<std::unique_ptr<NewFile>> make(std::string path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  Status write(uint64_t offset, std::span<const std::byte> bytes);
  enum class Lasts : uint8_t {
    after_power_loss,
    as_the_system_likes,  // fast, for data that is checked when it is read
  };
  Status commit(Lasts lasts);

 private:
  NewFile(std::string path, std::string temporary, int descriptor);
  Status close();

  std::string path_, temporary_;
  int descriptor_;
};

// All of it at once, durable.
Status write_atomically(const std::string& path, std::span<const std::byte> bytes);

// A file that grows at its end, written in pieces large enough for any disk. Local files only; one thread.
class AppendedFile {
 public:
  static Result<std::unique_ptr<AppendedFile>> make(
      const std::string& path);  // an error where there is a file
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;

  Status append(std::span<const std::byte> bytes);
  uint64_t size() const { return size_; }  // of all that was appended
  Status flush();   // passes all bytes to the system; later pieces are no longer aligned
  Status finish();  // passes all bytes to the system

 private:
  AppendedFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  Status write(std::span<const std::byte> bytes);

  std::string path_;
  int descriptor_;
  uint64_t size_ = 0, written_ = 0;
  std::vector<std::byte> waiting_;
};

}  // namespace headrace
