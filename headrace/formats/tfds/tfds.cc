// Prepared data sets of TensorFlow Datasets: see README.md.
#include <algorithm>
#include <iterator>
#include <set>

#include "headrace/core/text/text.h"
#include "headrace/formats/format.h"
#include "headrace/formats/images/image_files.h"
#include "headrace/formats/prepared/selected_rows.h"
#include "headrace/formats/strings/utf8_strings.h"
#include "headrace/formats/tfds/features.h"
#include "headrace/formats/tfds/info.h"
#include "headrace/io/sorted_names.h"

namespace headrace {
namespace {

constexpr size_t kMostInfo = size_t{64} << 20;
constexpr size_t kMostClasses = 1'000'000;
constexpr std::string_view kInfoName = "dataset_info.json", kFeaturesName = "features.json";

std::string_view text_in(const BufferPtr& bytes) {
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

Result<Value> parse_about(const BufferPtr& bytes) {
  if (bytes->size() > kMostInfo)
    return Status(Code::exhausted,
                  {.expected = "at most 64 MiB of JSON", .got = std::to_string(bytes->size())});
  HEADRACE_ASSIGN(Value value, Value::parse(text_in(bytes)));
  if (!value.object()) return corrupt("expected a JSON object");
  return value;
}

// Folders, "" for this one or "1.0.0/", that contain a data set.
std::vector<std::string> prepared_folders(const Listing& listing) {
  std::set<std::string, std::less<>> with_features;
  std::vector<std::string> with_info, out;
  for (size_t i = 0; i < listing.files.size(); ++i) {
    const std::string_view name = listing.files[i], folder = name.substr(0, name.rfind('/') + 1);
    if (name.substr(folder.size()) == kInfoName) with_info.emplace_back(folder);
    if (name.substr(folder.size()) == kFeaturesName) with_features.emplace(folder);
  }
  std::ranges::copy_if(with_info, std::back_inserter(out),
                       [&](const std::string& folder) { return with_features.contains(folder); });
  return out;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty() && out.size() < kMostClasses) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) out.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// The start of a message: the first file whose number of samples is wrong.
std::string first_wrong(const Source& source, const std::vector<std::string>& paths,
                        const std::vector<uint64_t>& counts) {
  uint64_t first = 0;
  for (size_t i = 0; i < paths.size(); first += counts[i], ++i) {
    const auto lies_in_it = [&](uint64_t index) {
      return index < source.size() && source.where(index).file.find(paths[i]) != std::string::npos;
    };
    if (!lies_in_it(first) || !lies_in_it(first + counts[i] - 1) || lies_in_it(first + counts[i]))
      return in_quotes(paths[i]) + ": ";
  }
  return "";
}

class OpenTfds final : public Opening<OtherData> {
 public:
  OpenTfds(const OpenRequest& request, std::string inside, std::shared_ptr<std::vector<std::string>> paths)
      : request_(request),
        folder_(join_path(request.path().path, inside)),
        inside_(std::move(inside)),
        paths_(std::move(paths)) {}

  Result<Step<OtherData>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) return ask({std::string(kInfoName), std::string(kFeaturesName)});
    if (!is_parsed_) {
      is_parsed_ = true;
      if (Status status = parse(bytes); !status.ok()) return status;
      std::vector<std::string> names;
      for (const auto& [file, field] : features_.label_files())
        if (holds(request_.path().listing->files, inside_ + file)) {
          names.push_back(file);
          labelled_.push_back(field);
        }
      if (!names.empty()) return ask(std::move(names));
    } else {
      for (size_t i = 0; i < bytes.size(); ++i)
        class_names_.emplace_back(labelled_[i], lines_of(text_in(bytes[i])));
    }
    return data();
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

  Status parse(std::span<const BufferPtr> bytes) {
    const auto info = parse_about(bytes[0]), features = parse_about(bytes[1]);
    if (!info.ok()) return info.status().in_file((*paths_)[0]);
    if (!features.ok()) return features.status().in_file((*paths_)[1]);
    auto info_of = TfdsInfo::parse(*info);
    if (!info_of.ok()) return info_of.status().in_file((*paths_)[0]);
    info_ = *std::move(info_of);
    auto features_of = TfdsFeatures::parse(*features);
    if (!features_of.ok()) return features_of.status().in_file((*paths_)[1]);
    features_ = *std::move(features_of);
    return {};
  }

