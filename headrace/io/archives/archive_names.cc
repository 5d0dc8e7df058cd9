#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <set>

#include "headrace/io/archives/archive.h"
#include "headrace/io/look_up.h"
#include "headrace/io/sorted_names.h"

namespace headrace {
namespace {

// Bytes that links add: links to folders of links multiply.
constexpr uint64_t kFreeLinked = uint64_t{64} << 20, kMostLinkedRatio = 8;
constexpr int kLinksThroughLinks = 40;
constexpr size_t kMostProblems = 1000;  // more would say nothing new

std::string with_slash(std::string_view folder) { return std::string(folder) + '/'; }

std::string_view parent(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

// Eight bytes at `from` as a number that orders like the names.
uint64_t first_bytes(std::string_view name, size_t from) {
  uint64_t out = 0;
  if (from >= name.size()) return 0;
  std::memcpy(&out, name.data() + from, std::min(sizeof out, name.size() - from));
  return std::endian::native == std::endian::little ? __builtin_bswap64(out) : out;
}

size_t common_prefix(std::string_view a, std::string_view b) {
  const size_t length = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(length), b.begin()).first - a.begin());
}

bool goes_up(std::string_view path) {
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    if (path.substr(0, slash) == "..") return true;
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return false;
}

// Whether some folder of the path is_no_data().
bool is_below_no_data(std::string_view path) {
  for (size_t slash = path.find('/'), part = 0; slash != std::string_view::npos;
       part = slash + 1, slash = path.find('/', part))
    if (is_no_data(path.substr(part, slash - part))) return true;
  return false;
}

bool begins_any(const Names& names, std::string_view prefix) {
  const size_t at = first_from(names, prefix);
  return at < names.size() && names[at].starts_with(prefix);
}

}  // namespace

std::optional<std::string> clean_path(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (out.empty()) return std::nullopt;
      out.resize(parent(out).size());
      continue;
    }
    if (!out.empty()) out += '/';
    out += part;
  }
  return out;
}

std::optional<uint32_t> ArchiveNames::find(std::string_view path) const {
  const size_t at = first_from(files_, path);
  if (at == files_.size() || files_[at] != path) return std::nullopt;
  return numbers_[at];
}

bool ArchiveNames::has_folder(std::string_view folder) const {
  if (folder.empty() || begins_any(files_, with_slash(folder))) return true;
  return holds(empty_folders_, folder) || begins_any(empty_folders_, with_slash(folder));
}

template <class Take> void ArchiveNames::each_below(std::string_view folder, const Take& take) const {
  const std::string below = folder.empty() ? "" : with_slash(folder);
  for (size_t i = first_from(files_, below); i < files_.size() && files_[i].starts_with(below);)
    i = take(i, files_[i].substr(below.size()));
}

Listing ArchiveNames::list(std::string_view folder) const {
  Listing out;
  if (folder.empty() && !has_no_data_) {
    out.files = files_;
  } else {
    each_below(folder, [&](size_t i, std::string_view name) {
      if (!has_no_data_ || !is_below_no_data(name)) out.files.add(name);
      return i + 1;
    });
    out.files.shrink();
  }
  const std::string below = folder.empty() ? "" : with_slash(folder);
  std::set<std::string_view> directories;
  for (size_t i = first_from(empty_folders_, below);
       i < empty_folders_.size() && empty_folders_[i].starts_with(below); ++i) {
    const std::string_view path = empty_folders_[i].substr(below.size());
    if (is_below_no_data(std::string(path) + "/")) continue;
    for (size_t end = path.find('/'); end != std::string_view::npos; end = path.find('/', end + 1))
      directories.insert(path.substr(0, end));
    directories.insert(path);
  }
  for (const std::string_view path : directories) out.directories.add(path);
  for (const Listing::Problem& problem : problems_)
    if (problem.path.starts_with(below))
      out.problems.push_back({problem.path.substr(below.size()), problem.reason});
  for (const Listing::Problem& one : unread_)
    if (one.path.starts_with(below) && !is_below_no_data(one.path.substr(below.size()) + '/'))
      out.unread.push_back({one.path.substr(below.size()), one.reason});
  return out;
}

