#include "headrace/formats/nulls.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "headrace/core/text/closest.h"
#include "headrace/formats/columns.h"
#include "headrace/formats/options.h"
#include "headrace/formats/wrapped_source.h"

namespace headrace {
namespace {

constexpr Nulls kRules[] = {Nulls::error, Nulls::zero, Nulls::nan, Nulls::mask};

Result<Nulls> rule_of(const Value& given) {
  for (const Nulls rule : kRules)
    if (const std::string* text = given.text(); text && *text == null_rule_name(rule)) return rule;
  return invalid({.expected = "\"error\", \"zero\", \"nan\" or \"mask\", or a dict of these by column",
                  .got = given.dump()})
      .in_option("nulls");
}

bool is_below(std::string_view field, std::string_view name) {
  return field == name || (field.starts_with(name) && field[name.size()] == '/');
}

// A field of a source with masks.
struct MaskedField {
  int field = 0;  // of the source below
  bool is_mask = false;
};

class MaskedBlock final : public Block {
 public:
  MaskedBlock(BlockPtr block, std::shared_ptr<const std::vector<MaskedField>> fields)
      : block_(std::move(block)), fields_(std::move(fields)) {}

  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    std::vector<Tensor> below;
    HEADRACE_TRY(block_->get(row, below));
    fields.clear();
    for (const MaskedField& field : *fields_) {
      const bool is_there = !field.is_mask || !block_->is_null(row, field.field);
      fields.push_back(field.is_mask ? flag(is_there) : below[static_cast<size_t>(field.field)]);
    }
    return {};
  }
  size_t held_bytes() const override { return block_->held_bytes(); }

 private:
  // One buffer for all masks: a byte of false, a byte of true.
  static Tensor flag(bool is_set) {
    static const BufferPtr both = [] {
      MutableBufferPtr out = HeapBuffer::make(2);
      out->mutable_data()[0] = std::byte{0}, out->mutable_data()[1] = std::byte{1};
      return BufferPtr(out);
    }();
    return {both, is_set ? size_t{1} : size_t{0}, DType::boolean, Shape(), nullptr};
  }

  BlockPtr block_;
  std::shared_ptr<const std::vector<MaskedField>> fields_;
};

class MaskedSource final : public WrappedSource {
 public:
  MaskedSource(SourcePtr source, Schema schema, std::vector<MaskedField> fields)
      : WrappedSource(std::move(source)),
        schema_(std::move(schema)),
        fields_(std::make_shared<const std::vector<MaskedField>>(std::move(fields))) {}

  const Schema& schema() const override { return schema_; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    return wrapped_block(source_->open(block), [fields = fields_](BlockPtr inner) {
      return std::make_shared<MaskedBlock>(std::move(inner), fields);
    });
  }
  SourcePtr with_fields(std::span<const int> fields) const override {
    std::vector<int> below;
    for (const int field : fields) below.push_back((*fields_)[static_cast<size_t>(field)].field);
    std::ranges::sort(below);
    const auto [end, last] = std::ranges::unique(below);
    below.erase(end, last);
    SourcePtr source = source_->with_fields(below);
    if (!source) return nullptr;
    std::vector<MaskedField> some;
    for (const int field : fields) {
      const MaskedField& one = (*fields_)[static_cast<size_t>(field)];
      const auto at = std::ranges::lower_bound(below, one.field) - below.begin();
      some.push_back({static_cast<int>(at), one.is_mask});
    }
    return std::make_shared<MaskedSource>(std::move(source), chosen(schema_, fields), std::move(some));
  }

 private:
  const Schema schema_;
  const std::shared_ptr<const std::vector<MaskedField>> fields_;
};

}  // namespace

std::string_view null_rule_name(Nulls nulls) {
  switch (nulls) {
    case Nulls::error: return "error";
    case Nulls::zero: return "zero";
    case Nulls::nan: return "nan";
    case Nulls::mask: return "mask";
  }
  return "";
}

OptionInfo nulls_option(std::string what_is_null) {
  return {"nulls",
          "Literal[\"error\", \"zero\", \"nan\", \"mask\"] | Mapping[str, Literal[\"error\", \"zero\", "
          "\"nan\", \"mask\"]]",
          what_is_null +
              "\"error\" makes a null an error of its sample; \"zero\" reads zeros, or empty values for "
              "variable lengths; \"nan\" reads NaN for floats and is \"error\" for others; \"mask\" reads "
              "zeros and adds a field of bool, `<field>_valid`, false where the value is null. Or per "
              "column: `{\"caption\": \"zero\", \"price\": \"nan\"}`.",
          "error"};
}

Result<NullRules> NullRules::of(const GivenOptions& options) {
  const Value* given = options.options.find("nulls");
  return given ? of(*given) : NullRules();
}

