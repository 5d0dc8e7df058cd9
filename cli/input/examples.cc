#include "cli/input/examples.h"

#include <fmt/core.h>

#include <algorithm>

#include "headrace/codecs/image.h"
#include "headrace/ops/feature_spec.h"

namespace headrace::cli {
namespace {

constexpr FeatureGroup kGroups[] = {FeatureGroup::features, FeatureGroup::feature_lists};

bool has_only(std::span<const std::byte> message, uint64_t most) {
  WireReader reader(message, message.data());
  for (WireField field; reader.next(field);)
    if (field.wire != Wire::bytes || field.number > most) return false;
  return reader.status("").ok();
}

std::string_view dtype_of(FeatureKind kind) {
  return kind == FeatureKind::none ? "bytes" : feature_kind_name(kind);
}

std::string json_text(std::string_view name) { return Value(name).dump(); }

bool has_value(const FeatureEntry& entry) {
  WireReader reader(entry.message, entry.example);
  for (WireField field; reader.next(field);)
    if (field.is_bytes(2)) return true;
  return false;
}

// "()" or "(3,)".
std::string python_shape(uint64_t count) { return count == 1 ? "()" : fmt::format("({},)", count); }

std::string python_of(const Value& spec) {
  const std::string kind = *spec.get_text("kind"), dtype = json_text(*spec.get_text("dtype"));
  if (kind == "var_len") return fmt::format("hr.VarLenFeature({})", dtype);
  const auto* shape = spec.find("shape")->list();
  const std::string dims = python_shape(shape->empty() ? 1 : static_cast<uint64_t>(*(*shape)[0].integer()));
  if (kind == "fixed_len_sequence") {
    const bool may = *spec.find("allow_missing")->boolean();
    return fmt::format("hr.FixedLenSequenceFeature({}, {}{})", dims, dtype,
                       may ? ", allow_missing=True" : "");
  }
  const Value* fallback = spec.find("default_value");
  return fmt::format("hr.FixedLenFeature({}, {}{})", dims, dtype,
                     fallback ? ", default_value=" + fallback->dump() : "");
}

std::string python_of_all(const Value& specs, std::string_view indent) {
  std::string out = "{\n";
  for (const auto& [name, spec] : *specs.object())
    out += fmt::format("{}    {}: {},\n", indent, json_text(name), python_of(spec));
  return out + std::string(indent) + "}";
}

bool is_image(const Feature& feature) {
  const auto bytes = only_bytes(feature);
  return bytes && read_image_header(*bytes).ok();
}

}  // namespace

bool is_example(std::span<const std::byte> record) {
  if (!has_only(record, 2)) return false;
  bool has_values = false;
  for (const FeatureGroup group : kGroups) {
    FeatureEntries entries(record, group);
    for (FeatureEntry entry; entries.next(entry);) {
      if (!has_only(entry.message, 2)) return false;
      has_values = has_values || has_value(entry);
      Feature feature;
      if (group == FeatureGroup::features && !read_feature(entry, feature).ok()) return false;
      if (group == FeatureGroup::feature_lists &&
          !each_step(entry, [](const Feature&) { return Status(); }).ok())
        return false;
    }
    if (!entries.status().ok()) return false;
  }
  return has_values;
}

bool is_example_list(std::span<const std::byte> record) {
  if (!has_only(record, 2)) return false;
  bool has_examples = false;
  WireReader reader(record, record.data());
  for (WireField field; reader.next(field);) {
    if (!field.bytes.empty() && !is_example(field.bytes)) return false;
    has_examples = has_examples || !field.bytes.empty();
  }
  return has_examples;
}

std::optional<std::string> image_feature(std::span<const std::byte> record) {
  FeatureEntries entries(record);
  for (FeatureEntry entry; entries.next(entry);) {
    Feature feature;
    if (read_feature(entry, feature).ok() && is_image(feature)) return std::string(entry.name);
  }
  return std::nullopt;
}

std::optional<std::span<const std::byte>> bytes_of_feature(std::span<const std::byte> record,
                                                           std::string_view name) {
  const auto feature = find_feature(record, name);
  return feature.ok() && *feature ? only_bytes(**feature) : std::nullopt;
}

void FeatureSurvey::count(const Feature& feature, Seen& seen) {
  ++seen.kinds[static_cast<size_t>(feature.kind)];
  const auto values = count_values(feature);
  if (!values.ok()) return;
  seen.least = std::min(seen.least, *values), seen.most = std::max(seen.most, *values);
  seen.images += is_image(feature);
}

void FeatureSurvey::add(std::span<const std::byte> record) {
  if (!is_example(record)) {
    ++others_;
    return;
  }
  const auto seen_of = [this](All& all, std::string_view name) -> Seen& {
    Seen& seen = all[std::string(name)];
    seen.examples += seen.last != looked_;
    seen.last = looked_;
    return seen;
  };
  FeatureEntries features(record);
  for (FeatureEntry entry; features.next(entry);) {
    Feature feature;
    (void)read_feature(entry, feature);
    if (feature.kind != FeatureKind::none) count(feature, seen_of(features_, entry.name));
  }
  FeatureEntries lists(record, FeatureGroup::feature_lists);
  for (FeatureEntry entry; lists.next(entry);) {
    Seen& seen = seen_of(lists_, entry.name);
    (void)each_step(entry, [&](const Feature& step) { return count(step, seen), Status(); });
  }
  ++looked_;
}

std::optional<FeatureKind> FeatureSurvey::Seen::kind() const {
  std::optional<FeatureKind> out;
  for (const FeatureKind kind : {FeatureKind::bytes, FeatureKind::floats, FeatureKind::ints}) {
    if (kinds[static_cast<size_t>(kind)] == 0) continue;
    if (out) return std::nullopt;
    out = kind;
  }
  return out;
}

// Null if no operator can parse it.
Value FeatureSurvey::spec_of(const Seen& seen, bool in_lists) const {
  const auto kind = seen.kind();
  if (!kind) return {};
  const bool fixed = seen.is_fixed() && seen.most > 0, is_bytes = *kind == FeatureKind::bytes;
  if (in_lists && is_bytes && !(fixed && seen.most == 1)) return {};
  Value out{Value::Object()};
  out.set("kind", !fixed ? "var_len" : in_lists ? "fixed_len_sequence" : "fixed_len");
  out.set("dtype", dtype_of(*kind));
  if (!fixed) return out;
  Value::List shape;
  if (seen.most != 1) shape.emplace_back(seen.most);
  out.set("shape", std::move(shape));
  const bool missing = seen.examples < looked_;
  if (in_lists) out.set("allow_missing", missing);
  if (!in_lists && missing) out.set("default_value", is_bytes ? Value("") : Value(0));
  return out;
}

Value FeatureSurvey::specs_of(const All& all, bool in_lists) const {
  Value::Object out;
  for (const auto& [name, seen] : all)
    if (Value spec = spec_of(seen, in_lists); !spec.is_null()) out.emplace_back(name, std::move(spec));
  return out;
}

std::vector<FeatureSurvey::Row> FeatureSurvey::rows() const {
  std::vector<Row> out;
  for (const bool in_lists : {false, true})
    for (const auto& [name, seen] : in_lists ? lists_ : features_) {
      Row row{name, "", "", in_lists};
      const std::string steps = in_lists ? "steps" : "";
      const auto dims = [&](std::string_view rest) {
        return fmt::format("({}{}{})", steps, in_lists && !rest.empty() ? ", " : "", rest);
      };
      if (const auto kind = seen.kind())
        row.spec = fmt::format("{} {}", dtype_of(*kind),
                               !seen.is_fixed() ? dims("?")
                               : seen.most == 1 ? dims("")
                                                : dims(std::to_string(seen.most)));
      else
        row.spec = "mixed kinds";
      if (!seen.is_fixed()) row.note = fmt::format("{} to {} values", seen.least, seen.most);
      if (seen.images > 0) row.note = "an encoded image";
      if (seen.examples < looked_)
        row.note += fmt::format("{}missing in {}", row.note.empty() ? "" : ", ", looked_ - seen.examples);
      if (spec_of(seen, in_lists).is_null()) row.note += row.note.empty() ? "not parsed" : ", not parsed";
      out.push_back(std::move(row));
    }
  return out;
}

Value FeatureSurvey::params() const {
  Value out{Value::Object()};
  out.set(has_lists() ? "context_features" : "features", specs_of(features_, false));
  if (has_lists()) out.set("sequence_features", specs_of(lists_, true));
  return out;
}

std::string FeatureSurvey::python(const std::string& field) const {
  const Value all = params();
  if (!has_lists())
    return fmt::format("hr.ops.parse_example(s[{}], features={})", json_text(field),
                       python_of_all(*all.find("features"), ""));
  return fmt::format(
      "hr.ops.parse_sequence_example(\n    s[{}],\n    context_features={},\n    sequence_features={},\n)",
      json_text(field), python_of_all(*all.find("context_features"), "    "),
      python_of_all(*all.find("sequence_features"), "    "));
}

Value FeatureSurvey::json(const std::string& field) const {
  Value out, missing{Value::Object()};
  out.set("field", field);
  out.set("operator", has_lists() ? "parse_sequence_example" : "parse_example");
  out.set("params", params());
  out.set("python", python(field));
  for (const All* all : {&features_, &lists_})
    for (const auto& [name, seen] : *all)
      if (seen.examples < looked_) missing.set(name, looked_ - seen.examples);
  out.set("missing", std::move(missing));
  out.set("others", others_);
  return out;
}

}  // namespace headrace::cli
