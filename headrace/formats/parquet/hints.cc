#include "headrace/formats/parquet/hints.h"

#include <algorithm>
#include <map>

#include "headrace/core/text/base64.h"
#include "headrace/formats/arrow/message.h"
#include "headrace/formats/meaning/class_lists.h"

namespace headrace::parquet {
namespace {

// The columns of Arrow's schema, by name, without those that our Arrow reader refuses.
std::map<std::string, arrow::Column> arrow_columns(std::string_view encoded) {
  std::map<std::string, arrow::Column> out;
  if (encoded.empty()) return out;
  const auto text = from_base64(encoded);
  if (!text || text->size() < arrow::kPrefix) return out;
  const auto bytes = std::as_bytes(std::span(*text));
  if (arrow::metadata_length(bytes) > bytes.size()) return out;
  const auto message = arrow::Message::read(bytes);
  if (!message.ok() || message->kind != arrow::Message::schema) return out;
  const auto layout = arrow::read_layout(message->header, message->version);
  if (!layout.ok()) return out;
  for (const arrow::Column& column : layout->columns)
    if (column.refused.empty() && !column.entries) out.emplace(column.name, column);
  return out;
}

// Takes the fixed lengths of nested lists from Arrow's column. False if its nesting differs.
bool take_shape(const arrow::Column& arrow, Column& column) {
  if (is_text(arrow.dtype)) return false;
  const Shape shape = arrow.is_list() ? arrow.item.with_front(kAny) : arrow.item;
  const int lists = column.max_rep(), inner = column.item.rank();
  if (shape.rank() == lists + inner) {
    for (int i = 0; i < inner; ++i)
      if (shape[lists + i] != column.item[i]) return false;
    for (int i = 0; i < lists; ++i) column.lists[static_cast<size_t>(i)] = shape[i];
  } else if (lists == 1 && inner == 0 && shape.rank() > 0 && shape.is_static()) {
    column.lists[0] = shape.count();  // a tensor, which is stored flat
  } else {
    return false;
  }
  column.is_list = arrow.is_list();
  column.item = arrow.item;
  return true;
}

Value own_object(std::string_view text) {
  if (text.empty()) return {};
  const auto value = Value::parse(text);
  return value.ok() && value->object() ? *value : Value();
}

}  // namespace

void apply_hints(const Footer& footer, std::vector<Column>& columns) {
  const auto arrow = arrow_columns(footer.find(kArrowSchemaKey));
  for (Column& column : columns) {
    if (!column.refused.empty() || column.is_of_texts()) continue;
    const auto said = arrow.find(column.name);
    if (said != arrow.end() && column.type.empty() && column.dtype == DType::i64 &&
        said->second.type.starts_with("duration"))
      column.type = said->second.type;
    if (column.lists.empty()) continue;
    const bool is_known = said != arrow.end() && take_shape(said->second, column);
    if (!is_known && column.lists.size() > 1) column.refused = "lists of lists";
  }
}

Value about_file(const Footer& footer) {
  Value about = own_object(footer.find(kAboutKey));
  return about.is_null() ? huggingface_classes(footer.find("huggingface")) : about;
}

}  // namespace headrace::parquet
