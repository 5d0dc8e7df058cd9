// A Program: what one `map` or `filter` does to a sample, as a list of operator calls over numbered values.
//
// Values 0 … inputs-1 are fields of the incoming sample; each step appends its outputs. A Program is built
// once, checked and typed while it is built, and never changed: tracing in Python, the C++ builder, JSON and
// the rewrites all make new ones through ProgramBuilder.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/ops/op.h"

namespace headrace {

// Fields that the engine knows and no source has; valid as input fields of a Program.
inline constexpr int kIdField = -1;     // i64 (): the sample's id, read << 48 | index
inline constexpr int kValidField = -2;  // bool (): false for samples that shard(even="pad") added

// A step that reads a part of another step's output: steps[step] of the program that many places further on.
struct PartReader {
  size_t program = 0, step = 0;
};

struct Call {
  OpPtr op;
  std::vector<int> inputs;  // values: the data inputs, then one per bound parameter
  int first_output = 0;     // values first_output … first_output + outputs - 1
  int outputs = 1;
  uint32_t ordinal = 0;  // of the operator in the user's graph, dataflow order; the root of its random keys
  std::string made_at;   // the user's line: "map at train.py:31"
  std::vector<uint32_t> absorbed;  // ordinals of the operators that a rewrite made part of this one
  std::vector<PartReader>
      part_readers;  // all there are, or none: the whole output is needed (graph/passes/partial_outputs.h)
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

// Whether another epoch has other values of it: operators that draw. A Python function may call such, but
// mostly does not, so it counts when it asks for a generator.
bool varies_by_epoch(const Call& call);
// Whether nobody can tell that two calls for one sample answer alike: a Python function that does not say so.
bool may_vary_by_call(const Call& call);
// Whether it may wait for something that is neither CPU nor storage: a function of the user, in Python or C.
bool may_wait(const Call& call);

// Appends checked steps. Not for sharing between threads.
class ProgramBuilder final : public Builder {
 public:
  // `incoming` is the schema of the samples that will arrive; `made_at` goes into every step.
  ProgramBuilder(Schema incoming, std::string made_at);

  Result<int> field(
      std::string_view name);  // the value of an incoming field; unknown names list the known ones
  // By position, or kIdField, kValidField. Ask for all fields before the first operator: one that is new
  // shifts the values that operators answered.
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
  // The program whose leaves are these values under these names; `structure` as in Schema ("" = a dict).
  Result<Program> finish(std::vector<std::string> names, std::vector<int> outputs,
                         std::string structure = "");

 private:
  Result<std::vector<int>> add_checked(std::string_view op, const Value& params, std::span<const int> inputs,
                                       std::span<const std::pair<std::string, int>> bound);

  Schema incoming_;
  std::string made_at_;
  Program program_;
};

// second(first(sample)) as one program: the body of the rewrite that fuses adjacent maps.
Program compose(const Program& first, const Program& second);

// Without steps that no output needs.
Program without_dead_steps(const Program& program);

}  // namespace headrace
