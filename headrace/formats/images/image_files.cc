#include "headrace/formats/images/image_files.h"

#include <algorithm>
#include <cstring>

#include "headrace/codecs/codec.h"

namespace headrace {
namespace {

class ImageBlock final : public Block {
 public:
  ImageBlock(BufferPtr bytes, Tensor label) : bytes_(std::move(bytes)), label_(std::move(label)) {}
  Status get(uint64_t, std::vector<Tensor>& fields) const override {
    fields.resize(label_.buffer ? 2 : 1);
    fields[0] = {bytes_, 0, DType::bytes, {static_cast<int64_t>(bytes_->size())}, nullptr};
    if (label_.buffer) fields[1] = label_;
    return {};
  }

 private:
  BufferPtr bytes_;
  Tensor label_;  // without a buffer: there is none
};

class OpenImage final : public Opening<BlockPtr> {
 public:
  OpenImage(uint64_t file, Tensor label) : file_(file), label_(std::move(label)) {}
  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) return Step<BlockPtr>(std::vector<Extent>{{file_, 0, kToEnd}});
    return Step<BlockPtr>(std::make_shared<ImageBlock>(bytes[0], std::move(label_)));
  }

 private:
  uint64_t file_;
  Tensor label_;
};

class ImageFilesSource final : public Source {
 public:
  ImageFilesSource(ImageFiles files, Value description)
      : files_(std::move(files)), description_(std::move(description)) {
    const TensorSpec image{DType::bytes, {kAny}};
    if (files_.labels.empty()) {
      schema_ = Schema::of({"image"}, {image});
      return;
    }
    schema_ = Schema::of({"image", "label"}, {image, {DType::i64, {}}});
    // One buffer that every label tensor points into: a sample costs no allocation for its label.
    const size_t bytes = files_.labels.size() * sizeof(int64_t);
    MutableBufferPtr labels = HeapBuffer::make(bytes);
    std::memcpy(labels->mutable_data(), files_.labels.data(), bytes);
    labels_ = std::move(labels);
    files_.labels = {};
  }

  const Schema& schema() const override { return schema_; }
  uint64_t size() const override { return files_.names.size(); }
  Place place(uint64_t index) const override { return {index, 0}; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    Tensor label;
    if (labels_) label = {labels_, block * sizeof(int64_t), DType::i64, {}, nullptr};
    return std::make_unique<OpenImage>(block, std::move(label));
  }
  uint64_t num_files() const override { return files_.names.size(); }
  std::string file(uint64_t ordinal) const override { return join_path(files_.root, files_.names[ordinal]); }
  std::string where(uint64_t index) const override { return file(index); }
  Value describe() const override { return description_; }

  std::string fingerprint() const override {
    std::string text = "images " + std::to_string(size()) + ' ' + hash_text(files_.names.text());
    if (labels_) text += ' ' + hash_text({reinterpret_cast<const char*>(labels_->data()), labels_->size()});
    return hash_text(text);
  }

  Value metadata() const override {
    Value out{Value::Object()};
    if (!files_.classes.empty())
      out.set("classes", Value::List(files_.classes.begin(), files_.classes.end()));
    if (files_.left_out.endings.files() > 0) out.set("left_out", left_out_value(files_.left_out));
    if (!files_.problems.empty()) out.set("problems", problems_value(files_.problems));
    return out;
  }

 private:
  ImageFiles files_;
  Value description_;
  Schema schema_;
  BufferPtr labels_;
};

}  // namespace

bool names_an_image(std::string_view path) { return has_image_ending(path) && !is_hidden(path); }

bool is_hidden(std::string_view path) {
  for (size_t part = 0; part < path.size();) {
    const size_t slash = std::min(path.find('/', part), path.size());
    const std::string_view name = path.substr(part, slash - part);
    if (name.starts_with('.') && name != "." && name != "..") return true;
    part = slash + 1;
  }
  return false;
}

std::string join_path(std::string_view root, std::string_view name) {
  std::string out;
  if (!name.starts_with('/') && !root.empty()) {
    out = root;
    if (out.back() != '/') out += '/';
  }
  return out.append(name);
}

std::string parent_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

void LeftOut::add(std::string_view path) {
  if (is_hidden(path)) return;
  endings.add(path);
  const size_t slash = path.find('/');
  if (slash == std::string_view::npos) return;
  if (const std::string_view folder = path.substr(0, slash); !folders.contains(folder))
    folders.emplace(folder);
}

Value left_out_value(const LeftOut& left_out) {
  Value out;
  out.set("files", left_out.endings.files());
  out.set("endings", left_out.endings.value());
  if (!left_out.folders.empty())
    out.set("folders", Value::List(left_out.folders.begin(), left_out.folders.end()));
  return out;
}

Value problems_value(const std::vector<Listing::Problem>& problems) {
  Value::List out;
  for (const Listing::Problem& problem : problems) {
    if (out.size() == 100) break;
    Value entry;
    entry.set("path", problem.path);
    entry.set("reason", problem.reason);
    out.push_back(std::move(entry));
  }
  return out;
}

Result<SourcePtr> image_files_source(ImageFiles files, std::string_view format, const OpenRequest& request) {
  if (files.names.empty()) {
    const Endings& others = files.left_out.endings;
    const std::string among = " among files with the endings " + endings_text(others.value());
    return invalid("wants at least one image, found none" + (others.files() == 0 ? "" : among));
  }
  if (!files.labels.empty() && files.labels.size() != files.names.size())
    return internal_error("as many labels as names are needed");
  files.names.shrink();
  return SourcePtr(std::make_shared<ImageFilesSource>(std::move(files), describe_opening(format, request)));
}

}  // namespace headrace
