// The contract of an operator, and the registry of all of them.
//
// An operator is a value: a struct whose members are its parameters and whose methods are const and
// stateless. It is defined in one file, ops/<name>.cc, and exists everywhere (C++, Python, JSON, CLI, docs,
// conformance tests) through one statement at its end. Read ops/random_flip.cc before you write one.
//
// clang-format off
//   struct RandomFlip {
//     static constexpr std::string_view name = "random_flip";
//     static constexpr std::string_view doc = "Mirror an image left to right with probability `p`.";
//     Arg<float> p = 0.5f;
//     static constexpr std::tuple fields{Field{"p", &RandomFlip::p, "Probability of mirroring."}};
//     static constexpr std::array inputs{std::string_view("image")};  // names of the data inputs
//
//     Status check() const;                                  // optional: ranges of parameters
//     Result<TensorSpec> infer(const TensorSpec& in) const;  // graph build: dtype, rank, static dims
//     Status run(View in, MutView out, CallContext& call) const;  // call: ops/call_context.h
//
//     // Optional: any number >= 1 of inputs, as many outputs, one shared draw.
//     static constexpr bool variadic = true;
//     // Optional: output i depends on input i only, any shape, no randomness.
//     static constexpr bool elementwise = true;
//     // Optional: run() uses call.key().
//     static constexpr bool random = true;
//     // Optional: parameters that ask for what the data have, replaced by what this input has.
//     Result<RandomFlip> settled(View in) const;
//     // Optional: parameters left out of plans where they are the default, because they came later.
//     static constexpr std::array omitted{std::string_view("dtype")};
//     // Optional: the shape of the output for this sample, when infer() cannot know it.
//     Result<Shape> measure(View in, CallContext& call) const;
//     // Optional: run() reads only this part of its inputs; the rest is undefined.
//     Result<Box> reads(const Shape& image, const Key& key) const;
//     // Optional, next to run(): make at least this part of the output, each pixel at its place.
//     Status run_part(View in, const Box& part, MutView out, CallContext& call) const;
//     // Optional, for operators that crop, flip or resize one image: the same without pixels (ops/geometry.h).
//     Result<Geometry> place(const Geometry& image, const Key& key) const;
//     Placing placing() const;  // next to place(), unless it only ever moves pixels
//     RandomFlip of_masks() const;  // next to place(), where inputs after the first are resampled differently
//   };
//   const Registered<RandomFlip> registered_random_flip;
// clang-format on
//
// Several inputs or outputs: the same methods over spans (see AnyOp). Messages leave out the operator's name:
// it is added in front. User input never reaches an assert. `run` is called from many threads at once.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/core/box.h"
#include "headrace/core/tensor.h"
#include "headrace/core/value.h"
#include "headrace/ops/call_context.h"

namespace headrace {

enum class Phase : uint8_t { cpu, python };

// What place() does to a picture: the operator has no place(), it moves pixels, it computes new ones.
enum class Placing : uint8_t { none, moves, resamples };
struct Geometry;

// An operator with its parameters, type-erased. Immutable.
class AnyOp {
 public:
  virtual ~AnyOp() = default;
  virtual std::string_view name() const = 0;
  virtual Value params() const = 0;  // an object: every parameter, in order; bound ones hold their fallback
  // Names of the parameters bound to fields; their views follow the data inputs in `in`, in this order.
  virtual std::span<const std::string> bound() const = 0;
  virtual Phase phase() const { return Phase::cpu; }
  virtual bool elementwise() const { return false; }
  virtual bool random() const { return false; }

  virtual Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const = 0;
  // Shapes of the outputs for these inputs, before memory is taken. On entry `out` holds what infer()
  // returned. run() for the same inputs gets the same `call`.
  virtual Status measure(std::span<const View> in, std::span<Shape> out, CallContext& call) const = 0;
  virtual Status run(std::span<const View> in, std::span<const MutView> out, CallContext& call) const = 0;

  // Cropping operators read a part of an image, and decoders can make a part: where one follows the other,
  // run_part() is called with a box that covers what reads() returns for every reader. The bytes that are
  // read are the same.
  virtual bool reads_part() const { return false; }
  virtual Result<Box> reads(const Shape& image, const Key& key) const;  // REQUIRES: reads_part()
  virtual bool makes_part() const { return false; }
  virtual Status run_part(std::span<const View> in, const Box& part, std::span<const MutView> out,
                          CallContext& call) const;

  // Operators that crop, flip or resize one image compute where its pixels come from without any pixels: from
  // their draws and the views of the bound parameters. See graph/passes/planar.h.
  virtual Placing placing() const { return Placing::none; }
  virtual Result<Geometry> place(const Geometry& image, std::span<const View> bound, const Key& key) const;
  // The operator that does to masks alone, with the same draws, what this one does to the masks that follow
  // its image.
  virtual std::shared_ptr<const AnyOp> of_masks() const { return nullptr; }  // null: this one does

  // A lock that makes consecutive calls on one thread cheaper while it is held, such as an interpreter's;
  // must be released on that thread. Null if there is none.
  virtual std::shared_ptr<const void> hold() const { return nullptr; }

  // False for a call that is part of what the user sees as one call: its time is counted, the call is not.
  virtual bool counted() const { return true; }
};
using OpPtr = std::shared_ptr<const AnyOp>;

// Receives the operators that a composite operator expands to. The implementation numbers the values.
class Builder {
 public:
  virtual ~Builder() = default;
  virtual Result<std::vector<int>> add(std::string_view op, const Value& params,
                                       std::span<const int> inputs) = 0;
};

struct ParamInfo {
  std::string name, type, doc;  // type: as Python spells it
  Value fallback;
  bool required = false, bindable = false;
};
// A parameter's value as people read it: of the type DTypeLike NumPy's name, "float32".
Value shown_param(std::string_view type, const Value& value);

struct OpInfo {
  std::string name, doc;
  std::vector<std::string> inputs;
  bool variadic = false, elementwise = false, random = false;
  int outputs = 1;  // of an operator that is not variadic
  std::vector<ParamInfo> params;
  // `params` may leave out any parameter that has a default; `bound` names those that come from fields.
  Result<OpPtr> (*make)(const Value& params, std::span<const std::string> bound) = nullptr;
  // Set where a parameter may ask for what the data have: the parameters for this input.
  Result<Value> (*settle)(const Value& params, View in) = nullptr;
  // Set for composites instead of `make`.
  Result<std::vector<int>> (*expand)(const Value& params, Builder& builder,
                                     std::span<const int> inputs) = nullptr;
};

using OpRegistry = std::map<std::string, OpInfo, std::less<>>;
const OpRegistry& ops();  // all operators, by name; filled before main()
const OpInfo* find_op(std::string_view name);
Result<OpPtr> make_op(std::string_view name, const Value& params, std::span<const std::string> bound = {});
std::string suggest_op(std::string_view wrong);  // ", did you mean 'resize'?" or nothing

OpRegistry& op_registry_for_registration();  // used by Registered only

}  // namespace headrace
