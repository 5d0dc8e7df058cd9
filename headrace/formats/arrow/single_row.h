// The short way for a batch of one row: from its bytes straight to fields, where rows.h and values.h are for
// any rows of any columns.
#pragma once
#include <vector>

#include "headrace/formats/arrow/message.h"
#include "headrace/formats/arrow/values.h"

namespace headrace::arrow {

// Whether all columns are of a kind that may go this way.
bool may_be_single_row(const std::vector<Column>& columns);

// False when a column goes the long way: it has nulls, a dictionary or numbers that are not served as they
// lie there, or something is wrong with it, which the long way then says. REQUIRES: the batch fits its
// layout.
bool read_single_row(const std::vector<Column>& columns, const Batch& batch, const Bytes& body,
                     std::vector<Tensor>& fields);

}  // namespace headrace::arrow
