// The splits of data sets whose files say by their names what they are: MNIST and its kin (IDX), CIFAR's
// binary files, and COCO's annotations. Pure; any thread.
#pragma once
#include <vector>

#include "headrace/formats/splits/splits.h"

namespace headrace {

// Sorted by name; empty if the folder, or one below it, holds none of them.
std::vector<Split> downloaded_splits(const Listing& listing);

}  // namespace headrace
