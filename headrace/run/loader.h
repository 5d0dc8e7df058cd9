// A Loader runs a plan: epochs, elements in order, states, reports. One thread at a time calls `next`; all
// other methods may be called from any thread at the same time, and none of them waits for data.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "headrace/core/sample.h"
#include "headrace/core/value.h"
#include "headrace/graph/handles.h"
#include "headrace/run/lower/loader_options.h"

namespace headrace {

class Timeline;

class Loader {
 public:
  static Result<std::unique_ptr<Loader>> make(NodePtr plan, LoaderOptions options,
                                              std::shared_ptr<Store> store);
  virtual ~Loader() = default;  // stops; REQUIRES: check_outside() is ok

  // Begins the next epoch, or continues at a loaded state: there again if no element was taken since the last
  // begin(). An error if called from within a function of the
  // pipeline; so is next().
  virtual Status begin() = 0;
  // The next element of the iteration; false at its end. After an error the iteration is over.
  virtual Result<bool> next(Sample& out) = 0;
  // The same with a timeout, for callers that must handle signals: empty when no element was ready in time.
  virtual Result<std::optional<bool>> next_within(Sample& out, uint64_t milliseconds) = 0;
  // Ends all threads within 100 ms, even while large images are being decoded. Exceptions are Python
  // functions, reads that hang, writing a trace, and calls of some libraries on images of several million
  // pixels (codecs/README.md, "Stopping"), which run to their end. The state is kept. A `next` that is
  // running in another thread returns its element or `cancelled`, and so does each later one until begin():
  // only the last element is an end. From within a function of the pipeline it returns at once, as load()
  // does, and the run ends when that function returns: then `next` returns the function's error, or
  // `cancelled`. `without_last`: as in save(), for the state.
  virtual void stop(bool without_last = false) = 0;
  // An error if called from within a function of the pipeline that the iteration is running.
  virtual Status check_outside() const = 0;

  // The position after the elements handed out, not counting elements read ahead. `without_last`: nor the
  // last one handed out, if it did not reach the caller.
  virtual Result<Value> save(bool without_last = false) const = 0;
  // Ends the current iteration as stop() does; the next begin(), or next() without one, continues at the
  // state. A state that does not fit changes nothing.
  virtual Status load(const Value& state) = 0;
  virtual Status check_state(const Value& state) const = 0;  // whether load() would take it
  // For the next begin(): the current iteration goes on. Given its own epoch, that epoch begins again if it
  // is left before its end, and the next one follows else. The epoch of a loaded state keeps its position,
  // another one replaces it. Returns whether an iteration goes on.
  virtual bool set_epoch(uint64_t epoch) = 0;
  virtual uint64_t epoch() const = 0;  // of the current iteration, or of the next one
  // Elements of the epoch that this rank received, including those before a loaded state: in the current
  // iteration, or in the last one.
  virtual uint64_t position() const = 0;

  virtual std::optional<uint64_t> size() const = 0;  // elements per epoch on this rank
  virtual const Schema& schema() const = 0;
  virtual Value report() const = 0;
  // The plan as written and as it runs, with the sizes of elements, the effect of rewrites, and an estimate
  // of memory. With `measure` a few elements of epoch 0 are made where shapes do not give sizes.
  virtual std::string explain(bool measure = false) const = 0;
  // Warnings, before the run begins, about plans that run many times slower than necessary.
  virtual std::vector<std::string> warnings() const = 0;
  // An excerpt of the current or the last iteration; null if there is none.
  virtual std::shared_ptr<const Timeline> timeline() const = 0;
  virtual std::string fingerprint() const = 0;
};

// ds[i]: one element by position, computed in the calling thread. REQUIRES: plan->indexed.
class Elements {
 public:
  static Result<std::unique_ptr<Elements>> make(NodePtr plan, uint64_t seed, size_t memory_budget,
                                                std::shared_ptr<Store> store);
  virtual ~Elements() = default;
  virtual Result<Sample> at(uint64_t position, uint64_t epoch) = 0;  // thread-safe
};

}  // namespace headrace
