// NumPy's generators for functions that ask for one: made once, and set to a sample's key each time.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace headrace::python {

namespace nb = nanobind;

struct PhiloxState;

// The GIL is held in all of these. A function may call others that ask for one: each has its own.
class Generators {
  struct Rekeyed {  // parts of a headrace._function.Rekeyed
    nb::object generator, bits, state, key;
    uint64_t* words = nullptr;      // of `key`
    PhiloxState* memory = nullptr;  // of `bits`: written at a tenth of what its setter costs; null: only that
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
