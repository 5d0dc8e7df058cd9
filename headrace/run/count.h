// The number of elements of an epoch where it depends on the data: by a pass that computes only what the
// number needs.
#pragma once
#include <functional>
#include <memory>

#include "headrace/run/loader.h"

namespace headrace {

// Of epoch 0. Known immediately where the plan has a length; otherwise all elements are made with as few
// fields as possible. The result is kept in the user's cache folder, for the same plan over the same files,
// as their paths, sizes and times say; not with functions or data of the program, which may change, nor with
// on_error, where it may depend on a read that failed once. `goes_on` is asked now and then; false: stop. An
// error if the dataset never ends.
Result<uint64_t> count_elements(const NodePtr& plan, LoaderOptions options, std::shared_ptr<Store> store,
                                const std::function<bool()>& goes_on);

}  // namespace headrace
