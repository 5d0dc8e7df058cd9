#include "headrace/formats/strings/utf8_strings.h"

#include <algorithm>
#include <set>

#include "headrace/core/little_endian.h"
#include "headrace/core/row_list.h"
#include "headrace/core/text/hex.h"
#include "headrace/core/text/text.h"
#include "headrace/core/text/utf8.h"
#include "headrace/formats/columns.h"
#include "headrace/formats/put_each.h"
#include "headrace/formats/wrapped_source.h"
#include "headrace/kernels/is_utf8.h"

namespace headrace {
namespace {

constexpr size_t kLong = 64;  // bytes: longer strings are checked by the vectorised kernel

bool is_valid(std::string_view text) {
  if (text.size() < kLong) return utf8_prefix(text) == text.size();
  return kernels::is_utf8(reinterpret_cast<const uint8_t*>(text.data()), static_cast<int64_t>(text.size()));
}

bool continues_character(char first) { return (static_cast<unsigned char>(first) & 0xC0) == 0x80; }

std::string_view characters(Text bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The neighbourhood of byte `at`, in quotes; bytes that are not ASCII as \xe9.
std::string excerpt(std::string_view text, size_t at) {
  constexpr size_t kAround = 16;
  const size_t begin = at - std::min(at, kAround), end = std::min(text.size(), at + kAround);
  std::string out = begin > 0 ? "'…" : "'";
  for (const char c : text.substr(begin, end - begin)) {
    if (c >= 0x20 && c < 0x7F)
      out += c;
    else
      out += "\\x" + hex_of(std::byte(c));
  }
  return out + (end < text.size() ? "…'" : "'");
}

// REQUIRES: the string is not UTF-8, or byte `at` begins one of a list inside a character.
std::string expected_utf8(std::string_view text, size_t at) {
  std::string got = "0x";
  got += hex_of(std::byte(text[at]));
  return "expected UTF-8, got byte " + got + " at position " + std::to_string(at) + " of " +
         excerpt(text, at);
}

Status not_utf8(std::string_view text, size_t at, const std::string& which, std::string_view cure) {
  return corrupt(which + ": " + expected_utf8(text, at) + std::string(cure));
}

Status check_string(std::string_view text, const std::string& name, std::string_view cure) {
  if (is_valid(text)) return {};
  const size_t at = utf8_prefix(text);
  if (at == text.size()) return {};  // a mapped file that was changed meanwhile
  return not_utf8(text, at, "field " + in_quotes(name), cure);
}

// The strings of a list, which `lengths` cut out of `all`.
template <class Take> void for_each_string(std::string_view all, const View& lengths, const Take& take) {
  if (lengths.dtype != DType::i64) return take(all);
  for (int64_t i = 0; i < lengths.shape.count(); ++i) {
    const auto length = load_once<int64_t>(lengths.bytes(), static_cast<size_t>(i) * sizeof(int64_t));
    take(all.substr(0, static_cast<size_t>(std::max<int64_t>(length, 0))));
    all.remove_prefix(std::min(all.size(), static_cast<size_t>(std::max<int64_t>(length, 0))));
  }
  if (!all.empty()) take(all);
}

// Whether the lengths of strings add up to their bytes; writers say what is wrong if not.
bool add_up(size_t size, const View& lengths) {
  uint64_t left = size;
  for (int64_t i = 0; lengths.dtype == DType::i64 && i < lengths.shape.count(); ++i) {
    const auto length = load_once<int64_t>(lengths.bytes(), static_cast<size_t>(i) * sizeof(int64_t));
    if (length < 0 || static_cast<uint64_t>(length) > left) return false;
    left -= static_cast<uint64_t>(length);
  }
  return left == 0;
}

// Whether a string of a list ends inside a character: two halves of one are good side by side only. REQUIRES:
// all strings together are UTF-8.
bool cuts_a_character(std::string_view all, const View& lengths) {
  bool is_cut = false;
  for_each_string(all, lengths, [&](std::string_view one) {
    is_cut = is_cut || (!one.empty() && continues_character(one[0]));
  });
  return is_cut && add_up(all.size(), lengths);
}

Status check_list(std::string_view all, const View& lengths, const std::string& name, std::string_view cure) {
  const bool is_whole = is_valid(all);
  if (is_whole && !cuts_a_character(all, lengths)) return {};
  const std::string end = (is_whole ? "; lengths count bytes, not characters" : "") + std::string(cure);
  Status out;
  size_t i = 0;
  for_each_string(all, lengths, [&](std::string_view one) {
    const size_t at = out.ok() ? utf8_prefix(one) : one.size();
    if (at < one.size())
      out = not_utf8(one, at, "field " + in_quotes(name) + ", string " + std::to_string(i), end);
    ++i;
  });
  return out;
}

Status check_field(const StringFields::Field& field, const Tensor& value, const Tensor* lengths,
                   std::string_view cure) {
  if (value.is_ragged()) {
    for (size_t i = 0; i < value.rows->size(); ++i)
      HEADRACE_TRY(check_string(characters(value.rows->bytes(i)), field.name, cure));
    return {};
  }
  const std::string_view text = characters(value.view().bytes());
  return lengths ? check_list(text, lengths->view(), field.name, cure) : check_string(text, field.name, cure);
}

// A list's lengths are those of the converted strings.
void convert_field(const StringFields::Field& field, std::vector<Tensor>& fields) {
  Tensor& value = fields[field.at];
  const std::string_view text = characters(value.view().bytes());
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (value.is_ragged() || std::ranges::all_of(text, is_ascii)) return;
  std::string all;
  if (!field.is_list) {
    all = utf8_of_latin1(text);
  } else {
    std::vector<int64_t> lengths;
    for_each_string(text, fields[field.at + 1].view(), [&](std::string_view one) {
      const size_t before = all.size();
      all += utf8_of_latin1(one);
      lengths.push_back(static_cast<int64_t>(all.size() - before));
    });
    fields[field.at + 1] = make_tensor({DType::i64,
                                        {static_cast<int64_t>(lengths.size())},
                                        reinterpret_cast<const std::byte*>(lengths.data())});
  }
  value = text_tensor(all, DType::str);
}

// What a source's blocks share.
struct Strings {
  Encoding encoding;
  std::string cure;
  Schema inner;         // of the format
  Schema outer;         // of its fields as they are handed out
  StringFields fields;  // of both

  Strings(const Schema& schema, Encoding how, std::string end)
      : encoding(how), cure(std::move(end)), inner(schema), outer(schema), fields(schema) {
    if (how != Encoding::bytes) return;
    for (const StringFields::Field& field : fields.fields()) outer.specs[field.at].dtype = DType::bytes;
  }

  Status take(std::vector<Tensor>& values) const {
    if (encoding == Encoding::utf8) return fields.check(values, cure);
    for (const StringFields::Field& field : fields.fields())
      if (encoding == Encoding::bytes)
        values[field.at].dtype = DType::bytes;
      else
        convert_field(field, values);
    return {};
  }
};
using StringsPtr = std::shared_ptr<const Strings>;

// Memory of put_checked(), kept by each thread: rows are often put one by one.
struct PutMemory {
  std::vector<FieldPlace> places;
  std::vector<TextRows> rows;
  std::vector<std::vector<Text>> texts;        // by string field
  std::vector<std::vector<TextOwner>> owners;  // the same
};

// Rows that `put(places)` puts. Strings are put aside first, so that rows behind one that is not UTF-8 are
// not touched.
template <class Put>
size_t put_checked(const Strings& strings, size_t num_rows, std::span<const FieldPlace> to, const Put& put) {
  static thread_local PutMemory memory;  // no block is inside another one
  const std::vector<StringFields::Field>& fields = strings.fields.fields();
  std::vector<FieldPlace>& places = memory.places;
  places.assign(to.begin(), to.end());
  for (size_t f = 0; f < places.size(); ++f) places[f].spec = &strings.inner.specs[f];
  if (strings.encoding == Encoding::bytes) {
    const size_t n = put(places);
    for (const StringFields::Field& field : fields)
      for (size_t i = 0; to[field.at].tensors && i < n; ++i) to[field.at].tensors[i].dtype = DType::bytes;
    return n;
  }
  memory.rows.clear();
  memory.rows.reserve(fields.size());
  memory.texts.resize(std::max(memory.texts.size(), fields.size()));
  memory.owners.resize(memory.texts.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!places[fields[i].at].texts) continue;
    memory.texts[i].assign(num_rows, Text());
    memory.owners[i].clear();
    places[fields[i].at].texts = &memory.rows.emplace_back(memory.texts[i].data(), 0, memory.owners[i]);
  }
  size_t n = put(places);
  for (size_t i = 0; i < fields.size(); ++i) {
    const FieldPlace& place = to[fields[i].at];
    if (place.texts) {
      n = num_utf8(std::span(memory.texts[i]).first(n), memory.owners[i].size() == 1);
      const Tensor* const lengths = fields[i].is_list ? to[fields[i].at + 1].tensors : nullptr;
      for (size_t row = 0; lengths && row < n; ++row)
        if (cuts_a_character(characters(memory.texts[i][row]), lengths[row].view())) n = row;
    } else if (place.tensors) {
      const Tensor* const lengths = fields[i].is_list ? to[fields[i].at + 1].tensors : nullptr;
      const auto is_good = [&](size_t row) {
        return check_field(fields[i], place.tensors[row], lengths ? lengths + row : nullptr, {}).ok();
      };
      for (size_t row = 0; row < n; ++row)
        if (!is_good(row)) n = row;
    }
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!to[fields[i].at].texts) continue;
    const std::vector<TextOwner>& owners = memory.owners[i];
    for (size_t row = 0, owner = 0; row < n && !owners.empty(); ++row) {
      while (owner + 1 < owners.size() && owners[owner + 1].first <= row) ++owner;
      to[fields[i].at].texts->set(row, owners[owner].buffer, memory.texts[i][row]);
    }
    memory.owners[i].clear();  // they hold buffers
  }
  return n;
}

class Utf8Block final : public Block {
 public:
  Utf8Block(BlockPtr block, StringsPtr strings) : block_(std::move(block)), strings_(std::move(strings)) {}

  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    HEADRACE_TRY(block_->get(row, fields));
    return strings_->take(fields);
  }
  bool is_null(uint64_t row, int field) const override { return block_->is_null(row, field); }
  size_t held_bytes() const override { return block_->held_bytes(); }
  bool gather(std::span<const uint64_t> rows, int field, std::byte* out) const override {
    return block_->gather(rows, field, out);
  }
  bool append(std::span<const uint64_t> rows, int field, std::vector<Tensor>& out) const override {
    const auto is_it = [&](const StringFields::Field& one) {
      return static_cast<int>(one.at) == field || (one.is_list && static_cast<int>(one.at) + 1 == field);
    };
    return std::ranges::none_of(strings_->fields.fields(), is_it) && block_->append(rows, field, out);
  }
  size_t put(std::span<const uint64_t> rows, std::span<const FieldPlace> to) const override {
    if (strings_->encoding == Encoding::latin1) return put_each(*this, rows, to);
    return put_checked(*strings_, rows.size(), to,
                       [&](std::span<const FieldPlace> places) { return block_->put(rows, places); });
  }

