// Compresses data that comes piece by piece to one gzip member or one zlib stream: the same bytes however the
// pieces are cut. One caller.
#pragma once
#include <functional>
#include <memory>
#include <span>

#include "headrace/core/status.h"

namespace headrace {

enum class DeflateWrap : uint8_t { zlib, gzip };

class Deflater {
 public:
  Deflater(DeflateWrap wrap, int level);  // 1, fast, to 9
  ~Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  using Take = std::function<Status(std::span<const std::byte> piece)>;
  Status feed(std::span<const std::byte> in, const Take& take);
  Status finish(const Take& take);

 private:
  Status run(std::span<const std::byte> in, int flush, const Take& take);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headrace
