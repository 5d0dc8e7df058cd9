#include "headrace/formats/coco/outline.h"

#include <charconv>
#include <string>

#include "headrace/formats/jsonl/json_line.h"

namespace headrace {
namespace {

Status not_json(const JsonReader& reader) {
  return corrupt("segmentation: " + reader.wanted_and_got("its end") + " after " +
                 std::to_string(reader.position()) + " bytes of it");
}

// The numbers of a list; `wanted` describes them in the message.
template <class T> Status read_numbers(JsonReader& reader, const char* wanted, std::vector<T>& out) {
  out.clear();
  if (!reader.begin_list()) return not_json(reader);
  JsonSpan item;
  for (bool is_first = true; reader.next_item(is_first); is_first = false) {
    if (!reader.value(item)) break;
    T value{};
    const char* const end = item.text.data() + item.text.size();
    const auto [at, error] = std::from_chars(item.text.data(), end, value);
    if (item.type == JsonType::text || error != std::errc() || at != end)
      return corrupt({.expected = wanted, .got = std::string(item.text.substr(0, 40))});
    out.push_back(value);
  }
  return reader.ok() ? Status() : not_json(reader);
}

Result<std::vector<MaskRun>> read_polygons(JsonReader& reader, const MaskSize& size, uint64_t& outline) {
  std::vector<MaskRun> runs;
  std::vector<double> polygon;
  if (!reader.begin_list()) return not_json(reader);
  for (bool is_first = true; reader.next_item(is_first); is_first = false) {
    HEADRACE_TRY(read_numbers(reader, "polygons of numbers", polygon));
    if (polygon.size() < 4)
      return corrupt(
          {.expected = "polygons of at least four numbers", .got = std::to_string(polygon.size())});
    HEADRACE_TRY(add_polygon(polygon, size, outline, runs));
  }
  if (!reader.ok()) return not_json(reader);
  join_runs(runs);
  return runs;
}

Result<std::vector<MaskRun>> read_runs(JsonReader& reader, const MaskSize& size) {
  std::vector<uint64_t> counts, sides;
  std::string text;
  enum { none, as_list, as_text } form = none;
  JsonSpan key;
  if (!reader.begin_object()) return not_json(reader);
  for (bool is_first = true; reader.next_key(key, is_first); is_first = false) {
    JsonSpan value;
    const bool is_list = reader.begins_with('[');
    if (key.text == "counts" && is_list) {
      HEADRACE_TRY(read_numbers(reader, "counts that are integers of at least 0", counts));
      form = as_list;
    } else if (key.text == "size" && is_list) {
      HEADRACE_TRY(read_numbers(reader, "a size of integers of at least 0", sides));
    } else if (!reader.value(value)) {
      break;
    } else if (key.text == "counts" && value.type == JsonType::text) {
      text = unescaped_json(value);
      form = as_text;
    }
  }
  if (!reader.ok()) return not_json(reader);
  if (sides.size() != 2 || sides[0] != size.height || sides[1] != size.width)
    return corrupt(
        {.expected =
             "runs of the image's size, " + std::to_string(size.height) + " x " + std::to_string(size.width),
         .got = std::string(
             (sides.size() != 2 ? "no size" : std::to_string(sides[0]) + " x " + std::to_string(sides[1])))});
  if (form == none) return corrupt({.expected = "'counts' of runs", .got = "none"});
  return form == as_list ? runs_of_counts(counts, size) : runs_of_text(text, size);
}

}  // namespace

Result<std::vector<MaskRun>> read_outline(std::string_view json, const MaskSize& size, uint64_t& outline) {
  JsonReader reader(json);
  auto runs = reader.begins_with('{') ? read_runs(reader, size) : read_polygons(reader, size, outline);
  if (runs.ok() && !reader.is_at_end()) return not_json(reader);
  return runs;
}

}  // namespace headrace
