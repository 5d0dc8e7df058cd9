// What an index keeps of the members of a tar's first sample, which determine a source's fields: their
// suffixes, and dtype and rank of arrays.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/tensor.h"

namespace headrace {

struct FirstMember {
  std::string suffix;  // in lower case
  TensorSpec array;    // of a suffix that is_array(), when `has_array`
  bool has_array = false;
};

bool is_array(std::string_view suffix);  // "npy", or with a name before: "depth.npy"

// Bytes of an array's head that suffice for dtype and rank.
inline constexpr uint64_t kArrayHead = 4096;
// Takes dtype and rank from the head of the member's data; does nothing when it is not a readable array.
void look_at_array(std::span<const std::byte> head, FirstMember& member);

// "jpg\0depth.npy/f32 2\0": no suffix has a slash. Unpacking takes any bytes and gives each suffix once.
std::string pack_first_members(std::span<const FirstMember> members);
std::vector<FirstMember> unpack_first_members(std::string_view bytes);

}  // namespace headrace
