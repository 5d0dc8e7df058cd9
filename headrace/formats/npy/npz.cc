// .npz files, zips of .npy files: see README.md.
#include <algorithm>
#include <set>

#include "headrace/formats/rows/array_rows.h"
#include "headrace/io/archives/zip_directory.h"

namespace headrace {
namespace {

constexpr uint64_t kFirstOfMember = 1024;              // bytes: a member's header, and that of its array
constexpr uint64_t kMostUnpacked = uint64_t{2} << 30;  // bytes of all chosen arrays of a file
constexpr std::string_view kEnding = ".npy";

std::string array_name(const zips::Member& member) {
  return member.name.substr(0, member.name.size() - kEnding.size());
}

std::string counts_text(const std::vector<FoundArray>& arrays) {
  std::string out;
  for (const FoundArray& array : arrays)
    out += (out.empty() ? "'" : ", '") + array.name + "': " + std::to_string(array.count);
  return out;
}

using FoundArrays = std::vector<FoundArray>;

// Reads the directory, then the headers of the chosen members, then the bytes of those that are deflated.
class FindNpz final : public Opening<FoundArrays> {
 public:
  FindNpz(uint64_t size, std::vector<std::string> fields) : size_(size), fields_(std::move(fields)) {}

  Result<Step<FoundArrays>> advance(std::span<const BufferPtr> bytes) override {
    switch (stage_) {
      case Stage::start: {
        stage_ = Stage::tail;
        const uint64_t tail = std::min(size_, zips::kTail);
        return Step<FoundArrays>(std::vector<Extent>{{0, size_ - tail, tail}});
      }
      case Stage::tail: {
        HEADRACE_ASSIGN(directory_, zips::find_directory(bytes[0]->bytes(), size_));
        if (directory_.wide_end == 0) return ask_directory();
        stage_ = Stage::wide_end;
        return Step<FoundArrays>(std::vector<Extent>{{0, directory_.wide_end, zips::kWideEnd}});
      }
      case Stage::wide_end: {
        HEADRACE_ASSIGN(directory_, zips::read_wide_end(bytes[0]->bytes(), size_));
        return ask_directory();
      }
      case Stage::directory: {
        HEADRACE_ASSIGN(auto members, zips::read_members(bytes[0]->bytes(), directory_));
        HEADRACE_TRY(choose(std::move(members)));
        return ask_heads();
      }
      case Stage::heads: break;
    }
    return take(bytes);
  }

 private:
  enum class Stage { start, tail, wide_end, directory, heads };
  struct Chosen {
    zips::Member member;
    uint64_t begin = 0, length = 0;  // the next read of it; none when its array is complete
    uint64_t data = 0;               // offset of its data; 0: not known yet
    bool is_left_out = false;
    FoundArray array = {};
  };

  Result<Step<FoundArrays>> ask_directory() {
    stage_ = Stage::directory;
    return Step<FoundArrays>(std::vector<Extent>{{0, directory_.offset, directory_.length}});
  }

  Status choose(std::vector<zips::Member> members) {
    std::erase_if(members, [](const zips::Member& member) { return !member.name.ends_with(kEnding); });
    std::set<std::string> names;
    std::string text;
    for (const zips::Member& member : members) {
      if (!names.insert(member.name).second)
        return corrupt(
            {.expected = "arrays with distinct names", .got = "'" + array_name(member) + "' twice"});
      text += (text.empty() ? "" : ", ") + array_name(member);
    }
    if (members.empty()) return invalid("expected at least one array, but the zip has no .npy file");
    if (fields_.empty()) {
      for (zips::Member& member : members) chosen_.push_back({std::move(member)});
    }
    for (const std::string& field : fields_) {
      const auto it = std::ranges::find_if(members, [&](const auto& m) { return array_name(m) == field; });
      if (std::ranges::count(fields_, field) > 1)
        return invalid({.expected = "each array once", .got = "'" + field + "' twice"}).in_option("fields");
      if (it == members.end())
        return invalid({.expected = "names of arrays (" + text + ")", .got = "'" + field + "'"})
            .in_option("fields");
      chosen_.push_back({*it});
    }
    uint64_t unpacked = 0, packed = 0;
    for (const Chosen& one : chosen_) {
      HEADRACE_TRY(named(one, zips::check_member(one.member)));
      packed += one.member.packed;  // each less than the file
      if (packed > directory_.offset)
        return named(one, corrupt("expected members that do not overlap, but they are larger than the file"));
      if (!one.member.is_stored()) unpacked += std::min(one.member.size, kMostUnpacked + 1);
      if (unpacked > kMostUnpacked)
        return Status(
            Code::exhausted,
            "expected at most 2 GiB of compressed arrays, which are unpacked and kept in memory, got "
            "more; choose some with fields= or save them with numpy.savez(), which does not compress");
    }
    return {};
  }

  static Status named(const Chosen& one, Status status) {
    return std::move(status).before("'" + array_name(one.member) + "': ");
  }

  Result<Step<FoundArrays>> ask_heads() {
    stage_ = Stage::heads;
    for (Chosen& one : chosen_)
      one.begin = one.member.local,
      one.length = std::min(kFirstOfMember, directory_.offset - one.member.local);
    return wanted();
  }

  Result<Step<FoundArrays>> take(std::span<const BufferPtr> bytes) {
    for (Chosen& one : chosen_) {
      if (one.length == 0) continue;
      HEADRACE_TRY(named(one, take(one, bytes[0])));
      bytes = bytes.subspan(1);
    }
    return wanted();
  }

