#include "cli/input/bind.h"

#include <algorithm>
#include <map>

#include "cli/commands.h"
#include "cli/input/npz.h"
#include "cli/input/slots.h"
#include "headrace/formats/arrays/arrays.h"
#include "headrace/formats/described.h"
#include "headrace/graph/plan/plan_slots.h"

namespace headrace::cli {
namespace {

constexpr uint64_t kLargestColumn = uint64_t{64} << 30;

struct Columns {
  Schema schema;  // without specs: array_source() takes them from the columns
  std::vector<Tensor> columns;
};

Tensor lines_of(std::string_view text, DType dtype) {
  std::vector<Tensor> rows;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    rows.push_back(text_tensor(text.substr(0, end), dtype));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const auto count = static_cast<int64_t>(rows.size());
  return Tensor{nullptr, 0, dtype, {count}, std::make_shared<const RowList>(std::move(rows))};
}

using NamedColumns = std::vector<std::pair<std::string, Tensor>>;

// The columns of a file; a single column has no name.
Result<NamedColumns> read_columns(const std::string& path, DType text) {
  const bool is_text = path.ends_with(".txt"), are_several = path.ends_with(".npz");
  if (!is_text && !are_several && !path.ends_with(".npy"))
    return invalid("expected a .npy file (numpy.save), an .npz file (numpy.savez) or lines of text (.txt)");
  HEADRACE_ASSIGN(const std::unique_ptr<OpenFile> file, file_store()->open(path));
  HEADRACE_ASSIGN(const BufferPtr bytes, read_bytes(*file, 0, ~uint64_t{0}, kLargestColumn));
  if (are_several) return read_npz({bytes->data(), bytes->size()});
  if (is_text)
    return NamedColumns{{"", lines_of({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, text)}};
  HEADRACE_ASSIGN(Tensor array, read_npy({bytes->data(), bytes->size()}));
  return NamedColumns{{"", std::move(array)}};
}

Status add_column(Columns& columns, std::string field, Tensor column) {
  std::string& structure = columns.schema.structure;
  const size_t n = columns.columns.size();
  if (n > 0 && (field.empty() || structure == "0"))
    return invalid("expected NAME/FIELD=FILE for each of several columns");
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

std::string names_of(const std::vector<Slot>& slots) {
  std::string out;
  for (const Slot& slot : slots)
    if (slot.kind == Slot::data) out += (out.empty() ? "'" : ", '") + slot.name + "'";
  return out.empty() ? "it has no data slots" : "its data slots are " + out;
}

// Strings are read as bytes if the slot expects bytes.
DType text_type(const Slot& slot, const std::string& field) {
  const auto wanted = described_schema(slot.described);
  if (!wanted.ok() || !*wanted) return DType::str;
  const int at = (*wanted)->find(field.empty() ? "value" : field);
  return at >= 0 && (*wanted)->specs[static_cast<size_t>(at)].dtype == DType::bytes ? DType::bytes
                                                                                    : DType::str;
}

Status add_file(Columns& columns, const Slot& slot, const std::string& field, const std::string& path) {
  HEADRACE_ASSIGN(NamedColumns fields, read_columns(path, text_type(slot, field)));
  const auto wanted = described_schema(slot.described);
  if (fields.size() == 1 && wanted.ok() && *wanted && (*wanted)->structure == "0") fields[0].first.clear();
  for (auto& [name, column] : fields) {
    const std::string sign = field.empty() || name.empty() ? "" : "/";
    HEADRACE_TRY(add_column(columns, field + sign + name, std::move(column)));
  }
  return {};
}

}  // namespace

Result<Bindings> bindings(const std::vector<std::string>& bind, std::string_view plan) {
  if (bind.empty()) return Bindings();
  const std::vector<Slot> slots = slots_of(plan);
  const auto parsed = Value::parse(plan);
  const std::vector<PlanRead> reads = parsed.ok() ? reads_of(*parsed) : std::vector<PlanRead>();
  Bindings out;
  std::map<std::string, Columns> found;
  for (const std::string& one : bind) {
    const size_t sign = one.find('=');
    if (sign == std::string::npos || sign == 0) refuse("--bind: expected NAME=FILE, got '" + one + "'");
    const std::string name = one.substr(0, sign), slot = name.substr(0, name.find('/'));
    const auto wanted = std::ranges::find_if(
        slots, [&](const Slot& other) { return other.name == slot && other.kind == Slot::data; });
    const auto is_read = [&](const PlanRead& read) { return read.name == name; };
    if (wanted == slots.end() && std::ranges::any_of(reads, is_read)) {
      out.paths[name].push_back(one.substr(sign + 1));
      continue;
    }
    if (wanted == slots.end())
      refuse("--bind: the pipeline has no data slot '" + slot + "'; " + names_of(slots) +
             (reads.empty() ? "" : ", and its reads are " + read_names(reads)));
    const std::string field = slot == name ? "" : name.substr(slot.size() + 1);
    HEADRACE_TRY(add_file(found[slot], *wanted, field, one.substr(sign + 1)).before("--bind " + one + ": "));
  }
  for (auto& [slot, columns] : found) {
    auto source = array_source(std::move(columns.schema), std::move(columns.columns), slot);
    if (!source.ok()) return source.status().before("--bind " + slot + ": ");
    out.sources.emplace(slot, *std::move(source));
  }
  return out;
}

}  // namespace headrace::cli
