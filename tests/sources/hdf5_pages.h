// A file for the HDF5 library that never waits: pages that were fetched are read, a page that was not is
// remembered as missing and the read fails. The caller fetches what is missing and tries again, which turns a
// library that insists on its own I/O into an Opening.
//
// An Hdf5Session holds the library's lock (one for the process: the library is not thread-safe) and must not
// outlive a call; Hdf5Pages may be copied and is read from one thread at a time.
#pragma once
#include <hdf5.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "headrace/formats/source.h"

namespace headrace::trial {

struct Hdf5Pages {
  uint64_t file_size = 0;
  uint64_t page = 64 << 10;
  std::map<uint64_t, BufferPtr> fetched;  // by number of the page

  // The extents of these pages, neighbours as one; and the way back.
  std::vector<Extent> extents(std::vector<uint64_t> numbers) const;
  void add(const std::vector<Extent>& asked, std::span<const BufferPtr> bytes);
};

// A handle of the library, closed when it goes.
class Hdf5Handle {
 public:
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  bool ok() const { return id_ >= 0; }
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

class Hdf5Session {
 public:
  // Opens the file that `pages` are of. REQUIRES: `pages` outlives the session.
  explicit Hdf5Session(const Hdf5Pages* pages);
  ~Hdf5Session();
  Hdf5Session(const Hdf5Session&) = delete;
  Hdf5Session& operator=(const Hdf5Session&) = delete;

  hid_t file() const { return file_; }  // negative when it could not be opened
  // Numbers of the pages that calls wanted and did not get, in any order. While there are some, no answer of
  // the library means anything: it may have gone on without them.
  const std::vector<uint64_t>& missing() const { return missing_; }
  // The innermost reason the library gave for its last failure.
  std::string reason() const;

 private:
  friend struct Hdf5Driver;
  std::unique_lock<std::mutex> lock_;
  const Hdf5Pages* pages_;
  std::vector<uint64_t> missing_;
  H5E_auto2_t printer_ = nullptr;  // of whoever uses the library besides us
  void* printer_data_ = nullptr;
  hid_t file_ = -1;
};

}  // namespace headrace::trial
