#include "headrace/formats/images/image_files.h"

#include <algorithm>
#include <cstring>

#include "headrace/codecs/codec.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/data_notes.h"
#include "headrace/io/look_up.h"

namespace headrace {
namespace {

// Fields that are known without reading the image file. A tensor without a buffer means that there is no such
// field.
struct Beside {
  Tensor label, key;
};

class ImageBlock final : public Block {
 public:
  ImageBlock(BufferPtr bytes, Beside beside) : bytes_(std::move(bytes)), beside_(std::move(beside)) {}
  Status get(uint64_t, std::vector<Tensor>& fields) const override {
    fields.clear();
    fields.push_back({bytes_, 0, DType::bytes, {static_cast<int64_t>(bytes_->size())}, nullptr});
    for (const Tensor* field : {&beside_.label, &beside_.key})
      if (field->buffer) fields.push_back(*field);
    return {};
  }

 private:
  BufferPtr bytes_;
  Beside beside_;
};

class OpenImage final : public Opening<BlockPtr> {
 public:
  OpenImage(uint64_t file, Beside beside) : file_(file), beside_(std::move(beside)) {}
  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) return Step<BlockPtr>(std::vector<Extent>{{file_, 0, kToEnd}});
    return Step<BlockPtr>(std::make_shared<ImageBlock>(bytes[0], std::move(beside_)));
  }

 private:
  uint64_t file_;
  Beside beside_;
};

std::string_view without_ending(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos || name.find('/', dot) != std::string_view::npos ? name
                                                                                        : name.substr(0, dot);
}

class ImageFilesSource final : public Source {
 public:
  ImageFilesSource(ImageFiles files, bool has_keys, Value description)
      : files_(std::move(files)), has_keys_(has_keys), description_(std::move(description)) {
    std::vector<std::string> names{"image"};
    std::vector<TensorSpec> specs{{DType::bytes, {kAny}}};
    const auto add = [&](const char* name, TensorSpec spec) {
      names.emplace_back(name), specs.push_back(spec);
    };
    if (!files_.labels.empty()) add("label", {DType::i64, {}});
    if (has_keys_) add("__key__", {DType::str, {kAny}});
    schema_ = Schema::of(std::move(names), std::move(specs));
    if (files_.labels.empty()) return;
    // One buffer that all label tensors point into: a sample needs no allocation for its label.
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
    Beside beside;
    if (labels_) beside.label = {labels_, block * sizeof(int64_t), DType::i64, {}, nullptr};
    if (has_keys_) beside.key = text_tensor(without_ending(files_.names[block]));
    return std::make_unique<OpenImage>(block, std::move(beside));
  }
  uint64_t num_files() const override { return files_.names.size(); }
  std::string file(uint64_t ordinal) const override { return join_path(files_.root, files_.names[ordinal]); }
  SamplePlace where(uint64_t index) const override { return {file(index)}; }
  Value describe() const override { return description_; }

  std::string fingerprint() const override {
    std::string text = "images " + std::to_string(size()) + ' ' + hash_text(files_.names.text());
    if (labels_) text += ' ' + hash_text({reinterpret_cast<const char*>(labels_->data()), labels_->size()});
    if (has_keys_) text += " keys";
    return hash_text(text);
  }

  Value metadata() const override {
    Value out{Value::Object()};
    if (!files_.classes.empty())
      out.set("classes", Value::List(files_.classes.begin(), files_.classes.end()));
    if (files_.left_out.endings.files() > 0) out.set("left_out", left_out_value(files_.left_out));
    if (!files_.problems.empty()) out.set("problems", problems_value(files_.problems));
    for (const std::string& note : files_.notes) add_note(out, note);
    return out;
  }

 private:
  ImageFiles files_;
  bool has_keys_;
  Value description_;
  Schema schema_;
  BufferPtr labels_;
};

}  // namespace

OptionInfo key_option() {
  return {"key", "bool",
          "Add the field `__key__` (str), the path below the folder, or as it is listed, without extension: "
          "\"cat/17\". WebDataset keeps it.",
          false};
}

bool names_an_image(std::string_view path) { return has_image_ending(path) && !is_hidden(path); }

bool is_hidden(std::string_view path) { return is_hidden_path(path); }

std::string join_path(std::string_view root, std::string_view name) {
  std::string out;
  if (!name.starts_with('/') && !root.empty()) {
    out = root;
    if (out.back() != '/') out += '/';
  }
  return out.append(name);
}

bool is_below(std::string_view name) {
  if (name.empty() || name.starts_with('/') || name.find('\0') != std::string_view::npos) return false;
  for (size_t part = 0; part < name.size();) {
    const size_t slash = std::min(name.find('/', part), name.size());
    if (name.substr(part, slash - part) == "..") return false;
    part = slash + 1;
  }
  return true;
}

std::string parent_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

void LeftOut::add(std::string_view path) {
  if (is_hidden(path)) return;
  endings.add(path);
  constexpr std::string_view tables[] = {"metadata.csv", "metadata.jsonl", "metadata.parquet"};
  if (table.empty() && std::ranges::find(tables, path.substr(path.rfind('/') + 1)) != std::end(tables))
    table = path;
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
    const std::string among = " among files with the extensions " + endings_text(others.value());
    return invalid("expected at least one image, found none" + (others.files() == 0 ? "" : among));
  }
  if (!files.labels.empty() && files.labels.size() != files.names.size())
    return internal_error("expected as many labels as names");
  HEADRACE_ASSIGN(const bool has_keys, request.flag("key", false));
  if (const std::string& table = files.left_out.table; !table.empty())
    files.notes.push_back("the fields in " + in_quotes(table) + " are not read, only the images; hr.read(" +
                          in_quotes(join_path(files.root, table)) +
                          ") reads them with the names of the images, and a Python function in map() these");
  files.names.shrink();
  return SourcePtr(
      std::make_shared<ImageFilesSource>(std::move(files), has_keys, describe_opening(format, request)));
}

}  // namespace headrace
