#include "headrace/formats/hdf5/datatype.h"

#include <bit>
#include <utility>

namespace headrace::hdf5 {
namespace {

constexpr int kMostTypeDepth = 16;
constexpr size_t kMostLeaves = 4096;

struct Head {
  int type = 0, version = 0;
  uint32_t bits = 0, size = 0;
  bool bit(int i) const { return (bits >> i & 1) != 0; }
};

Head read_head(Cursor& cursor) {
  Head out;
  const uint8_t first = cursor.u8();
  out.type = first & 15, out.version = first >> 4;
  out.bits = static_cast<uint32_t>(cursor.number(3));
  out.size = cursor.u32();
  return out;
}

Leaf refused(const Head& head, Status why) {
  Leaf out;
  out.bytes = head.size;
  out.item = {static_cast<int64_t>(head.size)};
  out.refusal = std::move(why);
  return out;
}

Leaf number_leaf(const Head& head, DType dtype) {
  Leaf out;
  out.bytes = head.size, out.dtype = dtype;
  out.swaps = head.bit(0) && head.size > 1;
  return out;
}

// Integers and bit fields.
Leaf read_integer(Cursor& cursor, const Head& head, bool is_signed) {
  const uint16_t offset = cursor.u16(), precision = cursor.u16();
  if (offset != 0 || precision != 8 * head.size || head.size > 8 || !std::has_single_bit(head.size))
    return refused(head, not_read("integers of " + std::to_string(precision) + " bits in " +
                                  std::to_string(head.size) + " bytes"));
  const int width = std::countr_zero(head.size);
  constexpr DType unsigned_types[] = {DType::u8, DType::u16, DType::u32, DType::u64};
  constexpr DType signed_types[] = {DType::i8, DType::i16, DType::i32, DType::i64};
  return number_leaf(head, (is_signed ? signed_types : unsigned_types)[width]);
}

Leaf read_float(Cursor& cursor, const Head& head) {
  struct Layout {
    uint32_t size, exponent_at, exponent, mantissa, bias;
    DType dtype;
  };
  constexpr Layout known[] = {{2, 10, 5, 10, 15, DType::f16},
                              {2, 7, 8, 7, 127, DType::bf16},
                              {4, 23, 8, 23, 127, DType::f32},
                              {8, 52, 11, 52, 1023, DType::f64}};
  const uint16_t offset = cursor.u16(), precision = cursor.u16();
  const uint8_t exponent_at = cursor.u8(), exponent = cursor.u8(), mantissa_at = cursor.u8(),
                mantissa = cursor.u8();
  const uint32_t bias = cursor.u32();
  const uint32_t sign_at = head.bits >> 8 & 255, normalised = head.bits >> 4 & 3;
  for (const Layout& layout : known)
    if (head.size == layout.size && offset == 0 && precision == 8 * layout.size && mantissa_at == 0 &&
        exponent_at == layout.exponent_at && exponent == layout.exponent && mantissa == layout.mantissa &&
        bias == layout.bias && sign_at == 8 * layout.size - 1 && normalised == 2 && !head.bit(6))
      return number_leaf(head, layout.dtype);
  return refused(head, not_read("floats of " + std::to_string(head.size) + " bytes that are not IEEE 754"));
}

Leaf read_text(const Head& head) {
  Leaf out;
  out.bytes = head.size, out.form = Form::text, out.dtype = DType::str;
  out.padding = static_cast<uint8_t>(head.bits & 15);
  return out;
}

Leaf read_opaque(Cursor& cursor, const Head& head) {
  cursor.skip(head.bits & 255);  // a description
  Leaf out;
  out.bytes = head.size;
  out.item = {static_cast<int64_t>(head.size)};
  return out;
}

std::string_view read_name(Cursor& cursor, const Head& head) {
  const size_t begin = cursor.position();
  const std::string_view name = cursor.text_to_nul();
  if (head.version < 3) cursor.align(8, begin);
  return name;
}

Result<Datatype> read_type(Cursor& cursor, int depth);

// The single leaf that can be the element of a sequence or an array, or null.
const Leaf* simple(const Datatype& type) {
  if (type.leaves.size() != 1) return nullptr;
  const Leaf& leaf = type.leaves[0];
  return leaf.name.empty() && leaf.refusal.ok() && !leaf.is_vlen() && leaf.form != Form::text ? &leaf
                                                                                              : nullptr;
}

// "enum(cat 0, dog 1)", for integers that are little- or big-endian.
class EnumText {
 public:
  explicit EnumText(uint32_t count) : names_(count) {}
  std::string_view name(uint32_t i, std::string_view name) { return names_[i] = name; }
  void value(uint32_t i, std::span<const std::byte> bytes, bool swaps) {
    text_ += (i == 0 ? "" : ", ") + std::string(names_[i]) + " ";
    uint64_t number = 0;
    for (size_t k = 0; k < std::min<size_t>(bytes.size(), 8); ++k)
      number |= std::to_integer<uint64_t>(bytes[swaps ? bytes.size() - 1 - k : k]) << (8 * k);
    text_ += std::to_string(number);
  }
  std::string text() && { return "enum(" + std::move(text_) + ")"; }

