// Pictures cut out of a JPEG with entropy points and without: the same where the points are the file's own,
// all of them or the first ones; no crash where they are anything else; and a store that is asked for points
// and given more, as a data set's index is. The input begins with the file; from its end come the pictures,
// then the points.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "headrace/codecs/jpeg/jpeg.h"
#include "headrace/codecs/jpeg/planes.h"

using namespace headrace;

namespace {

constexpr int64_t kMaxPixels = 1 << 18;  // larger images only slow the fuzzer down
constexpr int64_t kMaxSide = 96;         // of a picture
constexpr size_t kMaxPictures = 3, kMaxPoints = 64;

// The rows of a picture, plane after plane.
class Pixels final : public RowSink {
 public:
  explicit Pixels(const Box& window)
      : window_(window), bytes_(static_cast<size_t>(3 * window.h * window.w)) {}
  void take(int64_t y, const uint8_t* const* planes) override {
    for (int64_t c = 0; c < 3; ++c)
      std::copy_n(planes[c], window_.w, bytes_.begin() + (c * window_.h + y) * window_.w);
  }
  bool operator==(const Pixels& other) const { return bytes_ == other.bytes_; }

 private:
  Box window_;
  std::vector<uint8_t> bytes_;
};

// Has some points, and remembers those it is given to keep.
class Store final : public PointStore {
 public:
  Store(EntropyPoints known, bool may_be_kept) : known_(std::move(known)), may_be_kept_(may_be_kept) {}
  Known find(std::span<const std::byte>) override { return {{}, known_, may_be_kept_}; }
  std::optional<int64_t> wanted_step() const override { return known_.step; }
  void keep(const FileKey&, EntropyPoints points) override { kept = std::move(points); }
  std::optional<EntropyPoints> kept;

