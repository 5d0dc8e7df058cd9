// Files that are read as one data set: whether their fields mean the same, and what holds for all of them.
// Every format of columns asks this, so that the first file never decides for the others.
//
// Names and shapes must be the same. Numbers are brought to the wider dtype and the finest unit, which loses
// nothing; class numbers to one list of classes, where the lists continue each other or `align_labels` is
// set. Anything else is an error that names both files.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/formats/meaning/class_lists.h"
#include "headrace/formats/meaning/field_change.h"
#include "headrace/formats/nulls.h"
#include "headrace/formats/options.h"

namespace headrace {

struct FileFields {
  std::string path;
  Schema schema;
  // Logical type or unit of each field; "": a plain number; kNullType: nothing but nulls, of any dtype.
  std::vector<std::string> types;
  Value about;  // the file's own metadata: an object, or null
};

// The fields of files whose columns have a name, a spec and a type.
template <class Column> std::vector<std::string> types_of(const std::vector<Column>& columns) {
  std::vector<std::string> out;
  for (const Column& column : columns) out.push_back(column.type);
  return out;
}

OptionInfo align_labels_option();

// What holds for all files.
struct Agreed {
  Value types;                     // {"t": "timestamp[ns]"}; null if all are plain numbers
  Value about;                     // of the files' own metadata: an object, or null
  std::vector<std::string> notes;  // warnings: what is in some files only
  bool has_changes = false;        // values of some files are changed as they are read
  std::string stable_text;         // what these changes depend on, for fingerprints; empty without changes

  void add_to(Value& metadata) const;
};

// Not thread-safe while files are added.
class FilesAgree {
 public:
  // `noun`: what a field is called in messages, "column" or "field".
  FilesAgree(std::string noun, bool align_labels) : noun_(std::move(noun)), align_labels_(align_labels) {}

  // Files in order. An error says how the file differs from one before; the caller adds its name.
  Status add(FileFields file);
  // A file that is like the one before. REQUIRES: there is one.
  void add_like_last() { kind_of_file_.push_back(kind_of_file_.back()); }
  // After the last file. `nulls`: what nulls are read as.
  Result<Agreed> finish(const NullRules& nulls = {});
  const Schema& schema() const { return schema_; }
  // How values of a file are changed; null: they stay as they are. REQUIRES: finish().
  FieldChangesPtr changes(size_t file) const { return kinds_[kind_of_file_[file]].changes; }

 private:
  struct Kind {  // files that are alike
    Schema schema;
    std::vector<std::string> types;
    Value about;
    std::vector<ClassList> lists;
    FieldChangesPtr changes = nullptr;
  };
  struct FieldType {
    std::string type, path;  // that all files can have; of the file that determines it
  };

  Status agree_on_dtypes(const FileFields& file);
  Status agree_on_types(const FileFields& file);
  Status agree_on_classes(const FileFields& file, const std::vector<ClassList>& lists);
  void keep_common(const Value& about);
  void note(std::string text);
  void drop_lists_of_some();
  Result<FieldChangesPtr> changes_of(const Kind& kind, const std::vector<Nulls>& nulls) const;
  Result<FieldChange> renumbering(const ClassList& own) const;

  std::string noun_;
  bool align_labels_ = false;
  Schema schema_;
  std::string first_path_;
  std::vector<FieldType> types_;
  std::vector<ClassList> lists_;
  Value about_;
  std::vector<Kind> kinds_;
  std::vector<uint32_t> kind_of_file_;
  std::vector<std::string> notes_;
};

}  // namespace headrace
