// A Program: what one `map` or `filter` does to a sample, as a list of operator calls over numbered values.
//
// Values 0 … inputs-1 are fields of the incoming sample; each step appends its outputs. A Program is checked
// and typed while it is built, and immutable afterwards: tracing in Python, the C++ builder, JSON and the
// rewrites all make new ones through ProgramBuilder.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/ops/op.h"

namespace headrace {

// Fields provided by the engine instead of a source; valid as input fields of a Program.
inline constexpr int kIdField = -1;     // int64 (): the sample's id, read << 48 | index
inline constexpr int kValidField = -2;  // bool (): false for samples that shard(even="pad") added

// A step that reads a part of another step's output: steps[step] of the program that is `program` places
// further on.
struct PartReader {
  size_t program = 0, step = 0;
};

struct Call {
  OpPtr op;
  std::vector<int> inputs;  // values: the data inputs, then one per bound parameter
  int first_output = 0;     // outputs are the values first_output … first_output + outputs - 1
  int outputs = 1;
  uint32_t ordinal = 0;  // of the operator in the user's graph, dataflow order; the root of its random keys
  std::string made_at;   // the user's line: "map at train.py:31"
  std::vector<uint32_t> absorbed;  // ordinals of the operators that a rewrite made part of this one
  // All readers, or empty: then the whole output is needed (graph/passes/partial_outputs.h).
  std::vector<PartReader> part_readers;
  bool operator==(const Call&) const;
};

struct Program {
  std::vector<int> input_fields;  // value i is this field of the incoming sample
  std::vector<Call> steps;
  std::vector<int> outputs;       // value of each leaf of `schema`
  Schema schema;                  // of the outgoing sample
  std::vector<TensorSpec> specs;  // of every value

  int num_values() const { return static_cast<int>(specs.size()); }
  bool is_identity() const { return steps.empty(); }
};

// Whether its results differ between epochs: operators that draw random numbers. A Python function may call
// such operators, but rarely does; it counts when it takes a generator.
bool varies_by_epoch(const Call& call);
// Whether two calls for one sample may give different results: a Python function not declared pure.
bool may_vary_by_call(const Call& call);
// Whether it may wait for something other than CPU or storage: a user's function, in Python or C.
bool may_wait(const Call& call);

// Appends checked steps. Not thread-safe.
class ProgramBuilder final : public Builder {
 public:
  // `incoming` is the schema of the incoming samples; `made_at` goes into every step.
  ProgramBuilder(Schema incoming, std::string made_at);

  // The value of an incoming field. The error for an unknown name lists the known ones.
  Result<int> field(std::string_view name);
  // By position, or kIdField, kValidField. Get all fields before adding the first operator: a new field
  // shifts the values that add() returned.
  int field(int index);
  Result<std::vector<int>> add(std::string_view op, const Value& params,
                               std::span<const int> inputs) override;
  // The same with parameters that come from values: bound[i] = {parameter, value}.
  Result<std::vector<int>> add(std::string_view op, const Value& params, std::span<const int> inputs,
                               std::span<const std::pair<std::string, int>> bound);
  // An operator made elsewhere: a Python function, a plug-in. Checks and infers like `add`.
  Result<std::vector<int>> add_op(OpPtr op, std::span<const int> inputs);

  const TensorSpec& spec(int value) const { return program_.specs[static_cast<size_t>(value)]; }
  const Schema& incoming() const { return incoming_; }
  // The program whose outputs are these values under these names; `structure` as in Schema ("" = a dict).
  Result<Program> finish(std::vector<std::string> names, std::vector<int> outputs,
                         std::string structure = "");

 private:
  Result<std::vector<int>> add_checked(std::string_view op, const Value& params, std::span<const int> inputs,
                                       std::span<const std::pair<std::string, int>> bound);

  Schema incoming_;
  std::string made_at_;
  Program program_;
};

// second(first(sample)) as one program: used by the rewrite that fuses adjacent maps.
Program compose(const Program& first, const Program& second);

// Without steps that no output needs.
Program without_dead_steps(const Program& program);

}  // namespace headrace
