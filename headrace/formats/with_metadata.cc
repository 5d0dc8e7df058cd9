#include "headrace/formats/with_metadata.h"

namespace headrace {
namespace {

class ToldSource final : public Source {
 public:
  ToldSource(SourcePtr source, Value metadata) : source_(std::move(source)), metadata_(std::move(metadata)) {}

  const Schema& schema() const override { return source_->schema(); }
  uint64_t size() const override { return source_->size(); }
  Place place(uint64_t index) const override { return source_->place(index); }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override { return source_->open(block); }
  bool extents(std::span<const uint64_t> indices, std::span<Extent> out) const override {
    return source_->extents(indices, out);
  }
  BlockPtr together(std::vector<uint64_t> indices, std::vector<size_t> at, BufferPtr bytes) const override {
    return source_->together(std::move(indices), std::move(at), std::move(bytes));
  }
  size_t put_mapped(std::span<const uint64_t> indices, MappedBytes& mapped,
                    std::span<const FieldPlace> to) const override {
    return source_->put_mapped(indices, mapped, to);
  }
  Made make(std::span<const uint64_t> indices) const override { return source_->make(indices); }
  Lot lot(uint64_t index) const override { return source_->lot(index); }
  uint64_t num_files() const override { return source_->num_files(); }
  std::string file(uint64_t ordinal) const override { return source_->file(ordinal); }
  std::string where(uint64_t index) const override { return source_->where(index); }
  Value describe() const override { return source_->describe(); }
  std::string fingerprint() const override { return source_->fingerprint(); }
  Value metadata() const override { return metadata_; }
  SourcePtr with_fields(std::span<const int> fields) const override { return source_->with_fields(fields); }
  bool resident() const override { return source_->resident(); }

 private:
  const SourcePtr source_;
  const Value metadata_;
};

}  // namespace

SourcePtr with_metadata(SourcePtr source, Value metadata) {
  return std::make_shared<ToldSource>(std::move(source), std::move(metadata));
}

}  // namespace headrace
