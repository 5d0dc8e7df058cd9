// .npy files: see README.md.
#include <algorithm>
#include <array>
#include <map>

#include "headrace/core/text/text.h"
#include "headrace/formats/rows/array_rows.h"

namespace headrace {
namespace {

constexpr uint64_t kFirstRead = 1024;  // bytes: more than nearly all headers

class FindNpy final : public Opening<std::vector<FoundArray>> {
 public:
  FindNpy(std::string field, uint64_t size) : field_(std::move(field)), size_(size) {}
  Result<Step<std::vector<FoundArray>>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) return ask(kFirstRead);
    const std::span<const std::byte> head = bytes[0]->bytes();
    const uint64_t needed = npy_header_bytes(head);
    if (needed > head.size() && head.size() < size_) return ask(needed);
    HEADRACE_ASSIGN(const NpyHeader header, read_npy_header(head));
    HEADRACE_ASSIGN(FoundArray array, array_rows(field_, header, 0, size_));
    std::vector<FoundArray> out;
    out.push_back(std::move(array));
    return Step<std::vector<FoundArray>>(std::move(out));
  }

 private:
  Step<std::vector<FoundArray>> ask(uint64_t length) const {
    return std::vector<Extent>{{0, 0, std::min(size_, length)}};
  }
  std::string field_;
  uint64_t size_;
};

// What a file holds of each sample: the inputs, or what belongs to them.
constexpr std::string_view kInputs[] = {
    "x",   "audio", "data",  "embeddings", "feature", "features",     "frames", "image", "images",
    "img", "imgs",  "input", "inputs",     "obs",     "observations", "source", "src",   "tokens"};
constexpr std::string_view kOutputs[] = {
    "y",      "actions", "classes", "ids", "indices",      "label",         "labels", "mask",    "masks",
    "output", "outputs", "rewards", "seg", "segmentation", "segmentations", "target", "targets", "tgt"};

// "x" and "_train" of "x_train.npy"; an empty field if no word of the name says what the file holds.
struct NamedArray {
  std::string field, rest;
  bool is_input = false;
};

NamedArray named_array(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  name = name.substr(0, name.rfind('.'));
  const std::string lower = lower_case(name);
  const auto is_letter = [&](size_t i) { return i < lower.size() && lower[i] >= 'a' && lower[i] <= 'z'; };
  const auto is_capital = [&](size_t i) { return is_letter(i) && name[i] != lower[i]; };
  for (size_t at = 0; at < lower.size(); ++at) {
    size_t end = at;
    while (is_letter(end) && !(end > at && is_capital(end) && !is_capital(end - 1))) ++end;  // "trainX"
    const std::string_view word = std::string_view(lower).substr(at, end - at);
    const bool is_input = std::ranges::find(kInputs, word) != std::end(kInputs);
    if (is_input || std::ranges::find(kOutputs, word) != std::end(kOutputs))
      return {std::string(name.substr(at, end - at)), lower.substr(0, at) + "*" + lower.substr(end),
              is_input};
    at = std::max(at, std::max(end, at + 1) - 1);
  }
  return {};
}

// The names of fields if the files are inputs and what belongs to them, "x_train.npy" and "y_train.npy": then
// their rows are side by side. Empty if they are files of the same array. "audio.npy" and "labels.npy" may be
// either.
Result<std::vector<std::string>> fields_of(const std::vector<SourceFile>& files) {
  std::vector<std::string> out;
  std::map<std::string, std::pair<bool, bool>> sets;  // by the rest: whether there are inputs, and others
  std::string other, output;  // a file of inputs, or of what no word says; one of outputs
  bool are_named = true;
  for (const SourceFile& file : files) {
    NamedArray array = named_array(file.path);
    if (array.field.empty()) {
      other = file.path, are_named = false;
      continue;
    }
    (array.is_input ? other : output) = file.path;
    auto& [has_inputs, has_outputs] = sets[array.rest];
    (array.is_input ? has_inputs : has_outputs) = true;
    out.push_back(std::move(array.field));
  }
  const bool are_pairs =
      std::ranges::any_of(sets, [](const auto& set) { return set.second.first && set.second.second; });
  if (!other.empty() && !output.empty() && !(are_named && are_pairs))
    return invalid({.expected = "files of one array, or of inputs and outputs, as x.npy and y.npy",
                    .got = in_quotes(other) + " and " + in_quotes(output),
                    .fix = "hr.zip({\"x\": hr.read(one), \"y\": hr.read(other)}) makes them fields; "
                           "hr.concatenate([hr.read(one), hr.read(other)]) more rows"});
  if (!are_pairs || !are_named) return std::vector<std::string>();
  std::vector<std::string> sorted = out;
  std::ranges::sort(sorted);
  if (sets.size() == 1 && std::ranges::adjacent_find(sorted) == sorted.end()) return out;
  return invalid(
      {.expected = "one file for each field, as in x_train.npy and y_train.npy",
       .got = std::to_string(files.size()) + " files, of which several hold " + in_quotes(out[0]),
       .fix = "pass the files of one set, or read inputs and outputs by themselves and zip() them"});
}

int recognise(const Probe& probe) { return probe.text().starts_with("\x93NUMPY") ? 97 : 0; }

Result<SourceOpening> open(const OpenRequest& request) {
  const std::vector<SourceFile>& files = request.path().files;
  if (files.empty()) return invalid({.expected = "files", .got = "none"});
  HEADRACE_ASSIGN(const std::vector<std::string> fields, fields_of(files));
  std::vector<ArrayWalk> walks;
  for (size_t i = 0; i < files.size(); ++i)
    walks.push_back(std::make_unique<FindNpy>(fields.empty() ? "array" : fields[i], files[i].size));
  if (!fields.empty()) return open_rows_side_by_side("npy", request, files, std::move(walks));
  return open_row_files("npy", request, files, std::move(walks));
}

const FormatRegistration registered({
    .name = "npy",
    .doc = "NumPy's .npy files: one sample per slice along the first axis.",
    .fields = "`array`. Dtype and shape are those of a slice: bool, integers, float16, float32 or float64. "
              "Files of inputs and outputs, such as `x_train.npy` and `y_train.npy` or `images.npy` and "
              "`labels.npy`, are fields of the same samples, named `x` and `y`.",
    .details = {"Arrays may be in either byte order, in C or Fortran order; Fortran-ordered arrays above 64 "
                "MiB are slow to shuffle. All files must have rows of the same dtype and shape."},
    .raises = {{"NotImplementedError",
                "an array of complex numbers, records, strings, dates or pickled objects; the message says "
                "what to save instead."},
               {"ValueError", "the array has no dimensions, or files differ in dtype or shape."},
               {"CorruptSample", "the header is damaged, or the file size does not match it."}},
    .example = "hr.read_npy(\"features-*.npy\")",
    .recognise = recognise,
    .open = open,
    .takes_files = true,
});

}  // namespace
}  // namespace headrace
