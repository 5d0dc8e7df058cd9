// NumPy generators for functions that take one: created once, and set to the sample's key for each call.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace headrace::python {

namespace nb = nanobind;

struct PhiloxState;

// REQUIRES: the GIL is held. A function may call other functions that take a generator: each gets its own.
class Generators {
  struct Rekeyed {  // parts of a headrace._function.Rekeyed
    nb::object generator, bits, state, key;
    uint64_t* words = nullptr;  // of `key`
    PhiloxState* memory =
        nullptr;  // of `bits`, ten times faster to write than its setter; null: use the setter
  };

 public:
  class Lent {
   public:
    Lent(Generators& from, Rekeyed made) : from_(from), made_(std::move(made)) {}
    ~Lent() {
      nb::ft_lock_guard lock(from_.mutex_);
      from_.free_.push_back(std::move(made_));
    }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    const nb::object& generator() const { return made_.generator; }

   private:
    Generators& from_;
    Rekeyed made_;
  };

  Lent lend(uint64_t low, uint64_t high);

 private:
  static Rekeyed make();
  nb::ft_mutex mutex_;
  std::vector<Rekeyed> free_;  // guarded by mutex_
};

}  // namespace headrace::python
