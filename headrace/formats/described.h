// How a plan describes data that it does not contain: the names, specs and structure of the samples that its
// slot expects. Plans of earlier versions do not describe arrays. Pure functions; any thread.
#pragma once
#include <optional>
#include <string>

#include "headrace/core/sample.h"
#include "headrace/core/value.h"

namespace headrace {

void describe_schema(const Schema& schema, Value& out);  // sets "names", "specs" and "structure"
Result<std::optional<Schema>> described_schema(const Value& description);

// Whether `structure` is JSON that contains the leaves 0, 1, … once each and in order.
Status check_structure(const std::string& structure, size_t leaves);

// Whether `given` has the fields of `wanted`, in any order, with dtypes and shapes that they admit.
Status check_fields(const Schema& wanted, const Schema& given);

// "float64 ()" of a bare tensor, else "qty: int64 (), price: float64 ()".
std::string fields_text(const Schema& schema);

}  // namespace headrace
