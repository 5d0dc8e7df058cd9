#include "headrace/formats/opening/readable.h"

#include <algorithm>

#include "headrace/core/text/text.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/wrapped_source.h"

namespace headrace {
namespace {

constexpr size_t kNamedInNote = 3, kNamedInMetadata = 100;

}  // namespace

std::string left_out_note(const std::vector<Listing::Problem>& left_out) {
  if (left_out.empty()) return {};
  std::string names;
  for (size_t i = 0; i < std::min(left_out.size(), kNamedInNote); ++i)
    names += (i == 0 ? "" : ", ") + in_quotes(left_out[i].path) + " (" + printable(left_out[i].reason) + ")";
  return std::to_string(left_out.size()) +
         (left_out.size() == 1 ? " name that could not be read is left out: "
                               : " names that could not be read are left out: ") +
         names + (left_out.size() > kNamedInNote ? ", …" : "") +
         "; without skip_unreadable=True that is an error";
}

OptionInfo skip_unreadable_option() {
  return {
      std::string(kSkipUnreadable), "bool",
      "Leave out what cannot be examined, such as a folder without permission or a link that leads nowhere, "
      "with a warning. An unreadable class folder keeps its label.",
      false};
}

SourcePtr with_left_out(SourcePtr source, const std::vector<Listing::Problem>& left_out) {
  Value description = source->describe(), metadata = source->metadata();
  description.set(std::string(kSkipUnreadable), true);
  if (!left_out.empty()) {
    Value::List list;
    for (size_t i = 0; i < std::min(left_out.size(), kNamedInMetadata); ++i)
      list.push_back(Value::Object{{"path", left_out[i].path}, {"reason", left_out[i].reason}});
    metadata.set("unreadable", std::move(list));
    add_note(metadata, left_out_note(left_out));
  }
  return with_description(with_metadata(std::move(source), std::move(metadata)), std::move(description));
}

}  // namespace headrace