 private:
  const BlockPtr block_;
  const StringsPtr strings_;
};

class Utf8Source final : public WrappedSource {
 public:
  Utf8Source(SourcePtr source, StringsPtr strings)
      : WrappedSource(std::move(source)), strings_(std::move(strings)) {}

  const Schema& schema() const override { return strings_->outer; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    return wrapped_block(source_->open(block), [strings = strings_](BlockPtr inner) {
      return std::make_shared<Utf8Block>(std::move(inner), strings);
    });
  }
  bool extents(std::span<const uint64_t> indices, std::span<Extent> out) const override {
    return source_->extents(indices, out);
  }
  BlockPtr together(std::vector<uint64_t> indices, std::vector<size_t> at, BufferPtr bytes) const override {
    return checked(source_->together(std::move(indices), std::move(at), std::move(bytes)));
  }
  size_t put_mapped(std::span<const uint64_t> indices, MappedBytes& mapped,
                    std::span<const FieldPlace> to) const override {
    if (strings_->encoding == Encoding::latin1) return 0;
    return put_checked(*strings_, indices.size(), to, [&](std::span<const FieldPlace> places) {
      return source_->put_mapped(indices, mapped, places);
    });
  }
  Made make(std::span<const uint64_t> indices) const override {
    Made out = source_->make(indices);
    out.block = checked(std::move(out.block));
    return out;
  }
  std::string fingerprint() const override {
    if (strings_->encoding == Encoding::utf8) return source_->fingerprint();
    return hash_text(source_->fingerprint() +
                     (strings_->encoding == Encoding::latin1 ? " latin-1" : " bytes"));
  }
  SourcePtr with_fields(std::span<const int> fields) const override {
    SourcePtr part = source_->with_fields(fields);
    return part ? with_utf8_strings(std::move(part), strings_->encoding, strings_->cure) : nullptr;
  }
  bool resident() const override { return source_->resident(); }

