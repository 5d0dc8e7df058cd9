// Writes WebDataset tars: see "Writing" in README.md.
#include "headrace/formats/writer.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "headrace/codecs/npy.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/webdataset/sample_fields.h"
#include "headrace/formats/webdataset/sample_name.h"
#include "headrace/formats/webdataset/tar_head.h"
#include "headrace/formats/webdataset/tar_writer.h"
#include "headrace/io/file_system.h"

namespace headrace {
namespace {

constexpr uint64_t kMostMember = uint64_t{1} << 31;  // bytes; a sample of more is not read
constexpr int64_t kLevel = 6;                        // zlib's default

enum class Content : uint8_t { key, bytes, text, number, array };

// How a field is written.
struct Member {
  Content content = Content::bytes;
  std::string suffix;
};

// Names of fields that are written as they are, because members commonly have such a suffix.
bool is_bytes_suffix(std::string_view suffix) {
  return ends_as(suffix,
                 std::array<std::string_view, 27>{"jpg",  "jpeg", "png", "webp", "gif", "bmp",  "tif",
                                                  "tiff", "avif", "jxl", "jp2",  "ppm", "pgm",  "mp4",
                                                  "avi",  "mov",  "mkv", "mp3",  "wav", "flac", "json",
                                                  "txt",  "text", "npy", "npz",  "bin", "bytes"}) ||
         member_kind(suffix) == SampleFields::Kind::number;
}

// "boxes/xyxy" -> "boxes.xyxy", in lower case: a suffix has no slash, and readers ignore case.
std::string as_suffix(std::string name) {
  std::ranges::replace(name, '/', '.');
  return lower_case(name);
}

Member member_for(const std::string& name, const TensorSpec& spec) {
  if (name == kSampleKey) return {Content::key, {}};
  const std::string suffix = as_suffix(name);
  const bool is_whole = !is_text(spec.dtype) && !is_float(spec.dtype) && spec.shape.rank() == 0;
  if (spec.dtype == DType::bytes) {
    if (suffix == "image") return {Content::bytes, "jpg"};
    return {Content::bytes, is_bytes_suffix(suffix) ? suffix : suffix + ".bin"};
  }
  if (spec.dtype == DType::str)
    return {Content::text, member_kind(suffix) == SampleFields::Kind::text ? suffix : suffix + ".txt"};
  if (is_whole) {
    if (suffix == "label") return {Content::number, "cls"};
    return {Content::number, member_kind(suffix) == SampleFields::Kind::number ? suffix : suffix + ".cls"};
  }
  return {Content::array, suffix.ends_with(".npy") || suffix == "npy" ? suffix : suffix + ".npy"};
}

Result<std::vector<Member>> members_of(const WriteRequest& request) {
  const Schema& schema = request.schema;
  const Value* given = request.options.find("suffixes");
  if (given && !given->is_null() && !given->object())
    return invalid("suffixes must be a dict of field to suffix, got " + given->dump())
        .in_format("webdataset");
  std::vector<Member> out;
  std::set<std::string> seen;
  for (size_t i = 0; i < schema.size(); ++i) {
    const std::string& name = schema.names[i];
    Member member = member_for(name, schema.specs[i]);
    if (const Value* suffix = given ? given->find(name) : nullptr; suffix && suffix->text())
      member.suffix = as_suffix(*suffix->text());
    if (member.content == Content::key) {
      if (!is_text(schema.specs[i].dtype))
        return invalid("'__key__' must be str or bytes, got " + schema.specs[i].text())
            .in_format("webdataset");
    } else if (!sample_name("x." + member.suffix) || is_pickle(member.suffix)) {
      return invalid(in_quotes(member.suffix) +
                     " cannot be a member's suffix; choose another with suffixes={\"" + name + "\": …}")
          .in_format("webdataset");
    } else if (!seen.insert(member.suffix).second) {
      return invalid("two fields would have the suffix " + in_quotes(member.suffix) +
                     "; choose another with suffixes={\"" + name + "\": …}")
          .in_format("webdataset");
    }
    HEADRACE_TRY(check_member_name("x." + member.suffix).in_format("webdataset"));
    if (member.content == Content::array) HEADRACE_TRY(check_npy(schema.specs[i].dtype).before(name + ": "));
    out.push_back(std::move(member));
  }
  if (seen.empty())
    return invalid({.expected = "at least one field besides '__key__'", .got = "none"})
        .in_format("webdataset");
  return out;
}

std::string_view chars(const View& view) {
  return {reinterpret_cast<const char*>(view.data), view.size_bytes()};
}

Result<int64_t> whole(const View& value) {
  int64_t out = 0;
  bool fits = true;
  visit_dtype(value.dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      fits = std::in_range<int64_t>(
          static_cast<std::conditional_t<std::is_same_v<T, bool>, int, T>>(*value.as<T>()));
      out = static_cast<int64_t>(*value.as<T>());
    }
  });
  if (!fits) return invalid({.expected = "an integer below 2^63", .got = "a larger one"});
  return out;
}

class WebdatasetWriter final : public FileWriter {
 public:
  WebdatasetWriter(Schema schema, std::vector<Member> members, std::string prefix, TarWriter tar)
      : schema_(std::move(schema)),
        members_(std::move(members)),
        prefix_(std::move(prefix)),
        tar_(std::move(tar)) {}

