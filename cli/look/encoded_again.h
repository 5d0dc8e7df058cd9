// Images made smaller: what `headrace convert --max-side --quality` writes, and what `headrace doctor`
// measures before it advises that.
#pragma once
#include "headrace/headrace.h"

namespace headrace::cli {

inline constexpr int64_t kQuality = 90;  // of JPEG, where none is given

// Field `image` decoded, upright, its longer side at most max_side (0: as it is), encoded as JPEG, 4:2:0.
// Pictures are upright since what turned them is not in the new file.
Dataset encoded_again(const Dataset& data, const Schema& schema, int image, uint64_t max_side,
                      uint64_t quality);

}  // namespace headrace::cli
