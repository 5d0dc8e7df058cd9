// The splits of data sets whose files say by their names what they are: MNIST and its kin (IDX), CIFAR's
// binary files, and COCO's annotations. Pure; any thread.
#pragma once
#include <vector>

#include "headrace/formats/splits/splits.h"

namespace headrace {

struct DownloadedSplits {
  std::string folder;         // of the data set, below that of the listing
  std::vector<Split> splits;  // sorted by name
};
// Those of each such data set in the folder and below.
std::vector<DownloadedSplits> downloaded_splits(const Listing& listing);

}  // namespace headrace
