#include "cli/left_out.h"

#include <algorithm>

#include "cli/terminal.h"
#include "headrace/formats/endings.h"

namespace headrace::cli {
namespace {

constexpr size_t kShown = 10;

std::string folders_text(const Value& folders) {
  const Value::List& names = *folders.list();
  std::string out = names.size() == 1 ? "the folder " : "the folders ";
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) out += (i == 0 ? "" : ", ") + *names[i].text();
  return names.size() > kShown ? out + ", …" : out;
}

}  // namespace

std::string left_out_text(const Source& source) {
  const Value metadata = source.metadata();
  const Value* left_out = metadata.find("left_out");
  if (!left_out) return {};
  const auto files = static_cast<uint64_t>(*left_out->find("files")->integer());
  std::string out = plural(files, "file") + ": endings " + endings_text(*left_out->find("endings"));
  if (const Value* folders = left_out->find("folders")) out += "; no image in " + folders_text(*folders);
  return out;
}

std::string left_out_columns_text(const Source& source) {
  const Value metadata = source.metadata();
  const Value* columns = metadata.find("left_out_columns");
  if (!columns || !columns->list() || columns->list()->empty()) return {};
  std::string out;
  for (size_t i = 0; i < std::min(columns->list()->size(), kShown); ++i)
    out += (i == 0 ? "" : ", ") + *(*columns->list())[i].text();
  if (columns->list()->size() > kShown) out += ", …";
  return columns->list()->size() == 1 ? "column " + out + ", which is of a type that is not read"
                                      : "columns " + out + ", which are of types that are not read";
}

Value::List problems_of(const Source& source) {
  const Value metadata = source.metadata();
  const Value* problems = metadata.find("problems");
  return problems && problems->list() ? *problems->list() : Value::List();
}

std::string problems_text(const Value::List& problems) {
  return plural(problems.size(), "name") + " that could not be read or " +
         (problems.size() == 1 ? "is no file" : "are no files");
}

}  // namespace headrace::cli
