// Reads and checks single samples: their fields, their encoded images, and why they are broken. For
// `inspect`, `verify` and `doctor`. Const methods may be called from several threads; each thread needs its
// own Pixels.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/input/input.h"
#include "cli/input/open_blocks.h"
#include "headrace/codecs/image.h"

namespace headrace::cli {

double thread_cpu_s();  // CPU time of the calling thread: not affected by other programs

// Memory for decoding in one thread; all threads share a budget.
class Pixels {
 public:
  explicit Pixels(std::shared_ptr<Pool> pool) : pool_(std::move(pool)), scratch_(pool_.get()) {}
  Status decode(std::span<const std::byte> bytes, const ImageHeader& header);
  // The last decoded image, (height, width, 3) in RGB; valid until the next decode().
  std::span<const uint8_t> rgb() const { return rgb_; }
  // How many images each decoder has decoded.
  const std::map<std::string_view, uint64_t>& decoders() const { return decoders_; }

 private:
  std::map<std::string_view, uint64_t> decoders_;
  std::span<const uint8_t> rgb_;
  std::shared_ptr<Pool> pool_;
  Scratch scratch_;
};

// A sample that was read and decoded, and the time that took.
struct CheckedSample {
  std::vector<Tensor> fields;                       // empty if it could not be read
  std::optional<std::span<const std::byte>> image;  // encoded, in one of the fields
  ImageHeader header;                               // of the image
  double read_s = 0;                                // wall-clock time
  double decode_cpu_s = 0;                          // of this thread, header included
};

class SampleReader {
 public:
  explicit SampleReader(SourcePtr source);

  const Source& source() const { return *source_; }
  int image_field() const { return image_; }      // -1: no field is an encoded image
  int example_field() const { return example_; }  // -1: no field is a tf.train.Example
  int list_field() const { return list_; }        // -1: no field is an ExampleListWithContext
  // Whether samples have encoded images: a field, or a feature of the Example in one.
  bool has_images() const { return image_ >= 0 || !image_feature_.empty(); }
  // The image in these fields. Nothing if this Example has no such feature, or the database stores something
  // else under this kind of key. REQUIRES: has_images().
  std::optional<std::span<const std::byte>> image(const std::vector<Tensor>& fields) const;
  Result<std::vector<Tensor>> read(uint64_t index) const;
  // Read a sample, and decode its image in full if it has one; other fields are only checked by their format.
  // `out` holds what was read before a failure.
  Status check(uint64_t index, Pixels& pixels, CheckedSample& out) const;

 private:
  void find_examples();
  void find_kinds_of_images();

  SourcePtr source_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<OpenBlocks> blocks_ = std::make_shared<OpenBlocks>();
  int image_, example_ = -1, list_ = -1;
  std::set<std::string> kinds_of_images_;  // kinds of database keys; empty: all keys are of one kind
  std::string image_feature_;
};

}  // namespace headrace::cli
