#include "headrace/formats/webdataset/first_members.h"

#include <algorithm>

#include "headrace/codecs/npy.h"

namespace headrace {

bool is_array(std::string_view suffix) { return suffix == "npy" || suffix.ends_with(".npy"); }

void look_at_array(std::span<const std::byte> head, FirstMember& member) {
  const auto header = read_npy_header(head);
  if (!header.ok()) return;
  const std::vector<int64_t> any(static_cast<size_t>(header->shape.rank()), kAny);
  member.array = {header->dtype, Shape(any)};
  member.has_array = true;
}

std::string pack_first_members(std::span<const FirstMember> members) {
  std::string out;
  for (const FirstMember& member : members) {
    out += member.suffix;
    if (member.has_array)
      out +=
          '/' + std::string(short_name(member.array.dtype)) + ' ' + std::to_string(member.array.shape.rank());
    out += '\0';
  }
  return out;
}

std::vector<FirstMember> unpack_first_members(std::string_view bytes) {
  std::vector<FirstMember> out;
  while (!bytes.empty() && bytes[0] != '\0') {
    const size_t end = std::min(bytes.find('\0'), bytes.size());
    const std::string_view entry = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    FirstMember member;
    const size_t slash = entry.find('/');
    member.suffix = entry.substr(0, slash);
    if (slash != std::string_view::npos) {
      const std::string_view spec = entry.substr(slash + 1);
      const size_t blank = std::min(spec.find(' '), spec.size());
      const auto dtype = parse_dtype(spec.substr(0, blank));
      const int rank = spec.size() == blank + 2 ? spec[blank + 1] - '0' : -1;
      member.has_array = dtype.ok() && rank >= 0 && rank <= kMaxRank;
      if (member.has_array) {
        const std::vector<int64_t> any(static_cast<size_t>(rank), kAny);
        member.array = {*dtype, Shape(any)};
      }
    }
    if (std::ranges::find(out, member.suffix, &FirstMember::suffix) == out.end())
      out.push_back(std::move(member));
  }
  return out;
}

}  // namespace headrace
