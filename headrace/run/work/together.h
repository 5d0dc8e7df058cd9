// Maps, filters and keys over many small samples at once: each step of a program runs over a column instead
// of a sample, if that gives the same bytes; otherwise samples are processed one by one. Python functions are
// called for each sample, which stays in the columns without memory of its own, and the GIL is taken once for
// all.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/run/evaluate/evaluate.h"
#include "headrace/run/evaluate/links.h"
#include "headrace/run/evaluate/sample_rows.h"

namespace headrace {

// Whether samples of this schema can be stored as columns, and the bytes of one.
bool can_be_columns(const Schema& schema);
size_t bytes_of_sample(const Schema& schema);
// Appends new columns for `count` samples of a schema to `columns`; returns their memory.
Result<std::vector<MutView>> add_columns(const Schema& rows, size_t count, Evaluator& evaluator,
                                         std::vector<Tensor>& columns);

class Together {
 public:
  // For samples of `incoming`, through `programs` and then `links`. Null if a step needs them one by one, or
  // if samples have more than `most_bytes`. `keep_failures`: a failed sample is an element.
  static std::unique_ptr<const Together> make(const Schema& incoming, std::span<const Program> programs,
                                              std::span<const Link> links, size_t most_bytes,
                                              bool keep_failures);

  // The first sample that failed, and the user's line.
  struct Failure {
    Status status;
    size_t sample = 0;
    std::string at;
  };
  // Replaces `rows` by the results, and `ends` by the number of results up to each sample. False, without
  // effects: process them one by one to find the failing sample. If a function failed, which is not called
  // again: sets `failure`, with the results of the samples before it, unless it is `exhausted`.
  bool run(Rows& rows, std::vector<uint64_t>& ends, Evaluator& evaluator, Failure& failure) const;

  const Schema& incoming() const { return incoming_; }  // of one sample
  size_t sample_bytes() const { return sample_bytes_; }
  bool calls_functions() const { return calls_functions_; }

 private:
  struct Step {
    enum class Does : uint8_t { map, keep, append, unbatch };
    Does does = Does::map;
    Program program;     // over columns, or over one sample if
    bool calls = false;  //   it calls functions
    bool skips = false;  // samples that fail in it are skipped
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
