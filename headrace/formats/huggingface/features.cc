#include "headrace/formats/huggingface/features.h"

#include <algorithm>
#include <array>

#include "headrace/core/text/closest.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/options.h"

namespace headrace {
namespace {

constexpr size_t kMostFields = 65536;

enum class Kind { number, text, other };

Kind kind_of_value(const Value& feature) {
  const Value* dtype = feature.find("dtype");
  if (!dtype || !dtype->text()) return Kind::other;
  const std::string& name = *dtype->text();
  constexpr std::array texts{"string", "large_string", "binary", "large_binary"};
  if (std::ranges::find(texts, name) != texts.end()) return Kind::text;
  constexpr std::array begins{"bool", "int", "uint", "float", "double", "half", "date", "time", "duration"};
  const bool is_number =
      std::ranges::any_of(begins, [&](const char* begin) { return name.starts_with(begin); });
  return is_number ? Kind::number : Kind::other;
}

std::string_view type_of(const Value& feature) {
  const Value* type = feature.find("_type");
  return type && type->text() ? std::string_view(*type->text()) : std::string_view();
}

bool is_list(std::string_view type) { return type == "List" || type == "LargeList" || type == "Sequence"; }

bool has_length(const Value& list) {
  const Value* length = list.find("length");
  return length && length->integer() && *length->integer() > 0;
}

class Parser {
 public:
  enum class In { nothing, list, fixed_list };  // fixed_list: the type states the number of items

  explicit Parser(HuggingFaceFeatures* out) : out_(out) {}

  Status members(const Value::Object& features, const std::string& before, In in) {
    for (const auto& [name, feature] : features) HEADRACE_TRY(one(before + name, feature, in));
    return {};
  }

 private:
  Status one(const std::string& name, const Value& feature, In in) {
    if (out_->columns.size() + out_->left_out.size() >= kMostFields)
      return {Code::exhausted, "expected at most " + std::to_string(kMostFields) + " fields"};
    const std::string_view type = type_of(feature);
    if (type.empty()) {
      if (!feature.object() || in != In::nothing) return leave_out(name);
      return members(*feature.object(), name + "/", in);
    }
    if (type == "Value" || type == "ClassLabel") {
      if (type == "ClassLabel") take_names(name, feature);
      const Kind kind = type == "ClassLabel" ? Kind::number : kind_of_value(feature);
      if (kind == Kind::other || (kind == Kind::text && in == In::fixed_list)) return leave_out(name);
      if (kind == Kind::text && in == In::list) {  // two columns
        HEADRACE_TRY(take(name + "/values", name + "/values"));
        return take(name + "/lengths", name + "/lengths");
      }
      return take(name, name);
    }
    if ((type == "Image" || type == "Audio" || type == "Video") && in == In::nothing)
      return take(name, name + "/bytes");
    if (is_list(type) && in == In::nothing) return list(name, feature, type);
    return leave_out(name);
  }

  // A list of a struct is a struct of lists if the type is the older "Sequence".
  Status list(const std::string& name, const Value& feature, std::string_view type) {
    const Value* items = feature.find("feature");
    if (!items) return leave_out(name);
    const In in = has_length(feature) ? In::fixed_list : In::list;
    if (type_of(*items).empty()) {
      if (type != "Sequence" || !items->object()) return leave_out(name);
      return members(*items->object(), name + "/", in);
    }
    if (is_list(type_of(*items))) {
      const Value* inner = items->find("feature");
      if (!has_length(*items) || !inner) return leave_out(name);
      return one(name, *inner, In::fixed_list);
    }
    return one(name, *items, in);
  }

  Status take(const std::string& name, std::string column) {
    out_->columns.push_back({name, std::move(column)});
    return {};
  }
  Status leave_out(const std::string& name) {
    out_->left_out.push_back(name);
    return {};
  }
  void take_names(const std::string& name, const Value& feature) {
    const Value* names = feature.find("names");
    if (!names || !names->list()) return;
    std::vector<std::string> all;
    for (const Value& label : *names->list()) all.push_back(label.text() ? *label.text() : label.dump());
    out_->class_names.emplace_back(name, std::move(all));
  }

  HuggingFaceFeatures* out_;
};

}  // namespace

Result<HuggingFaceFeatures> HuggingFaceFeatures::parse(const Value& features) {
  if (!features.object())
    return corrupt({.expected = "an object 'features'", .got = features.dump().substr(0, 40)});
  HuggingFaceFeatures out;
  HEADRACE_TRY(Parser(&out).members(*features.object(), "", Parser::In::nothing));
  return out;
}

Result<std::vector<HuggingFaceColumn>> HuggingFaceFeatures::choose(
    const std::vector<std::string>& names) const {
  if (names.empty()) {
    if (!columns.empty()) return columns;
    return invalid("has no column of a supported type");
  }
  std::vector<HuggingFaceColumn> out;
  for (const std::string& name : names) {
    const size_t before = out.size();
    for (const HuggingFaceColumn& column : columns)
      if (column.name == name || column.name.starts_with(name + "/")) out.push_back(column);
    if (out.size() > before) continue;
    const bool is_left_out = std::ranges::any_of(
        left_out, [&](const std::string& one) { return one == name || one.starts_with(name + "/"); });
    if (is_left_out)
      return Status(
          Code::unavailable,
          "cannot read column " + in_quotes(name) +
              ": lists of structs, of lists or of a fixed number of strings are not supported, nor are "
              "types other than numbers and strings");
    const auto name_of = [](const HuggingFaceColumn& column) { return std::string_view(column.name); };
    return no_such_column("columns", name, names_of_all(columns, name_of));
  }
  return out;
}

}  // namespace headrace
