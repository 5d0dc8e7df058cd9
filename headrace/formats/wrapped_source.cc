#include "headrace/formats/wrapped_source.h"

#include "headrace/formats/data_notes.h"

namespace headrace {
namespace {

class WrappedBlockOpening final : public Opening<BlockPtr> {
 public:
  WrappedBlockOpening(std::unique_ptr<Opening<BlockPtr>> opening, WrapBlock wrap)
      : opening_(std::move(opening)), wrap_(std::move(wrap)) {}
  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    HEADRACE_ASSIGN(Step<BlockPtr> step, opening_->advance(bytes));
    if (auto* block = std::get_if<BlockPtr>(&step)) *block = wrap_(std::move(*block));
    return step;
  }

 private:
  const std::unique_ptr<Opening<BlockPtr>> opening_;
  const WrapBlock wrap_;
};

// Passes on the faster ways, too.
class SameSource : public WrappedSource {
 public:
  using WrappedSource::WrappedSource;

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
  SourcePtr with_fields(std::span<const int> fields) const override { return source_->with_fields(fields); }
  bool resident() const override { return source_->resident(); }
};

class SourceWithMetadata final : public SameSource {
 public:
  SourceWithMetadata(SourcePtr source, Value metadata)
      : SameSource(std::move(source)), metadata_(std::move(metadata)) {}
  Value metadata() const override { return metadata_; }

 private:
  const Value metadata_;
};

class SourceWithDescription final : public SameSource {
 public:
  SourceWithDescription(SourcePtr source, Value description)
      : SameSource(std::move(source)), description_(std::move(description)) {}
  Value describe() const override { return description_; }

 private:
  const Value description_;
};

}  // namespace

std::unique_ptr<Opening<BlockPtr>> wrapped_block(std::unique_ptr<Opening<BlockPtr>> opening, WrapBlock wrap) {
  return std::make_unique<WrappedBlockOpening>(std::move(opening), std::move(wrap));
}

SourcePtr with_metadata(SourcePtr source, Value metadata) {
  return std::make_shared<SourceWithMetadata>(std::move(source), std::move(metadata));
}

SourcePtr with_description(SourcePtr source, Value description) {
  return std::make_shared<SourceWithDescription>(std::move(source), std::move(description));
}

SourcePtr with_note(SourcePtr source, std::string note) {
  Value metadata = source->metadata();
  add_note(metadata, std::move(note));
  return with_metadata(std::move(source), std::move(metadata));
}

}  // namespace headrace
