#include "cli/input/npz.h"

#include <algorithm>
#include <string_view>

#include "headrace/codecs/npy.h"
#include "headrace/io/archives/zip_directory.h"

namespace headrace::cli {
namespace {

Result<Tensor> read_member(const zips::Member& member, const zips::Directory& directory,
                           std::span<const std::byte> file) {
  HEADRACE_TRY(zips::check_member(member));
  HEADRACE_ASSIGN(const uint64_t data, zips::data_of(member, file.subspan(member.local), directory));
  const std::span<const std::byte> packed = file.subspan(data, member.packed);
  if (member.is_stored()) return read_npy(packed);
  const MutableBufferPtr out = HeapBuffer::make(member.size);
  HEADRACE_TRY(zips::unpack(member, packed, {out->mutable_data(), member.size}));
  return read_npy(out->bytes());
}

}  // namespace

Result<Tensor> read_npy(std::span<const std::byte> file) {
  HEADRACE_ASSIGN(const NpyHeader header, read_npy_header(file));
  const TensorSpec spec{header.dtype, header.shape};
  if (spec.size_bytes() != file.size() - header.data)
    return invalid({.expected = std::to_string(spec.size_bytes()) + " bytes for " + spec.text(),
                    .got = std::to_string(file.size() - header.data)});
  const MutableBufferPtr out = HeapBuffer::make(std::max<size_t>(spec.size_bytes(), 1));
  HEADRACE_TRY(read_npy_data(file, header, out->mutable_data()));
  return Tensor{out, 0, spec.dtype, spec.shape, nullptr};
}

Result<std::vector<std::pair<std::string, Tensor>>> read_npz(std::span<const std::byte> file) {
  HEADRACE_ASSIGN(zips::Directory directory,
                  zips::find_directory(file.last(std::min<uint64_t>(file.size(), zips::kTail)), file.size()));
  if (directory.wide_end != 0) {
    HEADRACE_ASSIGN(directory, zips::read_wide_end(file.subspan(directory.wide_end), file.size()));
  }
  HEADRACE_ASSIGN(const std::vector<zips::Member> members,
                  zips::read_members(file.subspan(directory.offset, directory.length), directory));
  std::vector<std::pair<std::string, Tensor>> out;
  for (const zips::Member& member : members) {
    auto array = read_member(member, directory, file);
    if (!array.ok()) return array.status().before("'" + member.name + "': ");
    const bool has_ending = member.name.ends_with(".npy");
    out.emplace_back(member.name.substr(0, member.name.size() - (has_ending ? 4 : 0)), *std::move(array));
  }
  return out;
}

}  // namespace headrace::cli
