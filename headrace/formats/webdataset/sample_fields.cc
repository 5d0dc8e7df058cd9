#include "headrace/formats/webdataset/sample_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>

#include "headrace/codecs/npy.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/strings/utf8_strings.h"
#include "headrace/formats/webdataset/sample_name.h"
#include "headrace/formats/webdataset/tar_head.h"

namespace headrace {
namespace {

constexpr size_t kShown = 40;
constexpr size_t kNumberAlign = 8;  // of an array, after a header whose length is a multiple of it

bool is_number(std::string_view suffix) {
  return ends_as(suffix, std::array<std::string_view, 5>{"cls", "cls2", "id", "index", "inx"});
}

bool is_text_suffix(std::string_view suffix) {
  return ends_as(suffix, std::array<std::string_view, 5>{"txt", "text", "transcript", "json", "jsn"});
}

SampleFields::Kind kind_of(std::string_view name, bool decode) {
  if (name == kSampleKey) return SampleFields::Kind::key;
  return decode ? member_kind(name) : SampleFields::Kind::bytes;
}

std::string shown(const TensorSpec& spec) {
  return std::string(dtype_name(spec.dtype)) + " of rank " + std::to_string(spec.shape.rank());
}

// `file`: the member's bytes.
Result<Tensor> array_of(const Tensor& file, const TensorSpec& wanted, std::string_view suffix) {
  HEADRACE_ASSIGN(Tensor array, read_array(file, suffix));
  const TensorSpec spec = array.view().spec();
  if (spec.dtype != wanted.dtype || spec.shape.rank() != wanted.shape.rank())
    return corrupt({.expected = shown(wanted) + " as in the first sample", .got = shown(spec)})
        .of_field(suffix);
  return array;
}

// Iterates over the members in a sample's bytes.
class Members {
 public:
  explicit Members(std::span<const std::byte> bytes) : bytes_(bytes) {}

  struct Member {
    MemberName name;
    size_t offset = 0, size = 0;  // of its data
    bool is_joined = false;       // its name is not in the bytes, and lives until the next call
  };
  // Nothing when there are no more. Skips what is not a member of a sample.
  Result<std::optional<Member>> next() {
    while (at_ < bytes_.size()) {
      HEADRACE_ASSIGN(const TarHead head, read_tar_head(bytes_.subspan(at_), bytes_.size() - at_, joined_));
      if (!head.cut.ok()) return head.cut;
      if (head.is_end || head.needed > 0)
        return corrupt(
            {.expected = "a sample of " + std::to_string(bytes_.size()) + " bytes as when it was indexed",
             .got = "the end of the archive after " + std::to_string(at_) + " bytes"});
      const size_t data = at_ + head.data;
      at_ += std::min<uint64_t>(head.next(), bytes_.size() - at_);
      const auto name = head.is_file ? sample_name(head.name) : std::nullopt;
      if (name) return std::optional(Member{*name, data, head.size, head.name.data() == joined_.data()});
    }
    return std::optional<Member>();
  }

 private:
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  std::string joined_;
};

// For messages.
std::string suffixes_of(std::span<const std::byte> bytes) {
  Members members(bytes);
  std::string out;
  for (auto member = members.next(); member.ok() && *member; member = members.next())
    out += (out.empty() ? "" : ", ") + in_quotes(lower_case((**member).name.suffix));
  return out;
}

std::string advice(const SampleFields& wanted, const std::string& name) {
  if (!wanted.may_be_missing) return "; missing=\"empty\" gives empty bytes";
  return "; a number or array cannot be empty: decode=False reads bytes for " + in_quotes(name);
}

// Positions of a sample's fields in its bytes; used for one sample after the other.
class Places {
 public:
  explicit Places(const SampleFields& wanted) : wanted_(wanted), places_(wanted.names.size()) {}

  Status find(std::span<const std::byte> bytes) {
    bytes_ = bytes;
    places_.assign(places_.size(), Place{});
    is_key_joined_ = false;
    bool began = false;
    Members members(bytes);
    while (true) {
      HEADRACE_ASSIGN(const auto member, members.next());
      if (!member) break;
      if (!began) begin(*member);
      began = true;
      HEADRACE_TRY(take(*member));
    }
    if (!began) return corrupt({.expected = "members of a sample as when it was indexed", .got = "none"});
    for (size_t i = 0; i < places_.size(); ++i)
      if (!places_[i].is_there) HEADRACE_TRY(miss(i));
    return {};
  }

  Text bytes(size_t field) const { return bytes_.subspan(places_[field].offset, places_[field].size); }
  std::string_view text(size_t field) const {
    return {reinterpret_cast<const char*>(bytes(field).data()), places_[field].size};
  }
  // The key, if the bytes only have it in two parts.
  const std::string* joined_key(size_t field) const {
    return is_key_joined_ && wanted_.fields[field].kind == SampleFields::Kind::key ? &key_ : nullptr;
  }

