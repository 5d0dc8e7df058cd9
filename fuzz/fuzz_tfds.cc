// Any bytes as dataset_info.json, a split, features.json and a record of TensorFlow Datasets, each terminated
// by a NUL: ranges inside the files, fields that match the schema, or an error.
#include <cstdlib>
#include <string>

#include "headrace/formats/tfds/features.h"
#include "headrace/formats/tfds/info.h"

using namespace headrace;

namespace {

std::string take(std::string_view& text) {
  const size_t end = std::min(text.find('\0'), text.size());
  const std::string out(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return out;
}

void check_splits(const std::string& json, const std::string& split) {
  const auto value = Value::parse(json);
  if (!value.ok()) return;
  const auto info = TfdsInfo::parse(*value);
  if (!info.ok()) return;
  const auto files = files_of_split(*info, split);
  if (!files.ok()) return files.status().text().empty() ? std::abort() : void();
  if (files->names.empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string info = take(text), split = take(text), json = take(text);
  check_splits(info, split);
  const auto value = Value::parse(json);
  if (!value.ok()) return 0;
  const auto features = TfdsFeatures::parse(*value);
  if (!features.ok()) return 0;
  const Schema schema = features->schema();
  std::vector<Tensor> fields;
  const Status status = features->read(text_tensor(text, DType::bytes), fields);
  if (!status.ok()) return status.text().empty() ? std::abort(), 0 : 0;
  if (fields.size() != schema.size()) std::abort();
  for (size_t i = 0; i < fields.size(); ++i)
    if (!schema.specs[i].admits(fields[i].view().spec())) std::abort();
  return 0;
}