  Status add(const std::vector<Tensor>& fields) override {
    HEADRACE_ASSIGN(std::string key, key_of(fields));
    const size_t hash = std::hash<std::string>()(key);
    if (keys_.contains(hash))
      return invalid(
          "'__key__': expected another key for each sample, got " + in_quotes(key) +
          " again, whose files would replace those of the first when the tar is unpacked; make keys "
          "different with map(), such as by the name of the split, or write each split by itself");
    HEADRACE_TRY(encode(fields));  // everything, before anything is written
    read_.assign(1, text_tensor(key));
    for (size_t i = 0; i < fields.size(); ++i) {
      if (members_[i].content == Content::key) continue;
      HEADRACE_ASSIGN(Tensor read, read_as(members_[i], fields[i], data_of(fields[i], i)));
      read_.push_back(std::move(read));
    }
    for (size_t i = 0; i < fields.size(); ++i) {
      const Member& member = members_[i];
      if (member.content == Content::key) continue;
      HEADRACE_TRY(tar_.add(key + "." + member.suffix, data_of(fields[i], i)));
    }
    keys_.insert(hash);
    ++count_;
    return {};
  }
  const std::vector<Tensor>* as_read() const override { return &read_; }
  Status finish() override { return tar_.finish(); }

 private:
  Result<std::string> key_of(const std::vector<Tensor>& fields) const {
    for (size_t i = 0; i < fields.size(); ++i) {
      if (members_[i].content != Content::key) continue;
      std::string key(chars(fields[i].view()));
      HEADRACE_TRY(check_member_name(key).before("'__key__': "));
      const std::string member = key + ".x";
      const auto name = sample_name(member);
      if (!name || name->key != key || key.size() + 256 > kMostTarName)
        return invalid("'__key__': expected a name whose last part has no dot, got " + in_quotes(key));
      return key;
    }
    std::string number = std::to_string(count_);
    number.insert(0, std::max<size_t>(number.size(), 9) - number.size(), '0');
    return prefix_ + number;
  }

  Status encode(const std::vector<Tensor>& fields) {
    made_.resize(fields.size());
    for (size_t i = 0; i < fields.size(); ++i) {
      made_[i].clear();
      if (members_[i].content == Content::array) append_npy(fields[i].view(), made_[i]);
      if (members_[i].content == Content::number) {
        auto number = whole(fields[i].view());
        if (!number.ok()) return number.status().of_field(schema_.names[i]);
        made_[i] = std::to_string(*number);
      }
      if (data_of(fields[i], i).size() > kMostMember)
        return invalid({.expected = "at most 2 GiB",
                        .got = std::to_string(data_of(fields[i], i).size()) + " bytes"})
            .of_field(schema_.names[i]);
    }
    return {};
  }

  // The field as it is read back; an error if it could not be read.
  static Result<Tensor> read_as(const Member& member, const Tensor& field, std::span<const std::byte> data) {
    const Tensor bytes{std::make_shared<BorrowedBuffer>(data, nullptr),
                       0,
                       DType::bytes,
                       {static_cast<int64_t>(data.size())},
                       nullptr};
    switch (member_kind(member.suffix)) {
      case SampleFields::Kind::number: return read_whole_number(chars(bytes.view()), member.suffix);
      case SampleFields::Kind::array:
        return member.content == Content::array ? field : read_array(bytes, member.suffix);
      case SampleFields::Kind::text: {
        Tensor text = bytes;
        text.dtype = DType::str;
        return text;
      }
      default: return bytes;
    }
  }

  std::span<const std::byte> data_of(const Tensor& field, size_t i) const {
    const bool is_made = members_[i].content == Content::array || members_[i].content == Content::number;
    return is_made ? std::as_bytes(std::span(made_[i])) : field.view().bytes();
  }

  const Schema schema_;
  const std::vector<Member> members_;
  const std::string prefix_;  // of numbered keys
  TarWriter tar_;
  std::unordered_set<size_t> keys_;  // hashes of those of all samples of this file
  uint64_t count_ = 0;
  std::vector<std::string> made_;  // of the last sample, by field
  std::vector<Tensor> read_;
};

// Numbers restart in each shard, so the shard's name precedes them. A dot would end the key.
std::string key_prefix(const std::string& path) {
  std::string name = name_of(path);
  for (const std::string_view ending : {".gz", ".tgz", ".tar"})
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  std::ranges::replace(name, '.', '_');
  return name + "-";
}

Result<std::unique_ptr<FileWriter>> make(const WriteRequest& request) {
  HEADRACE_ASSIGN(auto members, members_of(request));
  HEADRACE_ASSIGN(const std::string compression, request.text("compression", "none"));
  const bool is_packed = compression == "gzip";
  if (!is_packed && compression != "none")
    return invalid("compression must be 'none' or 'gzip', got '" + compression + "'").in_format("webdataset");
  auto deflater = is_packed ? std::make_unique<Deflater>(DeflateWrap::gzip, kLevel) : nullptr;
  HEADRACE_ASSIGN(auto file, AppendedFile::make(request.path));
  return std::make_unique<WebdatasetWriter>(request.schema, std::move(members), key_prefix(request.path),
                                            TarWriter(std::move(file), std::move(deflater)));
}

const WriterRegistration registered_writer({
    .name = "webdataset",
    .doc = "WebDataset tars: one member per field, `image` as jpg, `label` as cls, arrays as npy.",
    .ending = ".tar",
    .options = {{"suffixes", "dict[str, str] | None",
                 "Suffixes of fields in the tar, as {\"image\": \"png\"}; default: by name and dtype.",
                 Value()},
                {"compression", "str", "Of whole files: \"none\" or \"gzip\".", "none"}},
    .make = make,
    .other_endings = {{".tar.gz", Value(Value::Object{{"compression", "gzip"}})},
                      {".tgz", Value(Value::Object{{"compression", "gzip"}})}},
});

}  // namespace
}  // namespace headrace
