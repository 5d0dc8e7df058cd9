#include "headrace/formats/data_notes.h"

namespace headrace {

std::vector<std::string> notes_of(const Source& source) {
  const Value metadata = source.metadata();
  const Value* notes = metadata.find("notes");
  std::vector<std::string> out;
  if (notes && notes->list())
    for (const Value& note : *notes->list()) out.push_back(*note.text());
  return out;
}

}  // namespace headrace
