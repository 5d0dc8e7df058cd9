// Writes CSV: see "Writing" in README.md.
#include <cctype>
#include <limits>

#include "headrace/core/text/text.h"
#include "headrace/formats/csv/index.h"
#include "headrace/formats/records/new_text.h"

namespace headrace {
namespace {

// Adds quotes where a reader would misread the field without them.
void append_csv_field(std::string_view text, char delimiter, bool is_alone, std::string& out) {
  const char special[] = {delimiter, '"', '\n', '\r'};
  if (text.find_first_of({special, sizeof special}) == std::string_view::npos &&
      !(is_alone && text.empty())) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += c;
    out += c;
  }
  out += '"';
}

// A NaN has a payload and a sign, the text "nan" has neither. If `field` is NaN, replaces it with the NaN
// that is read back and returns true.
bool replace_nan(Tensor& field) {
  const View view = field.view();
  const auto replaced = [&]<class T>(T bits) {
    field = make_tensor({view.dtype, {}, reinterpret_cast<const std::byte*>(&bits)});
    return true;
  };
  if (view.dtype == DType::f64 && *view.as<double>() != *view.as<double>())
    return replaced(std::numeric_limits<double>::quiet_NaN());
  if (view.dtype == DType::f32 && *view.as<float>() != *view.as<float>())
    return replaced(std::numeric_limits<float>::quiet_NaN());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  if (view.dtype == DType::f16 && f16_to_f32(*view.as<uint16_t>()) != f16_to_f32(*view.as<uint16_t>()))
    return replaced(f32_to_f16(nan));
  if (view.dtype == DType::bf16 && bf16_to_f32(*view.as<uint16_t>()) != bf16_to_f32(*view.as<uint16_t>()))
    return replaced(f32_to_bf16(nan));
  return false;
}

class CsvWriter final : public FileWriter {
 public:
  CsvWriter(size_t width, char delimiter, NewText file)
      : width_(width), delimiter_(delimiter), file_(std::move(file)) {}

  Status begin(const std::vector<std::string>& names) {
    row_.clear();
    for (size_t i = 0; i < width_; ++i) {
      if (i > 0) row_ += delimiter_;
      append_csv_field(names[i], delimiter_, width_ == 1, row_);
    }
    row_ += '\n';
    return file_.append(row_);
  }

  Status add(const std::vector<Tensor>& fields) override {
    row_.clear(), read_.clear();
    for (size_t i = 0; i < width_; ++i) {
      const View view = fields[i].view();
      if (i > 0) row_ += delimiter_;
      if (view.dtype == DType::str) {
        append_csv_field({view.as<char>(), static_cast<size_t>(view.shape[0])}, delimiter_, width_ == 1,
                         row_);
        continue;
      }
      append_number(view.dtype, view.data, row_);
      if (Tensor field = fields[i]; replace_nan(field)) {
        if (read_.empty()) read_ = fields;
        read_[i] = std::move(field);
      }
    }
    row_ += '\n';
    if (row_.size() > kMostCsvRow)
      return invalid({.expected = "a row of at most " + std::to_string(kMostCsvRow) + " bytes",
                      .got = std::to_string(row_.size())})
          .in_format("csv");
    return file_.append(row_);
  }
  const std::vector<Tensor>* as_read() const override { return read_.empty() ? nullptr : &read_; }
  Status finish() override { return file_.finish(); }

 private:
  const size_t width_;
  const char delimiter_;
  NewText file_;
  std::string row_;
  std::vector<Tensor> read_;  // set where it differs from what was given
};

Result<char> delimiter_of(const WriteRequest& request) {
  HEADRACE_ASSIGN(const std::string given, request.text("delimiter", ","));
  if (given.size() == 1 && static_cast<unsigned char>(given[0]) < 0x80 && given[0] != '\0' &&
      given.find_first_of("\r\n\"+-.0123456789") != 0 && !std::isalpha(static_cast<unsigned char>(given[0])))
    return given[0];
  return invalid(
             "delimiter must be one ASCII character that is not part of a number, a quote or a line end, "
             "got " +
             in_quotes(given))
      .in_format("csv");
}

Status check_column(const std::string& name, const TensorSpec& spec) {
  const auto refused = [&](const std::string& why) {
    return invalid("field " + in_quotes(name) + ": " + why).in_format("csv");
  };
  if (name.empty()) return refused("expected a name for the header, got an empty one");
  if (spec.dtype == DType::bytes)
    return refused("CSV cannot hold bytes; leave the field out or convert it to str");
  if (!is_text(spec.dtype) && spec.shape.rank() > 0)
    return refused("CSV columns hold single values, got shape " + spec.shape.text() +
                   "; jsonl can hold lists");
  return {};
}

Result<std::unique_ptr<FileWriter>> make(const WriteRequest& request) {
  const Schema& schema = request.schema;
  if (schema.size() == 0) return invalid({.expected = "at least one field", .got = "none"}).in_format("csv");
  for (size_t i = 0; i < schema.size(); ++i) HEADRACE_TRY(check_column(schema.names[i], schema.specs[i]));
  HEADRACE_ASSIGN(const char delimiter, delimiter_of(request));
  HEADRACE_ASSIGN(NewText file, NewText::make("csv", request));
  auto out = std::make_unique<CsvWriter>(schema.size(), delimiter, std::move(file));
  HEADRACE_TRY(out->begin(schema.names));
  return out;
}

Value read_with(const WriteRequest& request) {
  Value out = dtypes_of(request.schema);
  if (const Value* delimiter = request.options.find("delimiter"); delimiter && !delimiter->is_null())
    out.set("delimiter", *delimiter);
  return out;
}

Value with_tabs(Value options = Value(Value::Object{})) {
  options.set("delimiter", "\t");
  return options;
}

std::vector<OptionInfo> options() {
  std::vector<OptionInfo> out = new_text_options();
  out.push_back({"delimiter", "str", "The character between fields; a tab if the name ends in .tsv.", ","});
  return out;
}

const WriterRegistration registered_writer({
    .name = "csv",
    .doc = "CSV (RFC 4180): one row per sample, one column per field, names in the first row.",
    .ending = ".csv",
    .options = options(),
    .make = make,
    .other_endings = {{".csv.gz", in_gzip()}, {".tsv", with_tabs()}, {".tsv.gz", with_tabs(in_gzip())}},
    .read_with = read_with,
});

}  // namespace
}  // namespace headrace
