#include "cli/doctor/pixels.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>

#include "cli/doctor/files.h"
#include "cli/look/encoded_again.h"
#include "cli/output/terminal.h"
#include "headrace/codecs/resampled.h"
#include "headrace/core/random/key.h"
#include "headrace/formats/arrays/arrays.h"
#include "headrace/kernels/affine.h"
#include "headrace/kernels/resize.h"
#include "headrace/ops/crop_box.h"
#include "headrace/ops/row_sinks.h"
#include "headrace/run/measure/machine.h"

namespace headrace::cli {
namespace {

constexpr int64_t kCropSide = 224;
constexpr size_t kMostImages = 128, kLeastImages = 6;
constexpr size_t kMostSmallImages = 4096;  // used if that many take no longer than kLeastCpu
constexpr double kSeconds = 4;             // that all measurements may take, roughly
constexpr double kRunsOfWhole = 25;        // cost of all measurements, in decodes of a whole image
constexpr double kWorthResizing = 0.25;    // share of the images that a side must make smaller
constexpr size_t kMostSides = 3;
constexpr size_t kMostPixels = size_t{256} << 20;  // bytes of decoded images held in memory
constexpr int kCachedRounds = 4;                   // epochs from a cache; the best one counts

using Bytes = std::vector<std::byte>;

struct Image {
  Bytes bytes;
  ImageHeader header;
  uint64_t index = 0;
};

// Points of one file, found in advance.
class GivenPoints final : public PointStore {
 public:
  explicit GivenPoints(EntropyPoints points) : points_(std::move(points)) {}
  Known find(std::span<const std::byte>) override { return {{1, 1}, points_}; }
  std::optional<int64_t> wanted_step() const override { return std::nullopt; }
  void keep(const FileKey&, EntropyPoints) override {}

 private:
  EntropyPoints points_;
};

// Has no points and asks for them: as in the first epoch over new data.
class Wanting final : public PointStore {
 public:
  Known find(std::span<const std::byte>) override { return {}; }
  std::optional<int64_t> wanted_step() const override { return 0; }
  void keep(const FileKey&, EntropyPoints) override {}
};

// What ImageNet training does with a crop.
constexpr std::array<float, 3> kMean{0.485f, 0.456f, 0.406f}, kStd{0.229f, 0.224f, 0.225f};

class Costs {
 public:
  Costs(int64_t crop_side, int runs)
      : side_(crop_side), runs_(runs), rgb_(crop_size()), batch_(kBatch * crop_size() * sizeof(float)) {}

  // The mean over the images of each one's least CPU time. Each run goes over all images, so that, as in
  // training, an image is not in the CPU caches.
  template <class Work> double mean_of(const std::vector<Image>& images, const Work& work) {
    std::vector<double> best(images.size());
    for (int run = 0; run < runs_; ++run)
      for (size_t i = 0; i < images.size(); ++i) {
        const double before = thread_cpu_s();
        work(i);
        const double taken = thread_cpu_s() - before;
        best[i] = run == 0 ? taken : std::min(best[i], taken);
      }
    return std::accumulate(best.begin(), best.end(), 0.0) /
           static_cast<double>(std::max<size_t>(1, best.size()));
  }

  double whole(const std::vector<Image>& images) {
    return mean_of(images, [&](size_t i) { (void)pixels_.decode(images[i].bytes, images[i].header); });
  }

  // `store(i)`: a PointStore for image i, or null.
  template <class Store> double crop(const std::vector<Image>& images, const Store& store) {
    return mean_of(images, [&](size_t i) {
      scratch_.clear();
      NormalizingSink sink(normalize(), next_place());
      RowSink* sinks[] = {&sink};
      const Resampled picture{
          .from = box(images[i]), .height = side_, .width = side_, .window = {0, 0, side_, side_}};
      (void)decode_resampled(images[i].bytes, images[i].header, Color::rgb, false, {&picture, 1}, sinks,
                             scratch_, store(i));
      kernels::finish_streaming();
    });
  }
  double crop(const std::vector<Image>& images) {
    return crop(images, [](size_t) -> PointStore* { return nullptr; });
  }

