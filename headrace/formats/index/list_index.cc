#include "headrace/formats/index/list_index.h"

#include <algorithm>

#include "headrace/core/little_endian.h"
#include "headrace/core/text/text.h"

namespace headrace {
namespace {

constexpr size_t kMostOfSection = size_t{1} << 30;  // a section is read in one piece
constexpr size_t kMostSections = 56;                // of indexes; a sidecar has 64 sections

class Writing {
 public:
  template <class T> void number(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view text) {
    number<uint64_t>(text.size());
    out_ += text;
  }
  void info(const FileInfo& info) {
    number(info.size), number(info.mtime_ns), number(info.changed_ns);
    number<uint8_t>(info.is_directory);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// Fails once the bytes end too early: what is read from then on is zero or empty, and ok() says so.
class Reading {
 public:
  explicit Reading(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool ok() const { return ok_; }
  bool has_more() const { return ok_ && !bytes_.empty(); }
  template <class T> T number() {
    if (bytes_.size() < sizeof(T)) ok_ = false;
    if (!ok_) return {};
    const T out = load<T>(bytes_);
    bytes_ = bytes_.subspan(sizeof(T));
    return out;
  }
  std::string text() {
    const auto size = number<uint64_t>();
    if (size > bytes_.size()) ok_ = false;
    if (!ok_) return {};
    std::string out(reinterpret_cast<const char*>(bytes_.data()), size);
    bytes_ = bytes_.subspan(size);
    return out;
  }
  FileInfo info() {
    FileInfo out;
    out.size = number<uint64_t>(), out.mtime_ns = number<int64_t>(), out.changed_ns = number<int64_t>();
    out.is_directory = number<uint8_t>() != 0;
    return out;
  }
  Names names() {
    Names out;
    ok_ = Names::from_text(text(), out) && ok_;
    return out;
  }
  std::vector<int64_t> numbers() {
    const auto count = number<uint64_t>();
    if (count > bytes_.size() / sizeof(int64_t)) ok_ = false;
    if (!ok_) return {};
    std::vector<int64_t> out(count);
    for (int64_t& one : out) one = number<int64_t>();
    return out;
  }

 private:
  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

std::string folders_text(const ListIndex& index) {
  Writing out;
  for (const auto& [folder, info] : index.folders) out.text(folder), out.info(info);
  return out.take();
}

// In order, so that equal indexes are equal files.
template <class Map> std::vector<const typename Map::value_type*> in_order(const Map& map) {
  std::vector<const typename Map::value_type*> out;
  for (const auto& one : map) out.push_back(&one);
  std::ranges::sort(out, {}, [](const auto* one) -> const std::string& { return one->first; });
  return out;
}

std::string names_text(const ListIndex& index) {
  Writing out;
  for (const auto* one : in_order(index.names))
    out.text(one->first), out.number<uint8_t>(one->second.is_there), out.info(one->second.info);
  return out.take();
}

std::string entries_text(const ListIndex& index) {
  Writing out;
  for (const auto& [folder, entries] : index.entries)
    out.text(folder), out.text(entries.files.text()), out.text(entries.folders.text());
  return out.take();
}

std::string listings_text(const ListIndex& index) {
  Writing out;
  for (const auto& [root, listing] : index.listings) {
    out.text(root), out.text(listing.files.text()), out.text(listing.directories.text());
    out.number<uint64_t>(listing.changed_ns.size());
    for (const int64_t one : listing.changed_ns) out.number(one);
  }
  return out.take();
}

std::string heads_text(const ListIndex& index) {
  Writing out;
  for (const auto& [name, head] : index.heads) out.text(name), out.text(head);
  return out.take();
}

using Indexes = std::vector<const std::pair<const std::string, ListIndex::Records>*>;

std::string section_of_bytes(size_t number) { return "bytes " + std::to_string(number); }

// Which of the indexes go to which section: as many as fit into one that is read in one piece.
std::vector<Indexes> in_sections(const ListIndex& index) {
  std::vector<Indexes> out;
  size_t room = 0;
  for (const auto* one : in_order(index.records)) {
    const size_t size = one->second.bytes.size();
    if (size > kMostOfSection) continue;  // its file is walked each time
    if (out.empty() || size > room) {
      if (out.size() == kMostSections) break;
      out.emplace_back(), room = kMostOfSection;
    }
    out.back().push_back(one), room -= size;
  }
  return out;
}

std::string records_text(const std::vector<Indexes>& sections) {
  Writing out;
  for (size_t i = 0; i < sections.size(); ++i)
    for (const auto* one : sections[i]) {
      const ListIndex::Records& records = one->second;
      out.text(one->first), out.info(records.file);
      out.number(records.sample), out.number(records.beside), out.number<uint8_t>(records.is_damaged);
      out.number<uint32_t>(static_cast<uint32_t>(i)), out.number<uint64_t>(records.bytes.size());
    }
  return out.take();
}

MadeSection section_of(std::string name, std::string text) {
  return {std::move(name),
          [text = std::move(text)](const MadeSection::Write& write) { return write(text_bytes(text)); }};
}

bool read_records(Reading in, const std::function<BufferPtr(std::string_view)>& section, ListIndex& out) {
  std::optional<uint32_t> number;
  BufferPtr bytes;
  size_t at = 0;
  while (in.has_more()) {
    const std::string key = in.text();
    ListIndex::Records one;
    one.file = in.info(), one.sample = in.number<uint64_t>(), one.beside = in.number<uint64_t>();
    one.is_damaged = in.number<uint8_t>() != 0;
    const auto where = in.number<uint32_t>();
    const auto size = in.number<uint64_t>();
    if (!in.ok()) return false;
    if (where != number) number = where, bytes = section(section_of_bytes(where)), at = 0;
    if (!bytes || size > bytes->size() - at) return false;
    one.bytes = bytes->bytes().subspan(at, size), one.owner = bytes;
    at += size;
    out.records.insert_or_assign(key, std::move(one));
  }
  return in.ok();
}

}  // namespace

std::string records_key(std::string_view kind, std::string_view name) {
  std::string out(kind);
  out.append(1, '\0').append(name);
  return out;
}

ListIndex::Records pack_index(const FileIndex& index) {
  Writing out;
  out.text(pack_records(index)), out.text(pack_damaged(index)), out.text(index.extra);
  const auto owner = std::make_shared<const std::string>(out.take());
  return {.file = {}, .bytes = text_bytes(*owner), .owner = owner};
}

std::optional<FileIndex> unpack_index(const ListIndex::Records& records) {
  Reading in(records.bytes);
  const std::string packed = in.text(), packed_damaged = in.text();
  FileIndex out;
  out.extra = in.text();
  if (!in.ok() || in.has_more()) return std::nullopt;
  auto extents = unpack_records(text_bytes(packed));
  auto damaged = unpack_damaged(text_bytes(packed_damaged));
  if (!extents || !damaged) return std::nullopt;
  out.records = *std::move(extents), out.damaged = *std::move(damaged);
  // Offsets are those of the unpacked bytes, whose number is not known here.
  if (!is_in_order(out, ~uint64_t{0})) return std::nullopt;
  if (!out.damaged.empty() && out.damaged.back().after > out.records.size()) return std::nullopt;
  return out;
}

std::vector<MadeSection> list_index_sections(const ListIndex& index) {
  std::vector<MadeSection> out;
  out.push_back(section_of("folders", folders_text(index)));
  out.push_back(section_of("names", names_text(index)));
  out.push_back(section_of("entries", entries_text(index)));
  out.push_back(section_of("listings", listings_text(index)));
  out.push_back(section_of("heads", heads_text(index)));
  std::vector<Indexes> sections = in_sections(index);
  out.push_back(section_of("records", records_text(sections)));
  for (size_t i = 0; i < sections.size(); ++i)
    out.push_back({section_of_bytes(i), [all = std::move(sections[i])](const MadeSection::Write& write) {
                     for (const auto* one : all) HEADRACE_TRY(write(one->second.bytes));
                     return Status();
                   }});
  return out;
}

std::optional<ListIndex> list_index_from(const std::function<BufferPtr(std::string_view)>& section) {
  ListIndex out;
  const auto read = [&](std::string_view name, const auto& each) {
    const BufferPtr bytes = section(name);
    if (!bytes) return false;
    Reading in(bytes->bytes());
    while (in.has_more()) each(in);
    return in.ok();
  };
  const bool ok = read("folders",
                       [&](Reading& in) {
                         std::string folder = in.text();
                         out.folders.insert_or_assign(std::move(folder), in.info());
                       }) &&
                  read("names",
                       [&](Reading& in) {
                         std::string name = in.text();
                         const bool is_there = in.number<uint8_t>() != 0;
                         out.names.insert_or_assign(std::move(name), ListIndex::Name{is_there, in.info()});
                       }) &&
                  read("entries",
                       [&](Reading& in) {
                         std::string folder = in.text();
                         Entries entries;
                         entries.files = in.names(), entries.folders = in.names();
                         out.entries.insert_or_assign(std::move(folder), std::move(entries));
                       }) &&
                  read("listings",
                       [&](Reading& in) {
                         std::string root = in.text();
                         Listing listing;
                         listing.files = in.names(), listing.directories = in.names(),
                         listing.changed_ns = in.numbers();
                         // Without one for each directory it could not be checked, and is left out.
                         if (listing.changed_ns.size() == listing.directories.size())
                           out.listings.insert_or_assign(std::move(root), std::move(listing));
                       }) &&
                  read("heads", [&](Reading& in) {
                    std::string name = in.text();
                    out.heads.insert_or_assign(std::move(name), in.text());
                  });
  const BufferPtr records = section("records");
  if (!ok || !records || !read_records(Reading(records->bytes()), section, out)) return std::nullopt;
  return out;
}

}  // namespace headrace
