// Writes images to separate files, in one folder per class or a single one: see "Writing" in README.md.
#include "headrace/formats/writer.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "headrace/codecs/codec.h"
#include "headrace/core/text/text.h"
#include "headrace/io/file_system.h"
#include "headrace/io/new_file.h"

namespace headrace {
namespace {

constexpr size_t kDigits = 8;  // of a file name, at least, so that files sort in the order of their samples

struct Roles {
  int image = -1, label = -1;
};

Status refused(const std::string& why, const Schema& schema) {
  return invalid("expected one field of encoded images and, for folders of classes, one integer; " + why +
                 " (" + schema.text() + ")")
      .in_format("images");
}

// MXNet's records have labels that are floats.
bool is_label(const TensorSpec& spec) {
  const bool is_number = !is_float(spec.dtype) || spec.dtype == DType::f32 || spec.dtype == DType::f64;
  return !is_text(spec.dtype) && is_number && spec.shape.rank() == 0;
}

Result<Roles> roles_of(const Schema& schema, bool labelled) {
  Roles out;
  for (int i = 0; i < static_cast<int>(schema.size()); ++i) {
    const TensorSpec& spec = schema.specs[static_cast<size_t>(i)];
    const std::string& name = schema.names[static_cast<size_t>(i)];
    if (spec.dtype == DType::bytes && out.image < 0)
      out.image = i;
    else if (labelled && is_label(spec) && out.label < 0)
      out.label = i;
    else
      return refused(no_place_for("'" + name + "'"), schema);
  }
  if (out.image < 0) return refused("there is no field of bytes", schema);
  if (labelled && out.label < 0) return refused("there is no label; format=\"images\" needs none", schema);
  return out;
}

// Names of folders, by label.
Result<std::vector<std::string>> classes_of(const WriteRequest& request) {
  HEADRACE_ASSIGN(std::vector<std::string> out, request.strings("classes"));
  const Value* known = request.metadata.find("classes");
  if (out.empty() && known && known->list())
    for (const Value& name : *known->list()) out.push_back(name.text() ? *name.text() : name.dump());
  std::set<std::string_view> seen;
  for (const std::string& name : out) {
    HEADRACE_TRY(check_member_name(name).before("image_folder: classes: "));
    if (name.empty() || name.starts_with('.') || name.find('/') != std::string::npos)
      return invalid("image_folder: classes: expected names of folders, got " + in_quotes(name));
    if (!seen.insert(name).second)
      return invalid("image_folder: classes: expected each name once, got " + in_quotes(name) + " twice");
  }
  return out;
}

class ImageFolderWriter final : public FileWriter {
 public:
  ImageFolderWriter(std::string path, Roles roles, std::vector<std::string> classes)
      : path_(std::move(path)), roles_(roles), classes_(std::move(classes)) {}

  Status add(const std::vector<Tensor>& fields) override {
    const Tensor& image = fields[static_cast<size_t>(roles_.image)];
    const auto bytes = image.view().bytes();
    auto header = read_image_header(bytes);
    if (!header.ok()) return header.status().before("images: expected an encoded image: ");
    read_.assign(1, image);
    std::string folder = path_;
    if (roles_.label >= 0) {
      HEADRACE_ASSIGN(const int64_t label, label_of(fields[static_cast<size_t>(roles_.label)].view()));
      HEADRACE_ASSIGN(folder, folder_for(label));
      read_.push_back(scalar(label));
    }
    std::string name = std::to_string(count_);
    name.insert(0, std::max(name.size(), kDigits) - name.size(), '0');
    HEADRACE_ASSIGN(const auto file,
                    AppendedFile::make(folder + "/" + name + std::string(header->codec->endings[0])));
    HEADRACE_TRY(file->append(bytes));
    HEADRACE_TRY(file->finish());
    ++count_;
    return {};
  }
  const std::vector<Tensor>* as_read() const override { return &read_; }
  Status finish() override { return {}; }

 private:
  static Result<int64_t> label_of(const View& value) {
    constexpr double kMost = 1 << 24;  // integers up to this are exact in float32
    int64_t out = -1;
    std::string got;
    visit_dtype(value.dtype, [&]<class T>() {
      const T label = *value.as<T>();
      if constexpr (std::is_integral_v<T>) {
        out = static_cast<int64_t>(label), got = std::to_string(out);
      } else if constexpr (std::is_floating_point_v<T>) {
        got = Value(static_cast<double>(label)).dump();
        if (label >= 0 && label <= kMost && std::trunc(label) == label) out = static_cast<int64_t>(label);
      }
    });
    if (out < 0)
      return invalid({.expected = "labels that are integers of at least 0", .got = got})
          .in_format("image_folder");
    return out;
  }

  // Without names: numbers, padded so that they sort in the order of the labels.
  Result<std::string> folder_for(int64_t label) {
    if (!classes_.empty() && label >= static_cast<int64_t>(classes_.size()))
      return invalid("image_folder has " + std::to_string(classes_.size()) + " classes, got the label " +
                     std::to_string(label));
    std::string name = std::to_string(label);
    if (classes_.empty())
      name.insert(0, std::max(name.size(), kDigits) - name.size(), '0');
    else
      name = classes_[static_cast<size_t>(label)];
    std::string folder = path_ + "/" + name;
    if (made_.insert(label).second) HEADRACE_TRY(make_folder(folder));
    return folder;
  }

  const std::string path_;
  const Roles roles_;
  const std::vector<std::string> classes_;
  std::set<int64_t> made_;
  uint64_t count_ = 0;
  std::vector<Tensor> read_;
};

Result<std::unique_ptr<FileWriter>> make(const WriteRequest& request, bool labelled) {
  HEADRACE_ASSIGN(const Roles roles, roles_of(request.schema, labelled));
  std::vector<std::string> classes;
  if (labelled) {
    HEADRACE_ASSIGN(classes, classes_of(request));
  }
  HEADRACE_TRY(make_folder(request.path));
  return std::make_unique<ImageFolderWriter>(request.path, roles, std::move(classes));
}

// Readers derive labels from the folders that contain an image, unless they are given all classes.
Value read_with(const WriteRequest& request) {
  const auto classes = classes_of(request);
  if (!classes.ok() || classes->empty()) return {};
  return Value::Object{{"classes", Value::List(classes->begin(), classes->end())}};
}

const WriterRegistration folder_writer({
    .name = "image_folder",
    .doc = "Images in one folder per class, their bytes unchanged.",
    .options = {{"classes", "Sequence[str] | None",
                 "Names of the folders, by label; by default those of the data, else the numbers.", Value()}},
    .make = [](const WriteRequest& request) { return make(request, true); },
    .read_with = read_with,
});
const WriterRegistration flat_writer({
    .name = "images",
    .doc = "Images in one folder, their bytes unchanged.",
    .make = [](const WriteRequest& request) { return make(request, false); },
});

}  // namespace
}  // namespace headrace
