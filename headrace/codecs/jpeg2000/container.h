// The boxes of a JP2 file around its code stream: what its components mean. The library is given the code
// stream alone: its versions differ in what they make of the boxes.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headrace/core/status.h"

namespace headrace::jpeg2000 {

enum class Space : uint8_t { unspecified, gray, rgb, ycc, cmyk };

// An entry of the channel definition box.
struct Channel {
  uint16_t component = 0, kind = 0, colour = 0;
};

struct Container {
  std::span<const std::byte> code_stream;
  Space space = Space::unspecified;
  std::vector<Channel> channels;  // empty: colours in order, then alpha
};

bool is_code_stream(std::span<const std::byte> bytes);
bool is_container(std::span<const std::byte> bytes);

// `unavailable`, by name, for a colour space or a kind of file that is not read. REQUIRES: one of the above.
Result<Container> read_container(std::span<const std::byte> bytes);

// Which component is each channel as ImageHeader::channels counts them: colours, then alpha. REQUIRES: 1 to 4
// components.
Result<std::array<uint32_t, 4>> order_of_components(const Container& container, uint32_t components);

}  // namespace headrace::jpeg2000
