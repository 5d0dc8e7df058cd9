#include "cli/input/left_out.h"

#include <algorithm>

#include "cli/output/terminal.h"
#include "headrace/formats/endings.h"

namespace headrace::cli {
namespace {

// "folder eel", "folders eel, newt": the first of them.
std::string named(const std::string& what, const Value::List& names) {
  constexpr size_t kShown = 10;
  std::string out = what + (names.size() == 1 ? " " : "s ");
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) out += (i == 0 ? "" : ", ") + *names[i].text();
  return names.size() > kShown ? out + ", …" : out;
}

}  // namespace

std::string left_out_text(const Source& source) {
  const Value metadata = source.metadata();
  const Value* left_out = metadata.find("left_out");
  if (!left_out) return {};
  const auto files = static_cast<uint64_t>(*left_out->find("files")->integer());
  std::string out = plural(files, "file") + ": extensions " + endings_text(*left_out->find("endings"));
  if (const Value* folders = left_out->find("folders"))
    out += "; no image in the " + named("folder", *folders->list());
  return out;
}

std::string left_out_columns_text(const Source& source) {
  const Value metadata = source.metadata();
  const Value* columns = metadata.find("left_out_columns");
  if (!columns || !columns->list() || columns->list()->empty()) return {};
  return named("column", *columns->list()) +
         (columns->list()->size() == 1 ? ", whose type is not supported" : ", whose types are not supported");
}

Value types_in(const Source& source) {
  const Value metadata = source.metadata();
  const Value* types = metadata.find("types");
  return types && types->object() ? *types : Value(Value::Object());
}

Value::List problems_of(const Source& source) {
  const Value metadata = source.metadata();
  const Value* problems = metadata.find("problems");
  return problems && problems->list() ? *problems->list() : Value::List();
}

std::string problems_text(const Value::List& problems) {
  return plural(problems.size(), "name") +
         (problems.size() == 1 ? " that is not a file" : " that are not files");
}

}  // namespace headrace::cli