Entries ArchiveNames::entries(std::string_view folder) const {
  Entries out;
  std::vector<std::string> folders;
  each_below(folder, [&](size_t i, std::string_view name) {
    const size_t slash = name.find('/');
    if (slash == std::string_view::npos) {
      out.files.add(name);
      return i + 1;
    }
    folders.emplace_back(name.substr(0, slash));
    // '0' follows '/': the first name that is not in this folder.
    const std::string inside = folders.back();
    return first_from(files_, (folder.empty() ? "" : with_slash(folder)) + inside + '0');
  });
  const std::string below = folder.empty() ? "" : with_slash(folder);
  for (size_t i = first_from(empty_folders_, below);
       i < empty_folders_.size() && empty_folders_[i].starts_with(below); ++i) {
    const std::string_view rest = empty_folders_[i].substr(below.size());
    folders.emplace_back(rest.substr(0, rest.find('/')));
  }
  std::ranges::sort(folders);
  folders.erase(std::ranges::unique(folders).begin(), folders.end());
  for (const std::string& name : folders)
    if (!is_no_data(name)) out.folders.add(name);
  for (const Listing::Problem& one : unread_)
    if (one.path.starts_with(below) && one.path.find('/', below.size()) == std::string::npos &&
        !is_no_data(std::string_view(one.path).substr(below.size())))
      out.unread.push_back({one.path.substr(below.size()), one.reason});
  return out;
}

size_t ArchiveNames::held_bytes() const {
  return files_.text().size() + files_.size() * (sizeof(size_t) + sizeof(uint32_t)) +
         empty_folders_.text().size();
}

void ArchiveContents::add_problem(std::string_view path, std::string reason) {
  if (problems_.size() < kMostProblems) problems_.push_back({std::string(path), std::move(reason)});
}

std::optional<ArchiveContents::Item> ArchiveContents::keep(std::string_view path, uint32_t number) {
  // No unpacker would put a file above its folder, so it is not reachable here either.
  if (goes_up(path)) return add_problem(path, "a name that leads out of the archive"), std::nullopt;
  const bool is_clean = !path.starts_with('/') && !path.starts_with("./") && !path.ends_with('/') &&
                        path.find("//") == std::string_view::npos &&
                        path.find("/./") == std::string_view::npos && !path.ends_with("/.") && path != ".";
  std::string cleaned;
  if (!is_clean) path = cleaned = *clean_path(path);
  if (path.find('\0') != std::string_view::npos)
    return add_problem(path.substr(0, path.find('\0')), "a name with a NUL"), std::nullopt;
  const Item out{bytes_.size(), static_cast<uint32_t>(path.size()), number};
  bytes_.append(path);
  return out;
}

void ArchiveContents::add_file(std::string_view path, uint32_t number) {
  if (const auto item = keep(path, number); item && item->length > 0) files_.push_back(*item);
}

void ArchiveContents::add_folder(std::string_view path) {
  if (const auto item = keep(path, 0); item && item->length > 0) folders_.push_back(*item);
}

void ArchiveContents::add_link(std::string_view path, std::string target) {
  const auto item = keep(path, 0);
  if (!item || item->length == 0) return;
  link_bytes_ += sizeof(Link) + item->length + target.size();
  links_.push_back({std::string(name(*item)), std::move(target)});
}

// By bytes, and for equal names in the order in which they came.
void ArchiveContents::sort(std::vector<Item>& items) const {
  const auto in_order = [&](const Item& a, const Item& b) { return name(a) < name(b); };
  if (std::ranges::is_sorted(items, in_order) || items.empty()) return;
  // Names have much in common. The bytes after the common prefix decide most comparisons, without reading the
  // names.
  size_t common = items[0].length;
  for (const Item& item : items) common = std::min(common, common_prefix(name(items[0]), name(item)));
  struct Keyed {
    uint64_t key;
    uint32_t at;
  };
  std::vector<Keyed> keyed(items.size());
  for (size_t i = 0; i < items.size(); ++i)
    keyed[i] = {first_bytes(name(items[i]), common), static_cast<uint32_t>(i)};
  std::ranges::sort(keyed, [&](const Keyed& a, const Keyed& b) {
    if (a.key != b.key) return a.key < b.key;
    const int order = name(items[a.at]).compare(name(items[b.at]));
    return order != 0 ? order < 0 : a.at < b.at;
  });
  std::vector<Item> sorted(items.size());
  for (size_t i = 0; i < items.size(); ++i) sorted[i] = items[keyed[i].at];
  items = std::move(sorted);
}