  // Of as many decoded images as fit; 0 if none do.
  double crop_of_pixels(const std::vector<Image>& images) {
    std::vector<Image> held;
    size_t bytes = 0;
    for (const Image& image : images) {
      if (!pixels_.decode(image.bytes, image.header).ok()) continue;
      const auto rgb = std::as_bytes(pixels_.rgb());
      if ((bytes += rgb.size()) > kMostPixels) break;
      held.push_back({Bytes(rgb.begin(), rgb.end()), image.header, image.index});
    }
    return mean_of(held, [&](size_t i) {
      const Box from = box(held[i]);
      const int64_t width = held[i].header.width;
      const kernels::Resize resize{
          .in_height = from.h, .in_width = from.w, .out_height = side_, .out_width = side_};
      scratch_.clear();
      const auto memory = scratch_.take(kernels::resize_scratch_bytes(resize));
      const auto* pixels = reinterpret_cast<const uint8_t*>(held[i].bytes.data());
      kernels::resize_u8(resize, pixels + (from.y * width + from.x) * 3, width * 3, rgb_.data(), side_ * 3,
                         memory.data());
      kernels::normalize(normalize(), rgb_.data(), side_ * 3, next_place());
    });
  }

  EntropyPoints points(const Image& image, int64_t step) {
    scratch_.clear();
    return find_entropy_points(image.bytes, step, scratch_);
  }

 private:
  static constexpr size_t kBatch = 32;

  size_t crop_size() const { return static_cast<size_t>(side_ * side_ * 3); }
  kernels::Normalize normalize() const {
    return {side_, side_, 3, kMean.data(), kStd.data(), 1.0f / 255, DType::f32, true, false};
  }
  // The crop that an epoch would draw.
  static Box box(const Image& image) {
    SampleId id;
    id.index = image.index;
    return sample_crop_box(image.header.height, image.header.width, {}, Key(0, 1, id));
  }
  // Consecutive places in a batch.
  std::byte* next_place() { return batch_.data() + (place_++ % kBatch) * crop_size() * sizeof(float); }

