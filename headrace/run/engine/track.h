// A Track: what one thread did, slice after slice, in a ring that this thread writes without a lock. The
// oldest slices go first. Others may read it at any time.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace headrace {

constexpr size_t kCacheLine = 64;  // bytes; threads that write on the same one wait for each other

struct Slice {
  enum class Kind : uint8_t {
    samples,  // a worker ran rows through operators
    finish,   // a worker put a ticket's rows together
    read,     // an io worker brought the bytes of rows
    wait,     // the consumer waited for an element
    step,     // the consumer had one, until it came for the next
    state,    // no time passed: what was ready and in use
  };
  Kind kind = Kind::samples;
  bool calls = false;     // functions of an interpreter
  bool has_name = false;  // `read` and `index` say which sample its first row is
  uint8_t stage = 0;
  uint32_t rows = 0;
  uint32_t times = 1;      // pieces of work, one right after the other, of which it is made up
  uint64_t begin_ns = 0;   // since the trace began, once it is in a track
  uint64_t wall_ns = 0;    // until its end
  uint64_t cpu_ns = 0;     // of the thread
  uint64_t waited_ns = 0;  // that functions waited instead of working, or that the consumer waited in between
  uint64_t bytes = 0;      // read; of `state`: in use
  // Up to here, on one cache line, stands what grows while a slice goes on.
  uint64_t ticket = kNone;
  uint32_t read = 0;   // the first row's sample: ordinal of its read
  uint64_t index = 0;  // and its index in there

  static constexpr uint64_t kNone = (uint64_t{1} << 40) - 1;
  uint64_t end_ns() const { return begin_ns + wall_ns; }
};

// How many pieces of memory all tracks of a trace may still take.
using PiecesLeft = std::atomic<int64_t>;

class Track {
 public:
  static constexpr size_t kPiece = 512;  // slices
  // Times come in as now_ns() says them and are told since `began_ns`. Takes pieces as it needs them: `least`
  // in any case, up to `most` while there are some left.
  Track(uint64_t began_ns, PiecesLeft& left, size_t least, size_t most);
  ~Track();
  Track(const Track&) = delete;
  Track& operator=(const Track&) = delete;

  // By its own thread. Short neighbours become one slice: they would cost more than they tell, and what the
  // later ones are about is not asked for.
  void add(const Slice& slice) {
    if (!joins(slice)) begin(slice);
  }
  bool joins(const Slice& slice);  // whether it became part of the one before
  // The slice before, gone on until `end_ns` with one more piece of work, to which its rows and times are to
  // be added; null where this begins a slice of its own.
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
  void close();  // nothing is held back any more; by its own thread, or when that is gone

  // The slices that are still there and end after `from_ns`, oldest first; from any thread. What a thread
  // adds meanwhile may be missing.
  std::vector<Slice> slices(uint64_t from_ns = 0) const;
  uint64_t last_ns() const { return last_ns_.load(std::memory_order_relaxed); }  // when the last one ended
  uint64_t written() const { return written_.load(std::memory_order_acquire); }  // those that are gone, too

 private:
  // A slice shorter than this waits for its neighbour; a minute of 1 µs elements is then some 100,000 slices
  // a track and second less, and none of the pieces could be told apart on a screen.
  static constexpr uint64_t kShortNs = 100'000;
  static constexpr uint64_t kGapNs = 20'000;  // between neighbours, at most
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

  // Its own thread's: not yet written, for the next one may become part of it; of no times: there is none.
  alignas(kCacheLine) Slice held_{.times = 0};
  const uint64_t began_ns_;
  PiecesLeft& left_;
  const size_t least_, most_;
  std::unique_ptr<std::atomic<Piece*>[]> pieces_;
  std::atomic<size_t> num_pieces_{0};  // grows until the first slice is overwritten
  std::atomic<uint64_t> written_{0}, last_ns_{0};
};

}  // namespace headrace
