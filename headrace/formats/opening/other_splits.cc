#include "headrace/formats/opening/other_splits.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "headrace/core/text/text.h"
#include "headrace/formats/meaning/class_lists.h"
#include "headrace/formats/opening/wanted.h"
#include "headrace/formats/wrapped_source.h"
#include "headrace/io/look_up.h"

namespace headrace {
namespace {

constexpr uint64_t kMostLookedAt = uint64_t{1} << 30;  // bytes of strings of another split
constexpr size_t kMostNotes = 3;

// What is known of one split.
struct KnownSplit {
  std::string name;
  Schema schema;
  Value metadata;
};

const FormatInfo* format_of(const Source& source) {
  const Value about = source.describe();
  const Value* format = about.find("format");
  return format && format->text() ? find_format(*format->text()) : nullptr;
}

std::optional<ClassNames> classes_in(const KnownSplit& split) {
  for (ClassList& list : class_lists(split.metadata, split.schema))
    if (list.key == "classes") return std::move(list.names);
  return std::nullopt;
}

bool has_twice(const ClassNames& names) {
  return std::set<std::string_view>(names.begin(), names.end()).size() < names.size();
}

// By the ids of categories, where each id has the same name in all splits and each name one id.
std::optional<ClassNames> by_ids(const std::vector<KnownSplit>& splits) {
  std::map<int64_t, std::string> names;
  std::map<std::string, int64_t> ids_of;
  for (const KnownSplit& split : splits) {
    const Value* ids = split.metadata.find("category_ids");
    const auto own = classes_in(split);
    if (!ids || !ids->list() || !own || ids->list()->size() != own->size()) return std::nullopt;
    for (size_t i = 0; i < own->size(); ++i) {
      const int64_t* id = (*ids->list())[i].integer();
      if (!id || names.try_emplace(*id, (*own)[i]).first->second != (*own)[i] ||
          ids_of.try_emplace((*own)[i], *id).first->second != *id)
        return std::nullopt;
    }
  }
  ClassNames out;
  for (const auto& [id, name] : names) out.push_back(name);
  return out;
}

// The classes of all splits in an order that does not depend on which is read.
ClassNames classes_of_all(const std::vector<KnownSplit>& splits) {
  if (auto out = by_ids(splits)) return *std::move(out);
  ClassNames out;
  bool sorted = true;
  for (const KnownSplit& split : splits) {
    const ClassNames own = *classes_in(split);
    sorted = sorted && std::ranges::is_sorted(own);
    out = joined_classes(out, own);
  }
  if (sorted) std::ranges::sort(out);
  return out;
}

// One list for all splits, if their lists do not continue each other; nothing if they do, or are lists of
// other things, which have no name in common.
std::optional<ClassNames> one_list(std::vector<KnownSplit> splits) {
  std::erase_if(splits, [](const KnownSplit& split) { return !classes_in(split); });
  if (splits.size() < 2) return std::nullopt;
  std::ranges::sort(splits, {}, &KnownSplit::name);
  const ClassNames most = *classes_in(*std::ranges::max_element(
      splits, {}, [](const KnownSplit& split) { return classes_in(split)->size(); }));
  const std::set<std::string_view> known(most.begin(), most.end());
  std::erase_if(splits, [&](const KnownSplit& split) {
    return std::ranges::none_of(*classes_in(split), [&](const auto& name) { return known.contains(name); });
  });
  bool continue_each_other = true;
  for (const KnownSplit& split : splits) {
    const ClassNames own = *classes_in(split);
    if (has_twice(own)) return std::nullopt;
    continue_each_other = continue_each_other && common_classes(own, most) == most;
  }
  return continue_each_other ? std::nullopt : std::optional(classes_of_all(splits));
}

bool has_classes(const Value& metadata) {
  return metadata.find("classes") || metadata.find("classes_of") || metadata.find("class_names");
}

// Whether all dtypes are the user's.
bool are_all_given(const Schema& schema, const Value& options) {
  const Value* dtypes = options.find("dtypes");
  return dtypes &&
         std::ranges::all_of(schema.names, [&](const std::string& name) { return dtypes->find(name); });
}

std::string in_split(const std::string& name) { return "split " + Value(name).dump(); }

void compare_classes(const KnownSplit& mine, const KnownSplit& other, std::vector<std::string>& notes) {
  const std::vector<ClassList> others = class_lists(other.metadata, other.schema);
  for (const ClassList& list : class_lists(mine.metadata, mine.schema)) {
    const auto same = std::ranges::find_if(
        others, [&](const ClassList& one) { return one.key == list.key && one.member == list.member; });
    if (same == others.end() || common_classes(list.names, same->names)) continue;
    size_t at = 0;
    while (list.names[at] == same->names[at]) ++at;
    notes.push_back(
        "labels mean different things in the splits: class " + std::to_string(at) + " is " +
        in_quotes(list.names[at]) + " in " + in_split(mine.name) + " (" + classes_text(list.names) +
        "), and " + in_quotes(same->names[at]) + " in " + in_split(other.name) + " (" +
        classes_text(same->names) +
        "); concatenate(…, align_labels=True) joins them by name, and ops.relabel maps the labels "
        "of one of them");
    return;
  }
}

// COCO's, where labels are ids.
void compare_ids(const KnownSplit& mine, const KnownSplit& other, std::vector<std::string>& notes) {
  const auto names_of = [](const KnownSplit& split) {
    std::map<int64_t, std::string> out;
    const Value *names = split.metadata.find("categories"), *ids = split.metadata.find("category_ids");
    if (!names || !ids || !names->list() || !ids->list()) return out;
    for (size_t i = 0; i < std::min(names->list()->size(), ids->list()->size()); ++i)
      if (const Value &id = (*ids->list())[i], &name = (*names->list())[i]; id.integer() && name.text())
        out.emplace(*id.integer(), *name.text());
    return out;
  };
  const auto others = names_of(other);
  for (const auto& [id, name] : names_of(mine)) {
    const auto same = others.find(id);
    if (same == others.end() || same->second == name) continue;
    notes.push_back("category ids mean different things in the splits: " + std::to_string(id) + " is " +
                    in_quotes(name) + " in " + in_split(mine.name) + ", and " + in_quotes(same->second) +
                    " in " + in_split(other.name) + "; labels=\"index\" numbers all splits by name");
    return;
  }
}

void compare_types(const KnownSplit& mine, const KnownSplit& other, std::vector<std::string>& notes) {
  const Value *types = mine.metadata.find("types"), *others = other.metadata.find("types");
  if (!types || !types->object() || !others) return;
  for (const auto& [field, type] : *types->object()) {
    const Value* same = others->find(field);
    if (!same || *same == type || !same->text() || !type.text()) continue;
    notes.push_back("field " + in_quotes(field) + " is " + *type.text() + " in " + in_split(mine.name) +
                    ", and " + *same->text() + " in " + in_split(other.name) +
                    ": the same number means another time or value there");
    return;
  }
}

// The dtype that holds what both have.
DType wider(DType a, DType b) {
  if (a == b) return a;
  if (is_text(a) || is_text(b)) return is_text(a) ? a : b;
  return is_float(a) || is_float(b) ? DType::f64 : DType::i64;
}

// Of all splits in one note, since one option changes all.
void compare_dtypes(const KnownSplit& mine, const std::vector<KnownSplit>& others, const Value& options,
                    std::vector<std::string>& notes) {
  const Value* given = options.find("dtypes");
  std::string differing;
  Value dtypes{Value::Object()};
  for (size_t i = 0; i < mine.schema.size(); ++i) {
    const std::string& name = mine.schema.names[i];
    if (given && given->find(name)) continue;
    const DType own = mine.schema.specs[i].dtype;
    DType widest = own;
    std::string theirs;
    for (const KnownSplit& other : others) {
      const int at = other.schema.find(name);
      const DType dtype = at < 0 ? own : other.schema.specs[static_cast<size_t>(at)].dtype;
      if (dtype == own) continue;
      theirs += ", " + std::string(dtype_name(dtype)) + " in " + in_split(other.name);
      widest = wider(widest, dtype);
    }
    if (theirs.empty()) continue;
    differing += (differing.empty() ? "" : "; ") + in_quotes(name) + " is " + std::string(dtype_name(own)) +
                 " in " + in_split(mine.name) + theirs;
    dtypes.set(name, dtype_name(widest));
  }
  if (!differing.empty())
    notes.push_back("dtypes, which are those that hold all values of a split, differ: " + differing +
                    "; dtypes=" + dtypes.dump() + " reads all splits alike");
}

// A split that cannot be compared with. What the system refuses is an error: another run would see the split,
// and number classes by it.
Status note_unread(const std::string& name, const Status& status, std::vector<std::string>& notes) {
  if (is_of_the_system(status) || status.code() == Code::cancelled) return status;
  notes.push_back("the split " + Value(name).dump() +
                  " cannot be read, so that its classes, units and dtypes are not compared: " +
                  std::string(status.text()));
  return {};
}

// Looks at the splits that were not chosen.
class Others {
 public:
  Others(const SplitOpener& splits, const Value& choice, const Value& options)
      : splits_(splits), options_(options) {
    for (const std::string& name : splits.names)
      if (!is_chosen(choice, name)) names_.push_back(name);
  }

