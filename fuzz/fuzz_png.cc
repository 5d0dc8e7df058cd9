// PNG files with valid checksums, with fuzzed contents: inflated as a whole and row by row (where there is no
// memory for more) they are accepted or refused alike, with the same pixels, and a part equals that part of
// the whole.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "headrace/codecs/image.h"
#include "headrace/codecs/png/testing.h"
#include "headrace/core/pool.h"

using namespace headrace;
using headrace::png::testing::chunk;
using headrace::png::testing::packed;
using headrace::png::testing::word;

namespace {

constexpr const char* kTypes[] = {"tEXt", "tRNS", "PLTE", "gAMA", "eXIf", "IDAT",
                                  "IEND", "tIME", "bKGD", "acTL", "iCCP", "QQQQ"};

void add_chunks(FuzzedDataProvider& in, std::string& file) {
  for (int left = in.ConsumeIntegralInRange(0, 12) - 9; left > 0; --left) {
    const std::string type = in.PickValueInArray(kTypes);
    file += chunk(type, in.ConsumeRandomLengthString(20));
  }
}

std::string file_of(FuzzedDataProvider& in) {
  std::string ihdr = word(in.ConsumeIntegralInRange(1, 40)) + word(in.ConsumeIntegralInRange(1, 20));
  ihdr += static_cast<char>(in.PickValueInArray({8, 8, 8, 8, 16, 1, 2, 4}));
  ihdr += static_cast<char>(in.PickValueInArray({0, 2, 3, 4, 6}));
  for (const int rare : {30, 30, 6})  // compression, filter, interlacing
    ihdr +=
        static_cast<char>(in.ConsumeIntegralInRange(0, rare) == rare ? in.ConsumeIntegralInRange(0, 255) : 0);
  std::string file = "\x89PNG\r\n\x1a\n" + chunk("IHDR", ihdr);
  add_chunks(in, file);
  if (in.ConsumeBool()) file += chunk("PLTE", std::string(in.PickValueInArray({768, 12, 6, 3}), 'x'));
  add_chunks(in, file);
  const bool rare_filter = in.ConsumeIntegralInRange(0, 30) == 0;
  std::string pixels = in.ConsumeRandomLengthString(8000);
  if (in.ConsumeBool()) pixels.resize(8000, '\2');  // and then resized to the size that it should have
  const auto header = read_image_header(std::as_bytes(std::span(file)));
  if (header.ok() && in.ConsumeIntegralInRange(0, 9) > 0) {
    const int samples[] = {1, 0, 3, 1, 2, 0, 4};
    const int bits = samples[static_cast<size_t>(ihdr[9])] * ihdr[8];
    size_t at = 0;
    const auto add_rows = [&](int64_t across, int64_t down) {
      const size_t row = 1 + (static_cast<size_t>(across * bits) + 7) / 8;
      for (; across > 0 && down > 0; --down, at += row) {
        pixels.resize(std::max(pixels.size(), at + row));
        pixels[at] = static_cast<char>(static_cast<uint8_t>(pixels[at]) % (rare_filter ? 256 : 5));
      }
    };
    const int64_t passes[][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                 {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    if (ihdr[12] == 0) add_rows(header->width, header->height);
    for (const auto& [x, y, step_x, step_y] : passes)
      if (ihdr[12] != 0)
        add_rows((header->width + step_x - 1 - x) / step_x, (header->height + step_y - 1 - y) / step_y);
    pixels.resize(at);
  }
  std::string data = packed(pixels, in.ConsumeIntegralInRange(0, 9));
  if (in.ConsumeIntegralInRange(0, 9) == 0) data += in.ConsumeRandomLengthString(8);
  if (in.ConsumeIntegralInRange(0, 9) == 0) data.resize(in.ConsumeIntegralInRange<size_t>(0, data.size()));
  while (!data.empty()) {
    const size_t some = in.ConsumeBool() ? in.ConsumeIntegralInRange<size_t>(0, data.size()) : data.size();
    file += chunk("IDAT", data.substr(0, some));
    data.erase(0, some);
    if (in.remaining_bytes() == 0) break;
  }
  add_chunks(in, file);
  if (in.ConsumeIntegralInRange(0, 9) > 0) file += chunk("IEND", "");
  return file + in.ConsumeRandomLengthString(12);
}

struct Decoded {
  Status status;
  std::vector<uint8_t> pixels;
};

Decoded decode(const std::string& file, const ImageHeader& header, Color color, const Box& part, Pool* pool) {
  const auto row = static_cast<size_t>(header.width * decoded_channels(header, color));
  Decoded out{{}, std::vector<uint8_t>(row * static_cast<size_t>(header.height))};
  Scratch scratch(pool);
  out.status =
      decode_image(std::as_bytes(std::span(file)), header, color, part, out.pixels.data(), row, scratch);
  return out;
}

bool is_same(const Decoded& a, const Decoded& b, const Box& part, const ImageHeader& header, Color color) {
  const int64_t channels = decoded_channels(header, color);
  for (int64_t y = part.y; y < part.bottom(); ++y) {
    const auto from = (y * header.width + part.x) * channels;
    if (!std::equal(a.pixels.begin() + from, a.pixels.begin() + from + part.w * channels,
                    b.pixels.begin() + from))
      return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider in(data, size);
  const Color color = in.PickValueInArray({Color::rgb, Color::gray, Color::unchanged, Color::index});
  const auto budget = in.ConsumeIntegralInRange<size_t>(1, 20000);
  const int from_y = in.ConsumeIntegralInRange(0, 255), from_x = in.ConsumeIntegralInRange(0, 255);
  const std::string file = file_of(in);
  const auto header = read_image_header(std::as_bytes(std::span(file)));
  if (!header.ok() || !check_color(*header, color).ok()) return 0;
  const Decoded whole = decode(file, *header, color, header->whole(), nullptr);
  const auto pool = Pool::make(budget);
  const Decoded little = decode(file, *header, color, header->whole(), pool.get());
  if (little.status.code() != Code::exhausted) {
    if (little.status.ok() != whole.status.ok()) std::abort();
    if (whole.status.ok() && little.pixels != whole.pixels) std::abort();
  }
  if (!whole.status.ok()) return 0;
  const int64_t y = header->height * from_y / 256, x = header->width * from_x / 256;
  const Box part{y, x, (header->height - y + 1) / 2, (header->width - x + 1) / 2};
  const Decoded cut = decode(file, *header, color, part, nullptr);
  if (!cut.status.ok() || !is_same(cut, whole, part, *header, color)) std::abort();
  return 0;
}
