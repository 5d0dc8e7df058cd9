#include "headrace/formats/tfds/features.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "headrace/core/text/text.h"

namespace headrace {
namespace {

constexpr size_t kMostFields = 65536;

std::optional<int64_t> whole_of(const Value& value) {
  if (value.integer()) return *value.integer();
  int64_t out = 0;
  if (!value.text()) return std::nullopt;
  const std::string& text = *value.text();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(out) : std::nullopt;
}

std::string text_of(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value && value->text() ? *value->text() : std::string();
}

// {"dimensions": ["-1", "2"]}; nothing if there are too many, or more than one free one.
std::optional<Shape> shape_of(const Value& tensor) {
  const Value* shape = tensor.find("shape");
  const Value* dims = shape ? shape->find("dimensions") : nullptr;
  std::vector<int64_t> out;
  if (dims && dims->list())
    for (const Value& dim : *dims->list()) {
      const auto size = whole_of(dim);
      if (!size || *size < -1 || *size > (int64_t{1} << 40)) return std::nullopt;
      out.push_back(*size == -1 ? kAny : *size);
    }
  if (out.size() >= kMaxRank || std::ranges::count(out, kAny) > 1) return std::nullopt;
  return Shape(std::span<const int64_t>(out));
}

}  // namespace

class TfdsParser {
 public:
  explicit TfdsParser(TfdsFeatures* out) : out_(*out) {}

  Status members(const Value& dict, const std::string& name, const std::string& file, int lists) {
    const Value* features = dict.find("features");
    if (!features || !features->object()) return {};
    for (const auto& [key, feature] : *features->object()) {
      std::string part = key;
      std::ranges::replace(part, '/', '.');
      HEADRACE_TRY(one(name.empty() ? key : name + "/" + key, file.empty() ? part : file + "-" + part,
                       feature, lists, kAny));
    }
    return {};
  }

  Status one(const std::string& name, const std::string& file, const Value& feature, int lists,
             int64_t length) {
    if (out_.fields_.size() + out_.left_out_.size() >= kMostFields)
      return {Code::exhausted, "expected at most " + std::to_string(kMostFields) + " features"};
    if (const Value* dict = feature.find("featuresDict")) return members(*dict, name, file, lists);
    if (const Value* sequence = feature.find("sequence")) {
      const Value* inner = sequence->find("feature");
      const Value* given = sequence->find("length");
      const int64_t size = given ? whole_of(*given).value_or(-1) : -1;
      if (!inner || lists > 1) return leave_out(name);
      return one(name, file, *inner, lists + 1, size < 0 ? kAny : size);
    }
    for (const char* kind : {"image", "labeledImage"})
      if (feature.find(kind)) return texts(name, DType::bytes, lists);
    if (feature.find("text")) return texts(name, DType::str, lists);
    if (feature.find("video")) return texts(name, DType::bytes, lists + 1);
    if (feature.find("classLabel")) {
      out_.label_files_.emplace_back(file + ".labels.txt", name);
      return numbers(name, DType::i64, Shape{}, lists, length);
    }
    for (const char* kind : {"tensor", "boundingBox", "audio"})
      if (const Value* tensor = feature.find(kind)) return take(name, *tensor, lists, length);
    return leave_out(name);
  }

 private:
  Status leave_out(const std::string& name) {
    out_.left_out_.push_back(name);
    return {};
  }

  Status take(const std::string& name, const Value& tensor, int lists, int64_t length) {
    const std::string type = text_of(tensor, "dtype"), encoding = text_of(tensor, "encoding");
    const auto shape = shape_of(tensor);
    if (!shape || (!encoding.empty() && encoding != "none")) return leave_out(name);
    if (type == "string" || type == "object" || type == "bytes") {
      const int dims = shape->rank();
      return dims > 1 || (dims == 1 && lists > 0) ? leave_out(name) : texts(name, DType::bytes, lists + dims);
    }
    const auto dtype = parse_dtype(type);
    if (!dtype.ok() || is_text(*dtype)) return leave_out(name);
    return numbers(name, *dtype, *shape, lists, length);
  }

