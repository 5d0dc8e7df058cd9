#include "tests/sources/conformance.h"

#include <algorithm>

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

// Record files as one opening: the walks over all files are under way at once, in the same steps.
class AllFiles final : public Opening<SourcePtr> {
 public:
  explicit AllFiles(RecordOpening records)
      : records_(std::move(records)), indexes_(records_.files.size()), asked_(records_.files.size()) {
    for (uint64_t i = 0; i < records_.files.size(); ++i) walks_.push_back(records_.index(i));
  }

  Result<Step<SourcePtr>> advance(std::span<const BufferPtr> bytes) override {
    std::vector<Extent> extents;
    for (uint64_t i = 0; i < walks_.size(); ++i) {
      if (!walks_[i]) continue;
      auto step = walks_[i]->advance(bytes.first(asked_[i]));
      bytes = bytes.subspan(asked_[i]);
      if (!step.ok()) return step.status().before("'" + records_.files[i].path + "': ");
      asked_[i] = 0;
      if (auto* index = std::get_if<FileIndex>(&*step)) {
        indexes_[i] = std::move(*index);
        walks_[i].reset();
        continue;
      }
      for (Extent extent : std::get<std::vector<Extent>>(*step)) {
        extent.file = i;
        extents.push_back(extent);
        ++asked_[i];
      }
    }
    if (!extents.empty()) return Step<SourcePtr>(std::move(extents));
    HEADRACE_ASSIGN(SourcePtr source, records_.finish(std::move(indexes_)));
    return Step<SourcePtr>(std::move(source));
  }

 private:
  RecordOpening records_;
  std::vector<std::unique_ptr<Opening<FileIndex>>> walks_;
  std::vector<FileIndex> indexes_;
  std::vector<size_t> asked_;  // extents of each walk's last step
};

// A folder's format, which learns step by step which files there are; and the format of what lies in it.
class InFolder final : public Opening<SourcePtr> {
 public:
  InFolder(std::vector<SourceFile> files, SourceOpening opening, std::string inner)
      : files_(std::move(files)), opening_(std::move(opening)), inner_name_(std::move(inner)) {}

  Result<Step<SourcePtr>> advance(std::span<const BufferPtr> bytes) override {
    if (opening_.steps) {
      HEADRACE_ASSIGN(Step<SourcePtr> step, opening_.steps->advance(bytes));
      if (auto* extents = std::get_if<std::vector<Extent>>(&step))
        HEADRACE_TRY(translate(*extents, opening_.files));
      return step;
    }
    if (!inner_) {
      HEADRACE_ASSIGN(Step<OtherData> step, opening_.other->advance(bytes));
      if (auto* extents = std::get_if<std::vector<Extent>>(&step)) {
        HEADRACE_TRY(translate(*extents, opening_.files));
        return Step<SourcePtr>(std::move(*extents));
      }
      data_ = std::get<OtherData>(std::move(step));
      HEADRACE_TRY(open_inner());
      bytes = {};
    }
    HEADRACE_ASSIGN(Step<SourcePtr> step, inner_->advance(bytes));
    if (auto* extents = std::get_if<std::vector<Extent>>(&step)) {
      HEADRACE_TRY(translate(*extents, [this](uint64_t ordinal) { return data_.paths[ordinal]; }));
      return step;
    }
    HEADRACE_ASSIGN(SourcePtr source, data_.finish(std::get<SourcePtr>(std::move(step))));
    return Step<SourcePtr>(std::move(source));
  }

