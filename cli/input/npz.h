// .npz files: several arrays in one file, as written by numpy.savez() and savez_compressed().
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headrace/core/tensor.h"

namespace headrace::cli {

// An array as written by numpy.save(). `file`: the whole file.
Result<Tensor> read_npy(std::span<const std::byte> file);

// Names without ".npy", in the order of the file.
Result<std::vector<std::pair<std::string, Tensor>>> read_npz(std::span<const std::byte> file);

}  // namespace headrace::cli
