// Any bytes as a data file and as its stored index, as if the index lay behind an envelope with the right
// checksum: records, damaged places and what the format keeps. Rows match the schema, or there is an error
// with words; nothing is read outside the file.
//
// Layout: 1 byte format; 1 byte of index sizes; 2 bytes size of the file; the file; the records; "extra".
#include <array>
#include <cstring>

#include "fuzz/read_rows.h"
#include "headrace/core/saturate.h"
#include "headrace/formats/file_index.h"
#include "headrace/formats/opening/open.h"
#include "headrace/formats/opening/probing.h"
#include "headrace/formats/source.h"
#include "headrace/formats/strings/utf8_strings.h"
#include "headrace/io/testing/memory_store.h"

using namespace headrace;

namespace {

constexpr std::array<std::pair<const char*, const char*>, 14> kFormats{{
    {"tfrecord", "x.tfrecord"},
    {"recordio", "x.rec"},
    {"webdataset", "x.tar"},
    {"csv", "x.csv"},
    {"jsonl", "x.jsonl"},
    {"text", "x.txt"},
    {"lmdb", "data.mdb"},
    {"hdf5", "x.h5"},
    {"parquet", "x.parquet"},
    {"arrow", "x.arrow"},
    {"array_record", "x.array_record"},
    {"coco", "x.json"},
    {"mds", "x.mds"},
    {"litdata", "chunk.bin"},
}};

// The index that the file really has; an empty one if it has none.
FileIndex real_index(const RecordOpening& records, Store& store) {
  const auto opening = records.index(0);
  const auto made = drive(*opening, [&](uint64_t) { return records.files[0].path; }, store);
  return made.ok() ? *made : FileIndex();
}

bool is_small(const Schema& schema) {
  constexpr uint64_t kMost = 1 << 20;
  return std::ranges::all_of(schema.specs, [](const TensorSpec& spec) {
    uint64_t count = 1;
    for (const int64_t dim : spec.shape.dims())
      count = saturating_mul(count, static_cast<uint64_t>(std::max<int64_t>(dim, 1)));
    return count <= kMost;
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const auto& [format, name] = kFormats[data[0] % kFormats.size()];
  const uint8_t how = data[1];
  uint16_t file_size = 0;
  std::memcpy(&file_size, data + 2, sizeof file_size);
  data += 4, size -= 4;
  if (file_size > size) return 0;
  MemoryStore store;
  store.add(name, std::string(reinterpret_cast<const char*>(data), file_size));
  const auto given = std::as_bytes(std::span(data, size)).subspan(file_size);
  const FormatInfo* const info = find_format(format);
  auto probed = probe(store, std::string(name));
  if (!info || !info->open || !probed.ok()) return 0;
  OpenRequest request;
  request.probes.push_back(*std::move(probed));
  auto opening = info->open(request);
  if (!opening.ok() || !opening->records || opening->records->files.size() != 1) return 0;
  // Some of the real index, the rest from the input.
  FileIndex index = real_index(*opening->records, store);
  if (how % 2 == 1) {
    const auto some = given.first(given.size() / 2);
    index.records.clear();
    for (size_t at = 0; at + 4 <= some.size(); at += 4) {
      std::array<uint16_t, 2> numbers;
      std::memcpy(numbers.data(), some.data() + at, sizeof numbers);
      index.records.push_back({numbers[0], numbers[1]});
    }
    if (!is_in_order(index, ~uint64_t{0})) return 0;  // refused where it is read
  }
  if (how / 2 % 2 == 1) {
    const auto rest = given.subspan(given.size() / 2);
    const std::string_view bytes(reinterpret_cast<const char*>(rest.data()), rest.size());
    if (how / 4 % 2 == 1) {
      index.extra = bytes;
    } else {  // changes of the real one
      for (size_t i = 0; i + 3 <= bytes.size() && !index.extra.empty(); i += 3) {
        const size_t at = static_cast<uint8_t>(bytes[i]) + 256 * static_cast<uint8_t>(bytes[i + 1]);
        index.extra[at % index.extra.size()] = bytes[i + 2];
      }
    }
  }
  const auto source = opening->records->finish({std::move(index)});
  if (!source.ok()) return source.status().text().empty() ? std::abort(), 0 : 0;
  const SourcePtr checked = with_utf8_strings(*source, Encoding::utf8, "nothing");  // as open_source() does
  if (std::string_view(format) != "lmdb" && is_small(checked->schema())) {
    read_rows(store, *checked);
    return 0;
  }
  // Of damaged pages, LMDB's rows are read alone that could be put together; an index may claim huge shapes,
  // which only the budget of a run refuses.
  for (uint64_t i = 0; i < std::min<uint64_t>(checked->size(), 64); ++i)
    if (const auto fields = read_sample(*checked, i, store); !fields.ok() && fields.status().text().empty())
      std::abort();
  return 0;
}
