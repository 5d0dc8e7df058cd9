#include "headrace/formats/images/json_map.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "headrace/core/text/text.h"
#include "headrace/formats/images/image_files.h"

namespace headrace {
namespace {

// Called by the parser for each token; false stops it. Nesting is refused at its first bracket, so the depth
// is one.
class Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a bool"); }
  bool number_float(double, const std::string& text) override { return refuse(text); }
  bool string(std::string&) override { return refuse("a string"); }
  bool binary(nlohmann::json::binary_t&) override { return refuse("binary data"); }
  bool start_array(size_t) override { return refuse("a list"); }
  bool end_array() override { return true; }
  bool end_object() override { return true; }
  bool start_object(size_t) override {
    if (inside_) return refuse("an object");
    return inside_ = true;
  }
  bool key(std::string& name) override {
    if (name.empty() || name.find('\0') != std::string::npos)
      return fail("expected non-empty paths without NUL bytes, got another one");
    map.names.add(name);
    return true;
  }
  bool number_integer(int64_t label) override { return accept(label); }
  bool number_unsigned(uint64_t label) override {
    if (label > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return refuse(std::to_string(label));
    return accept(static_cast<int64_t>(label));
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return fail("not JSON at byte " + std::to_string(position));
  }

  JsonMap map;
  Status status;

 private:
  bool fail(std::string text) {
    status = corrupt(std::move(text));
    return false;
  }
  bool refuse(std::string_view got) {
    if (!inside_) return fail("expected an object, got " + std::string(got));
    return fail("expected an integer for " + in_quotes(map.names[map.names.size() - 1].substr(0, 200)) +
                ", got " + std::string(got));
  }
  bool accept(int64_t label) {
    if (!inside_) return refuse(std::to_string(label));
    map.labels.push_back(label);
    return true;
  }

  bool inside_ = false;
};

std::string_view skip_blanks(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

// {"….jpg": 3 — the start of the first member is enough.
int recognise_map(const Probe& probe) {
  std::string_view text = skip_blanks(probe.text());
  if (probe.listing || !text.starts_with('{')) return 0;
  text = skip_blanks(text.substr(1));
  const size_t quote = text.find('"', 1);
  if (!text.starts_with('"') || quote == std::string_view::npos || !names_an_image(text.substr(1, quote - 1)))
    return 0;
  text = skip_blanks(text.substr(quote + 1));
  if (!text.starts_with(':')) return 0;
  text = skip_blanks(text.substr(1));
  return !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9')) ? 70 : 0;
}

Result<SourceOpening> open_map(const OpenRequest& request) {
  if (request.path().listing) return invalid({.expected = "a JSON file", .got = "a folder"});
  return parse_file(request.path().path, [request](const BufferPtr& bytes) -> Result<SourcePtr> {
    HEADRACE_ASSIGN(JsonMap map,
                    parse_json_map({reinterpret_cast<const char*>(bytes->data()), bytes->size()}));
    ImageFiles out;
    HEADRACE_ASSIGN(out.root, request.text("root", parent_of(request.path().path)));
    out.names = std::move(map.names);
    out.labels = std::move(map.labels);
    return image_files_source(std::move(out), "json_map", request);
  });
}

const FormatRegistration registered_json_map({
    .name = "json_map",
    .doc = "Images listed in a JSON object that maps their paths to labels.",
    .fields = "`image` (encoded, bytes) and `label` (int64 scalar).",
    .path = "The JSON file.",
    .options = {{"root", "str | None",
                 "Folder that the paths are relative to; the folder of the JSON file when not given."},
                key_option()},
    .raises = {{"CorruptSample", "the file is not a JSON object whose values are 64-bit integers."}},
    .example = "hr.read_json_map(\"train_map.json\", root=\"imagenet\")",
    .recognise = recognise_map,
    .open = open_map,
});

}  // namespace

Result<JsonMap> parse_json_map(std::string_view json) {
  Reader reader;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &reader)) return std::move(reader.status);
  return std::move(reader.map);
}

}  // namespace headrace
