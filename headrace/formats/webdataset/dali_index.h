// What DALI's wds2idx writes beside a tar, "v1.2 N" and then a line for each sample: for each of its members
// the suffix, where its data begin and their size, and in v1.2 its name. Pure functions; any thread.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/formats/file_index.h"
#include "headrace/formats/source.h"
#include "headrace/formats/webdataset/first_members.h"

namespace headrace {

struct DaliTarIndex {
  struct Member {
    std::string suffix;
    uint64_t offset = 0, size = 0;  // of the data
  };
  std::vector<RecordExtent> samples;  // each from the end of the one before, with what is passed over
  std::vector<uint64_t> data;         // where the data of each sample's first member begin
  std::vector<Member> first;          // the first sample's
  uint64_t end = 0;                   // of the last member, with its padding
};

// Nothing when the text is none, or is not that of a tar of `size` bytes.
std::optional<DaliTarIndex> read_dali_tar_index(std::string_view text, uint64_t size);

// What of the tar shows whether the index is its own: headers of some samples, its end, and the first
// sample's arrays; and the index, when the bytes agree with it.
std::vector<Extent> looks_at(const DaliTarIndex& index);
std::optional<FileIndex> agreed(const DaliTarIndex& index, std::span<const BufferPtr> bytes);

}  // namespace headrace
