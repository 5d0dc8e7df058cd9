#include "headrace/core/value.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <nlohmann/json.hpp>

namespace headrace {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kMaxDepth = 128;

Json to_json(const Value& value) {
  if (const auto* b = value.boolean()) return *b;
  if (const auto* i = value.integer()) return *i;
  if (const auto* d = value.real()) return *d;
  if (const auto* s = value.text()) return *s;
  if (const auto* list = value.list()) {
    Json out = Json::array();
    for (const Value& v : *list) out.push_back(to_json(v));
    return out;
  }
  if (const auto* object = value.object()) {
    Json out = Json::object();
    for (const auto& [k, v] : *object) out[k] = to_json(v);
    return out;
  }
  return nullptr;
}

Result<Value> from_json(const Json& json, int depth) {
  if (depth > kMaxDepth) return invalid("json: nested deeper than 128");
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_integer()) return Value(json.get<int64_t>());
  if (json.is_number()) return Value(json.get<double>());
  if (json.is_string()) return Value(json.get<std::string>());
  if (json.is_array()) {
    Value::List out;
    for (const Json& item : json) {
      HEADRACE_ASSIGN(Value v, from_json(item, depth + 1));
      out.push_back(std::move(v));
    }
    return Value(std::move(out));
  }
  if (json.is_object()) {
    Value::Object out;
    for (const auto& [key, item] : json.items()) {
      HEADRACE_ASSIGN(Value v, from_json(item, depth + 1));
      out.emplace_back(key, std::move(v));
    }
    return Value(std::move(out));
  }
  return Value();
}

Status wrong_member(std::string_view kind, std::string_view key, const Value* got) {
  return invalid({.expected = std::string(kind) + " '" + std::string(key) + "'",
                  .got = got ? got->dump() : "nothing: it is missing"})
      .with({.option = std::string(key)});
}

}  // namespace

const Value* Value::find(std::string_view key) const {
  if (const Object* members = object())
    for (const auto& [name, value] : *members)
      if (name == key) return &value;
  return nullptr;
}

bool Value::is_true(std::string_view key) const {
  const Value* member = find(key);
  return member && member->boolean() && *member->boolean();
}

void Value::set(std::string_view key, Value value) {
  if (is_null()) v_ = Object();
  auto& members = std::get<Object>(v_);
  for (auto& [name, old] : members)
    if (name == key) {
      old = std::move(value);
      return;
    }
  members.emplace_back(std::string(key), std::move(value));
}

Result<int64_t> Value::get_integer(std::string_view key) const {
  const Value* v = find(key);
  if (v && v->integer()) return *v->integer();
  return wrong_member("an integer", key, v);
}

Result<std::string> Value::get_text(std::string_view key) const {
  const Value* v = find(key);
  if (v && v->text()) return *v->text();
  return wrong_member("a string", key, v);
}

std::string Value::dump(int indent) const {
  return to_json(*this).dump(indent, ' ', false, Json::error_handler_t::replace);
}

Result<Value> Value::parse(std::string_view json) {
  // A depth limit before the parser recurses: nlohmann has no limit.
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if ((c == '[' || c == '{') && ++depth > kMaxDepth) return invalid("json: nested deeper than 128");
    if (c == ']' || c == '}') --depth;
  }
  try {
    return from_json(Json::parse(json), 0);
  } catch (const Json::parse_error& e) {
    return invalid("json: syntax error at byte " + std::to_string(e.byte) + " of " +
                   std::to_string(json.size()));
  } catch (const Json::exception& e) {
    return invalid(std::string("json: ") + e.what());
  }
}

std::string hash_text(std::string_view text) {
  const XXH128_hash_t h = XXH3_128bits(text.data(), text.size());
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (uint64_t word : {static_cast<uint64_t>(h.high64), static_cast<uint64_t>(h.low64)})
    for (int shift = 60; shift >= 0; shift -= 4) out += digits[(word >> shift) & 15];
  return out;
}

}  // namespace headrace
