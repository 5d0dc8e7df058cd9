// What pixels cost on this machine: decoding whole images and training's random crops of them, with and
// without entropy points, and of images that were made smaller; measured on some images of the data.
#pragma once
#include <cstdint>
#include <vector>

#include "cli/doctor/look.h"

namespace headrace::cli {

// CPU seconds that what is compared must take in all: an interrupt or another program on the core costs up to
// a millisecond or so, which would be more than the tenth that is worth advice (Advice::kWorth).
inline constexpr double kLeastCpu = 20e-3;

// All times: CPU seconds an image on one core, the mean over the images of the best of some runs each. Crops
// are normalised, f32 (3, side, side), as training wants them.
struct PixelCosts {
  uint64_t images = 0;          // measured; none of what follows is known when there are none
  int64_t crop_side = 0;        // pixels: 224, or less for small images
  double bytes = 0;             // encoded, an image
  double pixels = 0;            // an image
  double whole = 0;             // all pixels, RGB
  double crop = 0;              // decode_image, random_resized_crop right behind it: only the crop is decoded
  double crop_first = 0;        // the same where entropy points are looked for: in the first epoch
  double crop_after_whole = 0;  // the same with something between that wants all pixels
  double crop_of_pixels = 0;    // the same of pixels that are there already
  // Crops behind cache() as the engine makes them, all threads, with the batch: while the cache is filled,
  // and from it. 0: not known.
  double cached_first = 0, cached_later = 0;

  struct Points {
    int64_t step = 0;  // `headrace index --step`
    double crop = 0;
    double bytes = 0;  // of the index, an image
  };
  std::vector<Points> points;  // none where no image can use them; the first has step 0
  // From the second epoch on, when a loader has found the points of step 0.
  double crop_later() const { return points.empty() ? crop : points[0].crop; }

  struct Resized {
    int64_t max_side = 0;  // `headrace convert --max-side`
    double larger = 0;     // share of the images that have more
    double bytes = 0, whole = 0, crop = 0;
    double crop_first = 0, crop_with_points = 0;  // in the first epoch; with those of step 0
  };
  std::vector<Resized> resized;  // from large to small; none where images are small already
};

// REQUIRES: reader.has_images().
PixelCosts measure_pixels(const SampleReader& reader, const Look& look);

}  // namespace headrace::cli
