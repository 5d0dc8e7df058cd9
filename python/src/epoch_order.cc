#include "python/src/epoch_order.h"

#include <cstring>
#include <utility>

#include "python/src/arrays/tensors.h"
#include "python/src/base/errors.h"
#include "python/src/base/gil.h"

namespace headrace::python {
namespace {

class PythonOrder final : public EpochOrder {
 public:
  PythonOrder(uint64_t size, std::string slot, uint64_t seed, std::string label, nb::object positions)
      : size_(size),
        slot_(std::move(slot)),
        seed_(seed),
        label_(std::move(label)),
        positions_(share(std::move(positions))) {}

  uint64_t size() const override { return size_; }
  Result<std::vector<int64_t>> positions(uint64_t epoch) const override {
    const Gil gil;
    try {
      return in_python([&] {
        const auto bytes = nb::cast<nb::bytes>((*positions_)(epoch));
        std::vector<int64_t> out(bytes.size() / sizeof(int64_t));
        if (!out.empty()) std::memcpy(out.data(), bytes.c_str(), out.size() * sizeof(int64_t));
        return out;
      });
    } catch (nb::python_error& error) {
      return foreign(error, label_);
    }
  }
  Value describe() const override {
    Value out = Value::Object{{"slot", slot_}, {"size", size_}};
    if (seed_ != 0) out.set("seed", seed_);
    return out;
  }

 private:
  uint64_t size_;
  std::string slot_;
  uint64_t seed_;
  std::string label_;
  SharedObject positions_;
};

}  // namespace

EpochOrderPtr make_epoch_order(uint64_t size, std::string slot, uint64_t seed, std::string label,
                               nb::object positions) {
  return std::make_shared<PythonOrder>(size, std::move(slot), seed, std::move(label), std::move(positions));
}

}  // namespace headrace::python
