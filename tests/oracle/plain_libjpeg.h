// A JPEG decoded as libjpeg's own example does it, for comparison: no checks of ours, warnings counted and
// passed over. Only the details that libjpeg invents where scans are missing are left out (decision 41).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::testing {

struct PlainDecode {
  bool rows_read = false;  // every row came without an error
  bool finished = false;   // and what follows the last row is sound too
  bool progressive = false;
  long warnings = 0;
  std::vector<uint8_t> pixels;  // RGB or grey
};

PlainDecode decode_with_plain_libjpeg(const std::string& file);

}  // namespace headrace::testing
