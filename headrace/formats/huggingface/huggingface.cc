// Hugging Face data sets on disk: see README.md.
#include <algorithm>

#include "headrace/core/text/text.h"
#include "headrace/formats/columns.h"
#include "headrace/formats/format.h"
#include "headrace/formats/huggingface/features.h"
#include "headrace/formats/images/image_files.h"
#include "headrace/formats/nulls.h"
#include "headrace/formats/prepared/selected_rows.h"
#include "headrace/formats/strings/utf8_strings.h"
#include "headrace/io/sorted_names.h"

namespace headrace {
namespace {

constexpr size_t kMostJson = size_t{64} << 20;
constexpr const char kDict[] = "dataset_dict.json", kState[] = "state.json", kInfo[] = "dataset_info.json";

Result<Value> parse_json(const BufferPtr& bytes, const std::string& path) {
  const std::string at = in_quotes(path) + ": ";
  if (bytes->size() > kMostJson)
    return Status(Code::exhausted,
                  at + "expected at most 64 MiB of JSON, got " + std::to_string(bytes->size()));
  auto value = Value::parse({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
  if (!value.ok()) return value.status().before(at);
  if (!value->object()) return corrupt(at + "expected a JSON object");
  return value;
}

// Whether a name is "squad-train.arrow" or "squad-train-00001-of-00003.arrow".
bool is_shard_of(std::string_view name, const std::string& split) {
  if (name.find('/') != std::string_view::npos || !name.ends_with(".arrow")) return false;
  name.remove_suffix(6);
  const size_t of = name.rfind("-of-");
  if (of != std::string_view::npos && of + 9 == name.size() && of >= 6 && name[of - 6] == '-')
    name = name.substr(0, of - 6);
  return name.ends_with("-" + split) || name == split;
}

class OpenHuggingFace final : public Opening<OtherData> {
 public:
  OpenHuggingFace(const OpenRequest& request, std::shared_ptr<std::vector<std::string>> paths)
      : request_(request), paths_(std::move(paths)), folder_(request.path().path) {}

  Result<Step<OtherData>> advance(std::span<const BufferPtr> bytes) override {
    const Listing& listing = *request_.path().listing;
    if (bytes.empty()) {
      HEADRACE_ASSIGN(const std::string split, request_.text("split"));
      if (!split.empty()) {
        HEADRACE_ASSIGN(parts_, parse_splits(split, SplitRules::huggingface));
      }
      for (const SplitPart& part : parts_)
        if (part.name != parts_[0].name)
          return invalid({.expected = "parts of one split",
                          .got = in_quotes(parts_[0].name) + " and " + in_quotes(part.name),
                          .fix = "use concatenate() to join several"})
              .in_option("split");
      if (holds(listing.files, kDict)) return ask({kDict});
      return ask_about(holds(listing.files, kState));
    }
    if (paths_->size() == 1 && (*paths_)[0].ends_with(kDict)) {
      HEADRACE_ASSIGN(const Value dict, parse_json(bytes[0], (*paths_)[0]));
      HEADRACE_TRY(choose_split(dict));
      return ask_about(true);
    }
    HEADRACE_ASSIGN(const Value info, parse_json(bytes[0], (*paths_)[0]));
    if (bytes.size() == 1) return of_cache(info, listing);
    HEADRACE_ASSIGN(const Value state, parse_json(bytes[1], (*paths_)[1]));
    return of_state(info, state);
  }

 private:
  Result<Step<OtherData>> ask(std::vector<std::string> names) {
    paths_->clear();
    std::vector<Extent> extents;
    for (const std::string& name : names) {
      extents.push_back({paths_->size(), 0, kToEnd});
      paths_->push_back(join_path(folder_, name));
    }
    return Step<OtherData>(std::move(extents));
  }
  Result<Step<OtherData>> ask_about(bool has_state) {
    return has_state ? ask({kInfo, kState}) : ask({kInfo});
  }

  std::string wanted() const { return parts_.empty() ? "" : parts_[0].name; }

  // The only split, or the selected one.
  Result<std::string> chosen(const std::vector<std::string>& splits) const {
    std::string names;
    for (const std::string& name : splits) names += (names.empty() ? "" : ", ") + in_quotes(name);
    if (wanted().empty()) {
      if (splits.size() == 1) return splits[0];
      return invalid("contains the splits " + names + "; set split= to one of them");
    }
    if (std::ranges::find(splits, wanted()) != splits.end()) return wanted();
    return invalid("has no split " + in_quotes(wanted()) + "; there are " + names);
  }

  Status choose_split(const Value& dict) {
    const Value* list = dict.find("splits");
    if (!list || !list->list()) return corrupt("expected a list 'splits'").in_file((*paths_)[0]);
    std::vector<std::string> splits;
    for (const Value& one : *list->list()) {
      if (!one.text() || !is_below(*one.text()) || one.text()->find('/') != std::string::npos)
        return corrupt({.expected = "names of splits", .got = one.dump().substr(0, 80)})
            .in_file((*paths_)[0]);
      splits.push_back(*one.text());
    }
    HEADRACE_ASSIGN(const std::string name, chosen(splits));
    folder_ = join_path(folder_, name);
    return {};
  }

  // A folder written by save_to_disk: state.json lists the files.
  Result<Step<OtherData>> of_state(const Value& info, const Value& state) {
    const std::string at = in_quotes((*paths_)[1]) + ": ";
    if (const Value* indices = state.find("_indices_data_files"); indices && !indices->is_null())
      return Status(Code::unavailable,
                    at + "expected rows in the order of the files, got a selection of them; "
                         "call flatten_indices() before save_to_disk()");
    if (const Value* split = state.find("_split"); split && split->text() && !wanted().empty() &&
                                                   *split->text() != wanted() && !folder_.ends_with(wanted()))
      return invalid("has no split " + in_quotes(wanted()) + "; there is " + in_quotes(*split->text()));
    const Value* files = state.find("_data_files");
    if (!files || !files->list() || files->list()->empty())
      return corrupt(at + "expected a list '_data_files' with at least one file");
    std::vector<std::string> names;
    for (const Value& file : *files->list()) {
      const Value* name = file.find("filename");
      if (!name || !name->text() || !is_below(*name->text()))
        return corrupt(at + "expected names of files in its folder, got " + file.dump().substr(0, 80));
      names.push_back(*name->text());
    }
    return data(info, std::move(names), std::nullopt);
  }

  // A folder of load_dataset()'s cache: dataset_info.json lists the splits, and their files are named after
  // them.
  Result<Step<OtherData>> of_cache(const Value& info, const Listing& listing) {
    const Value* splits = info.find("splits");
    if (!splits || !splits->object())
      return corrupt("expected an object 'splits' next to Arrow files").in_file((*paths_)[0]);
    std::vector<std::string> names;
    for (const auto& [name, about] : *splits->object()) names.push_back(name);
    HEADRACE_ASSIGN(const std::string split, chosen(names));
    std::vector<std::string> files;
    for (size_t i = 0; i < listing.files.size(); ++i)
      if (is_shard_of(listing.files[i], split)) files.emplace_back(listing.files[i]);
    if (files.empty())
      return invalid("expected files such as " + in_quotes("x-" + split + ".arrow") + ", found none");
    std::optional<int64_t> size;
    if (const Value* count = splits->find(split)->find("num_examples"); count && count->integer())
      size = *count->integer();
    return data(info, std::move(files), size);
  }

  Result<Step<OtherData>> data(const Value& info, std::vector<std::string> names,
                               std::optional<int64_t> size) {
    OtherData out;
    for (const std::string& name : names) out.paths.push_back(join_path(folder_, name));
    HEADRACE_ASSIGN(const std::vector<std::string> wanted, request_.strings("columns"));
    const Value* features = info.find("features");
    HuggingFaceFeatures described;
    std::vector<HuggingFaceColumn> columns;
    if (features && !features->is_null()) {
      auto parsed = HuggingFaceFeatures::parse(*features);
      if (!parsed.ok()) return parsed.status().in_file((*paths_)[0]);
      described = *std::move(parsed);
      HEADRACE_ASSIGN(columns, described.choose(wanted));
    } else {
      for (const std::string& name : wanted) columns.push_back({name, name});
    }
    if (const Value* nulls = request_.options.find("nulls")) out.options.set("nulls", *nulls);
    if (!columns.empty()) {
      Value::List list;
      for (const HuggingFaceColumn& column : columns) list.emplace_back(column.column);
      out.options.set("columns", std::move(list));
    }
    Value metadata{Value::Object()};
    set_class_names(described.class_names, metadata);
    if (!described.left_out.empty() && wanted.empty())
      metadata.set("left_out_columns", Value::List(described.left_out.begin(), described.left_out.end()));
    out.finish = [parts = parts_, columns = std::move(columns), metadata = std::move(metadata), size,
                  description =
                      describe_opening("huggingface", request_)](SourcePtr source) -> Result<SourcePtr> {
      if (size && static_cast<uint64_t>(*size) != source->size())
        return corrupt({.expected = std::to_string(*size) + " samples as in dataset_info.json",
                        .got = std::to_string(source->size())});
      SelectedRows rows;
      rows.name = "huggingface";
      rows.schema = source->schema();
      if (!columns.empty() && columns.size() <= rows.schema.size()) {
        std::vector<std::string> fields;
        for (const HuggingFaceColumn& column : columns) fields.push_back(column.name);
        for (size_t i = columns.size(); i < rows.schema.size(); ++i)
          fields.push_back(mask_for(rows.schema.names[i], columns));
        rows.schema = schema_of(std::move(fields), rows.schema.specs);
      }
      for (const SplitPart& part : parts) {
        HEADRACE_ASSIGN(const SplitRows range, rows_of(part, source->size(), SplitRules::huggingface));
        rows.ranges.push_back(range);
      }
      if (parts.empty()) rows.ranges.push_back({0, source->size()});
      rows.description = description, rows.metadata = metadata;
      Value types;
      const Value of_files = source->metadata();
      for (size_t i = 0; i < rows.schema.size(); ++i)
        if (const Value* all = of_files.find("types"))
          if (const Value* type = all->find(source->schema().names[i]))
            types.set(rows.schema.names[i], *type);
      if (!types.is_null()) rows.metadata.set("types", std::move(types));
      return select_rows(std::move(source), std::move(rows));
    };
    return Step<OtherData>(std::move(out));
  }

  // The name of a mask, from that of its column in the files.
  static std::string mask_for(const std::string& name, const std::vector<HuggingFaceColumn>& columns) {
    for (const HuggingFaceColumn& column : columns)
      if (mask_name(column.column) == name) return mask_name(column.name);
    return name;
  }

  OpenRequest request_;
  std::shared_ptr<std::vector<std::string>> paths_;  // of the requested files
  std::string folder_;
  std::vector<SplitPart> parts_;
};

int recognise(const Probe& probe) {
  if (!probe.listing) return 0;
  bool has_info = false, has_state = false, has_dict = false, has_arrow = false;
  for (size_t i = 0; i < probe.listing->files.size(); ++i) {
    const std::string_view name = probe.listing->files[i];
    has_info = has_info || name == kInfo, has_state = has_state || name == kState;
    has_dict = has_dict || name == kDict;
    has_arrow = has_arrow || (name.ends_with(".arrow") && name.find('/') == std::string_view::npos);
  }
  return has_dict || (has_info && (has_state || has_arrow)) ? 95 : 0;
}

Result<SourceOpening> open(const OpenRequest& request) {
  if (!request.path().listing) return invalid({.expected = "a folder", .got = "a file"});
  auto paths = std::make_shared<std::vector<std::string>>();
  SourceOpening out;
  out.other = std::make_unique<OpenHuggingFace>(request, paths);
  out.files = [paths](uint64_t ordinal) { return (*paths)[ordinal]; };
  return out;
}

Result<SplitsOpening> splits(const OpenRequest& request) {
  const Probe& path = request.path();
  if (!path.listing) return invalid({.expected = "a folder", .got = "a file"});
  const bool is_dict = holds(path.listing->files, kDict);
  if (!is_dict && holds(path.listing->files, kState)) return known_splits({});
  const std::string file = join_path(path.path, is_dict ? kDict : kInfo);
  return splits_in(file, [file](const BufferPtr& bytes) -> Result<std::vector<std::string>> {
    HEADRACE_ASSIGN(const Value about, parse_json(bytes, file));
    const Value* splits = about.find("splits");
    std::vector<std::string> out;
    if (splits && splits->object())
      for (const auto& [name, split] : *splits->object()) out.push_back(name);
    if (splits && splits->list())
      for (const Value& name : *splits->list())
        if (name.text()) out.push_back(*name.text());
    return out;
  });
}

const FormatRegistration registered({
    .name = "huggingface",
    .doc = "A folder written by Hugging Face datasets' `save_to_disk()`, or the cache of `load_dataset()`.",
    .fields = "one per column, as in `read_arrow`; an `Image` or `Audio` is its bytes.",
    .details =
        {"`metadata[\"class_names\"]` has the class names of a `ClassLabel`. The library `datasets` is not "
         "needed. For Parquet files from the Hub, use a pattern: `read(\"data/train-*.parquet\")`."},
    .path = "The folder with `state.json`, with `dataset_dict.json`, or with `dataset_info.json` and Arrow "
            "files.",
    .options = {{"split", "str | None",
                 "\"train\", or a part: \"train[:10%]\", \"train[100:-50]\", \"train[:10%]+train[90%:]\"; "
                 "\"[:10%]\" for a folder with one split. The only split when not given."},
                {"columns", "Sequence[str] | None",
                 "Only these columns, in this order; the name of a struct selects its members. All supported "
                 "columns when not given; `metadata[\"left_out_columns\"]` lists the others, such as lists "
                 "of structs or of lists."},
                nulls_option(),
                encoding_option()},
    .raises =
        {{"ValueError", "there are several splits to choose from, or none with that name."},
         {"NotImplementedError",
          "the rows are a selection of those in the files (indices), or a given column is not supported."}},
    .example = "hr.read_huggingface(\"my_dataset\", split=\"train\", columns=[\"image\", \"label\"])",
    .recognise = recognise,
    .open = open,
    .splits = splits,
});

}  // namespace
}  // namespace headrace
