// read: the elements of a source.
#pragma once
#include "headrace/formats/source.h"
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct Read {
  static constexpr std::string_view verb = "read",
                                    doc = "The elements of stored data, of arrays or of a sequence.";
  SourcePtr source;
  uint32_t ordinal = 0;
  bool is_narrowed = false;  // `source` gives only the fields that are used (used_fields.h)
  static constexpr std::tuple fields{
      Member{"source", &Read::source, "The format with its paths and options, or a slot and its schema."}};

  Status infer(Node& node) const;
  std::string details() const;
};

}  // namespace headrace