  Result<Step<OtherData>> data() {
    HEADRACE_ASSIGN(const std::string split, request_.text("split"));
    HEADRACE_ASSIGN(const TfdsFiles files, files_of_split(info_, split));
    HEADRACE_ASSIGN(const std::vector<std::string> fields, request_.strings("fields"));
    const std::vector<std::string> left_out =
        fields.empty() ? features_.left_out() : std::vector<std::string>();
    HEADRACE_TRY(features_.choose(fields));
    OtherData out;
    for (const std::string& name : files.names) out.paths.push_back(join_path(folder_, name));
    if (info_.file_format != "parquet") out.format = info_.file_format;
    SelectedRows rows;
    rows.name = "tfds";
    rows.ranges = files.ranges;
    rows.schema = features_.schema();
    rows.read = [features = std::make_shared<const TfdsFeatures>(features_)](
                    const std::vector<Tensor>& from, std::vector<Tensor>& out_fields) {
      return features->read(from[0], out_fields);
    };
    rows.description = describe_opening("tfds", request_);
    rows.metadata = Value(Value::Object());
    set_class_names(class_names_, rows.metadata);
    Value splits;
    for (const TfdsSplit& one : info_.splits) splits.set(one.name, one.size);
    rows.metadata.set("splits", std::move(splits));
    if (!left_out.empty())
      rows.metadata.set("left_out_features", Value::List(left_out.begin(), left_out.end()));
    out.finish = [rows = std::move(rows), paths = out.paths, counts = files.counts,
                  size = files.size](SourcePtr source) -> Result<SourcePtr> {
      const Schema& schema = source->schema();
      if (schema.size() != 1 || !is_text(schema.specs[0].dtype))
        return invalid({.expected = "files of records", .got = schema.text()});
      if (source->size() != size)
        return corrupt(first_wrong(*source, paths, counts) + "expected " + std::to_string(size) +
                       " samples in these files as in dataset_info.json, got " +
                       std::to_string(source->size()));
      return select_rows(std::move(source), rows);
    };
    return Step<OtherData>(std::move(out));
  }

  OpenRequest request_;
  std::string folder_, inside_;
  std::shared_ptr<std::vector<std::string>> paths_;  // of the requested files
  bool is_parsed_ = false;
  TfdsInfo info_;
  TfdsFeatures features_;
  std::vector<std::string> labelled_;
  std::vector<std::pair<std::string, std::vector<std::string>>> class_names_;
};

int recognise(const Probe& probe) {
  if (!probe.listing) return 0;
  const std::vector<std::string> folders = prepared_folders(*probe.listing);
  if (folders.empty()) return 0;
  return std::ranges::find(folders, "") != folders.end() ? 95 : 70;
}

// The folder of the only data set: "" is the path itself.
Result<std::string> folder_in(const OpenRequest& request) {
  if (!request.path().listing) return invalid({.expected = "a folder", .got = "a file"});
  const std::vector<std::string> folders = prepared_folders(*request.path().listing);
  if (folders.empty())
    return invalid("expected a folder with dataset_info.json and features.json, found none");
  if (std::ranges::find(folders, "") != folders.end()) return std::string();
  if (folders.size() == 1) return folders[0];
  std::string names;
  for (const std::string& name : folders)
    names += (names.empty() ? "" : ", ") +
             in_quotes(join_path(request.path().path, name.substr(0, name.size() - 1)));
  return invalid("contains several data sets; open one of " + names);
}

Result<SourceOpening> open(const OpenRequest& request) {
  HEADRACE_ASSIGN(std::string folder, folder_in(request));
  auto paths = std::make_shared<std::vector<std::string>>();
  SourceOpening out;
  out.other = std::make_unique<OpenTfds>(request, std::move(folder), paths);
  out.files = [paths](uint64_t ordinal) { return (*paths)[ordinal]; };
  return out;
}

Result<SplitsOpening> splits(const OpenRequest& request) {
  HEADRACE_ASSIGN(const std::string folder, folder_in(request));
  return splits_in(join_path(join_path(request.path().path, folder), kInfoName),
                   [](const BufferPtr& bytes) -> Result<std::vector<std::string>> {
                     HEADRACE_ASSIGN(const Value about, parse_about(bytes));
                     HEADRACE_ASSIGN(const TfdsInfo info, TfdsInfo::parse(about));
                     std::vector<std::string> out;
                     for (const TfdsSplit& split : info.splits) out.push_back(split.name);
                     return out;
                   });
}

const FormatRegistration registered({
    .name = "tfds",
    .doc = "A data set that was prepared by TensorFlow Datasets; TensorFlow is not needed.",
    .fields = "one per feature. Images are bytes for `ops.decode_image`, text is str, class labels are "
              "int64, tensors keep their dtype. Features of dicts and sequences have names such as "
              "`\"objects/bbox\"`, and sequences have a variable first dimension. Lists of strings, of "
              "images and of lists are `{\"values\", \"lengths\"}`.",
    .details = {"`metadata[\"class_names\"]` has the class names. Shards are TFRecord, ArrayRecord or "
                "Parquet files; only those of the split are accessed."},
    .path = "The folder with `dataset_info.json` and `features.json`, or a parent folder with exactly one "
            "such folder.",
    .options = {{"split", "str | None",
                 "\"train\", a part, or a sum: \"train[:10%]\", \"train[80%:]+test\", \"train[100:-50]\", "
                 "\"train[2shard:]\"; \"all\". Percentages are rounded to the closest sample. The only split "
                 "when not given."},
                {"fields", "Sequence[str] | None",
                 "Only these features, in this order; the name of a dict selects all features below it. All "
                 "supported features when not given; `metadata[\"left_out_features\"]` lists the others."},
                encoding_option()},
    .raises = {{"CorruptSample",
                "the number of samples in the files differs from `dataset_info.json`, or a record lacks a "
                "feature."},
               {"NotImplementedError", "the shards have another format."},
               {"ValueError", "there are several splits to choose from, or none with that name."}},
    .example = "hr.read_tfds(\"/data/tensorflow_datasets/mnist/3.0.1\", split=\"train[:10%]\")",
    .recognise = recognise,
    .open = open,
    .splits = splits,
    .takes_all_splits = true,
});

}  // namespace
}  // namespace headrace
