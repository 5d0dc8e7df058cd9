// The single pass of `headrace doctor` over the data: each sample is read, decoded and hashed, and forty
// bytes are kept for it. Unusual samples are found in these afterwards (findings.h).
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/input/labels.h"
#include "cli/input/sample_reader.h"
#include "cli/look/broken.h"

namespace headrace::cli {

enum class ImageKind : uint8_t { none, colour, grey, alpha, cmyk };
std::string_view kind_name(ImageKind kind);

struct Looked {
  std::array<uint64_t, 2> hash{};  // of the image's bytes, or of all fields but keys and label
  uint64_t label = 0;              // LabelCounts::add; 0: none
  uint32_t bytes = 0;              // of what was hashed, at most 2^32 - 1
  uint16_t height = 0, width = 0;  // as stored, at most kMaxImageSide
  ImageKind kind = ImageKind::none;
  bool broken = false;
  bool turned = false;      // by EXIF
  bool one_colour = false;  // all pixels are the same
  bool many_bits = false;   // more than 8 a sample, or floats
};

// The longest of many times, and their median, from a histogram with bins 9 % wide. For one thread.
class Times {
 public:
  static constexpr size_t kGreatest = 32;
  struct One {
    double seconds = 0;
    uint64_t sample = 0;  // as numbered by the caller
  };
  void add(double seconds, uint64_t sample);
  void merge(const Times& other);
  uint64_t count() const { return count_; }
  double median() const;  // 0 when there are none
  double sum() const { return sum_; }
  const std::vector<One>& greatest() const { return greatest_; }  // unordered

 private:
  void keep(const One& one);

  std::array<uint64_t, 512> bins_{};  // 8 per octave, from 1 ns
  uint64_t count_ = 0;
  double sum_ = 0;
  std::vector<One> greatest_;
};

struct Look {
  uint64_t size = 0;                // samples in the data
  std::vector<Looked> samples;      // those looked at, evenly spread over all
  bool cut_by_memory = false;       // fewer than requested, to use at most a quarter of the memory
  std::vector<std::string> hashed;  // names of the fields; "image" for encoded images
  std::vector<Broken> broken;       // in order of index
  LabelCounts labels;
  Times read, decode;  // wall-clock time; CPU time of the thread. Samples are positions in `samples`
  double num_bytes = 0, num_pixels = 0;
  double seconds = 0;

  uint64_t index(uint64_t position) const;  // of samples[position], in the data
};

// Bytes held per sample, including those for finding duplicates: 100 million samples take 4.8 GB.
inline constexpr size_t kBytesPerSample = sizeof(Looked) + sizeof(uint64_t);
static_assert(kBytesPerSample == 48);

// Looks at no more than `count` samples. Shows progress on stderr if it is a terminal.
void look_at_samples(const SampleReader& reader, const LabelReader& labels, uint64_t count, size_t workers,
                     Look& out);

}  // namespace headrace::cli
