#include "python/src/generator.h"

#include <optional>
#include <utility>

#include "headrace/formats/described.h"
#include "python/src/arrays/leaves.h"
#include "python/src/arrays/nest.h"
#include "python/src/base/errors.h"
#include "python/src/base/gil.h"
#include "python/src/base/text.h"

namespace headrace::python {
namespace {

// Whether this is the only reference to the array, and the array owns its memory.
bool is_ours_alone(const nb::object& array) {
  return Py_REFCNT(array.ptr()) == 1 && is_numpy(array) && array.attr("base").is_none();
}

// A Python iterator, with what is needed to read its values. REQUIRES: the GIL is held.
class Iteration {
 public:
  // `pass` is a headrace._generator.Pass.
  Iteration(const Schema& schema, nb::object pass)
      : pass_(std::move(pass)), nest_(schema.structure), leaves_(nest_, schema.specs) {}

  const nb::object& pass() const { return pass_; }
  bool next(std::vector<Tensor>& fields) {
    if (!iterator_.is_valid()) iterator_ = in_python([&] { return pass_.attr("iterator")(); });
    nb::object value = nb::steal(in_python([&] { return PyIter_Next(iterator_.ptr()); }));
    if (!value.is_valid() && PyErr_Occurred()) throw nb::python_error();
    if (!value.is_valid()) return false;
    take(std::move(value), fields);
    return true;
  }

 private:
  // Copies the value if needed: the code that made it may write to its arrays again.
  void take(nb::object value, std::vector<Tensor>& fields) {
    std::vector<std::pair<size_t, nb::object>> large;
    leaves_.read(value, pass_.attr("leaves"));
    for (size_t i = 0; i < leaves_.size(); ++i) {
      const bool is_small = leaves_.is_small(i);
      fields.push_back(is_small ? make_tensor(leaves_.view(i)) : Tensor());
      if (!is_small) large.emplace_back(i, nb::borrow(leaves_.leaf(i)));
    }
    leaves_.clear();
    value.reset();
    for (auto& [i, array] : large) {
      const bool is_shared = !is_ours_alone(array);
      fields[i] = to_tensor(array);
      if (is_shared) fields[i] = make_tensor(fields[i].view());
    }
  }

  nb::object pass_, iterator_;
  Nest nest_;
  Leaves leaves_;
};

class IteratorPass final : public Generator::Pass {
 public:
  IteratorPass(const Schema& schema, const std::string& label, nb::object pass)
      : schema_(schema), label_(label), iteration_(std::in_place, schema, std::move(pass)) {}
  ~IteratorPass() override {
    const Gil gil;
    in_python([&] { iteration_.reset(); });
  }

  Result<bool> next(std::vector<Tensor>& fields) override {
    fields.clear();
    bool more = false;
    HEADRACE_TRY(call([&] { more = iteration_->next(fields); }));
    if (!more) return false;
    for (size_t i = 0; i < fields.size(); ++i)
      if (const TensorSpec got = fields[i].view().spec(); !schema_.specs[i].admits(got))
        return invalid({.expected = schema_.specs[i].text(), .got = got.text()})
            .before(label_ + ": field '" + schema_.names[i] + "': ");
    return true;
  }
  Result<std::optional<std::string>> tell() override {
    std::optional<std::string> place;
    HEADRACE_TRY(call([&] {
      if (const nb::object text = iteration_->pass().attr("tell")(); !text.is_none())
        place = nb::cast<std::string>(text);
    }));
    return place;
  }
  Status seek(const std::string& place) override {
    return call([&] { iteration_->pass().attr("seek")(place); });
  }
  void will_replay(uint64_t samples) override {
    (void)call([&] { iteration_->pass().attr("will_replay")(samples); });
  }

 private:
  template <class F> Status call(F&& f) {
    const Gil gil;
    try {
      in_python(f);
    } catch (nb::python_error& error) {
      return foreign(error, label_);
    } catch (const std::exception& error) {
      return invalid(label_ + ": " + error.what());
    }
    return {};
  }

  const Schema& schema_;  // owned by the generator, which outlives its passes
  const std::string& label_;
  std::optional<Iteration> iteration_;
};

class IterableGenerator final : public Generator {
 public:
  IterableGenerator(Schema schema, std::string slot, std::string label, nb::object start)
      : schema_(std::move(schema)),
        slot_(std::move(slot)),
        label_(std::move(label)),
        start_(share(std::move(start))) {}

  const Schema& schema() const override { return schema_; }
  Result<std::unique_ptr<Pass>> start(uint64_t epoch) const override {
    const Gil gil;
    try {
      return std::unique_ptr<Pass>(
          std::make_unique<IteratorPass>(schema_, label_, in_python([&] { return (*start_)(epoch); })));
    } catch (nb::python_error& error) {
      return foreign(error, label_);
    }
  }
  Value describe() const override {
    Value out{Value::Object()};
    out.set("slot", slot_);
    describe_schema(schema_, out);
    return out;
  }
  std::string fingerprint() const override {
    return hash_text("generator " + slot_ + ' ' + schema_.stable_text() + schema_.structure);
  }

 private:
  Schema schema_;
  std::string slot_, label_;
  SharedObject start_;
};

}  // namespace

GeneratorPtr make_generator(Schema schema, std::string slot, std::string label, nb::object start) {
  return std::make_shared<IterableGenerator>(std::move(schema), std::move(slot), std::move(label),
                                             std::move(start));
}

}  // namespace headrace::python
