#include "headrace/formats/litdata/leaves.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "headrace/core/little_endian.h"
#include "headrace/core/text/text.h"
#include "headrace/core/value.h"
#include "headrace/formats/records/value_tensors.h"

namespace headrace::litdata {
namespace {

using Kind = Leaf::Kind;

// Nothing for dtypes that are not supported: complex numbers.
using Codes = std::array<std::optional<DType>, 21>;
constexpr Codes kTorch = {DType::f32,   DType::f32,     DType::f64, DType::f64, std::nullopt, std::nullopt,
                          std::nullopt, std::nullopt,   DType::f16, DType::f16, DType::bf16,  DType::u8,
                          DType::i8,    DType::i16,     DType::i16, DType::i32, DType::i32,   DType::i64,
                          DType::i64,   DType::boolean, DType::u16};
constexpr Codes kNumpy = {DType::i8,  DType::i16, DType::i32, DType::i64, DType::u8, DType::u16,
                          DType::u32, DType::u64, DType::f16, DType::f32, DType::f64};

Result<DType> dtype_of(const Codes& codes, uint64_t code) {
  if (code < codes.size() && codes[code]) return *codes[code];
  return corrupt({.expected = "a dtype of real numbers", .got = "dtype code " + std::to_string(code)});
}

Result<Leaf> parse_leaf(const std::string& format) {
  Leaf out{format};
  const std::string_view text = format, name = text.substr(0, text.find(':'));
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  };
  if (is_one_of({"no_header_tensor", "no_header_numpy"})) {
    uint64_t code = 0;
    const std::string_view rest = text.substr(std::min(name.size() + 1, text.size()));
    const auto [after, error] = std::from_chars(rest.data(), rest.data() + rest.size(), code);
    if (rest.empty() || error != std::errc() || after != rest.data() + rest.size())
      return corrupt({.expected = "the code of a dtype", .got = in_quotes(format)});
    out.kind = Kind::row, out.spec.shape = {kAny};
    HEADRACE_ASSIGN(out.spec.dtype, dtype_of(name == "no_header_numpy" ? kNumpy : kTorch, code));
  } else if (name == "str" || name == "string") {
    out.kind = Kind::text, out.spec.dtype = DType::str;
  } else if (is_one_of({"int", "float", "bool", "boolean"})) {
    out.kind = Kind::number;
    out.spec = {name == "int" ? DType::i64 : name == "float" ? DType::f64 : DType::boolean, {}};
  } else if (name == "tensor" || name == "numpy") {
    out.kind = name == "tensor" ? Kind::tensor : Kind::array, out.spec = {DType::u8, {kAny}};
  } else if (name == "pil") {
    out.kind = Kind::pixels, out.spec = {DType::u8, {kAny, kAny, kAny}};
  } else if (name == "pickle") {
    return Status(Code::unavailable, "has leaves that need unpickling, which runs code from the file");
  } else if (!is_one_of({"bytes", "jpeg", "file", "video", "tifffile", "tiff"})) {
    return Status(Code::unavailable, {.expected = "leaves of a known format", .got = in_quotes(format)});
  }
  return out;
}

// Names and nesting of the leaves, from {"type", "context", "children_spec"}.
class Tree {
 public:
  explicit Tree(Leaves& out) : out_(out) {}

  Status walk(const Value& node, const std::string& path) {
    const Value *type = node.find("type"), *children = node.find("children_spec");
    if (!node.object() || !type || !children || !children->list())
      return corrupt({.expected = "'type' and 'children_spec' in the tree of a sample",
                      .got = node.dump().substr(0, 60)});
    if (type->is_null()) {
      out_.structure += std::to_string(out_.names.size());
      out_.names.push_back(path.empty() ? "0" : path);
      return {};
    }
    const std::string name = type->text() ? *type->text() : type->dump();
    if (name == "builtins.dict" || name == "collections.OrderedDict")
      return walk_dict(*node.find("children_spec")->list(), node.find("context"), path);
    if (name == "builtins.tuple" || name == "builtins.list") return walk_list(*children->list(), path);
    return Status(Code::unavailable,
                  {.expected = "samples of dicts, tuples and lists", .got = in_quotes(name)});
  }

 private:
  static std::string below(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "/" + name;
  }

