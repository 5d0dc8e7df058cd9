#include "callee.h"

#include <algorithm>
#include <utility>

#include "few.h"
#include "headrace/codecs/decoded_by.h"
#include "headrace/ops/ragged_inputs.h"
#include "tensors.h"

namespace headrace::python {
namespace {

// Keys of the operators that a function calls: the n-th of them draws from n and the function's own key.
struct Drawing {
  bool is_on = false;
  uint64_t root = 0;
  uint32_t calls = 0;
  Key key;
};
thread_local Drawing drawing;

// Lets operators that are called on this thread draw from a function's key, for as long as it lives.
class DrawsFrom {
 public:
  explicit DrawsFrom(uint64_t root) : outer_(std::exchange(drawing, {true, root, 0, {}})) {}
  ~DrawsFrom() { drawing = outer_; }
  DrawsFrom(const DrawsFrom&) = delete;
  DrawsFrom& operator=(const DrawsFrom&) = delete;

 private:
  Drawing outer_;
};

uint64_t word64(const Key& key, uint32_t draw) {
  return key.bits(draw) | static_cast<uint64_t>(key.bits(draw + 1)) << 32;
}

}  // namespace

Draws::Draws(const Key& key, bool random) : root(word64(key, 4)) {
  if (random) low = word64(key, 0), high = word64(key, 2);
}

void Callee::call(std::span<const View> in, const Draws& draws, Results& results) {
  const DrawsFrom draws_from(draws.root);
  Few<nb::object> leaves(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const Tensor* const rows = ragged_input(i);
    leaves.items()[i] = rows ? rows_to_python(*rows) : copy_to_python(in[i]);
  }
  take(returned(input_.pack(leaves.items()), draws), results);
  (void)take_decoded_by();  // what the function decodes is not counted as the chain's
}

nb::object Callee::returned(const nb::object& sample, const Draws& draws) {
  if (!random_) return function_(sample);
  const Generators::Lent rng = generators_.lend(draws.low, draws.high);
  static PyObject* const names = nb::make_tuple("rng").release().ptr();
  PyObject* const arguments[] = {sample.ptr(), rng.generator().ptr()};
  nb::object out = nb::steal(PyObject_Vectorcall(function_.ptr(), arguments, 1, names));
  if (!out.is_valid()) throw nb::python_error();
  return out;
}

void Callee::take(const nb::object& returned, Results& results) const {
  Few<nb::handle> leaves(output_.num_leaves());
  if (output_.unpack(returned, leaves.items())) {
    if (std::ranges::all_of(leaves.items(), [&](nb::handle leaf) { return results.add(leaf); })) return;
    results.clear();
  }
  for (nb::handle leaf : nb::cast<nb::list>(convert_(returned))) results.add_converted(leaf);
}

nb::object call_once(const nb::object& call, const nb::object& leaves, const nb::object& key) {
  const DrawsFrom draws_from(Draws(Key(), false).root);
  return call(leaves, key);
}

const Key* next_key_of_function() {
  if (!drawing.is_on) return nullptr;
  drawing.key = Key(drawing.root, drawing.calls++, {});
  return &drawing.key;
}

}  // namespace headrace::python
