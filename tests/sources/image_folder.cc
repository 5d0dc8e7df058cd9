#include "tests/sources/image_folder.h"

#include <map>

namespace headrace::trial {
namespace {

class ImageBlock final : public Block {
 public:
  ImageBlock(BufferPtr bytes, int64_t label) : bytes_(std::move(bytes)), label_(label) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row != 0) return internal_error("image_folder: a file is one sample");
    fields = {Tensor{bytes_, 0, DType::bytes, {static_cast<int64_t>(bytes_->size())}, nullptr},
              scalar(label_)};
    return {};
  }

 private:
  BufferPtr bytes_;
  int64_t label_;
};

class ImageOpening final : public Opening<BlockPtr> {
 public:
  ImageOpening(uint64_t file, int64_t label) : file_(file), label_(label) {}
  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) return Step<BlockPtr>(std::vector<Extent>{{file_, 0, kToEnd}});
    return Step<BlockPtr>(std::make_shared<ImageBlock>(bytes[0], label_));
  }

 private:
  uint64_t file_;
  int64_t label_;
};

class FolderSource final : public Source {
 public:
  FolderSource(std::string root, std::vector<std::string> names)
      : root_(std::move(root)), names_(std::move(names)) {
    std::map<std::string, int64_t> classes;  // sorted names come with sorted classes
    for (const std::string& name : names_) {
      const auto at =
          classes.try_emplace(name.substr(0, name.find('/')), static_cast<int64_t>(classes.size()));
      labels_.push_back(at.first->second);
    }
  }
  const Schema& schema() const override { return schema_; }
  uint64_t size() const override { return names_.size(); }
  Place place(uint64_t index) const override { return {index, 0}; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    return std::make_unique<ImageOpening>(block, labels_[block]);
  }
  uint64_t num_files() const override { return names_.size(); }
  std::string file(uint64_t ordinal) const override { return root_ + "/" + names_[ordinal]; }
  SamplePlace where(uint64_t index) const override { return {file(index)}; }
  Value describe() const override { return Value::Object{{"format", "image_folder"}, {"path", root_}}; }
  std::string fingerprint() const override {
    std::string text = "image_folder";
    for (const std::string& name : names_) text += '\0' + name;
    return hash_text(text);
  }

 private:
  std::string root_;
  std::vector<std::string> names_;
  std::vector<int64_t> labels_;
  Schema schema_ = Schema::of({"image", "label"}, {{DType::bytes, {kAny}}, {DType::i64, {}}});
};

class FolderOpening final : public Opening<SourcePtr> {
 public:
  explicit FolderOpening(SourcePtr source) : source_(std::move(source)) {}
  Result<Step<SourcePtr>> advance(std::span<const BufferPtr>) override { return Step<SourcePtr>(source_); }

 private:
  SourcePtr source_;
};

}  // namespace

Result<std::unique_ptr<Opening<SourcePtr>>> open_image_folder(std::string root,
                                                              std::vector<std::string> names) {
  auto source = std::make_shared<FolderSource>(std::move(root), std::move(names));
  return std::unique_ptr<Opening<SourcePtr>>(std::make_unique<FolderOpening>(std::move(source)));
}

}  // namespace headrace::trial
