#include "headrace/run/engine/track.h"

#include <algorithm>

namespace headrace {
namespace {

// The number in `count` bits, or the largest number that fits.
uint64_t bits(uint64_t number, unsigned count) { return std::min(number, (uint64_t{1} << count) - 1); }

}  // namespace

Track::Track(uint64_t began_ns, PiecesLeft& left, size_t least, size_t most)
    : began_ns_(began_ns),
      left_(left),
      least_(std::max<size_t>(1, least)),
      most_(std::max(least_, most)),
      pieces_(std::make_unique<std::atomic<Piece*>[]>(most_)) {}

Track::~Track() {
  for (size_t i = 0; i < num_pieces_; ++i) delete pieces_[i].load();
}

bool Track::joins(const Slice& slice) {
  Slice* held = go_on(slice.kind, slice.calls, slice.stage, slice.begin_ns, slice.end_ns());
  if (!held) return false;
  held->cpu_ns += slice.cpu_ns, held->waited_ns += slice.waited_ns, held->bytes += slice.bytes;
  held->rows += slice.rows, held->times += slice.times - 1;
  return true;
}

void Track::begin(const Slice& slice) {
  close();
  held_ = slice;
  if (held_.wall_ns >= kShortNs || held_.kind == Slice::Kind::state) close();
}

void Track::close() {
  if (held_.times > 0) put(held_);
  held_.times = 0;
}

bool Track::grow() {
  const size_t n = num_pieces_.load(std::memory_order_relaxed);
  if (n == most_) return false;
  if (n >= least_ && left_.fetch_sub(1, std::memory_order_relaxed) <= 0) {
    left_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  pieces_[n].store(new Piece, std::memory_order_relaxed);
  num_pieces_.store(n + 1, std::memory_order_release);
  return true;
}

// A word that a reader sees is stored after `written_` covers all earlier slices: the reader loads `written_`
// again after reading, and drops slices that may have been overwritten in the meantime.
void Track::put(const Slice& s) {
  const uint64_t number = written_.load(std::memory_order_relaxed);
  if (number == capacity()) grow();
  const uint64_t place = number % capacity();
  const uint64_t begin_ns = s.begin_ns - std::min(s.begin_ns, began_ns_);
  const uint64_t flags = uint64_t{s.calls} | uint64_t{s.has_name} << 1;
  const std::array<uint64_t, kWords> words{
      bits(begin_ns, 48) | static_cast<uint64_t>(s.kind) << 48 | flags << 52 | uint64_t{s.stage} << 56,
      bits(s.wall_ns, 40) | bits(s.rows, 24) << 40,
      bits(s.cpu_ns, 40) | bits(s.times, 24) << 40,
      bits(s.ticket, 40) | bits(s.read, 24) << 40,
      s.index,
      s.bytes,
      s.waited_ns};
  std::atomic<uint64_t>* to =
      &pieces_[place / kPiece].load(std::memory_order_relaxed)->words[place % kPiece * kWords];
  for (const uint64_t word : words) (to++)->store(word, std::memory_order_release);
  last_ns_.store(begin_ns + s.wall_ns, std::memory_order_relaxed);
  written_.store(number + 1, std::memory_order_release);
}

Slice Track::at(uint64_t place) const {
  constexpr uint64_t k24 = (1u << 24) - 1, k40 = (uint64_t{1} << 40) - 1, k48 = (uint64_t{1} << 48) - 1;
  const std::atomic<uint64_t>* from =
      &pieces_[place / kPiece].load(std::memory_order_relaxed)->words[place % kPiece * kWords];
  std::array<uint64_t, kWords> words;
  for (uint64_t& word : words) word = (from++)->load(std::memory_order_acquire);
  Slice s;
  s.begin_ns = words[0] & k48, s.kind = static_cast<Slice::Kind>(words[0] >> 48 & 0xF);
  s.calls = words[0] >> 52 & 1, s.has_name = words[0] >> 53 & 1;
  s.stage = static_cast<uint8_t>(words[0] >> 56);
  s.wall_ns = words[1] & k40, s.rows = static_cast<uint32_t>(words[1] >> 40);
  s.cpu_ns = words[2] & k40, s.times = static_cast<uint32_t>(words[2] >> 40);
  s.ticket = words[3] & k40, s.read = static_cast<uint32_t>(words[3] >> 40 & k24);
  s.index = words[4], s.bytes = words[5], s.waited_ns = words[6];
  return s;
}

// Newest first, so that reading the last ones costs only those.
std::vector<Slice> Track::slices(uint64_t from_ns) const {
  const uint64_t end = written(), size = capacity();
  const uint64_t first = end > size ? end - size : 0;
  std::vector<Slice> out;
  uint64_t oldest = end;
  for (; oldest > first; --oldest) {
    const Slice slice = at((oldest - 1) % size);
    if (slice.end_ns() < from_ns) break;
    out.push_back(slice);
  }
  const uint64_t now = written();
  const uint64_t safe = now >= size ? now + 1 - size : 0;  // slice `now` may be half written
  if (safe > oldest) out.resize(out.size() - std::min<size_t>(out.size(), safe - oldest));
  std::ranges::reverse(out);
  return out;
}

}  // namespace headrace
