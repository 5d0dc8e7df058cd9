// Writes RecordIO and its .idx: see "Writing" in README.md.
#include "headrace/formats/writer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "headrace/formats/recordio/framing.h"
#include "headrace/formats/recordio/ir_header.h"
#include "headrace/io/new_file.h"

namespace headrace {
namespace {

using Bytes = std::span<const std::byte>;

constexpr uint64_t kMostWritten = (uint64_t{1} << 29) - 1;  // bytes of a record, as in dmlc's writer
constexpr int64_t kMostWhole = int64_t{1} << 24;            // up to here f32 holds every integer

// The roles of a sample's fields; -1: none.
struct Roles {
  int payload = -1, label = -1, id = -1;
};

Status refused(const std::string& why, const Schema& schema) {
  return invalid(
             "expected one bytes field, optionally with a label (a number or a row of numbers) and an "
             "int64 'id'; " +
             why + " (" + schema.text() + ")")
      .in_format("recordio");
}

Result<int> find_named(const Schema& schema, std::string_view option, const std::string& name) {
  if (const int at = schema.find(name); at >= 0) return at;
  return invalid(std::string(option) + " must be one of the fields " + schema.text() + ", got '" + name +
                 "'");
}

// The field that the option names, else the only one of bytes.
Result<int> find_payload(const WriteRequest& request) {
  const Schema& schema = request.schema;
  HEADRACE_ASSIGN(const std::string name, request.text("payload"));
  if (!name.empty()) return find_named(schema, "payload", name);
  const auto is_bytes = [](const TensorSpec& spec) { return spec.dtype == DType::bytes; };
  if (std::ranges::count_if(schema.specs, is_bytes) != 1)
    return refused("choose the bytes field with payload=", schema);
  return static_cast<int>(std::ranges::find_if(schema.specs, is_bytes) - schema.specs.begin());
}

bool is_label(const TensorSpec& spec) { return !is_text(spec.dtype) && spec.shape.rank() <= 1; }

// The field that the option names, else "label", else the only one that can be.
Result<int> find_label(const WriteRequest& request, const Roles& roles) {
  const Schema& schema = request.schema;
  HEADRACE_ASSIGN(const std::string name, request.text("label"));
  if (!name.empty()) return find_named(schema, "label", name);
  if (const int at = schema.find("label"); at >= 0) return at;
  int found = -1;
  for (int i = 0; i < static_cast<int>(schema.size()); ++i) {
    if (i == roles.payload || i == roles.id || !is_label(schema.specs[static_cast<size_t>(i)])) continue;
    if (found >= 0) return refused("choose the label with label=", schema);
    found = i;
  }
  return found;
}

Result<Roles> roles_of(const WriteRequest& request) {
  const Schema& schema = request.schema;
  Roles out;
  HEADRACE_ASSIGN(out.payload, find_payload(request));
  if (const int at = schema.find("id"); at >= 0 && at != out.payload) out.id = at;
  HEADRACE_ASSIGN(out.label, find_label(request, out));
  if (out.label == out.id) out.id = -1;
  const auto spec = [&](int field) -> const TensorSpec& { return schema.specs[static_cast<size_t>(field)]; };
  const auto named = [&](int field) { return "'" + schema.names[static_cast<size_t>(field)] + "'"; };
  if (spec(out.payload).dtype != DType::bytes) return refused(named(out.payload) + " is not bytes", schema);
  if (out.label >= 0 && (out.label == out.payload || !is_label(spec(out.label))))
    return refused(named(out.label) + " cannot be the label, which is a number or a row of numbers", schema);
  if (out.id >= 0 && (out.label < 0 || spec(out.id) != TensorSpec{DType::i64, {}}))
    return refused("'id' must be int64 () and needs a label", schema);
  for (int i = 0; i < static_cast<int>(schema.size()); ++i)
    if (i != out.payload && i != out.label && i != out.id) return refused(no_place_for(named(i)), schema);
  return out;
}

// Labels are f32 in the file; a number that f32 would change is refused.
template <class T> Result<float> label_of(T value) {
  if constexpr (std::is_same_v<T, half_t>) {
    return f16_to_f32(value.bits);
  } else if constexpr (std::is_same_v<T, bfloat_t>) {
    return bf16_to_f32(value.bits);
  } else if constexpr (std::is_floating_point_v<T>) {
    const auto out = static_cast<float>(value);
    if (std::isnan(value) || static_cast<T>(out) == value) return out;
    return invalid("recordio stores labels as float32, which cannot hold " + std::to_string(value) +
                   " exactly; cast the field");
  } else {
    if (std::cmp_less_equal(+value, kMostWhole) && std::cmp_greater_equal(+value, -kMostWhole))
      return static_cast<float>(value);
    return invalid("recordio stores labels as float32, which is exact for integers up to 2^24; got " +
                   std::to_string(value));
  }
}

Result<std::vector<float>> labels_of(const View& labels) {
  std::vector<float> out(static_cast<size_t>(labels.shape.count()));
  if (out.empty()) return invalid({.expected = "at least one label", .got = "none"}).in_format("recordio");
  HEADRACE_TRY(visit_dtype(labels.dtype, [&]<class T>() -> Status {
    for (size_t i = 0; i < out.size(); ++i) {
      HEADRACE_ASSIGN(out[i], label_of(labels.as<T>()[i]));
    }
    return {};
  }));
  return out;
}

// Positions of magic words at multiples of four, where a record is split.
std::vector<size_t> cuts_of(Bytes data) {
  constexpr size_t kWord = sizeof kRecordioMagic, kBlock = 64 * kWord;
  std::vector<size_t> out;
  const auto is_magic = [&](size_t at) {
    uint32_t word;
    std::memcpy(&word, data.data() + at, kWord);
    return word == kRecordioMagic;
  };
  for (size_t begin = 0; begin < data.size() / kWord * kWord; begin += kBlock) {
    const size_t end = std::min(begin + kBlock, data.size() / kWord * kWord);
    bool any = false;  // no branch in the loop, so that it is vectorised
    for (size_t at = begin; at < end; at += kWord) any |= is_magic(at);
    for (size_t at = begin; any && at < end; at += kWord)
      if (is_magic(at)) out.push_back(at);
  }
  return out;
}

class RecordioWriter final : public FileWriter {
 public:
  RecordioWriter(Schema schema, Roles roles, std::unique_ptr<AppendedFile> records,
                 std::unique_ptr<AppendedFile> idx)
      : schema_(std::move(schema)), roles_(roles), records_(std::move(records)), idx_(std::move(idx)) {}

