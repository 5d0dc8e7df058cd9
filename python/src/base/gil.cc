#include "python/src/base/gil.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

// Public from 3.13, with an underscore before; not in the limited API of older ones.
extern "C" {
__attribute__((weak)) int Py_IsFinalizing(void);
__attribute__((weak)) int _Py_IsFinalizing(void);
}

namespace headrace::python {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kAlittle(2);
constexpr std::chrono::seconds kForExitFunctions(2), kForThreadsInside(1);

// The thread that ends the interpreter, once exit has begun.
std::atomic<std::thread::id> exiting;
std::atomic<Clock::time_point> exits_since;
std::atomic<int> threads_inside = 0;
thread_local bool is_inside = false;

bool has_ended() {
  if (Py_IsFinalizing) return Py_IsFinalizing() != 0;
  if (_Py_IsFinalizing) return _Py_IsFinalizing() != 0;
  return Py_IsInitialized() == 0;
}

// In a thread that does not end the interpreter: whether it may not ask for the lock any more. Without an
// exit function nobody knows which thread that is.
bool is_too_late() {
  const std::thread::id who = exiting;
  return who != std::thread::id() && who != std::this_thread::get_id() &&
         (has_ended() || Py_IsInitialized() == 0);
}

// A forked child has one thread.
[[maybe_unused]] const int at_fork =
    pthread_atfork(nullptr, nullptr, [] { threads_inside = is_inside ? 1 : 0; });

void set_inside(bool is) {
  if (is_inside == is) return;
  is_inside = is;
  threads_inside += is ? 1 : -1;
}

// Runs before objects that threads without the lock may use are destroyed.
void wait_for_threads_inside() {
  const auto until = Clock::now() + kForThreadsInside;
  while (threads_inside > 0 && Clock::now() < until) std::this_thread::sleep_for(kAlittle);
}

// The Python thread state of this thread. It stays, however often the lock is taken and released.
class ThreadState {
 public:
  ThreadState() {
    in_python([&] { before_ = PyGILState_Ensure(), state_ = PyEval_SaveThread(); });
  }
  ~ThreadState() {
    if (!Py_IsInitialized() || is_too_late()) return;
    in_python([&] {
      PyEval_RestoreThread(state_);
      PyGILState_Release(before_);
    });
  }
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;

 private:
  PyGILState_STATE before_;
  PyThreadState* state_;
};

}  // namespace

void begin_exit() {
  exits_since = Clock::now();
  exiting = std::this_thread::get_id();
  [[maybe_unused]] static const bool once = std::atexit(wait_for_threads_inside) == 0;
}

void give_way_to_exit() {
  const std::thread::id who = exiting;
  if (who == std::thread::id() || who == std::this_thread::get_id()) return;
  const Clock::time_point until = exits_since.load() + kForExitFunctions;
  const NoGil nogil;
  const Inside outside(false);
  while (Clock::now() < until) {
    if (has_ended()) wait_for_the_end();
    std::this_thread::sleep_for(kAlittle);
  }
}

void wait_for_the_end() {
  set_inside(false);
  while (true) ::pause();
}

Inside::Inside(bool is) : before_(is_inside) { set_inside(is); }
Inside::~Inside() { set_inside(before_); }

Gil::Gil() {
  if (is_too_late()) wait_for_the_end();
  if (!PyGILState_GetThisThreadState()) thread_local const ThreadState state;
  in_python([&] { state_ = PyGILState_Ensure(); });
}

Gil::~Gil() {
  // The stack is being unwound by Python, which happens within code that in_python() does not surround.
  if (is_too_late()) wait_for_the_end();
  PyGILState_Release(state_);
}

NoGil::~NoGil() {
  set_inside(false);
  if (is_too_late()) wait_for_the_end();
  in_python([&] { PyEval_RestoreThread(state_); });
}

}  // namespace headrace::python
