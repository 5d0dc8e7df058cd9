#include "headrace/formats/records/new_text.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "headrace/core/text/text.h"

namespace headrace {
namespace {

constexpr int64_t kZlibsOwnLevel = 6;

template <class T> void append_float(T value, std::string& out) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
    return;
  }
  char text[40];
  const char* const end = std::to_chars(text, text + sizeof text, value).ptr;
  const std::string_view digits(text, static_cast<size_t>(end - text));
  out += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

}  // namespace

std::vector<OptionInfo> new_text_options() {
  return {{"compression", "str", "Compression of the whole file: \"none\" or \"gzip\".", "none"},
          {"level", "int", "Compression level: 1 (fastest) to 9 (smallest).", kZlibsOwnLevel}};
}

Value in_gzip() { return Value(Value::Object{{"compression", "gzip"}}); }

Result<NewText> NewText::make(std::string_view format, const WriteRequest& request) {
  const std::string name(format);
  HEADRACE_ASSIGN(const std::string compression, request.text("compression", "none"));
  HEADRACE_ASSIGN(const int64_t level, request.integer("level", kZlibsOwnLevel));
  if (level < 1 || level > 9)
    return invalid({.expected = "1 to 9", .got = std::to_string(level)}).in_option("level").in_format(name);
  if (compression != "none" && compression != "gzip")
    return invalid({.expected = "'none' or 'gzip'", .got = in_quotes(compression)})
        .in_option("compression")
        .in_format(name);
  NewText out;
  if (compression == "gzip")
    out.deflater_ = std::make_unique<Deflater>(DeflateWrap::gzip, static_cast<int>(level));
  HEADRACE_ASSIGN(out.file_, AppendedFile::make(request.path));
  return out;
}

Status NewText::append(std::string_view text) {
  if (!deflater_) return file_->append(text_bytes(text));
  return deflater_->feed(text_bytes(text),
                         [&](std::span<const std::byte> piece) { return file_->append(piece); });
}

Status NewText::finish() {
  if (deflater_)
    HEADRACE_TRY(deflater_->finish([&](std::span<const std::byte> piece) { return file_->append(piece); }));
  return file_->finish();
}

void append_number(DType dtype, const std::byte* at, std::string& out) {
  visit_dtype(dtype, [&]<class T>() {
    T value;
    std::memcpy(&value, at, sizeof value);
    if constexpr (std::same_as<T, half_t>) {
      append_float(f16_to_f32(value.bits), out);
    } else if constexpr (std::same_as<T, bfloat_t>) {
      append_float(bf16_to_f32(value.bits), out);
    } else if constexpr (std::same_as<T, bool>) {
      out += value ? "true" : "false";
    } else if constexpr (std::floating_point<T>) {
      append_float(value, out);
    } else {
      out += std::to_string(value);
    }
  });
}

Value dtypes_of(const Schema& schema) {
  Value dtypes{Value::Object()};
  for (size_t i = 0; i < schema.size(); ++i)
    dtypes.set(schema.names[i], std::string(short_name(schema.specs[i].dtype)));
  Value out{Value::Object()};
  out.set("dtypes", std::move(dtypes));
  return out;
}

}  // namespace headrace