 private:
  BlockPtr checked(BlockPtr block) const {
    return block ? std::make_shared<Utf8Block>(std::move(block), strings_) : nullptr;
  }

  const StringsPtr strings_;
};

std::set<std::string, std::less<>>& own_checks() {
  static std::set<std::string, std::less<>> all;
  return all;
}

}  // namespace

std::string shown_bytes(std::string_view text) {
  const size_t at = utf8_prefix(text);
  return at == text.size() ? Value(std::string(text)).dump() : excerpt(text, at);
}

std::string expected_utf8(std::string_view text) { return expected_utf8(text, utf8_prefix(text)); }

OptionInfo encoding_option() {
  return {"encoding", "Literal[\"utf-8\", \"latin-1\", \"bytes\"]",
          "How strings are stored. \"utf-8\": a string that is not UTF-8 is an error of its sample, see "
          "`on_error`; \"latin-1\": strings are converted; \"bytes\": fields of strings are bytes, as they "
          "are.",
          "utf-8"};
}

Result<Encoding> encoding_of(const GivenOptions& given) {
  HEADRACE_ASSIGN(const std::string name, given.text("encoding", "utf-8"));
  if (name == "utf-8") return Encoding::utf8;
  if (name == "latin-1") return Encoding::latin1;
  if (name == "bytes") return Encoding::bytes;
  return invalid("encoding must be \"utf-8\", \"latin-1\" or \"bytes\", got " + in_quotes(name) +
                 "; for another encoding, read \"bytes\" and decode them in Python");
}

