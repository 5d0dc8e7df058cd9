#include "headrace/io/directory_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "headrace/core/text/text.h"
#include "headrace/io/system.h"

namespace headrace {
namespace {

constexpr size_t kMaxDepth = 128;  // nested directories: each is a recursion
constexpr size_t kMaxFollowedLinks =
    100'000;  // to directories; links among n directories make n! paths through them

enum class Entry : uint8_t { file, directory, neither, dangling };

struct Identity {
  dev_t device;
  ino_t inode;
  bool operator==(const Identity&) const = default;
};

Entry kind_of(mode_t mode) {
  return S_ISREG(mode) ? Entry::file : S_ISDIR(mode) ? Entry::directory : Entry::neither;
}

// Directories may have any name, but these are far more often a mistake of the tool that unpacked the data.
bool named_like_a_file(std::string_view name) {
  constexpr std::array<std::string_view, 15> endings{".jpg", ".jpeg", ".png",      ".webp", ".bmp",
                                                     ".gif", ".tif",  ".tiff",     ".xml",  ".json",
                                                     ".txt", ".tar",  ".tfrecord", ".rec",  ".parquet"};
  for (std::string_view ending : endings)
    if (name.size() > ending.size() &&
        std::equal(ending.begin(), ending.end(), name.end() - static_cast<ptrdiff_t>(ending.size()),
                   [](char a, char b) { return a == lower_case(b); }))
      return true;
  return false;
}

class Walk {
 public:
  explicit Walk(std::string root) : path_(std::move(root)) {
    while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
    if (path_ == "/") path_.clear();  // so that path_ + '/' + name is right for it, too
    root_length_ = path_.size();
  }

  Result<Listing> run() {
    HEADRACE_TRY(enter(path_.empty() ? "/" : path_));
    listing_.files.shrink();
    return std::move(listing_);
  }

  Result<Entries> only_here() {
    const std::string folder = path_.empty() ? "/" : path_;
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(open(folder), ::closedir);
    if (!directory) return cannot_list(folder);
    Names children;
    HEADRACE_TRY(read(*directory, folder, children));
    Entries out;
    for (const uint32_t i : in_order(children)) {
      const std::string_view name = children[i].substr(1);
      if (children[i][0] == 'f')
        out.files.add(name);
      else
        out.folders.add(name.substr(0, name.size() - 1));
    }
    return out;
  }

 private:
  std::string_view relative() const {
    return path_.size() <= root_length_ ? std::string_view()
                                        : std::string_view(path_).substr(root_length_ + 1);
  }

  void problem(std::string_view name, std::string reason) {
    std::string path(relative());
    if (!path.empty() && !name.empty()) path += '/';
    listing_.problems.push_back({path.append(name), std::move(reason)});
  }

  static Status cannot_list(const std::string& path) { return system_error("cannot list", path); }

  // Reads the directory at path_, then everything below it. An error means that this directory could not be
  // read.
  Status enter(const std::string& path) {
    if (above_.size() >= kMaxDepth) return Status(Code::exhausted, "more than 128 nested folders");
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(open(path), ::closedir);
    if (!directory) return cannot_list(path);
    struct stat s;
    if (::fstat(::dirfd(directory.get()), &s) != 0) return cannot_list(path);
    const Identity identity{s.st_dev, s.st_ino};
    if (std::find(above_.begin(), above_.end(), identity) != above_.end()) {
      problem("", "a link that leads back to a folder it is in");
      return {};
    }
    listing_.directories.add(relative());
    listing_.changed_ns.push_back(nanoseconds(s.st_ctim));
    Names children;  // files "f<name>", directories "d<name>/", linked directories "l<name>/"
    HEADRACE_TRY(read(*directory, path, children));
    above_.push_back(identity);
    Status status = below(children);
    above_.pop_back();
    return status;
  }

  static DIR* open(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return nullptr;
    DIR* directory = ::fdopendir(descriptor);
    if (!directory) ::close(descriptor);
    return directory;
  }

  Status read(DIR& directory, const std::string& path, Names& children) {
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(&directory);
      if (!entry) return errno == 0 ? Status() : cannot_list(path);
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      const bool linked = entry->d_type != DT_DIR;
      switch (look(directory, *entry)) {
        case Entry::file: children.add(std::string("f").append(name)); break;
        case Entry::directory:
          if (named_like_a_file(name)) problem(name, "a folder");
          children.add(std::string(linked ? "l" : "d").append(name) + '/');
          break;
        case Entry::neither: problem(name, "neither a file nor a folder"); break;
        case Entry::dangling: problem(name, "a link that leads nowhere"); break;
      }
    }
  }

  static Entry look(DIR& directory, const dirent& entry) {
    if (entry.d_type == DT_REG) return Entry::file;
    if (entry.d_type == DT_DIR) return Entry::directory;
    if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return Entry::neither;
    struct stat s;
    return ::fstatat(::dirfd(&directory), entry.d_name, &s, 0) == 0 ? kind_of(s.st_mode) : Entry::dangling;
  }

  // Children in the order of their full paths: a directory sorts as its name plus '/', so no overall sort is
  // needed.
  static std::vector<uint32_t> in_order(const Names& children) {
    std::vector<uint32_t> order(children.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return children[a].substr(1) < children[b].substr(1); });
    return order;
  }

  Status below(const Names& children) {
    for (const uint32_t i : in_order(children)) {
      const char kind = children[i][0];
      const std::string_view name = children[i].substr(1);
      if (kind == 'f') {
        listing_.files.add(relative(), name);
        continue;
      }
      if (kind == 'l' && ++links_ > kMaxFollowedLinks)
        return Status(Code::exhausted, "more than 100000 links to folders; are they circular?");
      HEADRACE_TRY(descend(name.substr(0, name.size() - 1)));
    }
    return {};
  }

  Status descend(std::string_view name) {
    const size_t length = path_.size();
    path_.append("/").append(name);
    Status status = enter(path_);
    if (!status.ok() && links_ <= kMaxFollowedLinks) {
      problem("", std::string(status.text()));
      status = {};
    }
    path_.resize(length);
    return status;
  }

  std::string path_;
  size_t root_length_ = 0;
  Listing listing_;
  std::vector<Identity> above_;
  size_t links_ = 0;
};

}  // namespace

Result<Listing> walk(const std::string& root) { return Walk(root).run(); }
Result<Entries> look_into(const std::string& folder) { return Walk(folder).only_here(); }

}  // namespace headrace
