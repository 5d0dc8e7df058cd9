// Baseline JPEG straight to resampled pictures, plane by plane: for codecs/resampled.h.
#pragma once
#include "headrace/codecs/resampled.h"

namespace headrace::jpeg {

// Contract: decode_resampled in resampled.h, for an image as it is stored and no picture of nearest pixels.
// False when the file is not for our decoder or is not in order, or the run was stopped; sinks may have taken
// rows then.
bool resample_planes(std::span<const std::byte> bytes, const ImageHeader& header, Color color,
                     std::span<const Resampled> pictures, std::span<RowSink* const> sinks, Scratch& scratch);

}  // namespace headrace::jpeg
