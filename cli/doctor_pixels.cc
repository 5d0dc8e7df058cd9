#include "cli/doctor_pixels.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>

#include "cli/encoded_again.h"
#include "cli/terminal.h"
#include "headrace/codecs/resampled.h"
#include "headrace/core/key.h"
#include "headrace/formats/arrays/arrays.h"
#include "headrace/kernels/resize.h"
#include "headrace/ops/crop_box.h"
#include "headrace/ops/row_sinks.h"
#include "headrace/run/machine.h"

namespace headrace::cli {
namespace {

constexpr int64_t kCropSide = 224;
constexpr size_t kMostImages = 48, kLeastImages = 6;
constexpr double kSeconds = 6;           // that all of it may take, roughly
constexpr double kRunsOfWhole = 25;      // what all of it takes, in decodes of a whole image
constexpr double kWorthResizing = 0.25;  // share of the images that a side must make smaller
constexpr size_t kMostSides = 3;

using Bytes = std::vector<std::byte>;

struct Image {
  Bytes bytes;
  ImageHeader header;
  uint64_t index = 0;
};

// Points that were found ahead, of one file.
class Given final : public PointStore {
 public:
  explicit Given(EntropyPoints points) : points_(std::move(points)) {}
  Known find(std::span<const std::byte>) override { return {{1, 1}, points_}; }
  std::optional<int64_t> wanted_step() const override { return std::nullopt; }
  void keep(const FileKey&, EntropyPoints) override {}

 private:
  EntropyPoints points_;
};

// Knows of none, and wants them found: as in the first epoch over new data.
class Wanting final : public PointStore {
 public:
  Known find(std::span<const std::byte>) override { return {}; }
  std::optional<int64_t> wanted_step() const override { return 0; }
  void keep(const FileKey&, EntropyPoints) override {}
};

class Costs {
 public:
  Costs(int64_t crop_side, int runs)
      : side_(crop_side), runs_(runs), out_(static_cast<size_t>(crop_side * crop_side * 3)) {}

  double whole(const Image& image) {
    return best([&] { return pixels_.decode(image.bytes, image.header).ok(); });
  }

  // The window that an epoch would draw.
  Box box(const Image& image) const {
    SampleId id;
    id.index = image.index;
    return sample_crop_box(image.header.height, image.header.width, {}, Key(0, 1, id));
  }

  double crop(const Image& image, PointStore* points = nullptr) {
    const Box from = box(image);
    const Resampled picture{.from = from, .height = side_, .width = side_, .window = {0, 0, side_, side_}};
    return best([&] {
      scratch_.clear();
      PixelSink sink(side_, 3, out_.data());
      RowSink* sinks[] = {&sink};
      return decode_resampled(image.bytes, image.header, Color::rgb, false, {&picture, 1}, sinks, scratch_,
                              points)
          .ok();
    });
  }

  // REQUIRES: whole() of the same image was the last.
  double crop_of_pixels(const Image& image) {
    if (pixels_.rgb().empty()) return 0;
    const Box from = box(image);
    const kernels::Resize resize{
        .in_height = from.h, .in_width = from.w, .out_height = side_, .out_width = side_};
    const uint8_t* first = pixels_.rgb().data() + (from.y * image.header.width + from.x) * 3;
    return best([&] {
      scratch_.clear();
      const auto memory = scratch_.take(kernels::resize_scratch_bytes(resize));
      kernels::resize_u8(resize, first, image.header.width * 3, out_.data(), side_ * 3, memory.data());
      return true;
    });
  }

  EntropyPoints points(const Image& image, int64_t step) {
    scratch_.clear();
    return find_entropy_points(image.bytes, step, scratch_);
  }

 private:
  double best(const std::function<bool()>& work) {
    double out = 0;
    for (int run = 0; run < runs_; ++run) {
      const double before = thread_cpu_s();
      if (!work()) return 0;  // they were all decoded before
      const double taken = thread_cpu_s() - before;
      out = run == 0 ? taken : std::min(out, taken);
    }
    return out;
  }

