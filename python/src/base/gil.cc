#include "python/src/base/gil.h"

namespace headrace::python {
namespace {

// The Python thread state of this thread. It stays, however often the lock is taken and released.
class ThreadState {
 public:
  ThreadState() : before_(PyGILState_Ensure()), state_(PyEval_SaveThread()) {}
  ~ThreadState() {
    if (!Py_IsInitialized()) return;
    PyEval_RestoreThread(state_);
    PyGILState_Release(before_);
  }
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;

 private:
  PyGILState_STATE before_;
  PyThreadState* state_;
};

}  // namespace

Gil::KnownThread::KnownThread() {
  if (!PyGILState_GetThisThreadState()) thread_local const ThreadState state;
}

}  // namespace headrace::python
