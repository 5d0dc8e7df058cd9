#include "tests/sources/conformance.h"

#include "headrace/formats/format.h"

namespace headrace::trial {
namespace {

class NamingItsFile final : public Opening<SourcePtr> {
 public:
  NamingItsFile(std::string path, SourceOpeningPtr steps)
      : path_(std::move(path)), steps_(std::move(steps)) {}
  Result<Step<SourcePtr>> advance(std::span<const BufferPtr> bytes) override {
    auto step = steps_->advance(bytes);
    if (!step.ok()) return step.status().before("'" + path_ + "': ");
    return step;
  }

 private:
  std::string path_;
  SourceOpeningPtr steps_;
};

}  // namespace

std::function<Result<SourceOpeningPtr>(std::vector<SourceFile> files)> by_registered_format(
    std::string name) {
  return [name = std::move(name)](std::vector<SourceFile> files) -> Result<SourceOpeningPtr> {
    OpenRequest request;
    request.probes.resize(1);
    request.probes[0].path = files[0].path;
    request.probes[0].info.size = files[0].size;
    HEADRACE_ASSIGN(SourceOpening opening, find_format(name)->open(request));
    return SourceOpeningPtr(std::make_unique<NamingItsFile>(files[0].path, std::move(opening.steps)));
  };
}

std::string field_text(DType dtype, const Shape& shape, std::string_view bytes) {
  return std::string(dtype_name(dtype)) + " " + shape.text() + " " + std::string(bytes) + "\n";
}

std::string sample_text(const std::vector<Tensor>& fields) {
  std::string text;
  for (const Tensor& field : fields) {
    const View view = field.view();
    const auto* bytes = reinterpret_cast<const char*>(view.data);
    text += field_text(view.dtype, view.shape, bytes ? std::string_view(bytes, view.size_bytes()) : "");
  }
  return text;
}

std::vector<SourceFile> sized(Store& store, const SourceCase& source_case) {
  std::vector<SourceFile> files;
  for (const auto& [path, bytes] : source_case.files) files.push_back({path, store.info(path)->size});
  return files;
}

MemoryStore stored(const SourceCase& source_case) {
  MemoryStore store;
  for (const auto& [path, bytes] : source_case.files) store.add(path, bytes);
  return store;
}

PathOf path_of(const Source& source) {
  return [&source](uint64_t ordinal) { return source.file(ordinal); };
}

Result<SourcePtr> open_source_case(const SourceCase& source_case, Store& store) {
  HEADRACE_ASSIGN(SourceOpeningPtr opening, source_case.open(sized(store, source_case)));
  return drive(*opening, [&](uint64_t ordinal) { return source_case.files[ordinal].first; }, store);
}

Result<std::string> read_sample_text(const Source& source, uint64_t index, Store& store) {
  const Place place = source.place(index);
  HEADRACE_ASSIGN(const BlockPtr block, drive(*source.open(place.block), path_of(source), store));
  std::vector<Tensor> fields;
  HEADRACE_TRY(block->get(place.row, fields));
  return sample_text(fields);
}

}  // namespace headrace::trial
