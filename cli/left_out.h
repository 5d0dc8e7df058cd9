// Files of a folder that were not read, as its format counts them: for those who wonder where their images
// are.
#pragma once
#include <string>

#include "headrace/formats/source.h"

namespace headrace::cli {

// "12 files: endings .heic (10), none (2); no image in the folders eel, newt"; empty when nothing was left
// out.
std::string left_out_text(const Source& source);

}  // namespace headrace::cli
