// A JSON-like value: parameters of operators, plans, states and reports in memory. Objects keep the order of
// their keys.
//
// Parsing and printing use nlohmann-json in value.cc; nothing else includes it for this purpose.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "headrace/core/status.h"

namespace headrace {

class Value {
 public:
  using List = std::vector<Value>;
  using Object = std::vector<std::pair<std::string, Value>>;

  Value() = default;  // null
  Value(bool v) : v_(v) {}
  Value(int v) : v_(static_cast<int64_t>(v)) {}
  Value(int64_t v) : v_(v) {}
  Value(uint32_t v) : v_(static_cast<int64_t>(v)) {}
  Value(uint64_t v) : v_(static_cast<int64_t>(v)) {}  // wraps from 2^63 on: prints as a negative number
  Value(double v) : v_(v) {}
  Value(const char* v) : v_(std::string(v)) {}
  Value(std::string v) : v_(std::move(v)) {}
  Value(std::string_view v) : v_(std::string(v)) {}
  Value(List v) : v_(std::move(v)) {}
  Value(Object v) : v_(std::move(v)) {}

  bool is_null() const { return v_.index() == 0; }
  const bool* boolean() const { return std::get_if<bool>(&v_); }
  const int64_t* integer() const { return std::get_if<int64_t>(&v_); }
  const double* real() const { return std::get_if<double>(&v_); }
  const std::string* text() const { return std::get_if<std::string>(&v_); }
  const List* list() const { return std::get_if<List>(&v_); }
  const Object* object() const { return std::get_if<Object>(&v_); }
  bool operator==(const Value&) const = default;

  // Member of an object, null when absent or when this is not an object.
  const Value* find(std::string_view key) const;
  // Whether the member is there, and true.
  bool is_true(std::string_view key) const;
  // Set a member; turns null into an object. REQUIRES: null or object.
  void set(std::string_view key, Value value);

  // Typed member access with an error that names the key: for plans and states from outside.
  Result<int64_t> get_integer(std::string_view key) const;
  Result<std::string> get_text(std::string_view key) const;

  std::string dump(int indent = -1) const;            // JSON; shortest text that reads back equal
  static Result<Value> parse(std::string_view json);  // depth at most 128

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, List, Object> v_;
};

// 128-bit hash of a string as 32 hex digits: fingerprints of plans and sources.
std::string hash_text(std::string_view text);

}  // namespace headrace