  bool empty() const { return names_.empty(); }

  // Those that can be opened. `infers`: their text is read for that.
  Result<std::vector<KnownSplit>> opened(bool infers, std::vector<std::string>& notes) const {
    std::vector<KnownSplit> out;
    for (const std::string& name : names_) {
      if (infers && splits_.bytes(name) > kMostLookedAt) {
        notes.push_back("dtypes were not compared with those of " + in_split(name) +
                        ", which is large; dtypes= sets them for all splits");
        continue;
      }
      auto source = splits_.open(Value(name), options_);
      if (source.ok())
        out.push_back({name, (*source)->schema(), (*source)->metadata()});
      else
        HEADRACE_TRY(note_unread(name, source.status(), notes));
    }
    return out;
  }

  std::vector<KnownSplit> said(const FormatInfo& format, const Schema& schema) const {
    std::vector<KnownSplit> out;
    for (const std::string& name : names_)
      if (Value metadata = splits_.said(name, format); has_classes(metadata))
        out.push_back({name, schema, std::move(metadata)});
    return out;
  }

 private:
  static bool is_chosen(const Value& choice, const std::string& name) {
    const auto is_it = [&](const Value& one) {
      return one.text() && (*one.text() == "all" || lower_case(*one.text()) == lower_case(name));
    };
    return choice.list() ? std::ranges::any_of(*choice.list(), is_it) : is_it(choice);
  }

