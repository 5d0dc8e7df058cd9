// Which decoder took an image: for reports alone. Decoders say it of the thread that they run on, so that no
// interface between it and the report has to carry it.
#pragma once
#include <string_view>

namespace headrace {

// `decoder` must live for ever: a literal.
void set_decoded_by(std::string_view decoder);

// Who decoded the last image of this thread, once; nothing when none was decoded since.
std::string_view take_decoded_by();

}  // namespace headrace
