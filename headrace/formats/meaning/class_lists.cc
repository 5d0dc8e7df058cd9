#include "headrace/formats/meaning/class_lists.h"

#include <algorithm>
#include <unordered_map>

#include "headrace/core/text/text.h"

namespace headrace {
namespace {

constexpr std::string_view kClasses = "classes", kClassesOf = "classes_of", kClassNames = "class_names";
constexpr size_t kShownNames = 5, kShownLength = 40;

std::optional<ClassNames> names_in_list(const Value& value) {
  if (!value.list()) return std::nullopt;
  ClassNames out;
  for (const Value& name : *value.list()) {
    if (!name.text()) return std::nullopt;
    out.push_back(*name.text());
  }
  return out;
}

Value list_of(const ClassNames& names) { return Value::List(names.begin(), names.end()); }

}  // namespace

std::vector<ClassList> class_lists(const Value& metadata, const Schema& schema) {
  std::vector<ClassList> out;
  if (!metadata.object()) return out;
  for (const std::string_view key : {kClassesOf, kClassNames}) {
    const Value* by_field = metadata.find(key);
    if (!by_field || !by_field->object()) continue;
    for (const auto& [field, value] : *by_field->object()) {
      const int at = schema.find(field);
      auto names = at < 0 ? std::nullopt : names_in_list(value);
      if (names) out.push_back({std::string(key), field, at, *std::move(names)});
    }
  }
  const Value* classes = metadata.find(kClasses);
  auto names = classes ? names_in_list(*classes) : std::nullopt;
  if (!names) return out;
  const Value* of = metadata.find(kClassesOf);
  int field = of && of->text() ? schema.find(*of->text()) : label_field(schema);
  if (!out.empty()) {  // it repeats that of one of the fields
    const auto same = std::ranges::find(out, *names, &ClassList::names);
    field = same == out.end() ? -1 : same->field;
  }
  out.push_back({std::string(kClasses), "", field, *std::move(names)});
  return out;
}

void set_class_list(const ClassList& list, Value& metadata) {
  if (list.member.empty()) return metadata.set(list.key, list_of(list.names));
  Value by_field = *metadata.find(list.key);
  by_field.set(list.member, list_of(list.names));
  metadata.set(list.key, std::move(by_field));
}

void remove_class_lists(Value& metadata) {
  if (!metadata.object()) return;
  Value out{Value::Object()};
  for (const auto& [key, value] : *metadata.object())
    if (key != kClasses && key != kClassesOf && key != kClassNames) out.set(key, value);
  metadata = std::move(out);
}

int label_field(const Schema& schema) {
  for (const char* name : {"label", "cls", "class", "labels"})
    if (const int field = schema.find(name); field >= 0) return field;
  return -1;
}

std::optional<ClassNames> common_classes(const ClassNames& a, const ClassNames& b) {
  const ClassNames& longer = a.size() < b.size() ? b : a;
  const size_t shared = std::min(a.size(), b.size());
  if (!std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(shared), b.begin())) return std::nullopt;
  return longer;
}

ClassNames joined_classes(const ClassNames& a, const ClassNames& b) {
  ClassNames out = a;
  std::unordered_map<std::string_view, bool> known;
  for (const std::string& name : a) known.emplace(name, true);
  for (const std::string& name : b)
    if (known.emplace(name, true).second) out.push_back(name);
  return out;
}

Result<std::vector<int64_t>> numbers_in(const ClassNames& from, const ClassNames& to) {
  std::unordered_map<std::string_view, int64_t> places;
  for (const std::string& name : to)
    if (!places.emplace(name, static_cast<int64_t>(places.size())).second)
      return invalid(
          {.expected = "each class once", .got = in_quotes(name) + " twice in " + classes_text(to)});
  std::vector<int64_t> out;
  std::unordered_map<std::string_view, bool> seen;
  for (const std::string& name : from) {
    if (!seen.emplace(name, true).second)
      return invalid(
          {.expected = "each class once", .got = in_quotes(name) + " twice in " + classes_text(from)});
    const auto at = places.find(name);
    if (at == places.end())
      return invalid({.expected = "one of " + classes_text(to), .got = in_quotes(name)});
    out.push_back(at->second);
  }
  return out;
}

std::string classes_text(const ClassNames& names) {
  std::string out = std::to_string(names.size()) + (names.size() == 1 ? " class [" : " classes [");
  for (size_t i = 0; i < std::min(names.size(), kShownNames); ++i)
    out += (i == 0 ? "" : ", ") + in_quotes(names[i].substr(0, kShownLength));
  return out + (names.size() > kShownNames ? ", …]" : "]");
}

Value huggingface_classes(std::string_view json) {
  if (json.empty()) return {};
  const auto about = Value::parse(json);
  const Value* info = about.ok() ? about->find("info") : nullptr;
  const Value* features = info ? info->find("features") : nullptr;
  if (!features || !features->object()) return {};
  Value::Object all;
  for (const auto& [name, feature] : *features->object()) {
    const Value* type = feature.find("_type");
    const Value* names = feature.find("names");
    if (type && *type == Value("ClassLabel") && names && names->list()) all.emplace_back(name, *names);
  }
  if (all.empty()) return {};
  const auto label = std::ranges::find(all, std::string("label"), &std::pair<std::string, Value>::first);
  Value out{Value::Object()};
  out.set(kClasses, label != all.end() ? label->second : all[0].second);
  if (all.size() > 1)
    out.set(kClassesOf, Value(std::move(all)));
  else if (label_field(Schema{{all[0].first}, {}, ""}) < 0)
    out.set(kClassesOf, all[0].first);
  return out;
}

}  // namespace headrace
