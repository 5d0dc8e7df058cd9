// One sample, read and taken apart for people: its fields, its encoded images, and if it is broken why. For
// `inspect` and `verify`. Const methods may be called from several threads; Pixels belong to one each.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/input.h"
#include "headrace/codecs/image.h"
#include "headrace/formats/open.h"

namespace headrace::cli {

// Memory of one thread that decodes; all of them share a budget.
class Pixels {
 public:
  explicit Pixels(std::shared_ptr<Pool> pool) : pool_(std::move(pool)), scratch_(pool_.get()) {}
  Status decode(std::span<const std::byte> bytes, const ImageHeader& header);
  // How many images each decoder has taken.
  const std::map<std::string_view, uint64_t>& decoders() const { return decoders_; }

 private:
  std::map<std::string_view, uint64_t> decoders_;
  std::shared_ptr<Pool> pool_;
  Scratch scratch_;
};

class SampleReader {
 public:
  explicit SampleReader(SourcePtr source);

  const Source& source() const { return *source_; }
  int image_field() const { return image_; }  // -1: there are no encoded images
  Result<std::vector<Tensor>> read(uint64_t index) const;
  std::string file(uint64_t index) const { return source_->where(index); }

 private:
  SourcePtr source_;
  std::shared_ptr<Store> store_;
  int image_;
};

}  // namespace headrace::cli
