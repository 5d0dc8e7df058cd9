// A Loader runs a plan: epochs, elements in order, states, reports. One thread at a time calls `next`; all
// other methods may be called from any thread meanwhile, and none of them waits for data.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "headrace/graph/node.h"
#include "headrace/io/store.h"
#include "headrace/run/lower/loader_options.h"

namespace headrace {

class Timeline;

class Loader {
 public:
  static Result<std::unique_ptr<Loader>> make(NodePtr plan, LoaderOptions options,
                                              std::shared_ptr<Store> store);
  virtual ~Loader() = default;  // stops; REQUIRES: check_outside() is ok

  // Begin the next epoch, or continue where a loaded state says. An error from within a function of the
  // pipeline, as next() is.
  virtual Status begin() = 0;
  // The next element of the iteration; false at its end. After an error the iteration is over.
  virtual Result<bool> next(Sample& out) = 0;
  // The same for callers that must look at signals meanwhile: nothing when no element was there in time.
  virtual Result<std::optional<bool>> next_within(Sample& out, uint64_t milliseconds) = 0;
  // No thread is left when it returns, also when large images are under way: within 100 ms, but for Python
  // functions, reads that hang, a trace that is written, and what some libraries do without a pause on images
  // of some millions of pixels (codecs/README.md, "Stopping"), which runs to its end. The state stays. A
  // `next` under way in another thread answers with its element or `cancelled`. From within a function of the
  // pipeline it returns at once, as load() and set_epoch() do, and the run ends when that function is over:
  // then `next` says what the function failed with, or that this was the end.
  // `without_last`: as save(); so is the state then.
  virtual void stop(bool without_last = false) = 0;
  // An error from within a function of the pipeline that the iteration is calling.
  virtual Status check_outside() const = 0;

  // Elements handed out, not elements read ahead. `without_last`: nor the last of them, which did not reach
  // whoever asked for it.
  virtual Result<Value> save(bool without_last = false) const = 0;
  virtual Status load(const Value& state) = 0;  // for the next begin()
  virtual void set_epoch(uint64_t epoch) = 0;   // of the next begin()
  virtual uint64_t epoch() const = 0;           // of the iteration under way, or of the next one
  // Elements of its epoch that this rank was given, those before a loaded state among them: by the iteration
  // under way, or by the last one.
  virtual uint64_t position() const = 0;

  virtual std::optional<uint64_t> size() const = 0;  // elements of an epoch on this rank
  virtual const Schema& schema() const = 0;
  virtual Value report() const = 0;
  // The plan as written and as it runs, with the sizes of elements, what the rewrites did, and an estimate of
  // memory. With `measure` a few elements are made, in epoch 0, where sizes do not follow from shapes.
  virtual std::string explain(bool measure = false) const = 0;
  // What makes this run many times slower than it could be, before it begins.
  virtual std::vector<std::string> warnings() const = 0;
  // A piece of the iteration under way or of the last one, to look at; null: there is none.
  virtual std::shared_ptr<const Timeline> timeline() const = 0;
  virtual std::string fingerprint() const = 0;
};

// ds[i]: one element by position, here and now. REQUIRES: plan->indexed.
class Elements {
 public:
  static Result<std::unique_ptr<Elements>> make(NodePtr plan, uint64_t seed, size_t memory_budget,
                                                std::shared_ptr<Store> store);
  virtual ~Elements() = default;
  virtual Result<Sample> at(uint64_t position, uint64_t epoch) = 0;  // thread-safe
};

}  // namespace headrace
