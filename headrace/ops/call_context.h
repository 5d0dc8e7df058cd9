// What a call of an operator has besides its inputs and outputs. The engine makes one for each call;
// measure() and the run() that follows get the same one. An operator needs nothing else: it sees no threads.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "headrace/core/pool.h"
#include "headrace/core/random/key.h"
#include "headrace/core/tensor.h"

namespace headrace {

class CallContext {
 public:
  // `scratch` must outlive the call. Without a key: the operator draws no random numbers.
  explicit CallContext(Scratch& scratch, const Key& key = Key()) : scratch_(scratch), key_(key) {}
  CallContext(const CallContext&) = delete;
  CallContext& operator=(const CallContext&) = delete;

  // Temporary memory. What is taken from it stays valid until the sample is done; `reset` gives it back
  // early.
  Scratch& scratch() { return scratch_; }
  // Of the random draw: all random numbers come from it.
  const Key& key() const { return key_; }

  // Input `i` where it is a batch of strings, or of arrays of different shapes, which no View can describe;
  // null for an array. Only operators of Phase::python are called with such inputs.
  const Tensor* ragged_input(size_t i) const { return i < ragged_.size() ? ragged_[i] : nullptr; }
  // One per input; they must outlive the call.
  void set_ragged_inputs(std::span<const Tensor* const> inputs) { ragged_ = inputs; }

  // What measure() found and run() needs again, such as an encoded image of which only the size was wanted:
  // measure() leaves a value of any type, and run() takes it. Nothing is there when measure() was not called,
  // because the shape was known: run() must then find it itself.
  template <class T> void leave(T found) { found_ = std::make_unique<Holds<T>>(std::move(found)); }
  template <class T> std::optional<T> take() {
    auto* const held = dynamic_cast<Holds<T>*>(found_.get());
    if (!held) return std::nullopt;
    std::optional<T> out(std::move(held->value));
    found_.reset();
    return out;
  }

  // What the operator says of the call, for reports; no result depends on it.
  struct Facts {
    std::string_view decoder;       // what decoded the image: a literal; empty where none was decoded
    uint64_t cpu_elsewhere_ns = 0;  // CPU time of other processes that worked for the call
  };
  Facts& facts() { return facts_; }

 private:
  struct Held {
    virtual ~Held() = default;
  };
  template <class T> struct Holds final : Held {
    explicit Holds(T found) : value(std::move(found)) {}
    T value;
  };

  Scratch& scratch_;
  const Key key_;
  std::span<const Tensor* const> ragged_;
  std::unique_ptr<Held> found_;
  Facts facts_;
};

}  // namespace headrace
