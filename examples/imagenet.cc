// One epoch of ImageNet training data in C++, and a hash of its batches. imagenet.py and imagenet.json are
// the same pipeline and give the same hash.
//   build/examples/imagenet demo-data/train
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdio>

#include "headrace/headrace.h"

int main(int argc, char** argv) {
  using namespace headrace;
  const Value mean = Value::List{0.485, 0.456, 0.406}, std = Value::List{0.229, 0.224, 0.225};
  const auto augment = [&](const Fields& s) -> Outputs {
    const Symbol image =
        s["image"].apply("decode_image").apply("random_resized_crop", {{"size", 224}}).apply("random_flip");
    return {{"image", image.apply("normalize", {{"mean", mean}, {"std", std}, {"layout", "CHW"}})},
            {"label", s["label"]}};
  };
  const Dataset train =
      read(argc > 1 ? argv[1] : "demo-data/train").shuffle({.seed = 17}).map(augment).batch(64);
  const auto loader = train.loader();
  if (!loader.ok()) return std::fprintf(stderr, "%s\n", loader.status().text().data()), 1;

  XXH128_canonical_t digest;
  size_t digest_size = 0;  // before the first batch the digest is empty
  Sample batch;
  auto more = (*loader)->next(batch);
  for (; more.ok() && *more; more = (*loader)->next(batch)) {
    XXH3_state_t hash;
    XXH3_128bits_reset(&hash);
    XXH3_128bits_update(&hash, digest.digest, digest_size);
    for (const Tensor& field : batch.fields)
      XXH3_128bits_update(&hash, field.view().data, field.view().size_bytes());
    XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(&hash));
    digest_size = sizeof digest.digest;
  }
  if (!more.ok()) return std::fprintf(stderr, "%s\n", more.status().text().data()), 1;
  for (size_t i = 0; i < digest_size; ++i) std::printf("%02x", digest.digest[i]);
  std::printf("\n");
}
