#include "python/src/functions/generators.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>

namespace headrace::python {

// The memory layout of NumPy's Philox, as in its random/src/philox/philox.h.
struct PhiloxState {
  uint64_t* counter;  // four words
  uint64_t* key;      // two
  int32_t buffer_at;
  uint64_t buffer[4];
  int32_t has_half;
  uint32_t half;
};

namespace {

// The state of a bit generator, or null if the layout does not match: both pointers must point into the
// object.
PhiloxState* state_of(const nb::object& bits) {
  const auto address = nb::cast<uintptr_t>(bits.attr("ctypes").attr("state_address"));
  const auto begin = reinterpret_cast<uintptr_t>(bits.ptr());
  const auto size = static_cast<size_t>(Py_TYPE(bits.ptr())->tp_basicsize);
  const auto holds = [&](uintptr_t at, size_t bytes) {
    return at >= begin && bytes <= size && at - begin <= size - bytes && at % alignof(uint64_t) == 0;
  };
  if (!holds(address, sizeof(PhiloxState))) return nullptr;
  auto* const state = reinterpret_cast<PhiloxState*>(address);
  const bool is_whole = holds(reinterpret_cast<uintptr_t>(state->counter), 4 * sizeof(uint64_t)) &&
                        holds(reinterpret_cast<uintptr_t>(state->key), 2 * sizeof(uint64_t));
  return is_whole ? state : nullptr;
}

void begin(PhiloxState& state, uint64_t low, uint64_t high) {
  std::fill_n(state.counter, 4, 0);
  state.key[0] = low, state.key[1] = high;
  state.buffer_at = static_cast<int32_t>(std::size(state.buffer));  // the buffer is used up
  std::ranges::fill(state.buffer, 0);
  state.has_half = 0, state.half = 0;
}

// Whether writing to the memory of this NumPy's Philox sets its key as its setter does. Determined once, or a
// few times in parallel: a thread that waited for the answer would hold the lock needed to determine it.
bool may_write() {
  static std::atomic<int> known{-1};
  if (known < 0) {
    const auto rekey = [](const nb::object& bits, uint64_t low, uint64_t high) {
      PhiloxState* const state = state_of(bits);
      if (state) begin(*state, low, high);
      return state != nullptr;
    };
    known = nb::cast<bool>(
        nb::module_::import_("headrace._function").attr("rekeys_alike")(nb::cpp_function(rekey)));
  }
  return known == 1;
}

}  // namespace

Generators::Rekeyed Generators::make() {
  const nb::object made = nb::module_::import_("headrace._function").attr("Rekeyed")();
  Rekeyed out{made.attr("generator"), made.attr("bits"), made.attr("state"), made.attr("key")};
  Py_buffer memory;
  if (PyObject_GetBuffer(out.key.ptr(), &memory, PyBUF_WRITABLE) != 0) throw nb::python_error();
  out.words = static_cast<uint64_t*>(memory.buf);
  PyBuffer_Release(&memory);  // the array stays where it is
  if (may_write()) out.memory = state_of(out.bits);
  return out;
}

Generators::Lent Generators::lend(uint64_t low, uint64_t high) {
  Rekeyed made;
  {
    nb::ft_lock_guard lock(mutex_);
    if (!free_.empty()) {
      made = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (!made.words) made = make();
  if (made.memory) {
    begin(*made.memory, low, high);
    return {*this, std::move(made)};
  }
  made.words[0] = low, made.words[1] = high;
  static PyObject* const name = PyUnicode_InternFromString("state");
  if (PyObject_SetAttr(made.bits.ptr(), name, made.state.ptr()) != 0) throw nb::python_error();
  return {*this, std::move(made)};
}

}  // namespace headrace::python
