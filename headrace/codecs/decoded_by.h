// Which decoder decoded an image: for reports only. Decoders set it for their own thread, so that no
// interface between them and the report has to carry it.
#pragma once
#include <string_view>

namespace headrace {

// `decoder` must live forever: a literal.
void set_decoded_by(std::string_view decoder);

// The decoder of the last image on this thread, reported once; nothing when none was decoded since.
std::string_view take_decoded_by();

}  // namespace headrace