  Status texts(const std::string& name, DType dtype, int lists) {
    if (lists > 1) return leave_out(name);
    const auto kind = lists == 1 ? TfdsField::Kind::texts : TfdsField::Kind::one_text;
    out_.fields_.push_back({name, kind, dtype, {}, lists == 1});
    return {};
  }

  Status numbers(const std::string& name, DType dtype, const Shape& shape, int lists, int64_t length) {
    if (lists > 0 && !shape.is_static()) return leave_out(name);
    if (lists == 2 && length != kAny) return leave_out(name);
    const auto kind = lists == 2 ? TfdsField::Kind::ragged : TfdsField::Kind::numbers;
    out_.fields_.push_back({name, kind, dtype, lists == 0 ? shape : shape.with_front(length), lists > 0});
    return {};
  }

  TfdsFeatures& out_;
};

Result<TfdsFeatures> TfdsFeatures::parse(const Value& features) {
  TfdsFeatures out;
  if (!features.find("featuresDict"))
    return Status(Code::unavailable,
                  {.expected = "a dict of features at the top level", .got = "something else"});
  HEADRACE_TRY(TfdsParser(&out).one("", "", features, 0, kAny));
  if (out.fields_.empty()) return invalid("has no feature of a supported type");
  out.index();
  return out;
}

Status TfdsFeatures::choose(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::vector<TfdsField> chosen;
  const auto is_of = [](const std::string& field, const std::string& name) {
    return field == name || field.starts_with(name + "/");
  };
  for (const std::string& name : names) {
    const size_t before = chosen.size();
    for (const TfdsField& field : fields_)
      if (is_of(field.name, name)) chosen.push_back(field);
    if (chosen.size() > before) continue;
    if (std::ranges::any_of(left_out_, [&](const std::string& field) { return is_of(field, name); }))
      return {Code::unavailable, "cannot read feature " + in_quotes(name)};
    std::string known;
    for (const TfdsField& field : fields_) known += (known.empty() ? "" : ", ") + in_quotes(field.name);
    return invalid("has no feature " + in_quotes(name) + "; it has " + known);
  }
  fields_ = std::move(chosen);
  left_out_.clear();
  index();
  return {};
}

void TfdsFeatures::index() {
  keys_.clear();
  for (size_t i = 0; i < fields_.size(); ++i) {
    const std::string& name = fields_[i].name;
    if (fields_[i].kind != TfdsField::Kind::ragged) {
      keys_[name] = {i, false};
      continue;
    }
    keys_[name + "/ragged_flat_values"] = {i, false};
    keys_[name + "/ragged_row_lengths_0"] = {i, true};
  }
}

Schema TfdsFeatures::schema() const {
  Schema out;
  for (const TfdsField& field : fields_) {
    out.structure += (out.structure.empty() ? "{" : ",") + Value(field.name).dump() + ":";
    const std::string at = std::to_string(out.size()), behind = std::to_string(out.size() + 1);
    if (field.kind == TfdsField::Kind::numbers || field.kind == TfdsField::Kind::one_text) {
      const bool is_text = field.kind == TfdsField::Kind::one_text;
      out.structure += at;
      out.names.push_back(field.name);
      out.specs.push_back({field.dtype, is_text ? Shape{kAny} : field.shape});
      continue;
    }
    // Lists of strings, and of lists, are two fields, like those of parse_example.
    const bool is_text = field.kind == TfdsField::Kind::texts;
    out.structure += "{\"values\":" + at + ",\"lengths\":" + behind + "}";
    out.names.push_back(field.name + "/values"), out.names.push_back(field.name + "/lengths");
    out.specs.push_back({field.dtype, is_text ? Shape{kAny} : field.shape});
    out.specs.push_back({DType::i64, {kAny}});
  }
  out.structure += "}";
  return out;
}

}  // namespace headrace
