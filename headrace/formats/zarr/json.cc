#include "headrace/formats/zarr/json.h"

#include <nlohmann/json.hpp>

namespace headrace::zarr {
namespace {

constexpr size_t kMostNested = 128;
constexpr size_t kMostValues = 3'000'000;  // each takes some hundred bytes; in the text as few as two

// Value::parse compares each key with all earlier ones, which is slow for objects with many keys.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return add(Value()); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(int64_t value) override { return add(value); }
  bool number_unsigned(uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(size_t) override { return open(true); }
  bool start_array(size_t) override { return open(false); }
  bool key(std::string& name) override {
    levels_.back().object.emplace_back(std::move(name), Value());
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    if (status.ok()) status = corrupt("invalid JSON at byte " + std::to_string(position));
    return false;
  }

  Value value;
  Status status;

 private:
  struct Level {
    bool is_object = false;
    Value::Object object = {};
    Value::List list = {};
  };

  bool open(bool is_object) {
    if (levels_.size() == kMostNested) {
      status = corrupt({.expected = "JSON nested at most 128 deep", .got = "more"});
      return false;
    }
    levels_.push_back({is_object});
    return true;
  }
  bool close() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    return add(level.is_object ? Value(std::move(level.object)) : Value(std::move(level.list)));
  }
  bool add(Value made) {
    if (++count_ > kMostValues) {
      status = {Code::exhausted, "expected JSON of at most 3,000,000 values, got more"};
      return false;
    }
    if (levels_.empty())
      value = std::move(made);
    else if (levels_.back().is_object)
      levels_.back().object.back().second = std::move(made);
    else
      levels_.back().list.push_back(std::move(made));
    return true;
  }

  std::vector<Level> levels_;
  size_t count_ = 0;
};

// Quotes Python's number words that are not JSON.
std::string with_words_as_texts(std::string_view text) {
  constexpr std::string_view words[] = {"NaN", "Infinity", "-Infinity"};
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < text.size()) out += text[++i];
      if (c == '"') in_string = false;
      continue;
    }
    in_string = c == '"';
    std::string_view found;
    if (c == 'N' || c == 'I' || c == '-')
      for (const std::string_view word : words)
        if (text.substr(i).starts_with(word)) found = word;
    if (found.empty()) {
      out += c;
      continue;
    }
    out.append("\"").append(found).append("\"");
    i += found.size() - 1;
  }
  return out;
}

}  // namespace

Result<Value> parse_json(std::string_view text) {
  const std::string plain = with_words_as_texts(text);
  Builder builder;
  if (!nlohmann::json::sax_parse(plain.begin(), plain.end(), &builder))
    return builder.status.ok() ? corrupt({.expected = "JSON", .got = "something else"})
                               : std::move(builder.status);
  return std::move(builder.value);
}

}  // namespace headrace::zarr
