// Everything kept in memory of a .beton: its layout, the records of the samples, the sizes of images.
// Immutable; any thread.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "headrace/formats/beton/layout.h"
#include "headrace/formats/file_index.h"
#include "headrace/formats/records/record_files.h"

namespace headrace::beton {

// What an image field gives: image files (BMP where pixels are stored), or pixels.
enum class Images : uint8_t { files, pixels };

struct BetonTable {
  SourceFile file;
  BetonLayout layout;
  uint64_t num_samples = 0;
  BufferPtr records;
  std::vector<Images> images;                // of each field
  std::vector<std::vector<uint64_t>> sizes;  // by field: of each sample's image; empty for other fields

  // `auto_images`: pixels if all images of a field are pixels; else always files.
  static Result<BetonTable> make(SourceFile file, BetonLayout layout, const BetonHeader& header,
                                 BufferPtr records, std::span<const std::byte> allocations, bool auto_images);
  Schema schema() const;
  // Where the bytes of the field are according to the record; checked against the file. REQUIRES: is_pointed.
  Result<RecordExtent> extent(uint64_t sample, size_t field) const;
  // The field of a sample; `bytes`: those of its extent, nothing if it is not pointed.
  Result<Tensor> read(uint64_t sample, size_t field, const Record& bytes) const;

  const std::byte* slot(uint64_t sample, const BetonField& field) const {
    return records->data() + sample * layout.record + field.at;
  }
};

// Where the fields of a sample are in the file, and one extent with all of them.
struct Whereabouts {
  std::vector<RecordExtent> fields;  // empty for one whose value is in the sample's record
  RecordExtent all;
  bool stand_together = false;  // else the gaps between them are too large to read
};
// `out` may be reused for one sample after the other.
Status find_fields(const BetonTable& table, uint64_t sample, Whereabouts& out);

}  // namespace headrace::beton
