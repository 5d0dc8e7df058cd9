// What infer() of verbs shares.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/graph/handles.h"

namespace headrace {

struct Batch;
struct Program;

using Size = std::optional<uint64_t>;

uint64_t add_sizes(uint64_t a, uint64_t b);  // kInfinite where it does not fit
uint64_t multiply_sizes(uint64_t a, uint64_t b);

// Schema, sizes and random access of the first input.
void inherit(Node& node);
// No random access from here on; a shard before it has assigned the inputs to ranks.
void end_random_access(Node& node, Size total);
// The same with as many elements after it as before it.
void end_random_access(Node& node);

// Elements without fields have no rows and nothing to cache.
Status check_has_fields(const Node& node);
// Elements of the first input for which a predicate, which must return one bool (), decides.
Status infer_chosen(Node& node, const Program& predicate);
// Elements become rows of an element: `rows` of them, or kAny.
Status batch_rows(Node& node, const Batch& batch, int64_t rows);

// Gives the node the common fields of its first `count` inputs; dimensions that differ become unknown.
// Rejects shards and inputs with other fields.
Status unite(Node& node, size_t count);
Status refuse_shard(const Node& node, const Node& input);
// The totals of the first `count` inputs, if all are known.
std::optional<std::vector<uint64_t>> totals_of(const Node& node, size_t count);
Size sum_of_totals(const Node& node);  // of all inputs
// Elements of a rank at this node, if it is sharded here.
Size rows_of_rank(const Node& node);

// Checks of a verb whose last input holds numbers.
Status check_numbers(const Node& node, size_t least);
// Whether this verb puts other elements at its positions in each epoch; or one of those from here down.
bool reorders_each_epoch(const Node& node);
bool order_varies(const Node& node);
// The number of elements of data whose order does not change, for `what` belongs to elements by position.
Result<uint64_t> fixed_total(const Node& data, const std::string& verb, const std::string& what);
// For numbers of a verb, one per element of its first input.
Status check_fixed_order(const Node& node, const std::string& what, uint64_t count);
// The numbers of the last input. `what` in messages. Instantiated for int64_t and double.
template <class T> Result<std::vector<T>> numbers_of(const Node& node, std::string_view what);
const SourcePtr& source_of_numbers(const Node& node);  // REQUIRES: numbers_of() succeeded for this input
// Whether `source` is that of the numbers of this node, so that what was made of them still holds.
bool are_numbers_of(const SourcePtr& source, const Node& node);

}  // namespace headrace