  int64_t side_;
  int runs_;
  std::vector<uint8_t> out_;
  Pixels pixels_{Pool::make(usable_memory_bytes() / 2)};
  Scratch scratch_;
};

double mean_of(const std::vector<Image>& images, const std::function<double(const Image&)>& value) {
  double sum = 0;
  for (const Image& image : images) sum += value(image);
  return sum / static_cast<double>(std::max<size_t>(1, images.size()));
}

double bytes_of(const Image& image) { return static_cast<double>(image.bytes.size()); }

// Images spread evenly over those that were decoded, in a random order.
std::vector<Image> some_images(const SampleReader& reader, const Look& look, size_t count) {
  std::vector<uint64_t> positions(look.samples.size());
  std::iota(positions.begin(), positions.end(), 0);
  std::erase_if(positions, [&](uint64_t i) { return look.samples[i].kind == ImageKind::none; });
  std::vector<Image> out;
  for (size_t i = 0; i < std::min(count, positions.size()); ++i) {
    const uint64_t index = look.index(positions[positions.size() * i / std::min(count, positions.size())]);
    const auto fields = reader.read(index);
    const auto bytes = fields.ok() ? reader.image(*fields) : std::nullopt;
    const auto header = bytes ? read_image_header(*bytes) : Result<ImageHeader>(invalid(""));
    if (header.ok()) out.push_back({Bytes(bytes->begin(), bytes->end()), *header, index});
  }
  return out;
}

// What `headrace convert --max-side` makes of them.
Result<std::vector<Image>> resized(const std::vector<Image>& images, int64_t max_side) {
  auto rows = std::make_shared<std::vector<Tensor>>();
  for (const Image& image : images)
    rows->push_back(
        make_tensor({DType::bytes, {static_cast<int64_t>(image.bytes.size())}, image.bytes.data()}));
  const auto count = static_cast<int64_t>(rows->size());
  HEADRACE_ASSIGN(const SourcePtr source,
                  array_source(Schema::of({"image"}, {{DType::bytes, {kAny}}}),
                               {Tensor{nullptr, 0, DType::bytes, {count}, std::move(rows)}}));
  const Dataset smaller =
      encoded_again(from_source(source), source->schema(), 0, static_cast<uint64_t>(max_side), 0);
  LoaderOptions options;
  options.checkpoints = false;
  HEADRACE_ASSIGN(const std::unique_ptr<Loader> loader, smaller.loader(options));
  HEADRACE_TRY(loader->begin());
  std::vector<Image> out;
  for (Sample sample;;) {
    HEADRACE_ASSIGN(const bool more, loader->next(sample));
    if (!more) return out;
    const auto bytes = sample.fields[0].view().bytes();
    HEADRACE_ASSIGN(const ImageHeader header, read_image_header(bytes));
    out.push_back({Bytes(bytes.begin(), bytes.end()), header, images[out.size()].index});
  }
}

int64_t longer(const Image& image) { return std::max(image.header.height, image.header.width); }

// With the points of this step, which are counted.
struct Cropped {
  double crop = 0, points = 0;  // means
};
Cropped crop_with_points(const std::vector<Image>& images, int64_t step, Costs& costs) {
  double found = 0;
  const double crop = mean_of(images, [&](const Image& image) {
    EntropyPoints points = costs.points(image, step);
    found += static_cast<double>(points.points.size());
    const bool any = !points.points.empty();
    Given given(std::move(points));
    return costs.crop(image, any ? &given : nullptr);
  });
  return {crop, found / static_cast<double>(images.size())};
}

void measure_points(const std::vector<Image>& images, Costs& costs, PixelCosts& out) {
  for (const int64_t step : {int64_t{0}, int64_t{8}}) {
    const Cropped made = crop_with_points(images, step, costs);
    if (made.points > 0) out.points.push_back({step, made.crop, made.points * sizeof(EntropyPoint)});
  }
}

void measure_resized(const std::vector<Image>& images, Costs& costs, PixelCosts& out) {
  for (const int64_t side : {2048, 1024, 768, 512, 384, 256}) {
    const double larger = mean_of(images, [&](const Image& image) { return longer(image) > side ? 1 : 0; });
    if (larger < kWorthResizing || side < out.crop_side || out.resized.size() == kMostSides) continue;
    const auto smaller = resized(images, side);
    if (!smaller.ok()) continue;
    Wanting wanting;
    PixelCosts::Resized made{.max_side = side, .larger = larger, .bytes = mean_of(*smaller, bytes_of)};
    made.whole = mean_of(*smaller, [&](const Image& image) { return costs.whole(image); });
    made.crop = mean_of(*smaller, [&](const Image& image) { return costs.crop(image); });
    made.crop_first = mean_of(*smaller, [&](const Image& image) { return costs.crop(image, &wanting); });
    made.crop_with_points = crop_with_points(*smaller, 0, costs).crop;
    out.resized.push_back(made);
  }
}

}  // namespace

PixelCosts measure_pixels(const SampleReader& reader, const Look& look) {
  PixelCosts out;
  const double one = look.decode.sum() / static_cast<double>(std::max<uint64_t>(1, look.decode.count()));
  const double affordable = kSeconds / std::max(1e-6, one * kRunsOfWhole);
  const auto count = static_cast<size_t>(std::clamp(affordable, 1.0 * kLeastImages, 1.0 * kMostImages));
  const std::vector<Image> images = some_images(reader, look, count);
  out.images = images.size();
  if (images.empty()) return out;
  Progress progress("measuring pixels", 0);
  progress.show(0);
  std::vector<int64_t> sides;
  for (const Image& image : images) sides.push_back(std::min(image.header.height, image.header.width));
  std::ranges::nth_element(sides, sides.begin() + static_cast<std::ptrdiff_t>(sides.size() / 2));
  out.crop_side = std::min(kCropSide, sides[sides.size() / 2]);
  Costs costs(out.crop_side, affordable < kLeastImages ? 1 : 3);
  out.bytes = mean_of(images, bytes_of);
  out.pixels = mean_of(images, [](const Image& image) {
    return static_cast<double>(image.header.height) * static_cast<double>(image.header.width);
  });
  double of_pixels = 0;
  out.whole = mean_of(images, [&](const Image& image) {
    const double whole = costs.whole(image);
    of_pixels += costs.crop_of_pixels(image);
    return whole;
  });
  out.crop_of_pixels = of_pixels / static_cast<double>(images.size());
  out.crop_after_whole = out.whole + out.crop_of_pixels;
  out.crop = mean_of(images, [&](const Image& image) { return costs.crop(image); });
  Wanting wanting;
  out.crop_first = mean_of(images, [&](const Image& image) { return costs.crop(image, &wanting); });
  measure_points(images, costs, out);
  measure_resized(images, costs, out);
  return out;
}

}  // namespace headrace::cli
