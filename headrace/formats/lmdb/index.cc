#include "headrace/formats/lmdb/index.h"

#include <cstring>
#include <type_traits>

namespace headrace {
namespace {

struct Head {
  uint64_t page_size, size, blocks, tensors;  // tensors: size of the packed TensorProtosKind
  DatumKind datum;
};
static_assert(std::has_unique_object_representations_v<Head> &&
              std::has_unique_object_representations_v<LmdbBlock>);

bool is_sound(const LmdbIndex& index) {
  uint64_t next = 0;
  for (size_t i = 0; i < index.blocks.size(); ++i) {
    const LmdbBlock& block = index.blocks[i];
    const uint64_t end = i + 1 < index.blocks.size() ? index.blocks[i + 1].first : index.size;
    if (block.first != next || end <= block.first) return false;
    if (block.kind > LmdbBlock::lost) return false;
    if (block.kind != LmdbBlock::run && (end != block.first + 1 || block.key > index.keys.size() ||
                                         block.key_size > index.keys.size() - block.key))
      return false;
    next = end;
  }
  return next == index.size && index.page_size > 0;
}

}  // namespace

std::string pack_lmdb(const LmdbIndex& index) {
  const std::string tensors = pack_tensor_protos(index.tensors);
  const Head head{index.page_size, index.size, index.blocks.size(), tensors.size(), index.datum};
  std::string out(reinterpret_cast<const char*>(&head), sizeof head);
  out.append(reinterpret_cast<const char*>(index.blocks.data()), index.blocks.size() * sizeof(LmdbBlock));
  return out + tensors + index.keys;
}

std::optional<LmdbIndex> unpack_lmdb(std::string_view extra, size_t blocks) {
  Head head;
  if (extra.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, extra.data(), sizeof head);
  extra.remove_prefix(sizeof head);
  if (head.blocks != blocks || blocks > extra.size() / sizeof(LmdbBlock)) return std::nullopt;
  LmdbIndex out{head.page_size, head.size, head.datum, std::vector<LmdbBlock>(blocks), {}, {}};
  if (blocks > 0) std::memcpy(out.blocks.data(), extra.data(), blocks * sizeof(LmdbBlock));
  extra.remove_prefix(blocks * sizeof(LmdbBlock));
  if (head.tensors > extra.size()) return std::nullopt;
  out.tensors = unpack_tensor_protos(extra.substr(0, head.tensors));
  if (pack_tensor_protos(out.tensors) != extra.substr(0, head.tensors)) return std::nullopt;
  out.keys = extra.substr(head.tensors);
  if (!is_sound(out)) return std::nullopt;
  return out;
}

}  // namespace headrace
