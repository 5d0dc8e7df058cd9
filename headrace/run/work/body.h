// What a stage does to its items, apart from when: split a ticket into parts, fetch, run, and put the results
// together.
//
// LevelBody (level_body.h) evaluates positions of a Level; SampleBody (sample_body.h) takes samples of the
// stage before; GroupBody (group_body.h) makes batches of them, PackBody (pack_body.h) packs them. Each may
// carry a chain of links (map, filter, unbatch) for what it made. Immutable once a run has begun but for how
// much goes into an item; `fetch` and `run` are called from many threads, for different parts.
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/run/evaluate/collate.h"
#include "headrace/run/evaluate/evaluate.h"
#include "headrace/run/evaluate/links.h"
#include "headrace/run/measure/sample_names.h"
#include "headrace/run/read/fetch.h"
#include "headrace/run/work/ticket.h"
#include "headrace/run/work/together.h"

namespace headrace {

// A failure and the row it belongs to.
struct RowStatus {
  Status status;
  size_t row = 0;
};

class Body {
 public:
  virtual ~Body() = default;
  // Split the ticket and take its memory. False when the pool has no room now. An item is one row, which
  // takes its memory as it is run, unless a body has it otherwise.
  virtual Result<bool> admit(Ticket& ticket, size_t grain, Pool& pool) const;
  // Bring the blocks of a part. Only `exhausted` comes back; other failures wait for their row's turn. Rows
  // that nothing is to be done with are put in place at once: another worker would find them in no cache.
  virtual Status fetch(Ticket& ticket, Part& part, Counters& counters) const;
  virtual RowStatus run(Ticket& ticket, Part& part, Evaluator& evaluator) const = 0;
  // After the last part: `outputs` from what the parts made; where a row failed, from what came before.
  virtual Status finish(Ticket& ticket, Evaluator& evaluator) const;
  // The same where it is no work; false where it is. Called under the executor's mutex.
  virtual bool finish_at_once(Ticket& ticket) const {
    (void)ticket;
    return false;
  }

  // The sample that row `i` of a part began as, if that is known.
  virtual std::optional<SampleRef> sample_of(const Ticket& ticket, const Part& part, size_t i) const {
    (void)ticket, (void)part, (void)i;
    return std::nullopt;
  }

  virtual bool forget_kept() { return false; }            // for items that may come: whether there was any
  virtual bool takes_positions() const { return false; }  // items are positions: pulling one can be undone
  // The first number of the feeder's cursor counts rows handed out since the rest of it was written: a state
  // adds to it, and does not depend on how many rows an item had.
  virtual bool counts_rows() const { return takes_positions(); }

  // Once the chain is whole and before the first ticket: small samples may go through it together.
  virtual void allow_together();

  // A row took so long: items yet to come are as long as is worth a ticket. In order only, where a state does
  // not depend on it.
  virtual void settle_items(uint64_t row_ns) { (void)row_ns; }
  // Whether the memory that did not suffice for it may for one of fewer; those are half of that, at most.
  virtual bool may_be_fewer(const Ticket&) const { return false; }
  virtual void take_fewer(uint64_t than) { (void)than; }
  virtual uint64_t most_rows_of_item() const { return 1; }  // where items are settled

  std::vector<Link> chain;
  bool keep_failures = false;  // until a later stage's on_error("skip"): a failed sample is an element
  bool feeds_batches = false;  // the stage above makes batches of what comes, and nobody else gets any of it
  // Bytes of a sample that may go through it together with others. Somebody above may hold samples, each for
  // a time of its own, and with each all that were made with it.
  static constexpr size_t kTogether = 4096;
  size_t most_together = kTogether;

 protected:
  // Puts into words where a sample comes from; refers to the function that does.
  class SampleDescription {
   public:
    template <class F> SampleDescription(const F& words)
        : words_(&words), call_([](const void* f) { return std::string((*static_cast<const F*>(f))()); }) {}
    std::string operator()() const { return call_(words_); }

   private:
    const void* words_;
    std::string (*call_)(const void*);
  };
  // The chain on one sample, from `link` on; appends what it becomes. `where` names the sample in messages,
  // and is asked when there is one.
  Status follow(Sample sample, size_t link, Evaluator& evaluator, const SampleDescription& where,
                std::vector<Sample>& out) const;
  // A failure before `link` is an element when on_error("skip") stands further on and may answer it.
  bool keeps(const Status& status, size_t link) const;
  Status follow_maps(std::span<const Program> programs, Sample& sample, Evaluator& evaluator,
                     const SampleDescription& where) const;
  Status follow_rows(const UnbatchLink& link, const Sample& sample, size_t next, Evaluator& evaluator,
                     const SampleDescription& where, std::vector<Sample>& out) const;
  // A batch whose rows go through the chain together: the ticket's outputs. Nothing: one by one.
  std::optional<Status> unbatch_together(const Sample& batch, Ticket& ticket, Evaluator& evaluator,
                                         const SampleDescription& where) const;
  // The outputs of the rows, up to one that failed, become the ticket's.
  static void join_outputs(Ticket& ticket);
  // What the rows of an unbatch that stands first go through together; null: they do not.
  const Together* rows_together() const { return rows_together_.get(); }

 private:
  std::unique_ptr<const Together> rows_together_;
};

// Who the element at a position is; of a zip, who that of its naming input is.
Identity identity_of(const LeafPlan& leaf, const Position& at);

// Damage as the format has found it, with the format's name before it as with that of an operator.
Status said_by_format(Status status, const Source& source);

// Whether on_error may answer this failure: what the data did, not what the run or we did.
bool is_data_error(const Status& status);

}  // namespace headrace
