// Some rows of a source, renamed or decoded differently: what prepared data sets add to the files that store
// them. Immutable; any thread.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headrace/formats/prepared/splits.h"
#include "headrace/formats/source.h"

namespace headrace {

struct SelectedRows {
  std::string name;               // of the format
  std::vector<SplitRows> ranges;  // of the source's rows, one after the other
  Schema schema;
  // The fields of a row from those of the source; null: the same ones under the names of `schema`. Errors do
  // not contain the file and row.
  std::function<Status(const std::vector<Tensor>& from, std::vector<Tensor>& fields)> read = nullptr;
  Value description, metadata;  // `metadata`: an object, added to the source's own
};

// An error if the source has fewer rows.
Result<SourcePtr> select_rows(SourcePtr source, SelectedRows rows);

// {"label": ["cat", "dog"]} for all fields that have class names; and as "classes" those of the only such
// field, or of "label".
void set_class_names(std::vector<std::pair<std::string, std::vector<std::string>>> names, Value& metadata);

}  // namespace headrace
