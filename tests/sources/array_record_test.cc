#include "headrace/formats/array_record/testing.h"
#include "tests/sources/conformance.h"

namespace headrace::trial {
namespace {

// A file has 128 KiB at least, so that it is not cut at every byte here: that is array_record_test.cc's.
SourceCase array_record_case(size_t group, bool says_sizes = false) {
  SourceCase out;
  for (const std::string& path : {std::string("data/a.array_record"), std::string("data/b.array_record")}) {
    std::vector<ArrayRecordTestChunk> chunks;
    std::vector<std::string> some;
    for (size_t i = 0; i < 6; ++i) {
      const std::string record(i * 5 + (says_sizes ? 1 : 0), static_cast<char>('a' + i));
      some.push_back(record);
      out.samples.push_back(field_text(DType::bytes, {static_cast<int64_t>(record.size())}, record));
      if (some.size() < group && i < 5) continue;
      chunks.push_back({riegeli_records_bytes(some), some.size(), says_sizes ? record.size() : 0});
      some.clear();
    }
    out.files.emplace_back(path, array_record_file(chunks));
  }
  out.open = by_registered_format("array_record");
  out.cut = Cut::is_not_seen;
  out.is_checksummed = true;
  return out;
}

SourceCase alone() { return array_record_case(1); }
SourceCase read_together() { return array_record_case(1, true); }
SourceCase groups() { return array_record_case(4); }
INSTANTIATE_TEST_SUITE_P(ArrayRecord, SourceConformance, ::testing::Values(alone, read_together, groups));

}  // namespace
}  // namespace headrace::trial