Result<NullRules> NullRules::of(const Value& given) {
  NullRules out;
  if (given.is_null()) return out;
  if (const Value::Object* by_column = given.object()) {
    for (const auto& [name, rule] : *by_column) {
      HEADRACE_ASSIGN(const Nulls nulls, rule_of(rule));
      out.named_.emplace_back(name, nulls);
    }
    return out;
  }
  HEADRACE_ASSIGN(out.others_, rule_of(given));
  return out;
}

Result<std::vector<Nulls>> NullRules::of_fields(const Schema& schema) const {
  std::vector<Nulls> out(schema.size(), others_);
  for (const auto& [name, nulls] : named_) {
    bool is_there = false;
    for (size_t i = 0; i < out.size(); ++i)
      if (is_below(schema.names[i], name)) out[i] = nulls, is_there = true;
    if (!is_there)
      return no_such_column("nulls", name,
                            std::vector<std::string_view>(schema.names.begin(), schema.names.end()));
  }
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i] == Nulls::nan && !is_float(schema.specs[i].dtype)) out[i] = Nulls::error;
  return out;
}

std::string text_of(const std::vector<Nulls>& nulls, const Schema& schema) {
  std::string out;
  for (const Nulls rule : kRules) {
    if (rule == Nulls::error) continue;
    std::string named;
    for (size_t i = 0; i < nulls.size(); ++i)
      if (nulls[i] == rule) named += (named.empty() ? " of " : ", ") + schema.names[i];
    if (named.empty()) continue;
    out += " nulls=" + std::string(null_rule_name(rule));
    if (std::ranges::count(nulls, rule) != std::ssize(nulls)) out += named;
  }
  return out;
}

std::string null_is_read(bool may_be_nan) {
  return null_item_is_read(may_be_nan) + "; nulls=\"mask\" also tells where";
}

std::string null_item_is_read(bool may_be_nan) {
  return may_be_nan ? "nulls=\"zero\" reads it as zeros and nulls=\"nan\" as NaN"
                    : "nulls=\"zero\" reads it as zeros or as empty";
}

void fill_nan(DType dtype, std::span<std::byte> out) {
  const size_t size = size_of(dtype);
  uint64_t bits = 0;  // quiet, positive, without a payload
  switch (dtype) {
    case DType::f16: bits = 0x7e00; break;
    case DType::bf16: bits = 0x7fc0; break;
    case DType::f32: bits = 0x7fc00000; break;
    default: bits = 0x7ff8000000000000;
  }
  for (size_t at = 0; at + size <= out.size(); at += size) std::memcpy(out.data() + at, &bits, size);
}

Tensor read_as(Nulls nulls, const TensorSpec& spec) {
  Shape shape = spec.shape;
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] == kAny) shape.set(i, 0);
  const MutableBufferPtr value = HeapBuffer::make(std::max<size_t>(shape.size_bytes(spec.dtype), 1));
  std::memset(value->mutable_data(), 0, value->size());
  if (nulls == Nulls::nan) fill_nan(spec.dtype, {value->mutable_data(), shape.size_bytes(spec.dtype)});
  return {value, 0, spec.dtype, shape, nullptr};
}

std::string mask_name(std::string_view field) { return std::string(field) + "_valid"; }

Result<std::vector<NullMask>> masks_of(const Schema& schema, std::span<const Nulls> nulls) {
  std::vector<NullMask> out;
  for (const FieldColumn& column : columns_of(schema.names, schema.specs)) {
    if (nulls[column.field] != Nulls::mask) continue;
    out.push_back({mask_name(column.name), column.field});
    if (schema.find(out.back().name) >= 0)
      return invalid({.expected = "no column " + in_quotes(out.back().name) +
                                  ", the name of the mask of column " + in_quotes(column.name),
                      .got = "one",
                      .fix = "choose others with columns=, or another rule for that column"})
          .in_option("nulls");
  }
  return out;
}

Result<SourcePtr> with_masks(SourcePtr source, std::span<const Nulls> nulls) {
  HEADRACE_ASSIGN(const std::vector<NullMask> masks, masks_of(source->schema(), nulls));
  if (masks.empty()) return source;
  std::vector<std::string> names = source->schema().names;
  std::vector<TensorSpec> specs = source->schema().specs;
  std::vector<MaskedField> fields;
  for (size_t i = 0; i < names.size(); ++i) fields.push_back({static_cast<int>(i), false});
  for (const NullMask& mask : masks) {
    names.push_back(mask.name);
    specs.push_back({DType::boolean, {}});
    fields.push_back({static_cast<int>(mask.field), true});
  }
  Schema schema = schema_of(std::move(names), std::move(specs));
  return SourcePtr(std::make_shared<MaskedSource>(std::move(source), std::move(schema), std::move(fields)));
}

}  // namespace headrace
