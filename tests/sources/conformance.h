// What every source must hold, whatever its format: a suite that a format joins with one statement in its own
// test file.
//
//   INSTANTIATE_TEST_SUITE_P(Tfrecord, SourceConformance, testing::Values(tfrecord_case));
//
// The files are byte arrays in a MemoryStore; the samples they must give are stated by the case.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "headrace/formats/source.h"
#include "headrace/io/testing/memory_store.h"
#include "tests/sources/drive.h"

namespace headrace::trial {

using SourceOpeningPtr = std::unique_ptr<Opening<SourcePtr>>;

enum class Cut {
  is_an_error,       // a file cut anywhere is noticed
  may_be_an_ending,  // a file may end between two records: then there are fewer, and none is wrong
  is_not_seen,       // the format gives whole files to a decoder
};

struct SourceCase {
  std::vector<std::pair<std::string, std::string>>
      files;  // path and contents, in the order of their ordinals
  std::function<Result<SourceOpeningPtr>(std::vector<SourceFile> files)> open;
  std::vector<std::string> samples;  // sample_text() of each
  Cut cut = Cut::is_an_error;
  bool is_checksummed = false;  // a damaged sample is an error, never other bytes
  std::string not_hostile;      // why damaged files are outside the promise; empty: they are inside
  std::string inside = {};      // of archives: the file in each that is read

  std::string path(uint64_t ordinal) const {
    return files[ordinal].first + (inside.empty() ? "" : "/" + inside);
  }
};

// All of a sample, exactly: dtypes, shapes, bytes.
std::string field_text(DType dtype, const Shape& shape, std::string_view bytes);
std::string sample_text(const std::vector<Tensor>& fields);

// The `open` of a format that is registered and reads one file, or record files. Its errors name the file, as
// open_source has them. `list`: the text of the index that lists the files, of formats that have one.
std::function<Result<SourceOpeningPtr>(std::vector<SourceFile> files)> by_registered_format(
    std::string name, Value options = {}, std::string list = "");

// That of a format that is a folder, from all files of the case, whose names are relative to that of the
// first. `inner`: the format of the data in it, where it leaves these to another one.
std::function<Result<SourceOpeningPtr>(std::vector<SourceFile> files)> by_registered_folder(
    std::string name, std::string inner = "");

// Sizes as the store has them now.
Result<std::vector<SourceFile>> sized(Store& store, const SourceCase& source_case);
PathOf path_of(const Source& source);
Result<SourcePtr> open_source_case(const SourceCase& source_case, Store& store);
Result<std::vector<Tensor>> read_fields(const Source& source, uint64_t index, Store& store);
Result<std::string> read_sample_text(const Source& source, uint64_t index, Store& store);

// A store that holds the case's files.
MemoryStore stored(const SourceCase& source_case);

class SourceConformance : public testing::TestWithParam<SourceCase (*)()> {
 protected:
  SourceCase case_ = GetParam()();
  MemoryStore store_ = stored(case_);
};

}  // namespace headrace::trial
