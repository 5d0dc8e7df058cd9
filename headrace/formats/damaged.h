// A source of record files some of which are damaged: each DamagedPlace of their indexes is a sample that
// cannot be read, at its place among the others; a file of which nothing can be had is one behind them all.
// on_error() covers it, and verify lists it.
#pragma once
#include <functional>
#include <vector>

#include "headrace/formats/file_index.h"
#include "headrace/formats/source.h"

namespace headrace {

using FinishRecords = std::function<Result<SourcePtr>(std::vector<FileIndex> indexes)>;

// `finish` of the records that were found, and the damage beside them. Where no file has any record that was
// found, the first damage is the error.
FinishRecords finish_with_damage(FinishRecords finish, std::vector<SourceFile> files);

// `good`, and behind it a sample for each of the files that it lacks: their ordinals are among `files`.
SourcePtr with_refused_files(SourcePtr good, const std::vector<SourceFile>& files,
                             std::vector<RefusedFile> refused);

// "1 of 4 files is damaged{how}: 'x.arrow', wants …", of some.
std::string refused_note(const std::vector<SourceFile>& files, const std::vector<RefusedFile>& refused,
                         std::string_view how);

// An entry of "damaged" in a source's metadata().
Value damage_entry(const std::string& path, uint64_t index, uint64_t offset, std::string_view reason);

}  // namespace headrace
