// Maps, filters and keys of many small samples at once: each step of a program runs over a column, not over a
// sample. Where that gives the same bytes; else they go one by one.
#pragma once
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "headrace/run/evaluate.h"
#include "headrace/run/links.h"
#include "headrace/run/rows.h"

namespace headrace {

class Together {
 public:
  // Of samples of `incoming`, through `programs` and then `links`. Null where some step wants them one by
  // one, or where samples have more than `most_bytes`.
  static std::unique_ptr<const Together> make(const Schema& incoming, std::span<const Program> programs,
                                              std::span<const Link> links, size_t most_bytes);

  // What becomes of them, and of how many samples those up to each became. On failure nothing happened: one
  // by one, the sample that fails is found.
  Status run(Rows& rows, std::vector<uint64_t>& ends, Evaluator& evaluator) const;

  const Schema& incoming() const { return incoming_; }  // of one sample
  size_t sample_bytes() const { return sample_bytes_; }

 private:
  struct Keep {
    Program predicate;
  };
  struct Append {
    Program program;
  };
  struct Unbatch {
    int64_t rows;
  };
  using Step = std::variant<Program, Keep, Append, Unbatch>;

  Schema incoming_;
  size_t sample_bytes_ = 0;
  std::vector<Step> steps_;
};

}  // namespace headrace
