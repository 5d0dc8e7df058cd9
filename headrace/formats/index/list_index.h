// What one run found out about a list of files and the next one believes: the contents of one index file for
// the whole list.
//
// Names are relative to the list's folder, or absolute where they are outside of it. What is known of names
// is true while the folders that hold them are unchanged, which one stat each says; sizes and times of files
// are checked when these are opened (unchanged.h). Pure; one thread.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "headrace/formats/file_index.h"
#include "headrace/formats/index/sidecar.h"
#include "headrace/io/store.h"

namespace headrace {

struct ListIndex {
  struct Name {
    bool is_there = false;
    FileInfo info = {};
    bool operator==(const Name&) const = default;
  };
  // An index made by a format, as it is stored; of a file that was refused as damaged nothing but its stamp.
  struct Records {
    FileInfo file;
    uint64_t sample = 0;  // sample_of() its bytes
    uint64_t beside = 0;  // of the sizes and times of companion files
    bool is_damaged = false;
    std::span<const std::byte> bytes = {};
    std::shared_ptr<const void> owner = nullptr;  // of the bytes
  };

  std::map<std::string, FileInfo, std::less<>> folders;  // as they were when the names in them were looked up
  std::unordered_map<std::string, Name> names;
  std::map<std::string, Entries, std::less<>> entries;    // of a folder
  std::map<std::string, Listing, std::less<>> listings;   // of what is below a folder
  std::map<std::string, std::string, std::less<>> heads;  // the first bytes of files that were probed
  std::unordered_map<std::string, Records> records;       // by records_key()
};

std::string records_key(std::string_view kind, std::string_view name);
ListIndex::Records pack_index(const FileIndex& index);
std::optional<FileIndex> unpack_index(const ListIndex::Records& records);

// The sections, in order, each with a function that writes it. `index` outlives them.
std::vector<MadeSection> list_index_sections(const ListIndex& index);
// Nothing if a section is absent or damaged: every number in it is checked before memory is taken for it.
// `section` returns the bytes of a section, null if there is none or it cannot be read.
std::optional<ListIndex> list_index_from(const std::function<BufferPtr(std::string_view name)>& section);

}  // namespace headrace
