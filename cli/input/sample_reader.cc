#include "cli/input/sample_reader.h"

#include <algorithm>
#include <ctime>

#include "cli/input/examples.h"
#include "cli/output/terminal.h"
#include "headrace/codecs/fields.h"

namespace headrace::cli {
namespace {

// "image-", of "image-000000007".
std::string kind_of_key(std::span<const std::byte> key) {
  std::string out(characters_of(key));
  std::erase_if(out, [](char c) { return c >= '0' && c <= '9'; });
  return out;
}

}  // namespace

double thread_cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Status Pixels::decode(std::span<const std::byte> bytes, const ImageHeader& header) {
  scratch_.clear(), rgb_ = {};
  const size_t row = static_cast<size_t>(header.width) * 3;
  const auto out = scratch_.take<uint8_t>(row * static_cast<size_t>(header.height));
  if (out.empty())
    return {Code::exhausted, "the pixels need " + std::to_string(row * static_cast<size_t>(header.height)) +
                                 " bytes; all threads together may use " +
                                 std::to_string(pool_->ledger().budget)};
  std::string_view decoder;
  const Status status =
      decode_image(bytes, header, Color::rgb, header.whole(), out.data(), row, scratch_, &decoder);
  if (status.ok()) ++decoders_[decoder], rgb_ = out;
  return status;
}

SampleReader::SampleReader(SourcePtr source)
    : source_(std::move(source)), store_(file_store()), image_(find_image_field(source_, *store_)) {
  if (image_ < 0) find_examples();
  find_kinds_of_images();
}

// Databases for text recognition hold images, labels and a count, each under its own kind of key.
void SampleReader::find_kinds_of_images() {
  constexpr uint64_t kLooks = 64, kMostKinds = 8;  // file names as keys would each be a kind
  const Value description = source_->describe();
  const auto format = description.get_text("format");
  if (image_ < 0 || !format.ok() || *format != "lmdb" || description.find("values")) return;
  OpenBlocks::Held held;
  std::set<std::string> kinds;
  const uint64_t looks = std::min(source_->size(), kLooks);
  for (uint64_t i = 0; i < looks; ++i) {
    const auto fields = blocks_->read(*source_, i * source_->size() / looks, *store_, held);
    if (!fields.ok()) continue;
    const std::string kind = kind_of_key((*fields)[0].view().bytes());
    kinds.insert(kind);
    if (read_image_header((*fields)[1].view().bytes()).ok()) kinds_of_images_.insert(kind);
  }
  if (kinds.size() > kMostKinds) kinds_of_images_.clear();
}

void SampleReader::find_examples() {
  constexpr uint64_t kLooks = 16;  // enough to skip some broken records
  OpenBlocks::Held held;
  for (uint64_t i = 0; i < std::min(source_->size(), kLooks) && image_feature_.empty(); ++i) {
    const auto fields = blocks_->read(*source_, i, *store_, held);
    for (size_t f = 0; fields.ok() && f < fields->size() && image_feature_.empty(); ++f) {
      const Tensor& field = (*fields)[f];
      if (field.dtype != DType::bytes || !field.buffer) continue;
      if (is_example_list(field.view().bytes())) list_ = static_cast<int>(f);
      if (!is_example(field.view().bytes())) continue;
      example_ = static_cast<int>(f);
      image_feature_ = image_feature(field.view().bytes()).value_or("");
    }
  }
}

std::optional<std::span<const std::byte>> SampleReader::image(const std::vector<Tensor>& fields) const {
  if (image_ >= 0) {
    const bool is_other =
        !kinds_of_images_.empty() && !kinds_of_images_.contains(kind_of_key(fields[0].view().bytes()));
    if (is_other) return std::nullopt;
    return fields[static_cast<size_t>(image_)].view().bytes();
  }
  return bytes_of_feature(fields[static_cast<size_t>(example_)].view().bytes(), image_feature_);
}

Status SampleReader::check(uint64_t index, Pixels& pixels, CheckedSample& out) const {
  const auto begin = std::chrono::steady_clock::now();
  HEADRACE_ASSIGN(out.fields, read(index));
  out.read_s = seconds_since(begin);
  out.image = has_images() ? image(out.fields) : std::nullopt;
  if (!out.image) return {};
  const double before = thread_cpu_s();
  HEADRACE_ASSIGN(out.header, read_image_header(*out.image));
  HEADRACE_TRY(pixels.decode(*out.image, out.header));
  out.decode_cpu_s = thread_cpu_s() - before;
  return {};
}

Result<std::vector<Tensor>> SampleReader::read(uint64_t index) const {
  struct Last {
    std::shared_ptr<OpenBlocks> blocks;
    OpenBlocks::Held held;
  };
  static thread_local Last last;
  if (last.blocks != blocks_) last = {blocks_, {}};
  return blocks_->read(*source_, index, *store_, last.held);
}

}  // namespace headrace::cli
