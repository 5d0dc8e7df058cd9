// The index that DALI's wds2idx writes next to a tar: "v1.2 N", then a line for each sample with the suffix,
// the offset and size of the data and, in v1.2, the name of each member. Pure functions; any thread.
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
  std::vector<RecordExtent> samples;  // each from the end of the one before, skipped members included
  std::vector<uint64_t> data;         // offset of the data of each sample's first member
  std::vector<Member> first;          // the first sample's
  uint64_t end = 0;                   // of the last member, with its padding
};

// Nothing when the text is not such an index, or not that of a tar of `size` bytes.
std::optional<DaliTarIndex> read_dali_tar_index(std::string_view text, uint64_t size);

// The parts of the tar that show whether the index belongs to it: headers of some samples, the end, and the
// first sample's arrays. agreed() gives the index if these bytes match it.
std::vector<Extent> looks_at(const DaliTarIndex& index);
std::optional<FileIndex> agreed(const DaliTarIndex& index, std::span<const BufferPtr> bytes);

}  // namespace headrace
