#include "headrace/formats/data_notes.h"

#include <algorithm>
#include <array>

#include "headrace/core/text/text.h"
#include "headrace/formats/format.h"
#include "headrace/formats/shard_names.h"
#include "headrace/formats/writer.h"

namespace headrace {

std::string told_of(const Source& source, std::string_view key) {
  const Value metadata = source.metadata();
  const Value* text = metadata.find(key);
  return text && text->text() ? *text->text() : std::string();
}

namespace {
constexpr std::string_view kTold[] = {"missing", "differs", "empty"};

bool is_of_data(std::string_view ending) {
  for (const auto& [name, writer] : writers()) {
    const auto is_it = [&](const auto& other) { return other.first == ending; };
    if (writer.ending == ending || std::ranges::any_of(writer.other_endings, is_it)) return true;
  }
  return false;
}

// Tables of text often describe other data next to them.
bool may_describe(std::string_view ending) {
  constexpr std::array<std::string_view, 4> kinds{".csv", ".tsv", ".jsonl", ".ndjson"};
  return std::ranges::find(kinds, ending) != kinds.end();
}

// Those of the files that a folder's format left out, by their endings: ".tsv (1), .jsonl (2)".
template <class Wanted> std::string left_out_endings(const Source& source, const Wanted& wanted) {
  const Value metadata = source.metadata();
  const Value* left_out = metadata.find("left_out");
  const Value* endings = left_out ? left_out->find("endings") : nullptr;
  std::string out;
  if (!endings || !endings->object()) return out;
  for (const auto& [ending, count] : *endings->object())
    if (wanted(ending)) out += (out.empty() ? "" : ", ") + ending + " (" + count.dump() + ")";
  return out;
}

// About compressed copies of files in a folder; "" if there are none.
std::string left_out_copies_note(const Source& source) {
  const Value metadata = source.metadata();
  const Value* left_out = metadata.find("left_out");
  const Value* copies = left_out ? left_out->find("copies") : nullptr;
  const Value *files = copies ? copies->find("files") : nullptr,
              *first = copies ? copies->find("first") : nullptr;
  if (!files || !files->integer() || !first || !first->text()) return {};
  return copies_note(*first->text(), static_cast<uint64_t>(*files->integer()));
}

// About files of a folder that are data, but of another kind; "" if there are none.
std::string other_data_note(const Source& source) {
  const auto name = source.describe().get_text("format");
  const FormatInfo* format = name.ok() ? find_format(*name) : nullptr;
  if (!format || source.num_files() == 0) return {};
  if (!format->takes_files) {
    const Value metadata = source.metadata();
    const Value* left_out = metadata.find("left_out");
    if (left_out && left_out->find("folders")) return {};  // explain() names those, with these endings
    const std::string images = left_out_endings(source, is_of_other_images);
    return images.empty() ? images : "images in formats that are not supported are left out: " + images;
  }
  const std::string own = shard_kind(source.file(0));
  std::string first;
  const std::string counts = left_out_endings(source, [&](const std::string& ending) {
    // A format that recognises nothing by its content cannot tell whether others are its own, too.
    const bool may_be_own =
        !format->recognise && !ending.empty() && !is_beside_data(ending) && !is_code_or_page(ending);
    if (!may_be_own && (!is_of_data(ending) || (may_describe(ending) && !may_describe(own)))) return false;
    if (first.empty()) first = ending;
    return true;
  });
  if (counts.empty()) return {};
  return "files of other kinds than " + own + " in the folder are left out: " + counts +
         "; a pattern such as '*" + first + "' reads those, '*" + own + "' these without this note";
}

// About links that were not followed; "" if there are none.
std::string links_back_note(const Source& source) {
  const Value metadata = source.metadata();
  const Value* problems = metadata.find("problems");
  if (!problems || !problems->list()) return {};
  for (const Value& one : *problems->list())
    if (const Value *reason = one.find("reason"), *path = one.find("path");
        reason && path && path->text() && *reason == Value(std::string(kLeadsBack)))
      return in_quotes(*path->text()) + " is " + std::string(kLeadsBack) + ", and is not followed";
  return {};
}
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

std::vector<std::string> notes_in(const Value& metadata) {
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
  for (std::string& note : notes_in(source.metadata())) out.push_back(std::move(note));
  if (std::string note = links_back_note(source); !note.empty()) out.push_back(std::move(note));
  if (std::string note = left_out_columns_note(source); !note.empty()) out.push_back(std::move(note));
  for (std::string note : {left_out_copies_note(source), other_data_note(source)})
    if (!note.empty()) out.push_back(std::move(note));
  for (std::string& note : out) note = printable(note);
  return out;
}

std::string copies_note(std::string_view first, uint64_t count) {
  return "files that lie there without their compression, too, are left out: " + std::to_string(count) +
         ", the first is " + in_quotes(first) + "; pass a list or a pattern to read them";
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
                                       "types",
                                       "unreadable"};
  return std::ranges::find(keys, key) != std::end(keys);
}

void add_about(const Value& about, Value& metadata) {
  if (!about.object()) return;
  for (const auto& [key, value] : *about.object())
    if (!metadata.find(key) && !is_of_reading(key)) metadata.set(key, value);
}

}  // namespace headrace
