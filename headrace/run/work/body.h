// The work of a stage on its items, without scheduling: split a ticket into parts, fetch, run, and assemble
// the results.
//
// LevelBody (row_paths/level_body.h) evaluates positions of a Level; SampleBody (sample_body.h) takes samples
// of the previous stage; GroupBody (group_body.h) makes batches of them, PackBody (pack_body.h) packs them.
// Each may have a chain of links (map, filter, unbatch) for its outputs. Immutable during a run except for
// how much goes into an item; `fetch` and `run` are called from many threads, for different parts.
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
  // Splits the ticket and takes its memory. False when the pool has no room now. By default an item is one
  // row, which takes its memory when it is run.
  virtual Result<bool> admit(Ticket& ticket, size_t grain, Pool& pool) const;
  // Fetches the blocks of a part. Returns only `exhausted`; other failures wait for their row's turn. Rows
  // without operators are copied to their place at once, while they are in the CPU cache.
  virtual Status fetch(Ticket& ticket, Part& part, Counters& counters) const;
  virtual RowStatus run(Ticket& ticket, Part& part, Evaluator& evaluator) const = 0;
  // After the last part: makes `outputs` from the results of the parts; if a row failed, from those before
  // it.
  virtual Status finish(Ticket& ticket, Evaluator& evaluator) const;
  // The same if it needs no work; otherwise false. Called under the executor's mutex.
  virtual bool finish_at_once(Ticket& ticket) const {
    (void)ticket;
    return false;
  }

  // The sample that row `i` of a part came from, if known.
  virtual std::optional<SampleRef> sample_of(const Ticket& ticket, const Part& part, size_t i) const {
    (void)ticket, (void)part, (void)i;
    return std::nullopt;
  }

  virtual bool forget_kept() { return false; }            // drops cached blocks; whether there were any
  virtual bool takes_positions() const { return false; }  // items are positions: pulling one can be undone
  // The first number of the feeder's cursor counts rows handed out since the rest of it was written: a state
  // adds to it, and so does not depend on the number of rows in an item.
  virtual bool counts_rows() const { return takes_positions(); }

  // Call when the chain is complete and before the first ticket: small samples may go through it together.
  virtual void allow_together();

  // Chooses the size of later items from the time of a row, so that a ticket is worthwhile. Only in order,
  // where a state does not depend on it.
  virtual void settle_items(uint64_t row_ns) { (void)row_ns; }
  // Whether a ticket that found no memory may be tried with fewer rows; take_fewer() at least halves them.
  virtual bool may_be_fewer(const Ticket&) const { return false; }
  virtual void take_fewer(uint64_t than) { (void)than; }
  virtual uint64_t most_rows_of_item() const { return 1; }  // if settle_items() chooses

  std::vector<Link> chain;
  bool keep_failures = false;  // a failed sample is an element, until the on_error("skip") of a later stage
  bool feeds_batches = false;  // the only reader is a stage above that makes batches
  // Maximum bytes of a sample that may be processed together with others. A verb above may hold samples, and
  // holding one keeps the memory of all that were made with it.
  static constexpr size_t kTogether = 4096;
  size_t most_together = kTogether;

 protected:
  // Describes where a sample comes from; refers to a callable.
  class SampleDescription {
   public:
    template <class F> SampleDescription(const F& words)
        : words_(&words), call_([](const void* f) { return std::string((*static_cast<const F*>(f))()); }) {}
    std::string operator()() const { return call_(words_); }

   private:
    const void* words_;
    std::string (*call_)(const void*);
  };
  // Runs the chain on one sample, from `link` on; appends the results. `where` names the sample, and is
  // called only for messages.
  Status follow(Sample sample, size_t link, Evaluator& evaluator, const SampleDescription& where,
                std::vector<Sample>& out) const;
  // Whether a failure before `link` is an element, because an on_error("skip") further on may handle it.
  bool keeps(const Status& status, size_t link) const;
  Status follow_maps(std::span<const Program> programs, Sample& sample, Evaluator& evaluator,
                     const SampleDescription& where) const;
  Status follow_rows(const UnbatchLink& link, const Sample& sample, size_t next, Evaluator& evaluator,
                     const SampleDescription& where, std::vector<Sample>& out) const;
  // A batch whose rows go through the chain together: fills the ticket's outputs. Empty: process them one by
  // one.
  std::optional<Status> unbatch_together(const Sample& batch, Ticket& ticket, Evaluator& evaluator,
                                         const SampleDescription& where) const;
  // Makes the outputs of the rows, up to one that failed, those of the ticket.
  static void join_outputs(Ticket& ticket);
  // The joint processing of rows, if the chain begins with an unbatch; null: one by one.
  const Together* rows_together() const { return rows_together_.get(); }

 private:
  std::unique_ptr<const Together> rows_together_;
};

// The identity of the element at a position; for a zip, that of its naming input.
Identity identity_of(const LeafPlan& leaf, const Position& at);

// Prepends the name of the format to an error about damage.
Status said_by_format(Status status, const Source& source);

// Whether on_error may handle this failure: caused by the data, not by the run or a bug.
bool is_data_error(const Status& status);

}  // namespace headrace
