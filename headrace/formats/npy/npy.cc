// .npy files: see README.md.
#include <algorithm>

#include "headrace/formats/rows/array_rows.h"

namespace headrace {
namespace {

constexpr uint64_t kFirstRead = 1024;  // bytes: more than nearly all headers

class FindNpy final : public Opening<std::vector<FoundArray>> {
 public:
  explicit FindNpy(uint64_t size) : size_(size) {}
  Result<Step<std::vector<FoundArray>>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) return ask(kFirstRead);
    const std::span<const std::byte> head = bytes[0]->bytes();
    const uint64_t needed = npy_header_bytes(head);
    if (needed > head.size() && head.size() < size_) return ask(needed);
    HEADRACE_ASSIGN(const NpyHeader header, read_npy_header(head));
    HEADRACE_ASSIGN(FoundArray array, array_rows("array", header, 0, size_));
    std::vector<FoundArray> out;
    out.push_back(std::move(array));
    return Step<std::vector<FoundArray>>(std::move(out));
  }

 private:
  Step<std::vector<FoundArray>> ask(uint64_t length) const {
    return std::vector<Extent>{{0, 0, std::min(size_, length)}};
  }
  uint64_t size_;
};

int recognise(const Probe& probe) { return probe.text().starts_with("\x93NUMPY") ? 97 : 0; }

Result<SourceOpening> open(const OpenRequest& request) {
  const std::vector<SourceFile>& files = request.path().files;
  if (files.empty()) return invalid("expected files, got none");
  std::vector<ArrayWalk> walks;
  for (const SourceFile& file : files) walks.push_back(std::make_unique<FindNpy>(file.size));
  return open_row_files("npy", request, files, std::move(walks));
}

const FormatRegistration registered({
    .name = "npy",
    .doc = "NumPy's .npy files: one sample per slice along the first axis.",
    .fields = "`array`. Dtype and shape are those of a slice: bool, integers, float16, float32 or float64.",
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
