// The interpreter's lock (GIL), for engine threads.
#pragma once
#include <nanobind/nanobind.h>

namespace headrace::python {

namespace nb = nanobind;

// Holds the lock while it exists. A thread that Python did not start gets a thread state with its first Gil
// and keeps it until it ends: Python itself would create and delete one each time, which takes ten times as
// long as a small function, and would lose the contents of `threading.local`. REQUIRES: a thread that joins
// such a thread does not hold the lock.
class Gil {
 private:
  struct KnownThread {
    KnownThread();
  };
  KnownThread known_;
  nb::gil_scoped_acquire held_;
};

// Calls a function without the lock, since it may wait for engine locks; returns its result.
template <class F> auto quietly(F&& f) {
  nb::gil_scoped_release nogil;
  return f();
}

}  // namespace headrace::python
