// Indexes an HDF5 file by traversing its structures, from the superblock through groups to datasets and their
// chunks.
#pragma once
#include <memory>

#include "headrace/formats/file_index.h"
#include "headrace/formats/hdf5/structures/contents.h"
#include "headrace/formats/source.h"

namespace headrace::hdf5 {

inline constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
inline constexpr std::string_view kIndexKind = "hdf5 2";

// Contents, packed, in FileIndex::extra. Damage in one dataset or group is stored as its refusal; the
// opening's error is damage of the file.
std::unique_ptr<Opening<FileIndex>> index_hdf5(SourceFile file);

}  // namespace headrace::hdf5