  const SplitOpener& splits_;
  const Value& options_;
  std::vector<std::string> names_;
};

// Whether it has numbered classes by a list that the format takes, and the user gave none. Class folders have
// been numbered for all splits already (splits/splits.cc).
bool takes_classes(const Source& source) {
  const FormatInfo* format = format_of(source);
  const Value metadata = source.metadata();
  return format && has_option(*format, "classes") && format->name != "image_folder" &&
         metadata.find("classes") && !source.describe().find("classes");
}

// The options with the classes of all splits; nothing if their lists do not differ. `mine`: the one that is
// open.
Result<std::optional<Value>> with_one_list(const SplitOpener& splits, const KnownSplit* mine,
                                           const Value& options, std::vector<std::string>& notes) {
  std::vector<KnownSplit> all;
  for (const std::string& name : splits.names) {
    if (mine && mine->name == name) {
      all.push_back(*mine);
      continue;
    }
    auto source = splits.open(Value(name), options);
    if (!source.ok()) {
      HEADRACE_TRY(note_unread(name, source.status(), notes));
      continue;
    }
    if (!takes_classes(**source)) return std::optional<Value>();
    all.push_back({name, (*source)->schema(), (*source)->metadata()});
  }
  const auto classes = one_list(std::move(all));
  if (!classes) return std::optional<Value>();
  Value out = options;
  out.set("classes", Value::List(classes->begin(), classes->end()));
  return std::optional(std::move(out));
}

}  // namespace

Result<SourcePtr> open_beside_others(const SplitOpener& splits, const Value& choice, const Value& options) {
  auto opened = splits.open(choice, options);
  if (!opened.ok()) {  // several that could not be joined; numbered by one list, they may be
    const bool is_one = choice.text() && *choice.text() != "all";
    if (is_one || opened.status().code() == Code::cancelled) return opened;
    std::vector<std::string> notes;
    const auto numbered = with_one_list(splits, nullptr, options, notes);
    return numbered.ok() && *numbered ? splits.open(choice, **numbered) : std::move(opened);
  }
  SourcePtr source = *std::move(opened);
  const Others others(splits, choice, options);
  const FormatInfo* format = format_of(*source);
  if (others.empty() || !format) return source;
  const KnownSplit mine{choice.text() ? *choice.text() : choice.dump(), source->schema(), source->metadata()};
  if (takes_classes(*source)) {
    std::vector<std::string> unread;
    HEADRACE_ASSIGN(const auto numbered, with_one_list(splits, &mine, options, unread));
    if (numbered) {
      HEADRACE_ASSIGN(source, splits.open(choice, *numbered));
    }
    for (const std::string& note : unread) source = with_note(std::move(source), note);
    return source;
  }
  const bool infers = has_option(*format, "dtypes");
  if (infers && are_all_given(mine.schema, options)) return source;
  // Lists of classes that no manifest states are the format's own. Class folders were numbered before.
  const bool has_own = has_classes(mine.metadata) && format->name != "image_folder" &&
                       splits.said(mine.name, *format).is_null();
  const bool looks = infers || has_own || splits.are_of_format || has_option(*format, "align_labels") ||
                     mine.metadata.find("types") || mine.metadata.find("categories");
  if (!looks && !has_classes(mine.metadata)) return source;
  std::vector<std::string> notes;
  std::vector<KnownSplit> known;
  if (looks) {
    HEADRACE_ASSIGN(known, others.opened(infers, notes));
  } else {
    known = others.said(*format, mine.schema);
  }
  for (const KnownSplit& other : known) {
    compare_classes(mine, other, notes);
    compare_ids(mine, other, notes);
    compare_types(mine, other, notes);
  }
  if (infers) compare_dtypes(mine, known, options, notes);
  for (size_t i = 0; i < std::min(notes.size(), kMostNotes); ++i)
    source = with_note(std::move(source), notes[i]);
  return source;
}

}  // namespace headrace
