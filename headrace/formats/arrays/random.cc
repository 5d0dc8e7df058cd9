#include <cstring>

#include "headrace/core/random/key.h"
#include "headrace/formats/arrays/arrays.h"
#include "headrace/formats/arrays/computed.h"

namespace headrace {
namespace {

constexpr uint64_t kEndless = ~uint64_t{0};

struct RandomNumbers {
  uint64_t seed = 0, size = 0;
  Shape dims;
  Shape shape() const { return dims; }

  // Layout, part of the contract: word d of sample i is word d % 4 of philox(key = seed, counter = (i_lo,
  // i_hi, d / 4, 0x4A4D)).
  void write(uint64_t index, std::byte* out) const {
    const std::array<uint32_t, 2> key{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
    const auto count = static_cast<uint32_t>(dims.count());
    PhiloxBlock words{};
    for (uint32_t d = 0; d < count; ++d) {
      if (d % 4 == 0)
        words = philox4x32({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), d / 4, 0x4A4D},
                           key);
      const int64_t value = words[d % 4];
      std::memcpy(out + d * sizeof value, &value, sizeof value);
    }
  }

  SamplePlace where(uint64_t index) const { return {"", "random value " + std::to_string(index)}; }
  Value describe() const {
    Value out;
    out.set("format", "random");
    out.set("seed", seed);
    Value::List sizes;
    for (const int64_t dim : dims.dims()) sizes.emplace_back(dim);
    out.set("shape", std::move(sizes));
    if (size != kEndless) out.set("size", size);
    return out;
  }
};

Result<SourcePtr> make_random(const Value& options) {
  HEADRACE_ASSIGN(const int64_t seed, options.get_integer("seed"));
  Shape shape;
  if (const Value* dims = options.find("shape"); dims && dims->list()) {
    std::vector<int64_t> sizes;
    for (const Value& dim : *dims->list()) sizes.push_back(dim.integer() ? *dim.integer() : -1);
    if (sizes.size() > kMaxRank)
      return invalid({.expected = "a shape of at most 8 dimensions", .got = std::to_string(sizes.size())})
          .in_option("random");
    shape = Shape(sizes);
  }
  const Value* size = options.find("size");
  if (size && size->integer() && *size->integer() < 0)
    return invalid({.expected = "a size of at least 0", .got = std::to_string(*size->integer())})
        .in_option("random");
  return random_source(static_cast<uint64_t>(seed), shape,
                       size && size->integer() ? static_cast<uint64_t>(*size->integer()) : kEndless);
}

const FormatRegistration registered_random({
    .name = "random",
    .doc = "Random 32-bit integers as int64, the same for the same seed.",
    .options = {{"seed", "int", "Seed of the numbers.", 0},
                {"shape", "list", "Shape of a sample.", Value::List{}},
                {"size", "int", "Number of samples; endless by default.", Value()}},
    .make = make_random,
});

}  // namespace

Result<SourcePtr> random_source(uint64_t seed, const Shape& shape, uint64_t size) {
  constexpr int64_t kMostNumbers = int64_t{1} << 30;
  for (const int64_t dim : shape.dims())
    if (dim < 0 || dim > kMostNumbers)
      return invalid({.expected = "dimensions of 0 to 2^30", .got = "a shape of " + shape.text()})
          .in_option("random");
  if (shape.count() > kMostNumbers)
    return invalid({.expected = "at most 2^30 numbers per sample", .got = "a shape of " + shape.text()})
        .in_option("random");
  return SourcePtr(std::make_shared<ComputedSource<RandomNumbers>>(RandomNumbers{seed, size, shape}));
}

}  // namespace headrace