  Status take(Chosen& one, const BufferPtr& bytes) {
    const zips::Member& member = one.member;
    if (one.data == 0) {
      HEADRACE_ASSIGN(one.data, zips::data_of(member, bytes->bytes(), directory_));
      const uint64_t head = one.data - member.local;
      if (member.is_stored() && head < bytes->size())
        return take_stored(one, bytes->bytes().subspan(head, std::min(bytes->size() - head, member.size)));
      one.begin = one.data,
      one.length = member.is_stored() ? std::min(kFirstOfMember, member.size) : member.packed;
      if (one.length == 0) return corrupt({.expected = "an .npy file", .got = "no bytes"});
      return {};
    }
    if (member.is_stored()) return take_stored(one, bytes->bytes());
    const MutableBufferPtr out = HeapBuffer::make(member.size);
    HEADRACE_TRY(zips::unpack(member, bytes->bytes(), {out->mutable_data(), member.size}));
    one.length = 0;
    HEADRACE_ASSIGN(const NpyHeader header, read_npy_header(out->bytes()));
    if (leave_out(one, header)) return {};
    HEADRACE_ASSIGN(one.array, array_rows_held(array_name(member), header, out));
    return {};
  }

  // `head`: the first bytes of the array's file.
  Status take_stored(Chosen& one, std::span<const std::byte> head) {
    const uint64_t needed = npy_header_bytes(head);
    if (needed > head.size() && head.size() < one.member.size) {
      one.begin = one.data, one.length = std::min(needed, one.member.size);
      return {};
    }
    one.length = 0;
    HEADRACE_ASSIGN(const NpyHeader header, read_npy_header(head));
    if (leave_out(one, header)) return {};
    HEADRACE_ASSIGN(one.array, array_rows(array_name(one.member), header, one.data, one.member.size));
    return {};
  }

  // A single number that was not asked for has no rows.
  bool leave_out(Chosen& one, const NpyHeader& header) const {
    return one.is_left_out = fields_.empty() && header.shape.rank() == 0;
  }

  Result<Step<FoundArrays>> wanted() {
    std::vector<Extent> out;
    for (const Chosen& one : chosen_)
      if (one.length > 0) out.push_back({0, one.begin, one.length});
    if (!out.empty()) return Step<FoundArrays>(std::move(out));
    FoundArrays arrays;
    for (Chosen& one : chosen_)
      if (!one.is_left_out) arrays.push_back(std::move(one.array));
    if (arrays.empty())
      return invalid({.expected = "at least one array with rows", .got = "single numbers only"});
    const bool are_equal =
        std::ranges::all_of(arrays, [&](const FoundArray& array) { return array.count == arrays[0].count; });
    if (!are_equal)
      return invalid({.expected = "arrays with the same number of rows",
                      .got = counts_text(arrays),
                      .fix = "choose those that belong together with fields="});
    return Step<FoundArrays>(std::move(arrays));
  }

  uint64_t size_;
  std::vector<std::string> fields_;
  Stage stage_ = Stage::start;
  zips::Directory directory_;
  std::vector<Chosen> chosen_;
};

// A zip whose first member is an array. If it also has other files and is not named .npz, it is a folder of
// files.
int recognise_npz(const Probe& probe) {
  const std::string_view text = probe.text();
  if (probe.inside && !probe.path.ends_with(".npz")) {
    const Names& names = probe.inside->files;
    for (size_t i = 0; i < names.size(); ++i)
      if (!names[i].ends_with(kEnding)) return 0;
  }
  if (!text.starts_with("PK\3\4") || text.size() < zips::kLocalHead) return 0;
  const size_t name = static_cast<uint8_t>(text[26]) | static_cast<size_t>(static_cast<uint8_t>(text[27]))
                                                           << 8;
  return text.substr(zips::kLocalHead, name).ends_with(kEnding) ? 95 : 0;
}

Result<SourceOpening> open_npz(const OpenRequest& request) {
  HEADRACE_ASSIGN(const std::vector<std::string> fields, request.strings("fields"));
  const std::vector<SourceFile>& files = request.path().files;
  if (files.empty()) return invalid({.expected = "files", .got = "none"});
  std::vector<ArrayWalk> walks;
  for (const SourceFile& file : files) walks.push_back(std::make_unique<FindNpz>(file.size, fields));
  return open_row_files("npz", request, files, std::move(walks));
}

const FormatRegistration registered_npz({
    .name = "npz",
    .doc = "NumPy's .npz files: one field per array, one sample per slice along their first axes.",
    .fields = "one per array, as in `read_npy`.",
    .details = {"Compressed arrays are decompressed when the file is opened and kept in memory, up to 2 GiB. "
                "All files must have the same arrays."},
    .options = {{"fields", "Sequence[str] | None",
                 "Only these arrays, in this order; all except scalars when not given."}},
    .raises = {{"NotImplementedError",
                "a chosen array is not supported by `read_npy`, or is compressed with another method than "
                "deflate."},
               {"ValueError", "arrays have different numbers of rows, or a given array does not exist."},
               {"MemoryError", "more than 2 GiB would be decompressed."},
               {"CorruptSample", "the zip, a checksum or an array is damaged."}},
    .example = "hr.read_npz(\"mnist.npz\", fields=[\"x_train\", \"y_train\"])",
    .recognise = recognise_npz,
    .open = open_npz,
    .takes_files = true,
});

}  // namespace
}  // namespace headrace
