// The interpreter's lock (GIL), and what becomes of threads that want it once the interpreter has ended.
//
// A daemon thread may be in here when the program ends. Python before 3.14 ends such a thread when it asks
// for the lock by unwinding its stack, which aborts the process at the first function that must not throw.
// With these guards it waits instead, without the lock, until the process is gone. Nothing else in this
// folder takes or releases the lock.
#pragma once
#include <cxxabi.h>
#include <nanobind/nanobind.h>

namespace headrace::python {

namespace nb = nanobind;

// Called by the exit function of the package, with the lock: this is the thread that ends the interpreter.
void begin_exit();
// In any other thread, once exit has begun: waits for the end of the process, without the lock. Returns after
// two seconds if the interpreter has not ended by then: an exit function may wait for this thread. Called
// with the lock.
void give_way_to_exit();

// Ends this thread, so to speak: it waits until the process is gone.
[[noreturn]] void wait_for_the_end();

// Calls Python code, and returns what it returns. Around anything that may run a user's code, as near as
// possible: while such code runs, the interpreter may end.
template <class F> decltype(auto) in_python(F&& f) {
#ifdef __GLIBCXX__
  try {
    return f();
  } catch (abi::__forced_unwind&) {
    wait_for_the_end();
  }
#else
  return f();
#endif
}

// Whether this thread computes or reads for Python without the lock: then the end of the process waits for it
// a moment, since it may use what is destroyed there.
class Inside {
 public:
  explicit Inside(bool is);
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool before_;
};

// Holds the lock while it exists. A thread that Python did not start gets a thread state with its first Gil
// and keeps it until it ends: Python itself would create and delete one each time, which takes ten times as
// long as a small function, and would lose the contents of `threading.local`. REQUIRES: a thread that joins
// such a thread does not hold the lock.
class Gil {
 public:
  Gil();
  ~Gil();
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  Inside outside_{false};
  PyGILState_STATE state_;
};

// Releases the lock while it exists.
class NoGil {
 public:
  NoGil() : state_(PyEval_SaveThread()) {}
  ~NoGil();
  NoGil(const NoGil&) = delete;
  NoGil& operator=(const NoGil&) = delete;

 private:
  PyThreadState* state_;
  Inside inside_{true};
};

// Calls a function without the lock, since it may wait for engine locks; returns its result.
template <class F> auto quietly(F&& f) {
  const NoGil nogil;
  return f();
}

}  // namespace headrace::python
