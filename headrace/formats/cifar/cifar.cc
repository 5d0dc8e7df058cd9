// CIFAR's binary files: see README.md.
#include <algorithm>
#include <cstring>

#include "headrace/core/text/text.h"
#include "headrace/formats/rows/open_row_files.h"

namespace headrace {
namespace {

constexpr uint64_t kPixels = 32 * 32, kImage = 3 * kPixels;

// Bytes of labels before each image.
uint64_t labels_of(int64_t classes) { return classes == 10 ? 1 : 2; }
uint64_t record_of(int64_t classes) { return labels_of(classes) + kImage; }
bool holds(int64_t classes, uint64_t size) { return size > 0 && size % record_of(classes) == 0; }

// Color planes to interleaved pixels.
void interleave(std::span<const std::byte> planes, uint64_t count, std::byte* out) {
  for (const std::byte* image = planes.data(); count > 0; --count, image += kImage)
    for (uint64_t i = 0; i < kPixels; ++i, out += 3)
      out[0] = image[i], out[1] = image[kPixels + i], out[2] = image[2 * kPixels + i];
}

void widen(std::span<const std::byte> labels, uint64_t count, std::byte* out) {
  for (uint64_t i = 0; i < count; ++i, out += sizeof(int64_t)) {
    const auto label = std::to_integer<int64_t>(labels[i]);
    std::memcpy(out, &label, sizeof label);
  }
}

FoundArray field(std::string name, TensorSpec spec, uint64_t offset, uint64_t bytes, ConvertRows convert) {
  FoundArray out{std::move(name), spec, 0, {}};
  out.rows.offset = offset, out.rows.bytes = bytes, out.rows.convert = std::move(convert);
  return out;
}

// Needs only the size of the file.
class FindRecords final : public Opening<std::vector<FoundArray>> {
 public:
  FindRecords(int64_t classes, uint64_t size) : classes_(classes), size_(size) {}
  Result<Step<std::vector<FoundArray>>> advance(std::span<const BufferPtr>) override {
    const uint64_t record = record_of(classes_), labels = labels_of(classes_);
    if (size_ % record != 0)
      return corrupt({.expected = "whole records of " + std::to_string(record) + " bytes",
                      .got = std::to_string(size_) + " bytes"});
    std::vector<FoundArray> out;
    out.push_back(field("image", {DType::u8, {32, 32, 3}}, labels, kImage, interleave));
    out.push_back(field("label", {DType::i64, {}}, labels - 1, 1, widen));
    if (classes_ == 100) out.push_back(field("coarse_label", {DType::i64, {}}, 0, 1, widen));
    for (FoundArray& array : out) array.count = size_ / record, array.rows.stride = record;
    return Step<std::vector<FoundArray>>(std::move(out));
  }

 private:
  int64_t classes_;
  uint64_t size_;
};

std::string_view file_name(const SourceFile& file) {
  const std::string_view path = file.path;
  return path.substr(path.rfind('/') + 1);
}
bool is_training(const SourceFile& file) {
  return file_name(file).starts_with("data_batch_") && file_name(file).ends_with(".bin");
}
bool is_test(const SourceFile& file) { return file_name(file) == "test_batch.bin"; }

// By the names and sizes of the files, and the first labels: the bytes themselves may be anything.
int recognise(const Probe& probe) {
  const auto fits = [](const SourceFile& file) {
    return (is_training(file) || is_test(file)) && holds(10, file.size);
  };
  const auto fits_100 = [](const SourceFile& file) {
    return (file_name(file) == "train.bin" && file.size == 50'000 * record_of(100)) ||
           (file_name(file) == "test.bin" && file.size == 10'000 * record_of(100));
  };
  const std::string_view head = probe.text();
  if (probe.files.empty() || head.size() <= record_of(100)) return 0;
  const auto below = [&](size_t at, int most) { return static_cast<uint8_t>(head[at]) < most; };
  if (std::ranges::all_of(probe.files, fits)) return below(0, 10) && below(record_of(10), 10) ? 80 : 0;
  if (!std::ranges::all_of(probe.files, fits_100)) return 0;
  return below(0, 20) && below(1, 100) && below(record_of(100), 20) ? 80 : 0;
}

Result<int64_t> classes_of(const OpenRequest& request, const std::vector<SourceFile>& files) {
  HEADRACE_ASSIGN(const int64_t given, request.integer("classes", 0));
  if (given != 0 && given != 10 && given != 100)
    return invalid("classes must be 10 or 100, got " + std::to_string(given));
  if (given != 0) return given;
  const auto all = [&](int64_t classes) {
    return std::ranges::all_of(files, [&](const SourceFile& f) { return f.size % record_of(classes) == 0; });
  };
  if (all(10) && all(100))
    return invalid(
        "the sizes of the files fit both 10 and 100 classes; choose with classes=10 or classes=100");
  return all(100) ? 100 : 10;
}

Result<SourceOpening> open(const OpenRequest& request) {
  const std::vector<SourceFile>& files = request.path().files;
  if (files.empty()) return invalid({.expected = "files", .got = "none"});
  if (std::ranges::any_of(files, is_training) && std::ranges::any_of(files, is_test))
    return invalid({.expected = "training files or test files",
                    .got = "both",
                    .fix = "read data_batch_*.bin or test_batch.bin instead"});
  HEADRACE_ASSIGN(const int64_t classes, classes_of(request, files));
  std::vector<ArrayWalk> walks;
  for (const SourceFile& file : files) walks.push_back(std::make_unique<FindRecords>(classes, file.size));
  return open_row_files("cifar", request, files, std::move(walks));
}

const FormatRegistration registered({
    .name = "cifar",
    .doc = "The binary files of CIFAR-10 and CIFAR-100.",
    .fields = "`image`, uint8 (32, 32, 3), and `label`, int64 scalar; CIFAR-100 also has `coarse_label`, "
              "int64 scalar.",
    .path =
        "A file, a pattern such as \"data_batch_*.bin\", a folder of files, or a list of files and patterns.",
    .options = {{"classes", "Literal[10, 100] | None",
                 "10 or 100; determined by the file sizes when not given."}},
    .raises = {{"CorruptSample", "the size of a file is not a multiple of the record size."},
               {"ValueError", "training and test files are mixed."}},
    .example = "hr.read_cifar(\"cifar-10-batches-bin/data_batch_*.bin\")",
    .recognise = recognise,
    .open = open,
    .takes_files = true,
});

}  // namespace
}  // namespace headrace
