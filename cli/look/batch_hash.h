// The hash of an epoch: equal for two runs if every byte of every batch, and the order of the batches, is the
// same.
//
// A chain: digest(n) = XXH3-128 of digest(n - 1) followed by the bytes of batch n's fields in order, where
// digest(0) is empty. It can be saved with the state of a run and continued later, and a few lines of Python
// or C++ compute the same:
//   h = xxhash.xxh3_128(digest); [h.update(field) for field in batch.values()]; digest = h.digest()
#pragma once
#include <string>

#include "headrace/core/sample.h"

namespace headrace::cli {

class BatchHash {
 public:
  BatchHash() = default;
  // Continue from the result of text(). REQUIRES: is_hash(text).
  explicit BatchHash(std::string_view text);
  static bool is_hash(std::string_view text);  // 32 lower-case hex digits, or empty

  void add(const Sample& batch);
  std::string text() const;  // as xxhash's hexdigest(); "" before the first batch

 private:
  std::string digest_;  // 16 bytes, most significant first, or empty
};

}  // namespace headrace::cli
