// Writes a new LMDB database through liblmdb. One thread; no lock file, no fsync.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/core/status.h"

struct MDB_env;
struct MDB_txn;
struct MDB_cursor;

namespace headrace {

inline constexpr uint64_t kMostLmdbKey = 511, kMostLmdbValue = 0xffffffff;  // bytes

class NewDatabase {
 public:
  enum class Layout : uint8_t {
    folder,  // a new folder at the path, with data.mdb in it
    file,    // a new file at the path
  };
  static Result<std::unique_ptr<NewDatabase>> make(const std::string& path, Layout layout);
  ~NewDatabase();
  NewDatabase(const NewDatabase&) = delete;
  NewDatabase& operator=(const NewDatabase&) = delete;

  // Memory for a value of `size` bytes under `key`, to be filled before the next call. Fastest when keys come
  // in byte order. A key that exists is an error and changes nothing. REQUIRES: 1 to kMostLmdbKey bytes of
  // key, at most kMostLmdbValue of value.
  Result<std::span<std::byte>> add(std::span<const std::byte> key, uint64_t size);
  // Passes every byte to the system. Once, at the end.
  Status finish();

 private:
  NewDatabase(std::string path, Layout layout)
      : path_(std::move(path)), file_(layout == Layout::file ? path_ : path_ + "/data.mdb") {}
  Status open(Layout layout);
  Status begin(uint64_t pages);
  Status commit();
  Status check(int failed) const;

  const std::string path_, file_;
  MDB_env* environment_ = nullptr;
  MDB_txn* transaction_ = nullptr;
  MDB_cursor* cursor_ = nullptr;  // of the transaction
  uint64_t page_size_ = 0, pages_left_ = 0,
           waiting_ = 0;         // pages left to the transaction; bytes of its values
  std::vector<std::byte> last_;  // the greatest key
};

}  // namespace headrace
