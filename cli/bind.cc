#include "cli/bind.h"

#include <algorithm>
#include <map>

#include "cli/commands.h"
#include "headrace/codecs/npy.h"
#include "headrace/core/buffer.h"
#include "headrace/formats/arrays/arrays.h"

namespace headrace::cli {
namespace {

constexpr uint64_t kLargestColumn = uint64_t{64} << 30;

struct Columns {
  Schema schema;  // without specs: array_source() takes them from the columns
  std::vector<Tensor> columns;
};

Result<Tensor> read_array(std::span<const std::byte> file) {
  HEADRACE_ASSIGN(const NpyHeader header, read_npy_header(file));
  const TensorSpec spec{header.dtype, header.shape};
  if (spec.size_bytes() != file.size() - header.data)
    return invalid("wants " + std::to_string(spec.size_bytes()) + " bytes for " + spec.text() + ", got " +
                   std::to_string(file.size() - header.data));
  const MutableBufferPtr out = HeapBuffer::make(std::max<size_t>(spec.size_bytes(), 1));
  HEADRACE_TRY(read_npy_data(file, header, out->mutable_data()));
  return Tensor{out, 0, spec.dtype, spec.shape, nullptr};
}

Tensor lines_of(std::string_view text) {
  auto rows = std::make_shared<std::vector<Tensor>>();
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    rows->push_back(text_tensor(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const auto count = static_cast<int64_t>(rows->size());
  return Tensor{nullptr, 0, DType::str, {count}, std::move(rows)};
}

Result<Tensor> read_column(const std::string& path) {
  const bool is_text = path.ends_with(".txt");
  if (!is_text && !path.ends_with(".npy"))
    return invalid("wants an array as numpy.save() writes it (.npy) or lines of text (.txt)");
  HEADRACE_ASSIGN(const std::unique_ptr<OpenFile> file, file_store()->open(path));
  HEADRACE_ASSIGN(const BufferPtr bytes, read_bytes(*file, 0, ~uint64_t{0}, kLargestColumn));
  if (!is_text) return read_array({bytes->data(), bytes->size()});
  return lines_of({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
}

Status add_column(Columns& columns, std::string field, Tensor column) {
  std::string& structure = columns.schema.structure;
  const size_t n = columns.columns.size();
  if (n > 0 && (field.empty() || structure == "0"))
    return invalid("wants NAME/FIELD=FILE for each column of several");
  if (std::ranges::find(columns.schema.names, field) != columns.schema.names.end())
    return invalid("field '" + field + "' is given twice");
  if (field.empty())
    structure = "0";
  else
    structure = (n == 0 ? "{" : structure.substr(0, structure.size() - 1) + ",") + Value(field).dump() + ":" +
                std::to_string(n) + "}";
  columns.schema.names.push_back(field.empty() ? "value" : std::move(field));
  columns.columns.push_back(std::move(column));
  return {};
}

// The slots of data, wherever they stand.
void find_slots(const Value& value, std::vector<std::string>& out) {
  if (const auto* list = value.list())
    for (const Value& item : *list) find_slots(item, out);
  if (!value.object()) return;
  const Value* slot = value.find("slot");
  if (slot && slot->text() && value.find("format")) out.push_back(*slot->text());
  for (const auto& [key, item] : *value.object()) find_slots(item, out);
}

std::string in_words(const std::vector<std::string>& slots) {
  std::string out;
  for (const std::string& slot : slots) out += (out.empty() ? "'" : ", '") + slot + "'";
  return out.empty() ? "nothing" : out;
}

}  // namespace

Result<Bindings> bindings(const std::vector<std::string>& bind, std::string_view plan) {
  std::vector<std::string> slots;
  if (const auto parsed = Value::parse(plan); parsed.ok()) find_slots(*parsed, slots);
  std::map<std::string, Columns> found;
  for (const std::string& one : bind) {
    const size_t sign = one.find('=');
    if (sign == std::string::npos || sign == 0) refuse("--bind wants NAME=FILE, got '" + one + "'");
    const std::string name = one.substr(0, sign), slot = name.substr(0, name.find('/'));
    if (std::ranges::find(slots, slot) == slots.end())
      refuse("--bind: the pipeline has no data in slot '" + slot + "'; it wants " + in_words(slots));
    auto column = read_column(one.substr(sign + 1));
    if (!column.ok()) return column.status().before("--bind " + one + ": ");
    HEADRACE_TRY(add_column(found[slot], slot == name ? "" : name.substr(slot.size() + 1), *std::move(column))
                     .before("--bind " + one + ": "));
  }
  Bindings out;
  for (auto& [slot, columns] : found) {
    auto source = array_source(std::move(columns.schema), std::move(columns.columns), slot);
    if (!source.ok()) return source.status().before("--bind " + slot + ": ");
    out.sources.emplace(slot, *std::move(source));
  }
  return out;
}

}  // namespace headrace::cli
