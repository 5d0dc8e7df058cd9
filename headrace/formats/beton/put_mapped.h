// Puts samples of a .beton into a batch straight from its mapped file.
#pragma once
#include "headrace/formats/beton/sample_table.h"

namespace headrace::beton {

// Whether all fields can be put as their bytes are.
bool may_be_put(const BetonTable& table);
// See Source::put_mapped(). REQUIRES: may_be_put.
size_t put_mapped(const BetonTable& table, std::span<const uint64_t> samples, MappedBytes& mapped,
                  std::span<const FieldPlace> to);

}  // namespace headrace::beton