 private:
  struct Place {
    size_t offset = 0, size = 0;
    bool is_there = false;
  };

  void begin(const Members::Member& first) {
    key_ = first.name.key;
    is_key_joined_ = first.is_joined;
    const auto* key = reinterpret_cast<const std::byte*>(first.name.key.data());
    for (size_t i = 0; i < places_.size(); ++i) {
      if (wanted_.names[i] != kSampleKey) continue;
      places_[i].is_there = true;
      if (!is_key_joined_)
        places_[i].offset = static_cast<size_t>(key - bytes_.data()), places_[i].size = key_.size();
    }
  }

  Status take(const Members::Member& member) {
    if (key_ != member.name.key)
      return corrupt({.expected = "members of the sample " + in_quotes(key_) + " as when it was indexed",
                      .got = "one of " + in_quotes(member.name.key)});
    for (size_t i = 0; i < places_.size(); ++i) {
      if (!is_suffix(member.name.suffix, wanted_.names[i])) continue;
      if (wanted_.fields[i].kind == SampleFields::Kind::key) break;
      if (places_[i].is_there)
        return corrupt("the sample " + in_quotes(key_) + " has " + in_quotes(wanted_.names[i]) + " twice");
      places_[i] = {member.offset, member.size, true};
      break;
    }
    return {};
  }

  // A missing field: empty where it may be, else an error.
  Status miss(size_t field) const {
    if (wanted_.may_be_missing && is_text(wanted_.fields[field].spec.dtype)) return {};
    return corrupt("the sample " + in_quotes(key_) + " has no " + in_quotes(wanted_.names[field]) +
                   ", it has " + suffixes_of(bytes_) + advice(wanted_, wanted_.names[field]) +
                   (wanted_.has_links ? "; members that are links are left out" : ""));
  }

  const SampleFields& wanted_;
  std::span<const std::byte> bytes_;
  std::vector<Place> places_;
  std::string key_;
  bool is_key_joined_ = false;
};

// `hold(bytes, align, may_stay)` gives a member's bytes in a buffer that its field may share, aligned if they
// are copied; or nothing. `may_stay`: large ones may stay in the file if it is mapped.
template <class Hold>
Result<Tensor> value_of(const SampleFields& wanted, const Places& places, size_t field, Hold&& hold) {
  if (const std::string* key = places.joined_key(field)) return text_tensor(*key);
  const SampleFields::Field& as = wanted.fields[field];
  if (as.kind == SampleFields::Kind::number)
    return read_whole_number(places.text(field), wanted.names[field]);
  const bool is_array = as.kind == SampleFields::Kind::array;
  const std::optional<MappedBytes::Kept> held = hold(places.bytes(field), is_array ? kNumberAlign : 1, false);
  if (!held) return Status(Code::exhausted, "out of memory for " + in_quotes(wanted.names[field]));
  const Tensor bytes{held->buffer,
                     held->offset(),
                     is_array ? DType::bytes : as.spec.dtype,
                     {static_cast<int64_t>(held->bytes.size())},
                     nullptr};
  return is_array ? array_of(bytes, as.spec, wanted.names[field]) : bytes;
}

// Puts the fields as row n; false if that is not possible.
template <class Hold> bool put_row(const SampleFields& wanted, const Places& places, size_t n,
                                   std::span<const FieldPlace> to, Hold&& hold) {
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].texts && !places.joined_key(i)) {
      const std::optional<MappedBytes::Kept> held =
          hold(places.bytes(i), 1, wanted.fields[i].spec.dtype == DType::bytes);
      if (!held) return false;
      to[i].texts->set(n, held->buffer, held->bytes);
      continue;
    }
    auto value = value_of(wanted, places, i, hold);
    if (!value.ok() || !to[i].put(n, *std::move(value))) return false;
  }
  return true;
}

}  // namespace

SampleFields::Kind member_kind(std::string_view suffix) {
  using enum SampleFields::Kind;
  return is_number(suffix) ? number : is_text_suffix(suffix) ? text : is_array(suffix) ? array : bytes;
}

bool ends_as(std::string_view suffix, std::span<const std::string_view> kinds) {
  return std::ranges::find(kinds, suffix.substr(suffix.rfind('.') + 1)) != kinds.end();
}

bool is_pickle(std::string_view suffix) {
  return ends_as(suffix, std::array<std::string_view, 4>{"pkl", "pickle", "pyd", "pth"});
}

