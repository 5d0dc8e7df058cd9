// What a format warns of in the data it has opened: columns that may be meant otherwise. explain() and
// inspect print it, Python warns.
#pragma once
#include <string>
#include <vector>

#include "headrace/formats/source.h"

namespace headrace {

// "notes" of its metadata(), a list of texts.
std::vector<std::string> notes_of(const Source& source);

}  // namespace headrace
