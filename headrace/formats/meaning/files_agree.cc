#include "headrace/formats/meaning/files_agree.h"

#include <algorithm>
#include <concepts>
#include <limits>
#include <utility>

#include "headrace/core/text/text.h"
#include "headrace/formats/columns.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/meaning/logical_type.h"

namespace headrace {
namespace {

constexpr std::string_view kApart =
    "; read the files apart, convert one of the data sets with map(), and concatenate() them";

bool is_same_place(const ClassList& a, const ClassList& b) { return a.key == b.key && a.member == b.member; }

const ClassList* find_list(const std::vector<ClassList>& lists, const ClassList& wanted) {
  const auto at =
      std::ranges::find_if(lists, [&](const ClassList& list) { return is_same_place(list, wanted); });
  return at == lists.end() ? nullptr : &*at;
}

// How two lists differ, of which neither continues the other.
std::string how_they_differ(const ClassNames& mine, const std::string& of, const ClassNames& other) {
  size_t at = 0;
  while (mine[at] == other[at]) ++at;
  return "expected that class " + std::to_string(at) + " is " + in_quotes(mine[at]) + " as in " +
         in_quotes(of) + " (" + classes_text(mine) + "), got " + in_quotes(other[at]) + " (" +
         classes_text(other) + ")";
}

std::string shown_field(const Schema& schema, const ClassList& list) {
  return list.field < 0 ? "" : " of field " + in_quotes(schema.names[static_cast<size_t>(list.field)]);
}

bool is_of_classes(std::string_view key) {
  return key == "classes" || key == "classes_of" || key == "class_names";
}

bool is_label_dtype(DType dtype) {
  return !is_float(dtype) && !headrace::is_text(dtype) && dtype != DType::boolean;
}

int64_t most_of(DType dtype) {
  int64_t out = 0;
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (std::integral<T> && !std::same_as<T, bool>)
      out = std::cmp_less(std::numeric_limits<T>::max(), std::numeric_limits<int64_t>::max())
                ? static_cast<int64_t>(std::numeric_limits<T>::max())
                : std::numeric_limits<int64_t>::max();
  });
  return out;
}

}  // namespace

OptionInfo align_labels_option() {
  return {"align_labels", "bool",
          "Whether labels are mapped by name to one list of classes where the lists of the files differ: the "
          "classes of the first file, then the others in the order in which they are found. Otherwise such "
          "files are an error.",
          false};
}

Status FilesAgree::add(FileFields file) {
  if (kinds_.empty()) {
    schema_ = file.schema, first_path_ = file.path, about_ = file.about;
    for (const std::string& type : file.types) types_.push_back({type, file.path});
    lists_ = class_lists(about_, schema_);
    kinds_.push_back({std::move(file.schema), std::move(file.types), std::move(file.about), lists_});
    kind_of_file_.push_back(0);
    return {};
  }
  const auto is_alike = [&](const Kind& kind) {
    return kind.schema == file.schema && kind.types == file.types && kind.about == file.about;
  };
  // Files mostly are like the one before.
  size_t kind = kind_of_file_.back();
  if (!is_alike(kinds_[kind]))
    kind = static_cast<size_t>(std::ranges::find_if(kinds_, is_alike) - kinds_.begin());
  if (kind == kinds_.size()) {
    HEADRACE_TRY(agree_on_dtypes(file));
    std::vector<ClassList> lists = class_lists(file.about, schema_);
    HEADRACE_TRY(agree_on_types(file));
    HEADRACE_TRY(agree_on_classes(file, lists));
    keep_common(file.about);
    kinds_.push_back(
        {std::move(file.schema), std::move(file.types), std::move(file.about), std::move(lists)});
  }
  kind_of_file_.push_back(static_cast<uint32_t>(kind));
  return {};
}

Status FilesAgree::agree_on_dtypes(const FileFields& file) {
  Schema mine = schema_, got = file.schema;
  for (size_t i = 0; i < std::min(mine.size(), got.size()); ++i) {
    TensorSpec &a = mine.specs[i], &b = got.specs[i];
    if (mine.names[i] != got.names[i]) break;
    if (file.types[i] == kNullType) {
      b = a;
    } else if (types_[i].type == kNullType) {
      a = b;
    } else if (const auto common = a.shape == b.shape ? common_dtype(a.dtype, b.dtype) : std::nullopt) {
      a.dtype = b.dtype = *common;
    }
  }
  const std::string differs = difference_from_first(mine, got, noun_, first_path_);
  if (!differs.empty()) return invalid(differs);
  schema_ = std::move(mine);
  return {};
}

Status FilesAgree::agree_on_types(const FileFields& file) {
  for (size_t i = 0; i < types_.size(); ++i) {
    FieldType& mine = types_[i];
    const auto common = common_type(mine.type, file.types[i]);
    if (!common)
      return invalid({.expected = noun_ + " " + in_quotes(schema_.names[i]) + " as " + type_text(mine.type) +
                                  ", as in " + in_quotes(mine.path),
                      .got = type_text(file.types[i]) + std::string(kApart)});
    if (*common != mine.type) mine = {*common, file.path};
  }
  return {};
}

