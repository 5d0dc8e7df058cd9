#include "headrace/formats/hdf5/writing/new_heap.h"

#include <algorithm>

namespace headrace::hdf5 {
namespace {

constexpr uint64_t kHead = 16;            // of a collection, and of an object
constexpr uint64_t kMost = 64 << 10;      // of a shared collection
constexpr uint64_t kAlone = 8192;         // objects of this size or more have their own collection
constexpr uint32_t kMostObjects = 65535;  // indexes have 16 bits

uint64_t padded(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

std::string collection_head(uint64_t size) {
  return NewBytes().text("GCOL").number(1, 4).number(size, 8).get();
}

void put_object(std::string& out, uint32_t index, std::span<const std::byte> bytes) {
  out += NewBytes().number(index, 2).number(1, 2).number(0, 4).number(bytes.size(), 8).get();
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  out.resize(padded(out.size()));
}

// The rest is a free-space object with index 0.
void close(std::string& collection, uint64_t size) {
  const uint64_t left = size - collection.size();
  if (left >= kHead) collection += NewBytes().number(0, 8).number(left, 8).get();
  collection.resize(size);
}

std::string reference(uint64_t count, uint64_t address, uint32_t index) {
  return NewBytes().number(count, 4).number(address, 8).number(index, 4).get();
}

}  // namespace

uint64_t PlacedFile::reserve(uint64_t size) {
  const uint64_t place = padded(end_);
  end_ = place + size;
  return place;
}

Status PlacedFile::write(uint64_t place, std::string_view bytes) {
  return file_->write(place, std::as_bytes(std::span(bytes)));
}

Result<uint64_t> PlacedFile::append(std::string_view bytes) {
  const uint64_t place = reserve(bytes.size());
  HEADRACE_TRY(write(place, bytes));
  return place;
}

Result<std::string> NewHeap::add(uint64_t count, std::span<const std::byte> bytes) {
  if (count == 0) return reference(0, 0, 0);
  const uint64_t needs = kHead + padded(bytes.size());
  if (needs >= kAlone) {
    std::string own = collection_head(kHead + needs);
    own.reserve(kHead + needs);
    put_object(own, 1, bytes);
    HEADRACE_ASSIGN(const uint64_t address, file_->append(own));
    return reference(count, address, 1);
  }
  if (needs > size_ - collection_.size() || objects_ == kMostObjects) {
    HEADRACE_TRY(finish());
    size_ = std::max(next_size_, kHead + needs);
    next_size_ = std::min(2 * next_size_, kMost);
    place_ = file_->reserve(size_);
    collection_ = collection_head(size_);
    objects_ = 0;
  }
  put_object(collection_, ++objects_, bytes);
  return reference(count, place_, objects_);
}

Status NewHeap::finish() {
  if (size_ == 0) return {};
  close(collection_, size_);
  HEADRACE_TRY(file_->write(place_, collection_));
  collection_.clear();
  size_ = 0;
  return {};
}

}  // namespace headrace::hdf5
