// Writes JSON lines: see "Writing" in README.md.
#include <cmath>
#include <utility>

#include "headrace/core/text/text.h"
#include "headrace/formats/columns.h"
#include "headrace/formats/jsonl/index.h"
#include "headrace/formats/records/new_text.h"

namespace headrace {
namespace {

void append_json_text(std::string_view text, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\', out += c;
    } else if (byte >= 0x20) {
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      out += "\\u00", out += kDigits[byte >> 4], out += kDigits[byte & 15];
    }
  }
  out += '"';
}

// Nested lists of the numbers at `at`, from this level of the shape on.
void append_json_list(const View& view, int level, const std::byte*& at, std::string& out) {
  if (level == view.shape.rank()) {
    append_number(view.dtype, at, out);
    at += size_of(view.dtype);
    return;
  }
  out += '[';
  for (int64_t i = 0; i < view.shape[level]; ++i) {
    if (i > 0) out += ',';
    append_json_list(view, level + 1, at, out);
  }
  out += ']';
}

void append_json_texts(const FieldColumn& column, const std::vector<Tensor>& fields, std::string& out) {
  char before = '[';
  for_each_text(column, fields, [&](std::string_view text) {
    out += std::exchange(before, ',');
    append_json_text(text, out);
  });
  out += before == '[' ? "[]" : "]";
}

// JSON cannot express NaN and infinities.
Status check_finite(const std::string& name, const View& view) {
  const auto check = [&](auto value_at) -> Status {
    for (int64_t i = 0; i < view.shape.count(); ++i)
      if (const double value = value_at(i); !std::isfinite(value))
        return invalid("field " + in_quotes(name) + ": JSON can hold only finite numbers, got " +
                       (std::isnan(value) ? "nan"
                        : value < 0       ? "-inf"
                                          : "inf"));
    return {};
  };
  switch (view.dtype) {
    case DType::f16: return check([&](int64_t i) { return double{f16_to_f32(view.as<uint16_t>()[i])}; });
    case DType::bf16: return check([&](int64_t i) { return double{bf16_to_f32(view.as<uint16_t>()[i])}; });
    case DType::f32: return check([&](int64_t i) { return double{view.as<float>()[i]}; });
    case DType::f64: return check([&](int64_t i) { return view.as<double>()[i]; });
    default: return {};
  }
}

class JsonlWriter final : public FileWriter {
 public:
  JsonlWriter(const Schema& schema, NewText file)
      : columns_(columns_of(schema.names, schema.specs)), file_(std::move(file)) {
    for (const FieldColumn& column : columns_) {
      keys_.emplace_back(keys_.empty() ? "{" : ",");
      append_json_text(column.name, keys_.back());
      keys_.back() += ':';
    }
  }

  Status add(const std::vector<Tensor>& fields) override {
    line_.clear();
    for (size_t i = 0; i < columns_.size(); ++i) {
      const FieldColumn& column = columns_[i];
      const View view = column.value(fields);
      HEADRACE_TRY(column.check(fields));
      HEADRACE_TRY(check_finite(column.name, view));
      line_ += keys_[i];
      if (column.is_texts) {
        append_json_texts(column, fields, line_);
      } else if (view.dtype == DType::str) {
        append_json_text({view.as<char>(), static_cast<size_t>(view.shape[0])}, line_);
      } else {
        const std::byte* at = view.data;
        append_json_list(view, 0, at, line_);
      }
    }
    line_ += "}\n";
    if (line_.size() > kMostJsonLine)
      return invalid({.expected = "a line of at most " + std::to_string(kMostJsonLine) + " bytes",
                      .got = std::to_string(line_.size())})
          .in_format("jsonl");
    return file_.append(line_);
  }
  Status finish() override { return file_.finish(); }

 private:
  const std::vector<FieldColumn> columns_;
  std::vector<std::string> keys_;  // with the punctuation around them
  NewText file_;
  std::string line_;
};

Result<std::unique_ptr<FileWriter>> make(const WriteRequest& request) {
  if (request.schema.size() == 0)
    return invalid({.expected = "at least one field", .got = "none"}).in_format("jsonl");
  for (size_t i = 0; i < request.schema.size(); ++i)
    if (request.schema.specs[i].dtype == DType::bytes)
      return invalid("field " + in_quotes(request.schema.names[i]) +
                     ": JSON cannot hold bytes; leave the field out or convert it to str or numbers")
          .in_format("jsonl");
  HEADRACE_ASSIGN(NewText file, NewText::make("jsonl", request));
  return std::make_unique<JsonlWriter>(request.schema, std::move(file));
}

const WriterRegistration registered_writer({
    .name = "jsonl",
    .doc = "JSON lines: one object per sample.",
    .ending = ".jsonl",
    .options = new_text_options(),
    .make = make,
    .other_endings = {{".ndjson", Value(Value::Object{})},
                      {".jsonl.gz", in_gzip()},
                      {".ndjson.gz", in_gzip()}},
    .read_with = [](const WriteRequest& request) { return dtypes_of(request.schema); },
});

}  // namespace
}  // namespace headrace
