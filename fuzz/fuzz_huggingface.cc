// Any bytes as the features of a Hugging Face data set: columns with names by which they can be selected, or
// an error.
#include <cstdlib>

#include "headrace/formats/huggingface/features.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto value = Value::parse({reinterpret_cast<const char*>(data), size});
  if (!value.ok()) return 0;
  const auto features = HuggingFaceFeatures::parse(*value);
  if (!features.ok()) return features.status().text().empty() ? std::abort(), 0 : 0;
  for (const HuggingFaceColumn& column : features->columns) {
    const auto chosen = features->choose({column.name});
    if (!chosen.ok() || chosen->empty()) std::abort();
  }
  return 0;
}
