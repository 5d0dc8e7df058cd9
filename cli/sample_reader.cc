#include "cli/sample_reader.h"

#include "headrace/formats/images/image_files.h"

namespace headrace::cli {

Status Pixels::decode(std::span<const std::byte> bytes, const ImageHeader& header) {
  scratch_.clear();
  const size_t row = static_cast<size_t>(header.width) * 3;
  const auto out = scratch_.take<uint8_t>(row * static_cast<size_t>(header.height));
  if (out.empty())
    return {Code::exhausted, "wants " + std::to_string(row * static_cast<size_t>(header.height)) +
                                 " bytes for its pixels, " + std::to_string(pool_->ledger().budget) +
                                 " are there for all threads"};
  return decode_image(bytes, header, Color::rgb, header.whole(), out.data(), row, scratch_);
}

SampleReader::SampleReader(SourcePtr source, std::string path)
    : source_(std::move(source)),
      path_(std::move(path)),
      store_(file_store()),
      image_(find_image_field(*source_, *store_)) {}

Result<std::vector<Tensor>> SampleReader::read(uint64_t index) const {
  auto fields = read_sample(*source_, index, *store_);
  if (fields.ok()) return fields;
  // The place stands in a column of its own.
  std::string text(fields.status().text());
  const std::string place = ": " + source_->where(index);
  if (text.ends_with(place)) text.resize(text.size() - place.size());
  return Status(fields.status().code(), std::move(text));
}

std::string SampleReader::file(uint64_t index) const {
  std::string place = source_->where(index);
  // Places begin with the last part of the root, so that messages stay short; the user's path leads there.
  const std::string root = last_part(path_);
  if (root.empty() || !place.starts_with(root + "/")) return place;
  const std::string full = join_path(path_, place.substr(root.size() + 1));
  return store_->info(full).ok() ? full : place;
}

}  // namespace headrace::cli