  Status walk_dict(const Value::List& children, const Value* context, const std::string& path) {
    const auto keys = context && context->text() ? Value::parse(*context->text())
                                                 : Result<Value>(context ? *context : Value());
    if (!keys.ok() || !keys->list() || keys->list()->size() != children.size())
      return corrupt("expected a key for each of " + std::to_string(children.size()) + " members of a dict");
    out_.structure += '{';
    for (size_t i = 0; i < children.size(); ++i) {
      const Value& key = (*keys->list())[i];
      const std::string name = key.text() ? *key.text() : key.dump();
      out_.structure += (i == 0 ? "" : ",") + Value(name).dump() + ":";
      HEADRACE_TRY(walk(children[i], below(path, name)));
    }
    out_.structure += '}';
    return {};
  }

  Status walk_list(const Value::List& children, const std::string& path) {
    out_.structure += '[';
    for (size_t i = 0; i < children.size(); ++i) {
      out_.structure += i == 0 ? "" : ",";
      HEADRACE_TRY(walk(children[i], below(path, std::to_string(i))));
    }
    out_.structure += ']';
    return {};
  }

  Leaves& out_;
};

// dtype, rank and dimensions of 32 bits; for tensors big-endian, little-endian in older files.
Result<ArrayHead> read_head(const Leaf& leaf, std::span<const std::byte> bytes) {
  if (leaf.kind == Kind::pixels) return read_pil_head(bytes);
  if (bytes.size() < 8)
    return corrupt({.expected = "a tensor", .got = std::to_string(bytes.size()) + " bytes"});
  const auto as_stored = [&](size_t i) { return load<uint32_t>(bytes, 4 * i); };
  const auto swapped = [&](size_t i) { return __builtin_bswap32(load<uint32_t>(bytes, 4 * i)); };
  const bool swap = leaf.kind == Kind::tensor && swapped(0) < kTorch.size() &&
                    swapped(1) <= static_cast<uint32_t>(kMaxRank);
  const auto number = [&](size_t i) { return swap ? swapped(i) : as_stored(i); };
  const uint64_t rank = number(1);
  if (rank > static_cast<uint64_t>(kMaxRank))
    return corrupt({.expected = "a tensor of at most 8 dimensions", .got = std::to_string(rank)});
  ArrayHead out;
  HEADRACE_ASSIGN(out.dtype, dtype_of(leaf.kind == Kind::tensor ? kTorch : kNumpy, number(0)));
  out.data = 8 + 4 * rank;
  if (out.data > bytes.size())
    return corrupt("expected " + std::to_string(rank) + " dimensions, but the leaf ends");
  std::vector<int64_t> dims;
  for (uint64_t i = 0; i < rank; ++i) dims.push_back(number(2 + i));
  out.shape = Shape(std::span<const int64_t>(dims));
  HEADRACE_TRY(check_array(out, bytes));
  return out;
}

Result<Tensor> read_leaf(const Leaf& leaf, const Record& value) {
  const auto bytes = value.bytes();
  const auto length = static_cast<int64_t>(bytes.size());
  const size_t each = size_of(leaf.spec.dtype);
  switch (leaf.kind) {
    case Kind::bytes:
    case Kind::text: return record_part(value, 0, leaf.spec.dtype, {length});
    case Kind::number:
      if (bytes.size() != each)
        return corrupt({.expected = std::to_string(each) + " bytes", .got = std::to_string(length)});
      return record_part(value, 0, leaf.spec.dtype, {});
    case Kind::row:
      if (bytes.size() % each != 0)
        return corrupt({.expected = "numbers of " + std::to_string(each) + " bytes",
                        .got = std::to_string(length) + " bytes"});
      return record_part(value, 0, leaf.spec.dtype, {length / static_cast<int64_t>(each)});
    case Kind::tensor:
    case Kind::array:
    case Kind::pixels: break;
  }
  HEADRACE_ASSIGN(const ArrayHead head, read_head(leaf, bytes));
  const TensorSpec spec{head.dtype, head.shape};
  if (!leaf.spec.admits(spec))
    return corrupt({.expected = leaf.spec.text() + " as in the first sample", .got = spec.text()});
  return record_part(value, head.data, head.dtype, head.shape);
}

// Calls `take(i, value)` for each leaf of a sample: a size for each, then their bytes.
template <class Take> Status each_leaf(const Leaves& leaves, const Record& sample, const Take& take) {
  const auto bytes = sample.bytes();
  uint64_t at = 4 * leaves.all.size();
  if (at > bytes.size())
    return corrupt(
        {.expected = "the sizes of leaves", .got = "a sample of " + std::to_string(bytes.size()) + " bytes"});
  for (size_t i = 0; i < leaves.all.size(); ++i) {
    const uint64_t size = load<uint32_t>(bytes, 4 * i);
    const std::string& name = leaves.names[i];
    if (size > bytes.size() - at)
      return corrupt("leaf " + in_quotes(name) + ": expected " + std::to_string(size) + " bytes, but only " +
                     std::to_string(bytes.size() - at) + " are left of the sample");
    HEADRACE_TRY(take(i, Record{sample.buffer, sample.offset + at, size})
                     .with({.field = std::string(name)})
                     .before("leaf " + in_quotes(name) + ": "));
    at += size;
  }
  if (at == bytes.size()) return {};
  return corrupt(
      {.expected = "a sample of " + std::to_string(at) + " bytes", .got = std::to_string(bytes.size())});
}

}  // namespace

