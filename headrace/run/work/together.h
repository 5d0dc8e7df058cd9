// Maps, filters and keys of many small samples at once: each step of a program runs over a column, not over a
// sample. Where that gives the same bytes; else they go one by one. Functions of an interpreter are called
// for each sample, which lies in its columns and in no memory of its own, and its lock is taken once for all.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/run/evaluate/evaluate.h"
#include "headrace/run/evaluate/links.h"
#include "headrace/run/evaluate/sample_rows.h"

namespace headrace {

// Whether samples of this schema can lie side by side, and the bytes of one.
bool can_be_columns(const Schema& schema);
size_t bytes_of_sample(const Schema& schema);
// New columns for so many samples of a schema, after `columns`; and where they are written.
Result<std::vector<MutView>> add_columns(const Schema& rows, size_t count, Evaluator& evaluator,
                                         std::vector<Tensor>& columns);

class Together {
 public:
  // Of samples of `incoming`, through `programs` and then `links`. Null where some step wants them one by
  // one, or where samples have more than `most_bytes`. `keep_failures`: a sample that failed is an element.
  static std::unique_ptr<const Together> make(const Schema& incoming, std::span<const Program> programs,
                                              std::span<const Link> links, size_t most_bytes,
                                              bool keep_failures);

  // The first of the samples that failed, and the user's line.
  struct Failure {
    Status status;
    size_t sample = 0;
    std::string at;
  };
  // What becomes of them, and of how many samples those up to each became. False, and nothing happened: one
  // by one, the sample that fails is found. Where a function failed, which is not called again: `failure`,
  // and what the samples before it became, unless it is `exhausted`.
  bool run(Rows& rows, std::vector<uint64_t>& ends, Evaluator& evaluator, Failure& failure) const;

  const Schema& incoming() const { return incoming_; }  // of one sample
  size_t sample_bytes() const { return sample_bytes_; }
  bool calls_functions() const { return calls_functions_; }

 private:
  struct Step {
    enum class Does : uint8_t { map, keep, append, unbatch };
    Does does = Does::map;
    Program program;     // over columns, or of one sample if it is
    bool calls = false;  // of functions, or else
    bool skips = false;  // samples that fail in it
    int64_t rows = 0;    // that an unbatch makes of a sample
  };
  class Making;
  Status run_over_columns(const Step& step, Rows& rows, std::vector<uint64_t>& ends,
                          Evaluator& evaluator) const;
  Status run_calls(const Step& step, Rows& rows, std::vector<uint64_t>& ends, Evaluator& evaluator,
                   Failure& failure) const;

  Schema incoming_;
  size_t sample_bytes_ = 0;
  bool calls_functions_ = false;
  std::vector<Step> steps_;
};

}  // namespace headrace
