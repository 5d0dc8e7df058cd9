// Type ids and extension names in the metadata.
#pragma once
#include <cstdint>

namespace headrace::arrow {

// Keys of a field's own metadata that give its type another meaning to readers of that extension.
inline constexpr char kExtensionName[] = "ARROW:extension:name";
inline constexpr char kExtensionMetadata[] = "ARROW:extension:metadata";
inline constexpr char kTensorExtension[] = "arrow.fixed_shape_tensor";

// Schema.fbs: the union Type.
enum Type : uint8_t {
  kNull = 1,
  kInt = 2,
  kFloat = 3,
  kBinary = 4,
  kUtf8 = 5,
  kBool = 6,
  kDecimal = 7,
  kDate = 8,
  kTime = 9,
  kTimestamp = 10,
  kInterval = 11,
  kList = 12,
  kStruct = 13,
  kUnion = 14,
  kFixedBinary = 15,
  kFixedList = 16,
  kMap = 17,
  kDuration = 18,
  kLargeBinary = 19,
  kLargeUtf8 = 20,
  kLargeList = 21,
  kRunEnds = 22,
  kBinaryView = 23,
  kUtf8View = 24,
  kListView = 25,
  kLargeListView = 26,
};

}  // namespace headrace::arrow