  Status add(const std::vector<Tensor>& fields) override {
    const Bytes payload = fields[static_cast<size_t>(roles_.payload)].view().bytes();
    HEADRACE_TRY(make_head(fields));
    if (head_.size() + payload.size() > kMostWritten)
      return invalid({.expected = "a record of at most " + std::to_string(kMostWritten) + " bytes",
                      .got = std::to_string(head_.size() + payload.size()) + " in field '" +
                             schema_.names[static_cast<size_t>(roles_.payload)] + "'"})
          .in_format("recordio");
    const std::string line = std::to_string(count_) + "\t" + std::to_string(records_->size()) + "\n";
    HEADRACE_TRY(append_record(head_, payload));
    ++count_;
    read_ = fields_as_read(fields);
    return idx_->append(std::as_bytes(std::span(line)));
  }
  const std::vector<Tensor>* as_read() const override { return &read_; }

  Status finish() override {
    HEADRACE_TRY(records_->finish());
    return idx_->finish();
  }

 private:
  // Makes what precedes the payload: IRHeader and labels, or nothing. A multiple of four bytes.
  Status make_head(const std::vector<Tensor>& fields) {
    head_.clear();
    if (roles_.label < 0) return {};
    const View label = fields[static_cast<size_t>(roles_.label)].view();
    auto labels = labels_of(label);
    if (!labels.ok()) return labels.status().in_field(schema_.names[static_cast<size_t>(roles_.label)]);
    IrHeader header;
    header.id = roles_.id < 0 ? count_ : *fields[static_cast<size_t>(roles_.id)].view().as<uint64_t>();
    if (label.shape.rank() == 0)
      header.label = (*labels)[0];
    else
      header.flag = static_cast<uint32_t>(labels->size());
    labels_ = *std::move(labels), id_ = header.id;
    const Bytes fixed = std::as_bytes(std::span(&header, 1)), follow = std::as_bytes(std::span(labels_));
    head_.assign(fixed.begin(), fixed.end());
    if (header.flag > 0) head_.insert(head_.end(), follow.begin(), follow.end());
    return {};
  }

