// Sequential verbs: what stands above a border, where the next element is known only when the one before is.
//
// A Stream hands out items in order. All of it runs under the executor's mutex and is cheap: data moves in
// stages, streams decide. `save` writes where the stream stands as if everything it has handed out were
// consumed; `restore` reads it back.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "headrace/run/work/ticket.h"

namespace headrace {

class Stage;

enum class Pull : uint8_t { item, wait, end, error };

class CursorReader {
 public:
  explicit CursorReader(const Cursor& cursor) : cursor_(cursor) {}
  uint64_t next() { return at_ < cursor_.size() ? cursor_[at_++] : (short_ = true, 0); }
  void refuse() { short_ = true; }       // the numbers cannot be: ok() is false from now on
  bool good() const { return !short_; }  // so far
  bool ok() const { return !short_ && at_ == cursor_.size(); }

 private:
  const Cursor& cursor_;
  size_t at_ = 0;
  bool short_ = false;
};

// Outputs that a stream leaves out, counted from where it stands.
struct Gap {
  uint64_t first = 0, count = 0;
};

class Stream {
 public:
  virtual ~Stream() = default;
  // The next item; `wait` until work that is under way is done. After `error`, `failure` holds it. Where
  // samples lie side by side, up to `most` of them are one item.
  virtual Pull pull(Item& out, Status& failure, uint64_t most) = 0;
  // One sample, which lies by itself.
  Pull pull_one(Item& out, Status& failure) {
    const Pull pulled = pull(out, failure, 1);
    if (pulled == Pull::item) out.part();
    return pulled;
  }
  virtual void start(uint64_t epoch, uint32_t occurrence) = 0;  // from the beginning; drops work under way
  // Nothing is written while the work that the next item begins after is under way. That may end right after
  // it: whoever saves for an item that is yet to be pulled must not pull then.
  virtual void save(Cursor& cursor) const = 0;
  virtual void restore(CursorReader& cursor) = 0;  // after start() of the same epoch
  // Right after restore(): leave these of the outputs to come out, which rise and do not touch, and do not
  // even read what they are made of. False, and nothing is left out, where outputs are known only by making
  // them.
  virtual bool leave_out(std::span<const Gap> outputs) {
    (void)outputs;
    return false;
  }
  // All stages below, those that are needed first last: upstream first, of several children the last first.
  virtual void stages(std::vector<Stage*>& out) = 0;
  // Those of them that may take in work now.
  virtual void open_stages(std::vector<Stage*>& out) { stages(out); }
  virtual Stage* giving() { return nullptr; }  // the stage whose results come next; null: none
  // The last stage, where nothing above it does more than count; null: there is none.
  virtual Stage* outermost() { return nullptr; }
  virtual bool has_taken_all() const { return false; }  // nothing is left to take in
};
using StreamPtr = std::unique_ptr<Stream>;

// Positions of a level, `*block` at a time.
StreamPtr position_stream(std::shared_ptr<const Level> level, const uint64_t* block,
                          const Level::Start* start);
StreamPtr take_stream(StreamPtr child, uint64_t count);
StreamPtr skip_stream(StreamPtr child, uint64_t count);
StreamPtr repeat_stream(StreamPtr child, uint64_t times);
StreamPtr concatenate_stream(std::vector<StreamPtr> children);
// The elements of all children side by side, named by those of one.
StreamPtr zip_stream(std::vector<StreamPtr> children, uint32_t ids);
StreamPtr mix_stream(std::vector<StreamPtr> children, const Mix& mix);
StreamPtr choose_stream(std::vector<StreamPtr> children, const Choose& choose);
// One output of each `world` of the child's. `exact`: their number is, so the last round is made even.
StreamPtr round_stream(StreamPtr child, const Shard& shard, bool exact);
// Exactly `steps` elements, beginning again at the end of the child. Its cursor begins with how many were
// given, and how often it began again.
StreamPtr steps_stream(StreamPtr child, uint64_t steps);
StreamPtr window_shuffle_stream(StreamPtr child, uint64_t seed, uint64_t window);
StreamPtr window_stream(StreamPtr child, const Window& window);
StreamPtr group_stream(StreamPtr child, uint64_t size, bool drop_last);
StreamPtr interleave_stream(std::vector<StreamPtr> children, uint64_t cycle, uint64_t block);

// These take samples that a KeyLink gave values more: what decides. They take those values off.
StreamPtr take_while_stream(StreamPtr child);
StreamPtr unique_stream(StreamPtr child, const Schema& keys);
StreamPtr group_by_stream(StreamPtr child, const GroupBy& group);
// Rows of sequences, as samples of the packed fields alone.
StreamPtr pack_stream(StreamPtr child, const Pack& pack);

}  // namespace headrace