 private:
  // A file of the case by its path: a damaged list may name others.
  Result<uint64_t> find(const std::string& path) const {
    const auto at = std::ranges::find(files_, path, &SourceFile::path);
    if (at != files_.end()) return static_cast<uint64_t>(at - files_.begin());
    return Status(Code::not_found, "wants a file of the case, got '" + path + "'");
  }
  Status translate(std::vector<Extent>& extents, const FilePaths& paths) const {
    for (Extent& extent : extents) {
      HEADRACE_ASSIGN(extent.file, find(paths(extent.file)));
    }
    return {};
  }
  Status open_inner() {
    std::vector<SourceFile> files;
    for (const std::string& path : data_.paths) {
      HEADRACE_ASSIGN(const uint64_t at, find(path));
      files.push_back(files_[at]);
    }
    HEADRACE_ASSIGN(inner_, by_registered_format(inner_name_, data_.options)(std::move(files)));
    return {};
  }

  std::vector<SourceFile> files_;
  SourceOpening opening_;
  std::string inner_name_;
  OtherData data_;
  SourceOpeningPtr inner_;
};

}  // namespace

std::function<Result<SourceOpeningPtr>(std::vector<SourceFile> files)> by_registered_folder(
    std::string name, std::string inner) {
  return [name = std::move(name),
          inner = std::move(inner)](std::vector<SourceFile> files) -> Result<SourceOpeningPtr> {
    const std::string& first = files[0].path;
    const std::string folder = first.substr(0, first.rfind('/'));
    std::vector<std::string> names;
    for (const SourceFile& file : files) names.push_back(file.path.substr(folder.size() + 1));
    std::ranges::sort(names);
    Listing listing;
    for (const std::string& one : names) listing.files.add(one);
    OpenRequest request;
    request.probes.resize(1);
    request.probes[0].path = folder;
    request.probes[0].info.is_directory = true;
    request.probes[0].listing = std::make_shared<const Listing>(std::move(listing));
    HEADRACE_ASSIGN(SourceOpening opening, find_format(name)->open(request));
    return SourceOpeningPtr(std::make_unique<InFolder>(std::move(files), std::move(opening), inner));
  };
}

std::function<Result<SourceOpeningPtr>(std::vector<SourceFile> files)> by_registered_format(
    std::string name, Value options, std::string list) {
  return [name = std::move(name), options = std::move(options),
          list = std::move(list)](std::vector<SourceFile> files) -> Result<SourceOpeningPtr> {
    OpenRequest request;
    request.probes.resize(1);
    request.probes[0].path = files[0].path;
    request.probes[0].info.size = files[0].size;
    request.options = options, request.list = list;
    request.probes[0].files = files;
    HEADRACE_ASSIGN(SourceOpening opening, find_format(name)->open(request));
    if (opening.records) return SourceOpeningPtr(std::make_unique<AllFiles>(*std::move(opening.records)));
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

Result<std::vector<SourceFile>> sized(Store& store, const SourceCase& source_case) {
  std::vector<SourceFile> files;
  for (uint64_t i = 0; i < source_case.files.size(); ++i) {
    const std::string path = source_case.path(i);
    uint64_t size = 0;
    if (source_case.inside.empty()) {
      size = store.info(path)->size;
    } else {
      HEADRACE_ASSIGN(const BufferPtr bytes, read_extent(store, path, {0, 0, kToEnd}));
      size = bytes->size();
    }
    files.push_back({path, size});
  }
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
  HEADRACE_ASSIGN(std::vector<SourceFile> files, sized(store, source_case));
  HEADRACE_ASSIGN(SourceOpeningPtr opening, source_case.open(std::move(files)));
  return drive(*opening, [&](uint64_t ordinal) { return source_case.path(ordinal); }, store);
}

Result<std::vector<Tensor>> read_fields(const Source& source, uint64_t index, Store& store) {
  const Place place = source.place(index);
  HEADRACE_ASSIGN(const BlockPtr block, drive(*source.open(place.block), path_of(source), store));
  std::vector<Tensor> fields;
  HEADRACE_TRY(block->get(place.row, fields));
  return fields;
}

Result<std::string> read_sample_text(const Source& source, uint64_t index, Store& store) {
  HEADRACE_ASSIGN(const std::vector<Tensor> fields, read_fields(source, index, store));
  return sample_text(fields);
}

}  // namespace headrace::trial
