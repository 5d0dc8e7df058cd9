// A source of record files some of which are damaged: each DamagedPlace of their indexes is a sample that
// cannot be read, at its place among the others. A file that cannot be read at all is one such sample after
// all the others. on_error() handles these samples, and verify lists them.
#pragma once
#include <functional>
#include <vector>

#include "headrace/formats/file_index.h"
#include "headrace/formats/source.h"

namespace headrace {

using FinishRecords = std::function<Result<SourcePtr>(std::vector<FileIndex> indexes)>;

// `finish` of the good records, combined with the damage. If no file has any good record, the first damage is
// the error.
FinishRecords finish_with_damage(FinishRecords finish, std::vector<SourceFile> files);

// `good`, followed by one sample for each refused file; refused ordinals index `files`.
SourcePtr with_refused_files(SourcePtr good, const std::vector<SourceFile>& files,
                             std::vector<RefusedFile> refused);

// "1 of 4 files is damaged{how}: 'x.arrow': expected …", with the first reason.
std::string refused_note(const std::vector<SourceFile>& files, const std::vector<RefusedFile>& refused,
                         std::string_view how);

// An entry of "damaged" in a source's metadata().
Value damage_entry(const std::string& path, uint64_t index, uint64_t offset, std::string_view reason);

}  // namespace headrace
