// The cost of pixels on this machine: decoding whole images and random crops, with and without entropy
// points, and of images that were made smaller; measured on some images of the data.
#pragma once
#include <cstdint>
#include <vector>

#include "cli/doctor/look.h"

namespace headrace::cli {

// CPU seconds that a measurement must take in total: an interrupt or another program on the core costs about
// a millisecond, which must stay below the 10 % that are worth advice (Advice::kWorth).
inline constexpr double kLeastCpu = 20e-3;

// All times are CPU seconds per image on one core: the mean over the images of the best of some runs each.
// Crops are normalised to float32 (3, side, side), as for training.
struct PixelCosts {
  uint64_t images = 0;          // measured; if 0, the rest is not known
  int64_t crop_side = 0;        // pixels: 224, or less for small images
  double bytes = 0;             // encoded, per image
  double pixels = 0;            // per image
  double whole = 0;             // all pixels, RGB
  double crop = 0;              // random_resized_crop directly after decode_image: only the crop is decoded
  double crop_first = 0;        // the same while finding entropy points: in the first epoch
  double crop_after_whole = 0;  // the same with a step between them that needs all pixels
  double crop_of_pixels = 0;    // the same from decoded pixels
  // Crops after cache() in the engine, all threads, with batching: while the cache is filled, and from the
  // cache. 0: not known.
  double cached_first = 0, cached_later = 0;

  struct Points {
    int64_t step = 0;  // `headrace index --step`
    double crop = 0;
    double bytes = 0;  // of the index, per image
  };
  std::vector<Points> points;  // none if no image can use them; the first has step 0
  // From the second epoch on, when a loader has found the points of step 0.
  double crop_later() const { return points.empty() ? crop : points[0].crop; }

  struct Resized {
    int64_t max_side = 0;  // `headrace convert --max-side`
    double larger = 0;     // share of the images that are larger
    double bytes = 0, whole = 0, crop = 0;
    double crop_first = 0, crop_with_points = 0;  // in the first epoch; with the points of step 0
  };
  std::vector<Resized> resized;  // from large to small; none if images are small already
};

// REQUIRES: reader.has_images().
PixelCosts measure_pixels(const SampleReader& reader, const Look& look);

}  // namespace headrace::cli