StringFields::StringFields(const Schema& schema) {
  for (const FieldColumn& column : columns_of(schema.names, schema.specs))
    if (column.spec.dtype == DType::str) fields_.push_back({column.field, column.name, column.is_texts});
}

Status StringFields::check(std::span<const Tensor> fields, std::string_view cure) const {
  for (const Field& field : fields_) {
    if (field.at + field.is_list >= fields.size()) break;
    HEADRACE_TRY(check_field(field, fields[field.at], field.is_list ? &fields[field.at + 1] : nullptr, cure));
  }
  return {};
}

std::string utf8_of_latin1(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) out += static_cast<char>(0xC0 | byte >> 6);
    out += static_cast<char>(byte < 0x80 ? byte : 0x80 | (byte & 0x3F));
  }
  return out;
}

size_t num_utf8(std::span<const Text> texts, bool in_one_buffer) {
  constexpr uintptr_t kBetween = 4;  // bytes between neighbours: line ends, delimiters, small lengths
  for (size_t n = 0, next = 0; n < texts.size(); n = next) {
    // Neighbours in memory are checked together.
    const char* const begin = characters(texts[n]).data();
    size_t size = texts[n].size();
    bool are_whole = true;  // each begins with a character
    for (next = n + 1; next < texts.size(); ++next) {
      const std::string_view text = characters(texts[next]);
      if (text.empty()) continue;
      const uintptr_t gap =
          reinterpret_cast<uintptr_t>(text.data()) - reinterpret_cast<uintptr_t>(begin + size);
      if (gap > (in_one_buffer ? kBetween : 0)) break;
      const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
      if (gap > 0 && !std::ranges::all_of(std::string_view(begin + size, gap), is_ascii)) break;
      are_whole = are_whole && !continues_character(text[0]);
      size += gap + text.size();
    }
    if (are_whole && is_valid({begin, size})) continue;
    for (; n < next; ++n)
      if (!is_valid(characters(texts[n]))) return n;
  }
  return texts.size();
}

SourcePtr with_utf8_strings(SourcePtr source, Encoding encoding, std::string cure) {
  auto strings = std::make_shared<const Strings>(source->schema(), encoding, std::move(cure));
  if (strings->fields.empty()) return source;
  return std::make_shared<Utf8Source>(std::move(source), std::move(strings));
}

ChecksItsStrings::ChecksItsStrings(std::string_view format) { own_checks().emplace(format); }

bool checks_its_strings(std::string_view format) { return own_checks().contains(format); }

}  // namespace headrace