  std::vector<Tensor> fields_as_read(const std::vector<Tensor>& fields) const {
    const Tensor& payload = fields[static_cast<size_t>(roles_.payload)];
    if (roles_.label < 0) return {payload};
    const Shape& shape = fields[static_cast<size_t>(roles_.label)].shape;
    const auto* labels = reinterpret_cast<const std::byte*>(labels_.data());
    return {payload, make_tensor({DType::f32, shape, labels}), scalar(static_cast<int64_t>(id_))};
  }

  Status append_record(Bytes head, Bytes payload) {
    if (cuts_of(head).empty() && cuts_of(payload).empty()) return append_part(PartKind::whole, head, payload);
    std::vector<std::byte> all(head.begin(), head.end());
    all.insert(all.end(), payload.begin(), payload.end());
    size_t begin = 0;
    for (const size_t cut : cuts_of(all)) {
      const PartKind kind = begin == 0 ? PartKind::first : PartKind::middle;
      HEADRACE_TRY(append_part(kind, Bytes(all).subspan(begin, cut - begin), {}));
      begin = cut + sizeof kRecordioMagic;
    }
    return append_part(PartKind::last, Bytes(all).subspan(begin), {});
  }

  Status append_part(PartKind kind, Bytes first, Bytes second) {
    constexpr std::byte kZeros[3] = {};
    const auto length = static_cast<uint32_t>(first.size() + second.size());
    const uint32_t header[2] = {kRecordioMagic, static_cast<uint32_t>(kind) << 29 | length};
    HEADRACE_TRY(records_->append(std::as_bytes(std::span(header))));
    HEADRACE_TRY(records_->append(first));
    HEADRACE_TRY(records_->append(second));
    return records_->append(Bytes(kZeros).first((4 - length % 4) % 4));
  }

  Schema schema_;
  Roles roles_;
  std::unique_ptr<AppendedFile> records_, idx_;
  uint64_t count_ = 0;
  // Of the record that is written.
  std::vector<std::byte> head_;
  std::vector<float> labels_;
  uint64_t id_ = 0;
  std::vector<Tensor> read_;
};

constexpr std::string_view kIdx = ".idx";

Result<std::unique_ptr<FileWriter>> make(const WriteRequest& request) {
  HEADRACE_ASSIGN(const Roles roles, roles_of(request));
  HEADRACE_ASSIGN(auto records, AppendedFile::make(request.path));
  HEADRACE_ASSIGN(auto idx, AppendedFile::make(request.path + std::string(kIdx)));
  return std::make_unique<RecordioWriter>(request.schema, roles, std::move(records), std::move(idx));
}

// A record without a label has no header, but its first bytes may look like one.
Value read_with(const WriteRequest& request) {
  const auto roles = roles_of(request);
  return roles.ok() ? Value(Value::Object{{"header", roles->label >= 0}}) : Value();
}

const WriterRegistration registered_writer({
    .name = "recordio",
    .doc = "RecordIO files of MXNet (.rec) with their .idx: a bytes field, optionally with labels and an id.",
    .ending = ".rec",
    .options = {{"payload", "str | None", "The bytes field; default: the only one.", Value()},
                {"label", "str | None",
                 "The label, a number or a row of numbers; default: \"label\", or the only such field.",
                 Value()}},
    .make = make,
    .other_endings = {{".recordio", Value(Value::Object())}},
    .read_with = read_with,
    .beside = {std::string(kIdx)},
});

}  // namespace
}  // namespace headrace
