#include "tests/sources/witness.h"

#include <cstdlib>

#include "tests/real_files.h"

namespace headrace::trial {

std::string witness_folder() {
  const std::string data = testing::data_folder();
  return data.empty() ? "" : data + "/official_writers";
}

Result<std::vector<std::string>> read_witness(const std::string& path, const OpenOne& open) {
  const std::shared_ptr<Store> store = file_store();
  HEADRACE_ASSIGN(const FileInfo info, store->info(path));
  HEADRACE_ASSIGN(const SourceOpeningPtr opening, open({path, info.size}));
  HEADRACE_ASSIGN(const SourcePtr source, drive(*opening, [&](uint64_t) { return path; }, *store));
  std::vector<std::string> samples;
  for (uint64_t i = 0; i < source->size(); ++i) {
    HEADRACE_ASSIGN(std::string text, read_sample_text(*source, i, *store));
    samples.push_back(std::move(text));
  }
  return samples;
}

}  // namespace headrace::trial