 private:
  std::vector<std::string_view> names_;  // in the message
  std::string text_;
};

// Enums read as their integers, except FALSE and TRUE in a byte, which h5py writes for booleans.
Result<Leaf> read_enum(Cursor& cursor, const Head& head, int depth) {
  HEADRACE_ASSIGN(const Datatype base, read_type(cursor, depth + 1));
  const uint32_t count = head.bits & 0xffff;
  bool is_boolean = count == 2 && base.element == 1;
  const Leaf* leaf = simple(base);
  EnumText members(count);
  for (uint32_t i = 0; i < count && cursor.ok(); ++i)
    is_boolean &= members.name(i, read_name(cursor, head)) == (i == 0 ? "FALSE" : "TRUE");
  for (uint32_t i = 0; i < count && cursor.ok(); ++i) {
    const auto value = cursor.take(base.element);
    is_boolean &= value.size() == 1 && std::to_integer<uint32_t>(value[0]) == i;
    members.value(i, value, leaf && leaf->swaps);
  }
  if (!leaf || base.element != head.size)
    return refused(head, not_read("enums of types other than integers"));
  Leaf out = *leaf;
  if (is_boolean)
    out.form = Form::boolean, out.dtype = DType::boolean;
  else
    out.members = std::move(members).text();
  return out;
}

Result<Leaf> read_vlen(Cursor& cursor, const Head& head, int depth) {
  HEADRACE_ASSIGN(const Datatype base, read_type(cursor, depth + 1));
  if (head.size != 8u + static_cast<uint32_t>(cursor.sizes().address))
    return corrupt({.expected = "references of " + std::to_string(8 + cursor.sizes().address) + " bytes",
                    .got = std::to_string(head.size)});
  Leaf out;
  out.bytes = head.size;
  if ((head.bits & 15) == 1) {
    out.form = Form::string, out.dtype = DType::str;
    return out;
  }
  const Leaf* leaf = simple(base);
  if (!leaf)
    return refused(head,
                   not_read("variable-length sequences of values other than numbers or arrays of numbers"));
  out.form = Form::sequence, out.dtype = leaf->dtype, out.swaps = leaf->swaps, out.item = leaf->item;
  if (out.dtype == DType::u8 && out.item.empty()) out.dtype = DType::bytes;
  return out;
}

Result<Leaf> as_array(Datatype base, const std::vector<int64_t>& dims, const Head& head) {
  const Leaf* leaf = simple(base);
  if (!leaf) return refused(head, not_read("arrays of values other than numbers"));
  Leaf out = *leaf;
  out.item = dims;
  out.item.insert(out.item.end(), leaf->item.begin(), leaf->item.end());
  out.bytes = head.size;
  if (out.item.size() > static_cast<size_t>(kMaxRank))
    return refused(head, not_read("arrays of more than 8 dimensions"));
  return out;
}

Result<Leaf> read_array(Cursor& cursor, const Head& head, int depth) {
  const uint8_t rank = cursor.u8();
  if (head.version < 3) cursor.skip(3);
  std::vector<int64_t> dims;
  for (int i = 0; i < rank && cursor.ok(); ++i) dims.push_back(cursor.u32());
  if (head.version < 3) cursor.skip(size_t{4} * rank);
  HEADRACE_ASSIGN(Datatype base, read_type(cursor, depth + 1));
  return as_array(std::move(base), dims, head);
}

// Dimensions of a member, which version 1 stores in the member, later versions in an array type.
std::vector<int64_t> read_old_dimensions(Cursor& cursor) {
  const uint8_t rank = cursor.u8();
  cursor.skip(3 + 4 + 4);
  std::vector<int64_t> dims;
  for (int i = 0; i < 4; ++i)
    if (const uint32_t dim = cursor.u32(); i < rank) dims.push_back(dim);
  return dims;
}

Status read_members(Cursor& cursor, const Head& head, int depth, std::vector<Leaf>& leaves) {
  const uint32_t count = head.bits & 0xffff;
  for (uint32_t i = 0; i < count; ++i) {
    const std::string name(read_name(cursor, head));
    const int offset_bytes = head.version < 3 ? 4 : (static_cast<int>(std::bit_width(head.size)) + 7) / 8;
    const uint64_t offset = cursor.number(offset_bytes);
    std::vector<int64_t> dims;
    if (head.version == 1) dims = read_old_dimensions(cursor);
    HEADRACE_ASSIGN(Datatype member, read_type(cursor, depth + 1));
    if (!dims.empty()) {
      Head whole;
      whole.size = static_cast<uint32_t>(member.element);
      for (const int64_t dim : dims) whole.size *= static_cast<uint32_t>(dim);
      HEADRACE_ASSIGN(Leaf leaf, as_array(std::move(member), dims, whole));
      member.leaves = {std::move(leaf)};
    }
    for (Leaf& leaf : member.leaves) {
      leaf.name = leaf.name.empty() ? name : name + "/" + leaf.name;
      leaf.offset += offset;
      leaves.push_back(std::move(leaf));
    }
    if (leaves.size() > kMostLeaves)
      return {Code::exhausted, "expected at most " + std::to_string(kMostLeaves) + " members"};
  }
  return {};
}

Result<Leaf> read_simple(Cursor& cursor, const Head& head, int depth) {
  switch (head.type) {
    case 0: return read_integer(cursor, head, head.bit(3));
    case 1: return read_float(cursor, head);
    case 2: cursor.skip(2); return refused(head, not_read("times"));
    case 3: return read_text(head);
    case 4: return read_integer(cursor, head, false);
    case 5: return read_opaque(cursor, head);
    case 7: return refused(head, not_read("references"));
    case 8: return read_enum(cursor, head, depth);
    case 9: return read_vlen(cursor, head, depth);
    case 10: return read_array(cursor, head, depth);
    case 11: {
      HEADRACE_ASSIGN(const Datatype part, read_type(cursor, depth + 1));
      (void)part;  // read to find the next member
      return refused(head, not_read("complex numbers"));
    }
    default: return not_read("datatypes of class " + std::to_string(head.type));
  }
}

Result<Datatype> read_type(Cursor& cursor, int depth) {
  if (depth > kMostTypeDepth) return corrupt("expected datatypes nested at most 16 deep");
  const Head head = read_head(cursor);
  HEADRACE_TRY(cursor.check("a datatype"));
  if (head.version < 1 || head.version > 5)
    return not_read("version " + std::to_string(head.version) + " of datatypes");
  if (head.size == 0) return corrupt("expected a datatype of at least one byte");
  Datatype out;
  out.element = head.size;
  if (head.type == 6) {
    HEADRACE_TRY(read_members(cursor, head, depth, out.leaves));
  } else {
    HEADRACE_ASSIGN(Leaf leaf, read_simple(cursor, head, depth));
    out.leaves.push_back(std::move(leaf));
  }
  HEADRACE_TRY(cursor.check("a datatype"));
  return out;
}

}  // namespace

Result<Datatype> read_datatype(Cursor& cursor) { return read_type(cursor, 0); }

}  // namespace headrace::hdf5
