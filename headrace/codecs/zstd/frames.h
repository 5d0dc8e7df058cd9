// Frames of zstd, one after the other, decompressed piece by piece. One caller.
#pragma once
#include <cstddef>
#include <memory>
#include <span>

#include "headrace/core/status.h"

namespace headrace {

// Whether a file that begins like this is zstd: a frame, or a skippable frame.
bool begins_zstd(std::span<const std::byte> head);

class ZstdStream {
 public:
  ZstdStream();
  ~ZstdStream();
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;

  struct Step {
    size_t used = 0, made = 0;  // bytes of `in` and `out`
    bool ends_frame = false;    // what follows is another
  };
  // Decompresses some of `in` to `out`. While `out` is filled there may be more without further input.
  Result<Step> step(std::span<const std::byte> in, std::span<std::byte> out);

 private:
  struct Free {
    void operator()(void* stream) const;
  };
  std::unique_ptr<void, Free> stream_;
};

}  // namespace headrace
