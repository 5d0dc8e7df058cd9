#include "python/src/base/value.h"

#include "python/src/base/text.h"

namespace headrace::python {

namespace {

Value value_of(nb::handle object, bool is_exact) {
  if (object.is_none()) return {};
  if (nb::isinstance<nb::bool_>(object)) return nb::cast<bool>(object);
  if (nb::isinstance<nb::int_>(object)) {
    int64_t number = 0;
    if (nb::try_cast<int64_t>(object, number)) return number;
    uint64_t big = 0;
    if (nb::try_cast<uint64_t>(object, big))
      return is_exact ? Value(Value::Object{{"u64", std::to_string(big)}}) : Value(big);
    throw nb::value_error("expected an integer that fits in 64 bits");
  }
  if (nb::isinstance<nb::float_>(object)) return nb::cast<double>(object);
  if (nb::isinstance<nb::str>(object)) return nb::cast<std::string>(object);
  if (nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object)) {
    Value::List list;
    for (nb::handle item : object) list.push_back(value_of(item, is_exact));
    return list;
  }
  if (nb::isinstance<nb::dict>(object)) {
    Value out{Value::Object()};
    for (const auto& [key, value] : nb::borrow<nb::dict>(object))
      out.set(nb::cast<std::string>(key), value_of(value, is_exact));
    return out;
  }
  const std::string type = nb::cast<std::string>(nb::str(nb::handle(object.type()).attr("__name__")));
  throw nb::type_error(("expected None, bool, int, float, str, a list or a dict, got " + type).c_str());
}

}  // namespace

Value to_value(nb::handle object) { return value_of(object, false); }
Value to_exact_value(nb::handle object) { return value_of(object, true); }

nb::object to_python(const Value& value) {
  if (const bool* v = value.boolean()) return nb::cast(*v);
  if (const int64_t* v = value.integer()) return nb::cast(*v);
  if (const double* v = value.real()) return nb::cast(*v);
  if (const std::string* v = value.text()) return nb::cast(*v);
  if (const auto* v = value.list()) {
    nb::list out;
    for (const Value& item : *v) out.append(to_python(item));
    return out;
  }
  if (const auto* v = value.object()) {
    nb::dict out;
    for (const auto& [key, item] : *v) out[nb::cast(key)] = to_python(item);
    return out;
  }
  return nb::none();
}

}  // namespace headrace::python
