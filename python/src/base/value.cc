#include "python/src/base/value.h"

#include "python/src/base/errors.h"
#include "python/src/base/text.h"

namespace headrace::python {

namespace {

constexpr int kMaxDepth = 128;  // as of JSON

enum class Big : uint8_t { wraps, is_text, is_refused };  // an int from 2^63 to 2^64 - 1

// Why an object is no Value. `of_type`: a TypeError.
struct Refusal {
  Status status;
  bool of_type = false;
};

std::string type_of(nb::handle object) { return nb::cast<std::string>(nb::type_name(object.type())); }

Value refuse(Refusal& why, bool of_type, const char* expected, std::string got) {
  if (why.status.ok()) why = {invalid({.expected = expected, .got = std::move(got)}), of_type};
  return {};
}

Value value_of(nb::handle object, Big mode, int depth, Refusal& why) {
  if (object.is_none() || !why.status.ok()) return {};
  if (nb::isinstance<nb::bool_>(object)) return nb::cast<bool>(object);
  if (nb::isinstance<nb::int_>(object)) {
    int64_t number = 0;
    if (nb::try_cast<int64_t>(object, number)) return number;
    uint64_t big = 0;
    if (mode != Big::is_refused && nb::try_cast<uint64_t>(object, big))
      return mode == Big::is_text ? Value(Value::Object{{"u64", std::to_string(big)}}) : Value(big);
    return refuse(why, false, "an integer that fits in 64 bits", "a larger one");
  }
  if (nb::isinstance<nb::float_>(object)) return nb::cast<double>(object);
  if (nb::isinstance<nb::str>(object)) return nb::cast<std::string>(object);
  const bool is_list = nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object);
  if (!is_list && !nb::isinstance<nb::dict>(object))
    return refuse(why, true, "None, bool, int, float, str, a list or a dict", type_of(object));
  if (depth == kMaxDepth)
    return refuse(why, false, "lists and dicts nested at most 128 deep", "more of them");
  if (is_list) {
    Value::List list;
    for (nb::handle item : object) list.push_back(value_of(item, mode, depth + 1, why));
    return list;
  }
  Value out{Value::Object()};
  for (const auto& [key, value] : nb::borrow<nb::dict>(object)) {
    if (!nb::isinstance<nb::str>(key))
      return refuse(why, true, "a dict whose keys are strings", "a key of type " + type_of(key));
    const std::string name = nb::cast<std::string>(key);
    const bool was_ok = why.status.ok();
    out.set(name, value_of(value, mode, depth + 1, why));
    if (was_ok && depth == 0 && !why.status.ok()) why.status = std::move(why.status).in_option(name);
  }
  return out;
}

Value value_or_throw(nb::handle object, Big mode) {
  Refusal why;
  Value out = value_of(object, mode, 0, why);
  const std::string text(why.status.text());
  if (why.of_type) throw nb::type_error(text.c_str());
  check(why.status);
  return out;
}

}  // namespace

Value to_value(nb::handle object) { return value_or_throw(object, Big::wraps); }
Value to_exact_value(nb::handle object) { return value_or_throw(object, Big::is_text); }
Value state_value(nb::handle state) {
  Refusal why;
  Value out = value_of(state, Big::is_refused, 0, why);
  check(std::move(why.status).in_op("state"));
  return out;
}

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
