#include "tests/sources/hdf5_pages.h"

#include <algorithm>
#include <cstring>

namespace headrace::trial {

std::vector<Extent> Hdf5Pages::extents(std::vector<uint64_t> numbers) const {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<Extent> out;
  for (const uint64_t number : numbers) {
    const uint64_t begin = number * page, end = std::min(begin + page, file_size);
    if (!out.empty() && out.back().offset + out.back().length == begin)
      out.back().length += end - begin;
    else
      out.push_back({0, begin, end - begin});
  }
  return out;
}

void Hdf5Pages::add(const std::vector<Extent>& asked, std::span<const BufferPtr> bytes) {
  for (size_t i = 0; i < asked.size(); ++i)
    for (uint64_t used = 0; used < asked[i].length; used += page) {
      const auto part = bytes[i]->bytes().subspan(used, std::min(page, asked[i].length - used));
      fetched[(asked[i].offset + used) / page] = std::make_shared<BorrowedBuffer>(part, bytes[i]);
    }
}

// The library's view of an open file: its own struct first, ours behind it.
struct Hdf5Driver {
  H5FD_t base{};
  Hdf5Session* session = nullptr;
  haddr_t end_of_addresses = 0;

  static Hdf5Driver& of(H5FD_t* file) { return *reinterpret_cast<Hdf5Driver*>(file); }
  static const Hdf5Driver& of(const H5FD_t* file) { return *reinterpret_cast<const Hdf5Driver*>(file); }

  static H5FD_t* open(const char*, unsigned, hid_t access, haddr_t) {
    const auto* session = static_cast<Hdf5Session* const*>(H5Pget_driver_info(access));
    if (!session) return nullptr;
    auto* driver = new Hdf5Driver;  // the library owns it and calls close
    driver->session = *session;
    return &driver->base;
  }
  static herr_t close(H5FD_t* file) {
    delete &of(file);
    return 0;
  }
  static herr_t query(const H5FD_t*, unsigned long* flags) {
    *flags = 0;
    return 0;
  }
  static haddr_t get_eoa(const H5FD_t* file, H5FD_mem_t) { return of(file).end_of_addresses; }
  static herr_t set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t end) {
    of(file).end_of_addresses = end;
    return 0;
  }
  static haddr_t get_eof(const H5FD_t* file, H5FD_mem_t) { return of(file).session->pages_->file_size; }
  static herr_t write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, size_t, const void*) { return -1; }

  static herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, size_t size, void* out) {
    Hdf5Session& session = *of(file).session;
    const Hdf5Pages& pages = *session.pages_;
    if (at > pages.file_size || size > pages.file_size - at) return -1;
    if (size == 0) return 0;
    bool complete = true;
    for (uint64_t number = at / pages.page; number <= (at + size - 1) / pages.page; ++number) {
      if (pages.fetched.contains(number)) continue;
      complete = false;
      session.missing_.push_back(number);
    }
    if (!complete) return -1;
    for (auto* to = static_cast<std::byte*>(out); size > 0;) {
      const auto page = pages.fetched.at(at / pages.page)->bytes();
      const size_t begin = at % pages.page, count = std::min<size_t>(size, page.size() - begin);
      std::memcpy(to, page.data() + begin, count);
      to += count, at += count, size -= count;
    }
    return 0;
  }

  static hid_t identifier() {  // registered once, under the library's lock, and kept as long as the library
    static const H5FD_class_t driver = [] {
      H5FD_class_t made{};
      made.name = "headrace_pages";
      made.maxaddr = HADDR_MAX - 1;
      made.fc_degree = H5F_CLOSE_STRONG;
      made.fapl_size = sizeof(Hdf5Session*);
      made.open = open;
      made.close = close;
      made.query = query;
      made.get_eoa = get_eoa;
      made.set_eoa = set_eoa;
      made.get_eof = get_eof;
      made.read = read;
      made.write = write;
      const H5FD_mem_t map[] = H5FD_FLMAP_DICHOTOMY;
      std::copy(std::begin(map), std::end(map), made.fl_map);
      return made;
    }();
    static const hid_t id = H5FDregister(&driver);
    return id;
  }
};

namespace {

std::mutex& library() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

Hdf5Session::Hdf5Session(const Hdf5Pages* pages) : lock_(library()), pages_(pages) {
  // libhdf5 1.10.8 loses 64 bytes when a look into a group fails, and would complain of them at exit.
  [[maybe_unused]] static const herr_t once = H5dont_atexit();
  H5Eget_auto2(H5E_DEFAULT, &printer_, &printer_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);  // no filter or driver from a folder that a file names
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  Hdf5Session* self = this;
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  if (H5Pset_driver(access, Hdf5Driver::identifier(), &self) >= 0)
    file_ = H5Fopen("pages", H5F_ACC_RDONLY, access);
}

Hdf5Session::~Hdf5Session() {
  if (file_ >= 0) H5Fclose(file_);
  H5Eclear2(H5E_DEFAULT);
  H5Eset_auto2(H5E_DEFAULT, printer_, printer_data_);
}

std::string Hdf5Session::reason() const {
  std::string text = "no reason given";
  const auto take = [](unsigned, const H5E_error2_t* error, void* out) -> herr_t {
    if (error->desc) *static_cast<std::string*>(out) = error->desc;
    return 1;  // the first is the innermost
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take, &text);
  return text;
}

}  // namespace headrace::trial
