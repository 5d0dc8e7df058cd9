#include "cli/input/open_blocks.h"

namespace headrace::cli {

std::shared_ptr<OpenBlocks::Slot> OpenBlocks::slot_of(uint64_t block) {
  constexpr size_t kMostForgotten = 256;  // expired entries
  const std::lock_guard lock(mutex_);
  if (slots_.size() > kMostForgotten)
    std::erase_if(slots_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Slot>& known = slots_[block];
  auto slot = known.lock();
  if (!slot) known = slot = std::make_shared<Slot>();
  return slot;
}

Result<std::vector<Tensor>> OpenBlocks::read(const Source& source, uint64_t index, Store& store, Held& held) {
  const Place place = source.place(index);
  if (!held.slot || held.block != place.block) {
    held = {};
    held = {place.block, slot_of(place.block)};
  }
  BlockPtr block;
  {
    const std::lock_guard lock(held.slot->mutex);
    HEADRACE_TRY(held.slot->failed);
    if (!held.slot->opened) {
      auto opened = drive_block(source, place.block, store);
      if (opened.status().code() == Code::corrupt) held.slot->failed = opened.status();
      HEADRACE_ASSIGN(held.slot->opened, std::move(opened));
    }
    block = held.slot->opened;
  }
  std::vector<Tensor> fields;
  HEADRACE_TRY(block->get(place.row, fields));
  return fields;
}

}  // namespace headrace::cli