 private:
  EntropyPoints known_;
  bool may_be_kept_;
};

struct Input {
  std::vector<uint8_t> file;
  std::vector<Resampled> pictures;
  Color color = Color::rgb;
  EntropyPoints hostile;
  int64_t step = 0;  // of the file's own points
  double share = 0;  // of them that are known
  bool may_be_kept = true;
};

// A place and a length within `most`.
std::pair<int64_t, int64_t> part(FuzzedDataProvider& in, int64_t most) {
  const auto begin = in.ConsumeIntegralInRange<int64_t>(0, most - 1);
  return {begin, in.ConsumeIntegralInRange<int64_t>(1, most - begin)};
}

Box box(FuzzedDataProvider& in, int64_t height, int64_t width) {
  const auto [y, h] = part(in, height);
  const auto [x, w] = part(in, width);
  return {y, x, h, w};
}

Resampled picture(FuzzedDataProvider& in, int64_t height, int64_t width) {
  Resampled out;
  out.from = box(in, height, width);
  out.height = in.ConsumeIntegralInRange<int64_t>(1, kMaxSide);
  out.width = in.ConsumeIntegralInRange<int64_t>(1, kMaxSide);
  out.window = box(in, out.height, out.width);
  out.mirrored = in.ConsumeBool();
  out.interpolation = in.ConsumeBool() ? kernels::Interpolation::bicubic : kernels::Interpolation::bilinear;
  out.antialias = in.ConsumeBool();
  out.scale_in_dct = in.ConsumeBool();
  return out;
}

EntropyPoints hostile_points(FuzzedDataProvider& in, size_t file_size) {
  EntropyPoints out{
      in.ConsumeBool() ? in.ConsumeIntegralInRange<int64_t>(0, 9) : in.ConsumeIntegral<int64_t>(), {}};
  for (auto left = in.ConsumeIntegralInRange<size_t>(0, kMaxPoints); left > 0; --left)
    out.points.push_back(
        {in.ConsumeBool() ? in.ConsumeIntegralInRange<uint32_t>(0, static_cast<uint32_t>(file_size))
                          : in.ConsumeIntegral<uint32_t>(),
         in.ConsumeIntegral<uint16_t>(),
         {in.ConsumeIntegral<int16_t>(), in.ConsumeIntegral<int16_t>(), in.ConsumeIntegral<int16_t>()}});
  return out;
}

struct Made {
  bool done = false;
  std::vector<Pixels> pixels;
};

template <class Resample> Made make(const Input& input, Resample&& resample) {
  Made out;
  std::vector<RowSink*> sinks;
  for (const Resampled& picture : input.pictures) out.pixels.emplace_back(picture.window);
  for (Pixels& pixels : out.pixels) sinks.push_back(&pixels);
  Scratch scratch;
  out.done = *resample(std::as_bytes(std::span(input.file)), sinks, scratch);
  return out;
}

Made make(const Input& input, const ImageHeader& header, const EntropyPoints& known, EntropyPoints* found) {
  return make(input, [&](auto bytes, auto& sinks, Scratch& scratch) {
    return jpeg::resample_planes(bytes, header, input.color, input.pictures, sinks, known, found, scratch);
  });
}

Made make(const Input& input, const ImageHeader& header, Store& store) {
  return make(input, [&](auto bytes, auto& sinks, Scratch& scratch) {
    std::string_view decoder;
    return resample_jpeg(bytes, header, input.color, input.pictures, sinks, &store, scratch, decoder);
  });
}

void check_equal(const Made& plain, const Made& made) {
  if (made.done != plain.done || (plain.done && made.pixels != plain.pixels)) std::abort();
}

bool begins_with(const EntropyPoints& points, const EntropyPoints& first) {
  return first.points.size() <= points.points.size() &&
         std::equal(first.points.begin(), first.points.end(), points.points.begin());
}

void check(const Input& input, const ImageHeader& header) {
  const EntropyPoints none{input.step, {}};
  const Made plain = make(input, header, none, nullptr);
  EntropyPoints on_the_way = none;
  check_equal(plain, make(input, header, none, &on_the_way));
  if (plain.done) check_equal(plain, make(input, header, on_the_way, nullptr));
  const auto bytes = std::as_bytes(std::span(input.file));
  const EntropyPoints all = jpeg::find_points(bytes, input.step, Scratch());
  if (all.points.empty()) return;  // damaged after the pictures, or not supported by our decoder
  check_equal(plain, make(input, header, all, nullptr));

  // The known points may end within a row.
  EntropyPoints first = all, more = none;
  first.points.resize(static_cast<size_t>(input.share * static_cast<double>(all.points.size())));
  check_equal(plain, make(input, header, first, &more));
  if (plain.done && !(begins_with(all, on_the_way) && begins_with(all, more))) std::abort();

  Store store(first, input.may_be_kept);
  const Made stored = make(input, header, store);
  if (!stored.done) return;  // no end of the file, or pictures that are not made of planes
  check_equal(plain, stored);
  if (!store.kept) return;
  if (!input.may_be_kept || store.kept->points.size() <= first.points.size() ||
      !begins_with(all, *store.kept))
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider in(data, size);
  const auto whole = std::as_bytes(std::span(data, size));
  if (!is_jpeg(whole)) return 0;
  const auto header = read_image_header(whole);
  if (!header.ok() || header->height * header->width > kMaxPixels) return 0;
  Input input;
  input.color = in.ConsumeBool() ? Color::rgb : Color::gray;
  input.step = in.ConsumeIntegralInRange<int64_t>(0, 12);
  input.share = in.ConsumeIntegralInRange<int>(0, 255) / 255.0;
  const auto pictures = in.ConsumeIntegralInRange<size_t>(1, kMaxPictures);
  for (size_t i = 0; i < pictures; ++i) input.pictures.push_back(picture(in, header->height, header->width));
  input.may_be_kept = in.ConsumeBool();
  input.hostile = hostile_points(in, size);
  input.file = in.ConsumeRemainingBytes<uint8_t>();
  const auto own = read_image_header(std::as_bytes(std::span(input.file)));
  if (!own.ok() || own->height != header->height || own->width != header->width) return 0;
  check(input, *own);
  EntropyPoints found{input.hostile.step, {}};
  (void)make(input, *own, input.hostile, &found);
  (void)make(input, *own, input.hostile, nullptr);
  Store hostile(input.hostile, input.may_be_kept);
  (void)make(input, *own, hostile);
  return 0;
}
