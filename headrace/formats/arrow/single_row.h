// The fast path for a batch of one row: from its bytes straight to fields. rows.h and values.h handle any
// rows of any columns.
#pragma once
#include <vector>

#include "headrace/formats/arrow/message.h"
#include "headrace/formats/arrow/values.h"

namespace headrace::arrow {

// Whether all columns can use this path.
bool may_be_single_row(const std::vector<Column>& columns);

// False when a column needs the slow path: it has nulls, a dictionary or numbers that are converted, or it is
// damaged, which the slow path then reports. REQUIRES: the batch fits its layout.
bool read_single_row(const std::vector<Column>& columns, const Batch& batch, const Bytes& body,
                     std::vector<Tensor>& fields);

}  // namespace headrace::arrow