Status FilesAgree::agree_on_classes(const FileFields& file, const std::vector<ClassList>& lists) {
  for (size_t i = lists_.size(); i-- > 0;) {
    ClassList& mine = lists_[i];
    const ClassList* other = find_list(lists, mine);
    if (const auto common = other ? common_classes(mine.names, other->names) : std::nullopt) {
      mine.names = *common;
      continue;
    }
    if (other && mine.field >= 0 && mine.field == other->field) {
      if (!align_labels_)
        return invalid(how_they_differ(mine.names, first_path_, other->names) + shown_field(schema_, mine) +
                       "; align_labels=True maps the labels by name to one list, or read the files apart");
      mine.names = joined_classes(mine.names, other->names);
      continue;
    }
    note(other
             ? in_quotes(file.path) + ": " + how_they_differ(mine.names, first_path_, other->names) +
                   ", and no field is known to have the labels; metadata has no list of classes"
             : in_quotes(file.path) + " has no list of classes" + shown_field(schema_, mine) + ", but " +
                   in_quotes(first_path_) + " has; metadata has none, because labels may have other numbers");
    lists_.erase(lists_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (const ClassList& other : lists)
    if (!find_list(kinds_[0].lists, other))
      note(in_quotes(file.path) + " has a list of classes" + shown_field(schema_, other) + ", but " +
           in_quotes(first_path_) + " has none; metadata has none, because labels may have other numbers");
  return {};
}

void FilesAgree::keep_common(const Value& about) {
  if (!about_.object()) return;
  Value out{Value::Object()};
  for (const auto& [key, value] : *about_.object())
    if (const Value* other = about.find(key); is_of_classes(key) || (other && *other == value))
      out.set(key, value);
  about_ = std::move(out);
}

void FilesAgree::note(std::string text) {
  constexpr size_t kMost = 3;
  if (notes_.size() < kMost) notes_.push_back(std::move(text));
}

// Removes the lists of classes that some files do not have, and sets the others to what holds for all.
void FilesAgree::drop_lists_of_some() {
  if (!about_.object()) return;
  Value about = about_;
  remove_class_lists(about);
  for (const auto& [key, value] : *about_.object()) {
    const auto is_of_key = [&key = key](const ClassList& list) { return list.key == key; };
    if (is_of_classes(key) &&
        std::ranges::count_if(kinds_[0].lists, is_of_key) == std::ranges::count_if(lists_, is_of_key))
      about.set(key, value);
  }
  for (const ClassList& list : lists_)
    if (about.find(list.key)) set_class_list(list, about);
  const Value* of = about.find("classes_of");
  if (of && of->text() && !about.find("classes")) remove_class_lists(about);
  about_ = std::move(about);
}

Result<Agreed> FilesAgree::finish(const NullRules& nulls) {
  Agreed out;
  if (kinds_.size() > 1) {
    drop_lists_of_some();
    HEADRACE_ASSIGN(const std::vector<Nulls> read, nulls.of_fields(schema_));
    for (Kind& kind : kinds_) {
      HEADRACE_ASSIGN(kind.changes, changes_of(kind, read));
      out.has_changes = out.has_changes || kind.changes;
    }
  }
  for (size_t i = 0; i < types_.size(); ++i) {
    if (!types_[i].type.empty()) out.types.set(schema_.names[i], types_[i].type);
    if (out.has_changes) out.stable_text += " " + types_[i].type;
  }
  if (out.has_changes)
    for (const ClassList& list : lists_)
      for (const std::string& name : list.names) out.stable_text += " " + name;
  out.about = about_, out.notes = notes_;
  return out;
}

void Agreed::add_to(Value& metadata) const {
  if (!types.is_null()) metadata.set("types", types);
  for (const std::string& note : notes) add_note(metadata, note);
  add_about(about, metadata);
}

Result<FieldChange> FilesAgree::renumbering(const ClassList& own) const {
  const ClassList* all = own.field < 0 ? nullptr : find_list(lists_, own);
  if (!all || common_classes(own.names, all->names) == all->names) return FieldChange();
  HEADRACE_ASSIGN(std::vector<int64_t> numbers, numbers_in(own.names, all->names));
  const DType dtype = schema_.specs[static_cast<size_t>(own.field)].dtype;
  const std::string name = in_quotes(schema_.names[static_cast<size_t>(own.field)]);
  if (!is_label_dtype(dtype))
    return invalid({.expected = "integers in field " + name, .got = std::string(dtype_name(dtype))})
        .in_option("align_labels");
  if (std::ranges::any_of(numbers, [&](int64_t number) { return number > most_of(dtype); }))
    return invalid("the files have " + classes_text(all->names) + ", whose numbers do not fit " +
                   "into the " + std::string(dtype_name(dtype)) + " of field " + name)
        .in_op("align_labels");
  return renumbered(std::move(numbers));
}

Result<FieldChangesPtr> FilesAgree::changes_of(const Kind& kind, const std::vector<Nulls>& nulls) const {
  FieldChanges out{schema_.names, std::vector<FieldChange>(schema_.size()),
                   std::vector<FieldCast>(schema_.size())};
  for (size_t i = 0; i < types_.size(); ++i) {
    if (kind.types[i] == kNullType && types_[i].type != kNullType)
      out.casts[i] = of_nulls(schema_.specs[i], nulls[i]);
    else if (kind.schema.specs[i].dtype != schema_.specs[i].dtype)
      out.casts[i] = in_dtype(schema_.specs[i].dtype);
    if (const int64_t factor = factor_between(kind.types[i], types_[i].type); factor != 1)
      out.changes[i] = in_unit(factor, kind.types[i], types_[i].type);
  }
  for (const ClassList& own : kind.lists) {
    HEADRACE_ASSIGN(FieldChange change, renumbering(own));
    if (change) out.changes[static_cast<size_t>(own.field)] = std::move(change);
  }
  return out.any() ? std::make_shared<const FieldChanges>(std::move(out)) : FieldChangesPtr();
}

}  // namespace headrace
