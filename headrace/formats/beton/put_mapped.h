// Samples of a .beton put into a batch straight out of its mapped file.
#pragma once
#include "headrace/formats/beton/table.h"

namespace headrace::beton {

// Where the fields of a sample lie in the file, and one extent that holds all of them.
struct Whereabouts {
  std::vector<RecordExtent> fields;  // nothing for one whose value stands in the sample's record
  RecordExtent all;
  bool stand_together = false;  // else there is more between them than is worth reading
};
// `out` may be used for one sample after the other.
Status find_fields(const BetonTable& table, uint64_t sample, Whereabouts& out);

// Whether all fields can be put as their bytes are.
bool may_be_put(const BetonTable& table);
// As Source::put_mapped(). REQUIRES: may_be_put.
size_t put_mapped(const BetonTable& table, std::span<const uint64_t> samples, MappedBytes& mapped,
                  std::span<const FieldPlace> to);

}  // namespace headrace::beton
