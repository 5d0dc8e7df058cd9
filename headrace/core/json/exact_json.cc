#include "headrace/core/json/exact_json.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace headrace {
namespace {

using Json = nlohmann::ordered_json;

// What Value::parse() takes, and a plan or a state may not have.
class ExactReader final : public nlohmann::json_sax<Json> {
 public:
  const Status& status() const { return status_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t number) override {
    constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (number <= kMost || key_ == "seed") return true;
    status_ = invalid({.expected = "integers up to 2^63 - 1", .got = std::to_string(number)})
                  .before(key_.empty() ? "" : "'" + key_ + "': ")
                  .with({.option = key_});
    return false;
  }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override {
    seen_.emplace_back();
    return true;
  }
  bool key(string_t& name) override {
    key_ = name;
    if (seen_.back().insert(name).second) return true;
    status_ = invalid({.expected = "each member once", .got = "'" + name + "' twice in one object"})
                  .with({.option = name});
    return false;
  }
  bool end_object() override {
    seen_.pop_back();
    return true;
  }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&, const Json::exception&) override { return true; }

 private:
  std::vector<std::set<std::string>> seen_;  // the names so far of each open object
  std::string key_;                          // the last name
  Status status_;
};

}  // namespace

Result<Value> parse_exact(std::string_view json) {
  HEADRACE_ASSIGN(Value out, Value::parse(json));
  ExactReader reader;
  Json::sax_parse(json, &reader);
  HEADRACE_TRY(reader.status());
  return out;
}

}  // namespace headrace
