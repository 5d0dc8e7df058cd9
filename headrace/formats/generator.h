// A Generator yields samples one after the other, without random access and without a known length: a Python
// iterable, a socket. Immutable; any thread may start a pass, and one thread at a time uses a pass.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/core/status.h"
#include "headrace/core/value.h"

namespace headrace {

class Generator {
 public:
  virtual ~Generator() = default;

  // One pass over the samples.
  class Pass {
   public:
    virtual ~Pass() = default;
    // The fields of the next sample; false at the end. After an error the pass is over.
    virtual Result<bool> next(std::vector<Tensor>& fields) = 0;
    // The position, for seek() of a new pass of the same epoch; nothing if it is unknown. Then resuming
    // replays and skips the samples before it.
    virtual Result<std::optional<std::string>> tell() { return std::optional<std::string>(); }
    virtual Status seek(const std::string& place) = 0;
    virtual void will_replay(uint64_t samples) { (void)samples; }  // that many samples will be skipped
  };

  virtual const Schema& schema() const = 0;
  virtual Result<std::unique_ptr<Pass>> start(uint64_t epoch) const = 0;
  virtual Value describe() const = 0;           // for plans: the slot that it must be bound to again
  virtual std::string fingerprint() const = 0;  // of what is known of its samples: names and types
};
using GeneratorPtr = std::shared_ptr<const Generator>;

}  // namespace headrace
