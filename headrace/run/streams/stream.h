// Sequential verbs: those above a border, where the next element is only known after the previous one.
//
// A Stream hands out items in order. It runs under the executor's mutex and is cheap: data moves in stages,
// streams only decide. `save` writes the position of the stream as if everything it has handed out were
// consumed; `restore` reads it back.
#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/core/stop_flag.h"
#include "headrace/run/work/ticket.h"

namespace headrace {

class Stage;
class StateForm;

enum class Pull : uint8_t { item, wait, end, error };

class CursorReader {
 public:
  // `stop`: ends long work within restore(); null: it cannot be ended.
  explicit CursorReader(const Cursor& cursor, const StopFlag* stop = nullptr)
      : cursor_(cursor), stop_(stop) {}
  uint64_t next() {
    if (at_ < cursor_.size()) return cursor_[at_++];
    return good_ = false, 0;
  }
  // An invalid number: status() is an error from now on, of the first one. Both names outlive the reader.
  void refuse(std::string_view verb, std::string_view member) {
    if (good_) verb_ = verb, member_ = member;
    good_ = false;
  }
  bool good() const { return good_; }  // so far
  uint64_t peek() const { return at_ < cursor_.size() ? cursor_[at_] : 0; }
  size_t left() const { return cursor_.size() - at_; }
  bool is_stopped() const { return stop_ && stop_->raised(); }
  Status status() const;  // of a cursor that was read to its end

 private:
  const Cursor& cursor_;
  const StopFlag* stop_;
  size_t at_ = 0;
  bool good_ = true;
  std::string_view verb_, member_;
};

// Outputs that a stream skips, counted from its position.
struct Gap {
  uint64_t first = 0, count = 0;
};

class Stream {
 public:
  virtual ~Stream() = default;
  // The next item; `wait` while it depends on unfinished work. After `error`, `failure` is set. If samples
  // are stored as columns, up to `most` of them are one item.
  virtual Pull pull(Item& out, Status& failure, uint64_t most) = 0;
  // A single sample.
  Pull pull_one(Item& out, Status& failure) {
    const Pull pulled = pull(out, failure, 1);
    if (pulled == Pull::item) out.part();
    return pulled;
  }
  // From the beginning; drops running work. Elements of a round that is not `valid` are marked: shard(even=
  // "pad") takes them once more to even out ranks.
  virtual void start(uint64_t epoch, uint32_t occurrence, bool valid) = 0;
  // Writes nothing while the work before the next item is running. That work may end right after save(): a
  // caller that saves before pulling an item must not pull then.
  virtual void save(Cursor& cursor) const = 0;
  virtual void restore(CursorReader& cursor) = 0;  // after start() of the same epoch
  // The names of the numbers of save(), in their order: for states as JSON (state_form.h).
  virtual void describe(StateForm& form) const = 0;
  // Call right after restore(): skips these of the next outputs (ascending, not adjacent), without reading
  // their inputs. False, without effect, if outputs are only known by computing them.
  virtual bool leave_out(std::span<const Gap> outputs) {
    (void)outputs;
    return false;
  }
  // The most elements of an epoch, as far as that is known before it; else kInfinite. Numbers of a state
  // beyond it are refused.
  virtual uint64_t most_elements() const { return kInfinite; }
  // All stages below, those needed first at the end: upstream first, and the last of several children first.
  virtual void stages(std::vector<Stage*>& out) = 0;
  // Those of them that may admit work now.
  virtual void open_stages(std::vector<Stage*>& out) { stages(out); }
  virtual Stage* giving() { return nullptr; }  // the stage whose results come next; null: none
  // The last stage, if verbs above it only count elements; null: there is none.
  virtual Stage* outermost() { return nullptr; }
  virtual bool has_taken_all() const { return false; }  // nothing is left to admit
};
using StreamPtr = std::unique_ptr<Stream>;

uint64_t sum_of_elements(const std::vector<StreamPtr>& streams);  // most_elements() of all; or kInfinite

// Positions of a level, `*block` at a time.
StreamPtr position_stream(std::shared_ptr<const Level> level, const uint64_t* block,
                          const Level::Start* start);
StreamPtr take_stream(StreamPtr child, uint64_t count);
// An error at the end of an epoch, or as soon as one has more, that does not have `count` elements.
StreamPtr cardinality_stream(StreamPtr child, uint64_t count);
StreamPtr skip_stream(StreamPtr child, uint64_t count);
StreamPtr repeat_stream(StreamPtr child, uint64_t times);
StreamPtr concatenate_stream(std::vector<StreamPtr> children);
// The elements of all children joined, with the ids of one child.
StreamPtr zip_stream(std::vector<StreamPtr> children, uint32_t ids);
StreamPtr mix_stream(std::vector<StreamPtr> children, const Mix& mix);
StreamPtr choose_stream(std::vector<StreamPtr> children, const Choose& choose);
// One output of every `world` outputs of the child. `exact`: their number is known, so the last round is
// evened out.
StreamPtr round_stream(StreamPtr child, const Shard& shard, bool exact);
// Exactly `shard.steps` elements, beginning again at the end of the child. Its cursor begins with how many
// elements were given, and how often it began again.
StreamPtr steps_stream(StreamPtr child, const Shard& shard);
StreamPtr window_shuffle_stream(StreamPtr child, const Shuffle& shuffle);
StreamPtr window_stream(StreamPtr child, const Window& window);
StreamPtr group_stream(StreamPtr child, uint64_t size, bool drop_last);
// `order`: of the children in each epoch, where the verb is `ordered`; each child comes once.
StreamPtr interleave_stream(std::vector<StreamPtr> children, const Interleave& interleave,
                            const NodePtr& order);

// These take samples to which a KeyLink appended key values, and remove those values.
StreamPtr take_while_stream(StreamPtr child);
StreamPtr unique_stream(StreamPtr child, const Schema& keys);
StreamPtr group_by_stream(StreamPtr child, const GroupBy& group);
// Rows of sequences, as samples with only the packed fields.
StreamPtr pack_stream(StreamPtr child, const Pack& pack);

}  // namespace headrace
