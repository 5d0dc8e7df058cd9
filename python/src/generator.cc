#include "generator.h"

#include <nanobind/stl/string.h>

#include "errors.h"

namespace headrace::python {
namespace {

class IteratorPass final : public Generator::Pass {
 public:
  IteratorPass(const Schema& schema, const std::string& label, SharedObject pass)
      : schema_(schema), label_(label), pass_(std::move(pass)) {}

  Result<bool> next(std::vector<Tensor>& fields) override {
    fields.clear();
    HEADRACE_TRY(call([&] {
      const nb::object leaves = pass_->attr("next")();
      if (leaves.is_none()) return;
      for (nb::handle leaf : nb::cast<nb::list>(leaves)) fields.push_back(to_tensor(leaf));
    }));
    if (fields.empty()) return false;
    for (size_t i = 0; i < fields.size(); ++i)
      if (const TensorSpec got = fields[i].view().spec(); !schema_.specs[i].admits(got))
        return invalid(label_ + ": field '" + schema_.names[i] + "' wants " + schema_.specs[i].text() +
                       ", got " + got.text());
    return true;
  }
  Result<std::optional<std::string>> tell() override {
    std::optional<std::string> place;
    HEADRACE_TRY(call([&] {
      if (const nb::object text = pass_->attr("tell")(); !text.is_none()) place = nb::cast<std::string>(text);
    }));
    return place;
  }
  Status seek(const std::string& place) override {
    return call([&] { pass_->attr("seek")(place); });
  }
  void will_replay(uint64_t samples) override {
    (void)call([&] { pass_->attr("will_replay")(samples); });
  }

 private:
  template <class F> Status call(F&& f) {
    nb::gil_scoped_acquire gil;
    try {
      f();
    } catch (nb::python_error& error) {
      return foreign(error, label_);
    } catch (const std::exception& error) {
      return invalid(label_ + ": " + error.what());
    }
    return {};
  }

  const Schema& schema_;  // of the generator, which outlives its passes
  const std::string& label_;
  SharedObject pass_;
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
    nb::gil_scoped_acquire gil;
    try {
      return std::unique_ptr<Pass>(std::make_unique<IteratorPass>(schema_, label_, share((*start_)(epoch))));
    } catch (nb::python_error& error) {
      return foreign(error, label_);
    }
  }
  Value describe() const override {
    Value out{Value::Object()};
    out.set("slot", slot_);
    Value::List names, specs;
    for (const std::string& name : schema_.names) names.emplace_back(name);
    for (const TensorSpec& spec : schema_.specs) {
      Value::List dims;
      for (const int64_t dim : spec.shape.dims()) dims.push_back(dim == kAny ? Value() : Value(dim));
      specs.push_back(Value::List{dtype_name(spec.dtype), std::move(dims)});
    }
    out.set("names", std::move(names));
    out.set("specs", std::move(specs));
    out.set("structure", schema_.structure);
    return out;
  }
  std::string fingerprint() const override {
    return hash_text("generator " + slot_ + ' ' + schema_.text() + schema_.structure);
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
