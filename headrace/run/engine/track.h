// A Track: what one thread did, as slices in a ring that this thread writes without a lock. The oldest slices
// are overwritten first. Other threads may read it at any time.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace headrace {

constexpr size_t kCacheLine = 64;  // bytes; threads that write to the same one slow each other down

struct Slice {
  enum class Kind : uint8_t {
    samples,  // a worker ran rows through operators
    finish,   // a worker assembled a ticket's rows
    read,     // an io worker read the bytes of rows
    wait,     // the consumer waited for an element
    step,     // the consumer had an element, until it asked for the next
    state,    // no duration: ready elements and memory in use
  };
  Kind kind = Kind::samples;
  bool calls = false;     // called Python functions
  bool has_name = false;  // `read` and `index` identify the sample of its first row
  uint8_t stage = 0;
  uint32_t rows = 0;
  uint32_t times = 1;      // consecutive pieces of work that it consists of
  uint64_t begin_ns = 0;   // since the trace began, once it is in a track
  uint64_t wall_ns = 0;    // until its end
  uint64_t cpu_ns = 0;     // of the thread
  uint64_t waited_ns = 0;  // time that functions waited, or that the consumer waited in between
  uint64_t bytes = 0;      // read; of `state`: in use
  // The members above change while a slice is extended, and are on one cache line.
  uint64_t ticket = kNone;
  uint32_t read = 0;   // the first row's sample: ordinal of its read
  uint64_t index = 0;  // and its index in that read

  static constexpr uint64_t kNone = (uint64_t{1} << 40) - 1;
  uint64_t end_ns() const { return begin_ns + wall_ns; }
};

// How many pieces of memory all tracks of a trace may still take.
using PiecesLeft = std::atomic<int64_t>;

class Track {
 public:
  static constexpr size_t kPiece = 512;  // slices
  // Times are passed in as now_ns() and returned relative to `began_ns`. Takes pieces as needed: at least
  // `least`, and up to `most` while there are some left.
  Track(uint64_t began_ns, PiecesLeft& left, size_t least, size_t most);
  ~Track();
  Track(const Track&) = delete;
  Track& operator=(const Track&) = delete;

  // Called by its own thread. Short neighbors are merged into one slice with the ticket and sample of the
  // first.
  void add(const Slice& slice) {
    if (!joins(slice)) begin(slice);
  }
  bool joins(const Slice& slice);  // whether it was merged into the previous one
  // The previous slice, extended to `end_ns` by one more piece of work, for the caller to add rows and times;
  // null if the work begins a new slice.
  Slice* go_on(Slice::Kind kind, bool calls, uint8_t stage, uint64_t begin_ns, uint64_t end_ns) {
    if (held_.times == 0 || held_.calls != calls || held_.stage != stage ||
        end_ns - held_.begin_ns > kShortNs || begin_ns - held_.end_ns() > kGapNs ||
        !are_alike(held_.kind, kind))
      return nullptr;
    held_.wall_ns = end_ns - held_.begin_ns;
    ++held_.times;
    if (held_.kind == Slice::Kind::finish || held_.kind == Slice::Kind::wait) held_.kind = kind;
    return &held_;
  }
  void begin(const Slice& slice);
  void close();  // writes the pending slice; called by its own thread, or after that has ended

  // The remaining slices that end after `from_ns`, oldest first; for any thread. Slices added in the meantime
  // may be missing.
  std::vector<Slice> slices(uint64_t from_ns = 0) const;
  uint64_t last_ns() const { return last_ns_.load(std::memory_order_relaxed); }  // when the last one ended
  uint64_t written() const { return written_.load(std::memory_order_acquire); }  // including overwritten ones

 private:
  // A slice shorter than this waits for its neighbor: pieces this short cannot be told apart on a screen, and
  // 1 µs elements would make some 100,000 more slices per track and second.
  static constexpr uint64_t kShortNs = 100'000;
  static constexpr uint64_t kGapNs = 20'000;  // maximum gap between merged neighbors
  static bool are_alike(Slice::Kind a, Slice::Kind b) {
    const auto of = [](Slice::Kind kind) {
      if (kind == Slice::Kind::finish) return Slice::Kind::samples;
      return kind == Slice::Kind::wait ? Slice::Kind::step : kind;
    };
    return of(a) == of(b);
  }
  static constexpr size_t kWords = 7;
  struct Piece {
    std::array<std::atomic<uint64_t>, kWords * kPiece> words;
  };
  void put(const Slice& slice);
  Slice at(uint64_t place) const;
  bool grow();
  size_t capacity() const { return num_pieces_.load(std::memory_order_acquire) * kPiece; }

  // Used by its own thread: pending, because the next slice may be merged into it; times == 0: none.
  alignas(kCacheLine) Slice held_{.times = 0};
  const uint64_t began_ns_;
  PiecesLeft& left_;
  const size_t least_, most_;
  std::unique_ptr<std::atomic<Piece*>[]> pieces_;
  std::atomic<size_t> num_pieces_{0};  // grows until the first slice is overwritten
  std::atomic<uint64_t> written_{0}, last_ns_{0};
};

}  // namespace headrace
