// Some rows of a source, under other names or read in another way: what prepared data sets are beside the
// files they lie in. Immutable; any thread.
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
  // The fields of a row from those the source has; null: they are the same under the names of `schema`. What
  // it refuses is said without file and row.
  std::function<Status(const std::vector<Tensor>& from, std::vector<Tensor>& fields)> read = nullptr;
  Value description, metadata;  // `metadata`: an object, beside the source's own
};

// An error where the source has fewer rows.
Result<SourcePtr> select_rows(SourcePtr source, SelectedRows rows);

// {"label": ["cat", "dog"]} of all fields that have names; and as "classes" those of the only one, or of
// "label".
void set_class_names(std::vector<std::pair<std::string, std::vector<std::string>>> names, Value& metadata);

}  // namespace headrace