  int64_t side_;
  int runs_;
  std::vector<uint8_t> rgb_;
  Bytes batch_;
  size_t place_ = 0;
  Pixels pixels_{Pool::make(usable_memory_bytes() / 2)};
  Scratch scratch_;
};

double mean_of(const std::vector<Image>& images, const std::function<double(const Image&)>& value) {
  double sum = 0;
  for (const Image& image : images) sum += value(image);
  return sum / static_cast<double>(std::max<size_t>(1, images.size()));
}

double file_bytes(const Image& image) { return static_cast<double>(image.bytes.size()); }

// Images that can be decoded, evenly spread.
std::vector<Image> some_images(const SampleReader& reader, const Look& look, size_t count) {
  const auto place = [&](size_t i) { return look.samples.size() * i / count; };
  std::vector<Image> out;
  for (size_t i = 0; i < count; ++i) {
    size_t at = place(i);
    while (at < place(i + 1) && look.samples[at].kind == ImageKind::none) ++at;
    if (at == place(i + 1)) continue;
    const auto fields = reader.read(look.index(at));
    const auto bytes = fields.ok() ? reader.image(*fields) : std::nullopt;
    const auto header = bytes ? read_image_header(*bytes) : Result<ImageHeader>(invalid(""));
    if (header.ok()) out.push_back({Bytes(bytes->begin(), bytes->end()), *header, look.index(at)});
  }
  return out;
}

Result<SourcePtr> source_of(std::span<const Image> images) {
  std::vector<Tensor> rows;
  for (const Image& image : images)
    rows.push_back(
        make_tensor({DType::bytes, {static_cast<int64_t>(image.bytes.size())}, image.bytes.data()}));
  const auto count = static_cast<int64_t>(rows.size());
  return array_source(
      Schema::of({"image"}, {{DType::bytes, {kAny}}}),
      {Tensor{nullptr, 0, DType::bytes, {count}, std::make_shared<const RowList>(std::move(rows))}});
}

// The images as `headrace convert --max-side` writes them.
Result<std::vector<Image>> resized(const std::vector<Image>& images, int64_t max_side) {
  HEADRACE_ASSIGN(const SourcePtr source, source_of(images));
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

int64_t longer_side(const Image& image) { return std::max(image.header.height, image.header.width); }

// CPU time of a crop, and the number of points per image.
struct Cropped {
  double crop = 0, points = 0;
};
Cropped crop_with_points(const std::vector<Image>& images, int64_t step, Costs& costs) {
  double found = 0;
  std::vector<std::optional<GivenPoints>> given;
  for (const Image& image : images) {
    EntropyPoints points = costs.points(image, step);
    found += static_cast<double>(points.points.size());
    given.emplace_back();
    if (!points.points.empty()) given.back().emplace(std::move(points));
  }
  const double crop = costs.crop(images, [&](size_t i) { return given[i] ? &*given[i] : nullptr; });
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
    const double larger =
        mean_of(images, [&](const Image& image) { return longer_side(image) > side ? 1 : 0; });
    if (larger < kWorthResizing || side < out.crop_side || out.resized.size() == kMostSides) continue;
    const auto smaller = resized(images, side);
    if (!smaller.ok()) continue;
    Wanting wanting;
    PixelCosts::Resized made{.max_side = side, .larger = larger, .bytes = mean_of(*smaller, file_bytes)};
    made.whole = costs.whole(*smaller), made.crop = costs.crop(*smaller);
    made.crop_first = costs.crop(*smaller, [&](size_t) { return &wanting; });
    made.crop_with_points = crop_with_points(*smaller, 0, costs).crop;
    out.resized.push_back(made);
  }
}

// Crops of cached images, in the order of an epoch.
Dataset cached_crops(const SourcePtr& source, int64_t side) {
  const Value::List mean(kMean.begin(), kMean.end()), deviation(kStd.begin(), kStd.end());
  return from_source(source)
      .map([](const Fields& s) -> Outputs { return {{"image", s["image"].apply("decode_image")}}; })
      .cache()
      .map([&](const Fields& s) -> Outputs {
        return {{"image", s["image"]
                              .apply("random_resized_crop", {{"size", side}})
                              .apply("normalize", {{"mean", mean}, {"std", deviation}, {"layout", "CHW"}})}};
      })
      .shuffle({.seed = 1})
      .batch(32);
}

// CPU seconds of one epoch, all threads.
Result<double> epoch_of(Loader& loader) {
  const double before = process_cpu_s();
  HEADRACE_TRY(loader.begin());
  for (Sample batch;;) {
    HEADRACE_ASSIGN(const bool more, loader.next(batch));
    if (!more) return process_cpu_s() - before;
  }
}

// Measured in the engine: taking elements from the cache and batching crops is part of the cost.
Status measure_cached(std::span<const Image> images, PixelCosts& out) {
  HEADRACE_ASSIGN(const SourcePtr source, source_of(images));
  LoaderOptions options;
  options.checkpoints = false;
  HEADRACE_ASSIGN(const std::unique_ptr<Loader> loader, cached_crops(source, out.crop_side).loader(options));
  HEADRACE_ASSIGN(const double first, epoch_of(*loader));
  double later = 0;
  for (int round = 0; round < kCachedRounds; ++round) {
    HEADRACE_ASSIGN(const double taken, epoch_of(*loader));
    later = round == 0 ? taken : std::min(later, taken);
  }
  const auto count = static_cast<double>(images.size());
  out.cached_first = first / count, out.cached_later = later / count;
  return {};
}

// The first images, as many as fit when decoded.
std::span<const Image> with_room(std::span<const Image> images) {
  double bytes = 0;
  size_t count = 0;
  for (; count < images.size(); ++count) {
    const ImageHeader& header = images[count].header;
    bytes += 3 * static_cast<double>(header.height) * static_cast<double>(header.width);
    if (bytes > kMostPixels) break;
  }
  return images.first(count);
}

}  // namespace

PixelCosts measure_pixels(const SampleReader& reader, const Look& look) {
  PixelCosts out;
  const double one = look.decode.sum() / static_cast<double>(std::max<uint64_t>(1, look.decode.count()));
  const double affordable = kSeconds / std::max(1e-6, one * kRunsOfWhole);
  const double most = std::clamp(kLeastCpu / std::max(1e-9, one), 1.0 * kMostImages, 1.0 * kMostSmallImages);
  const auto count = static_cast<size_t>(std::clamp(affordable, 1.0 * kLeastImages, most));
  const std::vector<Image> images = some_images(reader, look, count);
  out.images = images.size();
  if (images.empty()) return out;
  Progress progress("measuring how fast images are decoded", 0);
  progress.show(0);
  std::vector<int64_t> sides;
  for (const Image& image : images) sides.push_back(std::min(image.header.height, image.header.width));
  std::ranges::nth_element(sides, sides.begin() + static_cast<std::ptrdiff_t>(sides.size() / 2));
  out.crop_side = std::min(kCropSide, sides[sides.size() / 2]);
  Costs costs(out.crop_side, affordable < kLeastImages ? 1 : 3);
  out.bytes = mean_of(images, file_bytes);
  out.pixels = mean_of(images, [](const Image& image) {
    return static_cast<double>(image.header.height) * static_cast<double>(image.header.width);
  });
  out.whole = costs.whole(images), out.crop = costs.crop(images);
  Wanting wanting;
  out.crop_first = costs.crop(images, [&](size_t) { return &wanting; });
  out.crop_of_pixels = costs.crop_of_pixels(images);
  out.crop_after_whole = out.whole + out.crop_of_pixels;
  if (const auto some = with_room(images); some.empty() || !measure_cached(some, out).ok())
    out.cached_first = out.cached_later = 0;
  measure_points(images, costs, out);
  measure_resized(images, costs, out);
  return out;
}

}  // namespace headrace::cli
