// Stores bytes and tensors as numbers of a cursor.
#pragma once
#include <string>
#include <string_view>

#include "headrace/run/streams/stream.h"

namespace headrace {

void put_bytes(std::string_view bytes, Cursor& cursor);
std::string take_bytes(CursorReader& cursor);

void put_tensor(const Tensor& tensor, Cursor& cursor);  // REQUIRES: dense
Tensor take_tensor(CursorReader& cursor);

}  // namespace headrace
