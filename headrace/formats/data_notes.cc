#include "headrace/formats/data_notes.h"

#include <algorithm>

#include "headrace/core/text/text.h"

namespace headrace {

std::string told_of(const Source& source, std::string_view key) {
  const Value metadata = source.metadata();
  const Value* text = metadata.find(key);
  return text && text->text() ? *text->text() : std::string();
}

namespace {
constexpr std::string_view kTold[] = {"missing", "differs", "empty"};
}  // namespace

std::vector<std::string> described_notes(const Source& source) {
  std::vector<std::string> out;
  for (const std::string_view key : kTold)
    if (std::string text = told_of(source, key); !text.empty()) out.push_back(std::move(text));
  return out;
}

void set_told(const Source& source, Value& out) {
  for (const std::string_view key : kTold)
    if (std::string text = told_of(source, key); !text.empty()) out.set(std::string(key), std::move(text));
}

void add_note(Value& metadata, std::string note) {
  const Value* notes = metadata.find("notes");
  Value::List all = notes && notes->list() ? *notes->list() : Value::List();
  all.emplace_back(std::move(note));
  metadata.set("notes", std::move(all));
}

std::vector<std::string> notes_in(const Source& source) {
  const Value metadata = source.metadata();
  const Value* notes = metadata.find("notes");
  std::vector<std::string> out;
  if (notes && notes->list())
    for (const Value& note : *notes->list()) out.push_back(*note.text());
  return out;
}

std::vector<std::string> notes_of(const Source& source) {
  std::vector<std::string> out;
  for (const std::string_view key : {"missing", "differs"})
    if (std::string text = told_of(source, key); !text.empty()) out.push_back(std::move(text));
  for (std::string& note : notes_in(source)) out.push_back(std::move(note));
  if (std::string note = left_out_columns_note(source); !note.empty()) out.push_back(std::move(note));
  return out;
}

std::string left_out_columns_note(const Source& source) {
  constexpr size_t kShown = 10;
  const Value metadata = source.metadata();
  const Value* columns = metadata.find("left_out_columns");
  if (!columns || !columns->list() || columns->list()->empty()) return {};
  const Value::List& names = *columns->list();
  std::string out = names.size() == 1 ? "column " : "columns ";
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    out += (i == 0 ? "" : ", ") + in_quotes(names[i].text()->substr(0, 100));
  return out + (names.size() > kShown ? ", …" : "") +
         (names.size() == 1 ? " is left out: its type is not supported"
                            : " are left out: their types are not supported") +
         "; list the columns you need in columns= to silence this note";
}

bool is_of_reading(std::string_view key) {
  constexpr std::string_view keys[] = {"annotations",
                                       "annotations_without_image",
                                       "batches",
                                       "damaged",
                                       "decoded",
                                       "differs",
                                       "empty",
                                       "files",
                                       "folders",
                                       "footer_bytes",
                                       "group",
                                       "images",
                                       "images_without_annotation",
                                       "images_without_masks",
                                       "left_out",
                                       "left_out_columns",
                                       "masks_left_out",
                                       "missing",
                                       "missing_of_split",
                                       "notes",
                                       "problems",
                                       "row_groups",
                                       "stores",
                                       "types"};
  return std::ranges::find(keys, key) != std::end(keys);
}

void add_about(const Value& about, Value& metadata) {
  if (!about.object()) return;
  for (const auto& [key, value] : *about.object())
    if (!metadata.find(key) && !is_of_reading(key)) metadata.set(key, value);
}

}  // namespace headrace
