// Where the labels of MNIST's images lie. Pure; any thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

// "train-labels-idx1-ubyte" of "train-images-idx3-ubyte", first compressed or not as the images are, then the
// other way; also with ".idx3-ubyte". Empty if the name is not that of images.
std::vector<std::string> idx_labels_of(std::string_view images);

}  // namespace headrace