Result<Leaves> Leaves::parse(const Value& formats, const Value& tree) {
  if (!formats.list() || formats.list()->empty()) return corrupt("expected a list 'data_format'");
  Leaves out;
  for (const Value& format : *formats.list()) {
    if (!format.text())
      return corrupt({.expected = "the formats of leaves as strings", .got = format.dump()});
    HEADRACE_ASSIGN(Leaf leaf, parse_leaf(*format.text()));
    out.all.push_back(std::move(leaf));
  }
  // A version, then the tree.
  HEADRACE_ASSIGN(const Value spec, tree.text() ? Value::parse(*tree.text()) : Result<Value>(tree));
  if (!spec.list() || spec.list()->size() != 2)
    return corrupt({.expected = "'data_spec' with a version and a tree", .got = spec.dump().substr(0, 60)});
  HEADRACE_TRY(Tree(out).walk((*spec.list())[1], ""));
  if (out.names.size() != out.all.size())
    return corrupt({.expected = "a tree of " + std::to_string(out.all.size()) + " leaves",
                    .got = std::to_string(out.names.size())});
  return out;
}

bool Leaves::depends_on_first() const { return std::ranges::any_of(all, &Leaf::depends_on_first); }

Schema Leaves::schema() const {
  Schema out{names, {}, structure};
  for (const Leaf& leaf : all) out.specs.push_back(leaf.spec);
  return out;
}

Status Leaves::learn_from(const Record& first) {
  return each_leaf(*this, first, [&](size_t i, const Record& value) -> Status {
    Leaf& leaf = all[i];
    if (!leaf.depends_on_first()) return {};
    HEADRACE_ASSIGN(const ArrayHead head, read_head(leaf, value.bytes()));
    leaf.spec.dtype = head.dtype;
    std::vector<int64_t> dims(static_cast<size_t>(head.shape.rank()), kAny);
    if (leaf.kind == Kind::pixels) dims[2] = head.shape[2];
    leaf.spec.shape = Shape(std::span<const int64_t>(dims));
    return {};
  });
}

std::string Leaves::learned() const {
  std::vector<TensorSpec> specs;
  for (const Leaf& leaf : all)
    if (leaf.depends_on_first()) specs.push_back(leaf.spec);
  return pack_specs(specs);
}

Status Leaves::take_learned(std::string_view text) {
  HEADRACE_ASSIGN(const std::vector<TensorSpec> specs, unpack_specs(text));
  size_t i = 0;
  for (Leaf& leaf : all) {
    if (!leaf.depends_on_first()) continue;
    if (i == specs.size()) return internal_error("expected the kept spec of each leaf");
    leaf.spec = specs[i++];
  }
  return {};
}

Status Leaves::read(const Record& sample, std::vector<Tensor>& fields) const {
  fields.resize(all.size());
  return each_leaf(*this, sample, [&](size_t i, const Record& value) -> Status {
    HEADRACE_ASSIGN(fields[i], read_leaf(all[i], value));
    return {};
  });
}

}  // namespace headrace::litdata
