#include "python/src/functions/callee.h"

#include <algorithm>
#include <utility>

#include "python/src/arrays/few.h"
#include "python/src/arrays/tensors.h"
#include "python/src/base/gil.h"

namespace headrace::python {
namespace {

// Keys of the operators that a function calls: the n-th call draws from n and the function's own key.
struct Drawing {
  bool is_on = false;
  Key root;
  uint32_t calls = 0;
  Key key;
};
thread_local Drawing drawing;

// While it exists, operators called on this thread draw from the function's key.
class DrawsFrom {
 public:
  explicit DrawsFrom(const Key& key) : outer_(std::exchange(drawing, {true, key, 0, {}})) {}
  ~DrawsFrom() { drawing = outer_; }
  DrawsFrom(const DrawsFrom&) = delete;
  DrawsFrom& operator=(const DrawsFrom&) = delete;

 private:
  Drawing outer_;
};

// Words 0 to 3 are the key of the function's generator; 4 and 5 seed the keys of operators.
uint64_t word64(const Key& key, uint32_t draw) {
  return key.bits(draw) | static_cast<uint64_t>(key.bits(draw + 1)) << 32;
}

}  // namespace

void Callee::call(std::span<const View> in, const CallContext& call, Results& results) {
  const DrawsFrom draws_from(call.key());
  Few<nb::object> leaves(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const Tensor* const rows = call.ragged_input(i);
    leaves.items()[i] = rows ? rows_to_python(*rows) : copy_to_python(in[i]);
  }
  take(returned(input_.pack(leaves.items()), call.key()), results);
}

nb::object Callee::returned(const nb::object& sample, const Key& key) {
  if (!random_) return in_python([&] { return function_(sample); });
  const Generators::Lent rng = generators_.lend(word64(key, 0), word64(key, 2));
  static PyObject* const names = nb::make_tuple("rng").release().ptr();
  PyObject* const arguments[] = {sample.ptr(), rng.generator().ptr()};
  nb::object out =
      nb::steal(in_python([&] { return PyObject_Vectorcall(function_.ptr(), arguments, 1, names); }));
  if (!out.is_valid()) throw nb::python_error();
  return out;
}

void Callee::take(const nb::object& returned, Results& results) const {
  Few<nb::handle> leaves(output_.num_leaves());
  if (output_.unpack(returned, leaves.items())) {
    if (std::ranges::all_of(leaves.items(),
                            [&](nb::handle leaf) { return results.add_fitting(leaf, outputs_); }))
      return;
    results.clear();
  }
  for (nb::handle leaf : nb::cast<nb::list>(in_python([&] { return convert_(returned); })))
    results.add_converted(leaf);
}

nb::object call_once(const nb::object& call, const nb::object& leaves, const nb::object& key) {
  const DrawsFrom draws_from{Key()};
  return in_python([&] { return call(leaves, key); });
}

const Key* next_key_of_function() {
  if (!drawing.is_on) return nullptr;
  drawing.key = Key(word64(drawing.root, 4), drawing.calls++, {});
  return &drawing.key;
}

}  // namespace headrace::python