Result<Tensor> read_whole_number(std::string_view text, std::string_view suffix) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  std::string_view digits = text;
  digits.remove_prefix(std::min(digits.find_first_not_of(kBlanks), digits.size()));
  digits.remove_suffix(digits.size() - (digits.find_last_not_of(kBlanks) + 1));
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
  int64_t value = 0;
  const auto [after, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc() || after != digits.data() + digits.size())
    return corrupt({.expected = "an integer",
                    .got = shown_bytes(text.substr(0, kShown)),
                    .fix = "decode=False reads its bytes"})
        .of_field(suffix);
  return scalar(value);
}

Result<Tensor> read_array(const Tensor& file, std::string_view suffix) {
  const auto bytes = file.view().bytes();
  const auto header = read_npy_header(bytes);
  if (!header.ok()) return header.status().of_field(suffix).after("; decode=False reads its bytes");
  const TensorSpec spec{header->dtype, header->shape};
  const size_t size = spec.size_bytes(), there = bytes.size() - header->data;
  if (size != there)
    return corrupt(
               {.expected = std::to_string(size) + " bytes for " + spec.text(), .got = std::to_string(there)})
        .of_field(suffix);
  const bool is_aligned = reinterpret_cast<uintptr_t>(bytes.data() + header->data) % size_of(spec.dtype) == 0;
  if (is_npy_plain(*header) && is_aligned)
    return Tensor{file.buffer, file.offset + header->data, spec.dtype, spec.shape, nullptr};
  const MutableBufferPtr out = HeapBuffer::make(std::max<size_t>(size, 1));
  HEADRACE_TRY(read_npy_data(bytes, *header, out->mutable_data()));
  return Tensor{out, 0, spec.dtype, spec.shape, nullptr};
}

Status SampleFields::check() const {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (name.empty()) return invalid({.expected = "suffixes of members", .got = "an empty one"});
    if (!seen.insert(name).second)
      return invalid({.expected = "each field once", .got = in_quotes(name) + " twice"});
    if (decode && is_pickle(name))
      return invalid("the field " + in_quotes(name) +
                     " can only be decoded by unpickling, which runs code from the file; leave it out with "
                     "fields=[…] or read its bytes with decode=False");
  }
  return {};
}

Status SampleFields::choose(const std::vector<FirstMember>& first) {
  if (names.empty()) {
    names.emplace_back(kSampleKey);
    for (const FirstMember& member : first)
      if (member.suffix != kSampleKey) names.push_back(member.suffix);
    HEADRACE_TRY(check());
  }
  fields.clear();
  for (const std::string& name : names) {
    Field field{kind_of(name, decode), {DType::bytes, {kAny}}};
    if (field.kind == Kind::key || field.kind == Kind::text) field.spec.dtype = DType::str;
    if (field.kind == Kind::number) field.spec = {DType::i64, {}};
    if (field.kind == Kind::array) {
      const auto member = std::ranges::find(first, name, &FirstMember::suffix);
      if (member == first.end() || !member->has_array)
        return invalid({.expected = "an array of numbers in " + in_quotes(name) +
                                    " of the first sample, which sets dtype and rank for all",
                        .got = member == first.end() ? "none" : "something else",
                        .fix = "decode=False reads bytes"});
      field.spec = member->array;
    }
    fields.push_back(std::move(field));
  }
  return {};
}

Schema SampleFields::schema() const {
  std::vector<TensorSpec> specs;
  for (const Field& field : fields) specs.push_back(field.spec);
  return Schema::of(names, std::move(specs));
}

Status SampleFields::read(const Record& record, std::vector<Tensor>& values) const {
  Places places(*this);
  HEADRACE_TRY(places.find(record.bytes()));
  const auto share = [&](Text bytes, size_t, bool) {
    return std::optional(MappedBytes::Kept{record.buffer, bytes});
  };
  values.resize(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    HEADRACE_ASSIGN(values[i], value_of(*this, places, i, share));
  }
  return {};
}

size_t SampleFields::put(const RecordRun& run, std::span<const FieldPlace> to) const {
  Places places(*this);
  const auto share = [&](Text bytes, size_t, bool) {
    return std::optional(MappedBytes::Kept{run.buffer, bytes});
  };
  for (size_t n = 0; n < run.records.size(); ++n)
    if (!places.find(run[n].bytes()).ok() || !put_row(*this, places, n, to, share)) return n;
  return run.records.size();
}

size_t SampleFields::put_mapped(std::span<const Text> samples, MappedBytes& mapped, size_t first,
                                std::span<const FieldPlace> to) const {
  Places places(*this);
  const auto keep = [&](Text bytes, size_t align, bool may_stay) {
    return may_stay ? mapped.keep_value(bytes) : mapped.keep(bytes, align);
  };
  for (size_t n = 0; n < samples.size(); ++n)
    if (!places.find(samples[n]).ok() || !put_row(*this, places, first + n, to, keep)) return n;
  return samples.size();
}

}  // namespace headrace
