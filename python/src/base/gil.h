// The interpreter's lock, for threads of the engine.
#pragma once
#include <nanobind/nanobind.h>

namespace headrace::python {

namespace nb = nanobind;

// Takes the lock, and gives it back when it goes. A thread that Python did not start gets a state of its own
// with its first one and keeps it to its end: Python alone would make and drop one each time, which takes ten
// times as long as a small function, and would forget what `threading.local` holds. REQUIRES: whoever joins
// such a thread does not hold the lock.
class Gil {
 private:
  struct KnownThread {
    KnownThread();
  };
  KnownThread known_;
  nb::gil_scoped_acquire held_;
};

// What the function gives, called without the lock, since locks of the engine are waited for.
template <class F> auto quietly(F&& f) {
  nb::gil_scoped_release nogil;
  return f();
}

}  // namespace headrace::python
