// Baseline JPEG straight to resampled pictures, plane by plane: for codecs/resampled.h.
#pragma once
#include "headrace/codecs/resampled.h"

namespace headrace::jpeg {

// Contract: decode_resampled in resampled.h, for an image as it is stored and no picture of nearest pixels.
// False when the file is not supported by our decoder or damaged; sinks may have taken rows then, and before
// an error: no memory, or the run was stopped. `known` may be empty. `found`, if given and empty, gets all
// points that are known now if that is more than `known` has; its step is that of the known ones if there are
// any.
Result<bool> resample_planes(std::span<const std::byte> bytes, const ImageHeader& header, Color color,
                             std::span<const Resampled> pictures, std::span<RowSink* const> sinks,
                             const EntropyPoints& known, EntropyPoints* found, Scratch& scratch);

// All points of a file; none when it is not supported by our decoder or damaged.
EntropyPoints find_points(std::span<const std::byte> bytes, int64_t step, const Scratch& scratch);

}  // namespace headrace::jpeg