// Lists the target of a link under the link's name. False: the target is not there yet.
Result<bool> ArchiveContents::follow(const Link& link, uint64_t most_bytes, std::vector<Item>& out) {
  const auto target = link.target.starts_with('/')
                          ? std::nullopt
                          : clean_path(std::string(parent(link.path)) + '/' + link.target);
  if (!target) return false;
  const auto at = [&](std::string_view path) {
    return std::ranges::lower_bound(files_, path, {}, [&](const Item& item) { return name(item); });
  };
  const auto add = [&](const Item& item) -> Status {
    const std::string path = link.path + std::string(name(item).substr(target->size()));
    if (held_bytes() + out.size() * sizeof(Item) + path.size() > most_bytes)
      return {Code::exhausted, "its links lead to too many files; are they circular?"};
    out.push_back({bytes_.size(), static_cast<uint32_t>(path.size()), item.number});
    bytes_ += path;
    return {};
  };
  auto it = at(*target);
  if (it != files_.end() && name(*it) == *target) {
    HEADRACE_TRY(add(*it));
    return true;
  }
  const std::string below = target->empty() ? "" : with_slash(*target);
  if (link.path.starts_with(below)) {
    add_problem(link.path, std::string(kLeadsBack));
    return true;
  }
  const size_t before = out.size();
  for (it = at(below); it != files_.end() && name(*it).starts_with(below); ++it) HEADRACE_TRY(add(*it));
  return out.size() > before;
}

// Links of a round see only what was there before it.
Status ArchiveContents::follow_links() {
  const uint64_t most_bytes = held_bytes() * kMostLinkedRatio + kFreeLinked;
  bool any = true;
  for (int round = 0; round < kLinksThroughLinks && any; ++round) {
    std::vector<Link> left;
    std::vector<Item> found;
    for (Link& link : links_) {
      HEADRACE_ASSIGN(const bool is_followed, follow(link, most_bytes, found));
      if (!is_followed) left.push_back(std::move(link));
    }
    any = left.size() < links_.size();
    links_ = std::move(left);
    files_.insert(files_.end(), found.begin(), found.end());
    sort(files_);
  }
  for (const Link& link : links_) {
    if (is_hidden_path(link.path))
      add_problem(link.path, std::string(kLeadsNowhere));
    else if (unread_.size() < kMostProblems)
      unread_.push_back({link.path, std::string(kLeadsNowhere)});
  }
  return {};
}

Result<ArchiveNames> ArchiveContents::finish() {
  if (files_.size() > std::numeric_limits<uint32_t>::max())
    return Status(Code::exhausted, "an archive may hold at most 4294967295 files");
  sort(files_);
  HEADRACE_TRY(follow_links());
  ArchiveNames out;
  for (size_t i = 0; i < files_.size(); ++i) {
    if (i + 1 < files_.size() && name(files_[i]) == name(files_[i + 1])) continue;
    out.files_.add(name(files_[i]));
    out.numbers_.push_back(files_[i].number);
  }
  out.files_.shrink(), out.numbers_.shrink_to_fit();
  sort(folders_);
  for (const Item& folder : folders_)
    if (!out.has_folder(name(folder))) out.empty_folders_.add(name(folder));
  out.problems_ = std::move(problems_), out.unread_ = std::move(unread_);
  for (size_t i = 0; i < out.files_.size() && !out.has_no_data_; ++i)
    out.has_no_data_ = is_below_no_data(out.files_[i]);
  return out;
}

}  // namespace headrace
