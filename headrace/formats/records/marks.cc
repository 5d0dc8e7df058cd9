#include "headrace/formats/records/marks.h"

#include "headrace/kernels/is_utf8.h"

namespace headrace {
namespace {

const uint8_t* bytes_at(std::string_view text) { return reinterpret_cast<const uint8_t*>(text.data()); }

}  // namespace

bool Neighbours::cover(size_t i) {
  const std::string_view record = run_.text(i);
  if (record.data() >= text_.data() && record.data() + record.size() <= text_.data() + text_.size())
    return false;
  constexpr uint64_t kMost = 16 << 10, kMostBetween = 64;  // bytes
  const uint64_t begin = run_.records[i].offset;
  uint64_t end = begin + record.size();
  for (size_t next = i + 1; next < run_.records.size(); ++next) {
    const auto [offset, length] = run_.records[next];
    if (offset < end || offset - end > kMostBetween || offset + length - begin > kMost) break;
    end = offset + length;
  }
  text_ = {record.data(), end - begin};
  are_utf8_ = false;
  return true;
}

void Neighbours::look_for_utf8() {
  are_utf8_ = kernels::is_utf8(bytes_at(text_), static_cast<int64_t>(text_.size()));
}

void Marks::mark(std::string_view text) {
  begin_ = text.data();
  bits_.resize((text.size() + 63) / 64);
  kernels::mark_bytes(bytes_at(text), static_cast<int64_t>(text.size()), wanted_, bits_.data());
}

}  // namespace headrace
