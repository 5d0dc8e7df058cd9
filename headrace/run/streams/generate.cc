#include "headrace/run/streams/generate.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "headrace/run/streams/cursor_bytes.h"
#include "headrace/run/streams/state_form.h"

namespace headrace {
namespace {

constexpr size_t kMostSamples = 64;  // of an item
constexpr auto kMostTime = std::chrono::milliseconds(1);

// A pass of the generator. It moves from the feeder to the body with an item, and back when the work is done:
// `busy` is true while the body owns it.
struct GenerateTurn {
  std::atomic<bool> busy{false};
  std::unique_ptr<Generator::Pass> pass;  // null before the first item
  uint64_t epoch = 0;
  uint32_t occurrence = 0;
  bool valid = true;
  uint64_t again = 0;  // samples after `place` that were handed out
  uint64_t index = 0;  // of the first sample after `place`
  std::string place;
  bool ended = false;
  Status failure;
};

class GenerateFeeder final : public Stream {
 public:
  Pull pull(Item& out, Status& failure, uint64_t) override {
    if (turn_->busy.load(std::memory_order_acquire)) return Pull::wait;
    if (!turn_->failure.ok()) {
      failure = turn_->failure;
      return Pull::error;
    }
    if (turn_->ended) return Pull::end;
    out = {};
    out.turn = turn_;
    turn_->busy.store(true, std::memory_order_relaxed);
    return Pull::item;
  }
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    turn_ = std::make_shared<GenerateTurn>();  // running work keeps the old one
    turn_->epoch = epoch, turn_->occurrence = occurrence, turn_->valid = valid;
  }
  void save(Cursor& cursor) const override {
    if (turn_->busy.load(std::memory_order_acquire)) return;  // see Stream::save()
    cursor.insert(cursor.end(), {turn_->again, turn_->index});
    put_bytes(turn_->place, cursor);
  }
  void restore(CursorReader& cursor) override {
    const auto before = turn_;
    start(before->epoch, before->occurrence, before->valid);
    turn_->again = cursor.next(), turn_->index = cursor.next();
    turn_->place = take_bytes(cursor);
  }
  void describe(StateForm& form) const override {
    form.stream("from_generator");
    form.number("again");
    form.number("index");
    form.bytes("place");
  }
  void stages(std::vector<Stage*>&) override {}

 private:
  std::shared_ptr<GenerateTurn> turn_ = std::make_shared<GenerateTurn>();
};

// Opens the pass at the position of the turn.
Status open_generator(const Generator& generator, GenerateTurn& turn) {
  if (turn.pass) return {};
  HEADRACE_ASSIGN(turn.pass, generator.start(turn.epoch));
  if (!turn.place.empty()) HEADRACE_TRY(turn.pass->seek(turn.place));
  if (turn.again == 0) return {};
  turn.pass->will_replay(turn.again);
  std::vector<Tensor> passed;
  for (uint64_t i = 0; i < turn.again && !turn.ended; ++i) {
    HEADRACE_ASSIGN(const bool more, turn.pass->next(passed));
    turn.ended = !more;
  }
  return {};
}

}  // namespace

StreamPtr generate_feeder() { return std::make_unique<GenerateFeeder>(); }

Result<bool> GenerateBody::admit(Ticket& ticket, size_t, Pool&) const {
  ticket.num_rows = kMostSamples;
  ticket.parts.push_back({.count = 1});
  return true;
}

void GenerateBody::allow_together() {
  const Schema& schema = generator_->schema();
  side_by_side_ = can_be_columns(schema) && bytes_of_sample(schema) <= most_together;
}

// The samples of an item.
class GenerateBody::Made {
 public:
  Made(const GenerateBody& body, Ticket& ticket, Evaluator& evaluator) : ticket_(ticket) {
    if (!body.side_by_side_) return;
    auto slots = add_columns(body.generator_->schema(), kMostSamples, evaluator, rows_.columns);
    if (slots.ok()) slots_ = *std::move(slots), names_ = std::make_shared<std::vector<SampleName>>();
  }
  size_t size() const { return ticket_.ends.size(); }
  void add(const SampleName& name, std::vector<Tensor>& fields) {
    if (names_) {
      names_->push_back(name);
      for (size_t f = 0; f < fields.size(); ++f) {
        const View view = fields[f].view();
        std::memcpy(slots_[f].data + size() * view.size_bytes(), view.data, view.size_bytes());
      }
    } else {
      ticket_.outputs.push_back({name.id, name.shown_id, std::move(fields), nullptr});
    }
    ticket_.ends.push_back(size() + 1);
  }
  void give() {
    if (!names_) return;
    for (Tensor& column : rows_.columns)
      column.shape = column.shape.without_front().with_front(static_cast<int64_t>(size()));
    rows_.names = std::move(names_);
    ticket_.rows_made = std::make_shared<const Rows>(std::move(rows_));
  }

 private:
  Ticket& ticket_;
  Rows rows_;  // as columns, or
  std::vector<MutView> slots_;
  std::shared_ptr<std::vector<SampleName>> names_;  // null: samples have memory of their own
};

// A failure ends the stream after the samples before it.
RowStatus GenerateBody::run(Ticket& ticket, Part&, Evaluator& evaluator) const {
  auto& turn = *static_cast<GenerateTurn*>(ticket.item.turn.get());
  const auto until = std::chrono::steady_clock::now() + kMostTime;
  turn.failure = open_generator(*generator_, turn);
  Made made(*this, ticket, evaluator);
  std::vector<Tensor> fields;
  while (turn.failure.ok() && !turn.ended && made.size() < kMostSamples) {
    if (evaluator.scratch().is_stopped()) break;
    auto more = turn.pass->next(fields);
    if (!more.ok()) turn.failure = more.status();
    turn.ended = more.ok() && !*more;
    if (!more.ok() || turn.ended) break;
    const uint64_t index = turn.index + turn.again++;
    const SampleId id{index, turn.epoch, read_, turn.occurrence, 0, turn.valid};
    made.add({id, index | static_cast<uint64_t>(read_) << 48}, fields);
    if (std::chrono::steady_clock::now() > until) break;
  }
  made.give();
  if (turn.failure.ok() && !turn.ended) {
    auto place = turn.pass->tell();
    if (!place.ok())
      turn.failure = place.status();
    else if (*place)
      turn.index += std::exchange(turn.again, 0), turn.place = **std::move(place);
  }
  if (!turn.failure.ok())
    turn.failure = std::move(turn.failure)
                       .with({.sample = turn.index + turn.again})
                       .after(": sample " + std::to_string(turn.index + turn.again))
                       .at_place(made_at_);
  turn.busy.store(false, std::memory_order_release);
  return {};
}

bool GenerateBody::finish_at_once(Ticket&) const { return true; }

}  // namespace headrace
