// What a plan says of data that it does not hold: the names, specs and structure of the samples that the slot
// wants. Plans of earlier versions say nothing of arrays. Pure functions; any thread.
#pragma once
#include <optional>
#include <string>

#include "headrace/core/sample.h"
#include "headrace/core/value.h"

namespace headrace {

void describe_schema(const Schema& schema, Value& out);  // sets "names", "specs" and "structure"
Result<std::optional<Schema>> described_schema(const Value& description);

// Whether `given` has the fields of `wanted`, in any order, of dtypes and shapes that those admit.
Status check_fields(const Schema& wanted, const Schema& given);

// "f64 ()" of a bare tensor, else "qty: i64 (), price: f64 ()".
std::string fields_text(const Schema& schema);

}  // namespace headrace
