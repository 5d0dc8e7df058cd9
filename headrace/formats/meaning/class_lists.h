// Which names the class numbers of a field stand for, as metadata has them:
//   {"classes": ["cat", "dog"]}               of the label field,
//   {"classes": […], "classes_of": "kind"}    of this field,
//   {"classes_of" or "class_names": {"kind": […], "colour": […]}}   of several fields.
// Pure; any thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/core/value.h"

namespace headrace {

using ClassNames = std::vector<std::string>;

struct ClassList {
  std::string key, member;  // where in the metadata; `member` is empty unless the value is an object
  int field = -1;           // of the schema; -1: not known
  ClassNames names;
};

// Lists of fields that the schema does not have are left out.
std::vector<ClassList> class_lists(const Value& metadata, const Schema& schema);
// Replaces the list at that place. REQUIRES: it is there.
void set_class_list(const ClassList& list, Value& metadata);
// Removes all keys above.
void remove_class_lists(Value& metadata);

// The label field of a data set that has one list of classes: "label", "cls", "class" or "labels"; -1: none.
int label_field(const Schema& schema);

// The longer list if the other one is its beginning, so that each number means the same in both.
std::optional<ClassNames> common_classes(const ClassNames& a, const ClassNames& b);
// `a`, followed by the names of `b` that are not in it.
ClassNames joined_classes(const ClassNames& a, const ClassNames& b);
// The position in `to` of each of `from`. An error if a name is missing, or is twice in either list.
Result<std::vector<int64_t>> numbers_in(const ClassNames& from, const ClassNames& to);

// "2 classes ['cat', 'dog']", the first few of them.
std::string classes_text(const ClassNames& names);

// The class names in Hugging Face's description of a data set (the key "huggingface" of Parquet and Arrow
// files); null if there are none.
Value huggingface_classes(std::string_view json);

}  // namespace headrace
