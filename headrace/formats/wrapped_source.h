// Sources that pass on another one, with something changed: its metadata, its fields, its values. Any thread.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "headrace/formats/source.h"

namespace headrace {

// Passes on everything but with_fields() and the faster ways to samples (extents(), together(), put_mapped(),
// make()), for which it is a source that has none.
class WrappedSource : public Source {
 public:
  explicit WrappedSource(SourcePtr source) : source_(std::move(source)) {}

  const Schema& schema() const override { return source_->schema(); }
  uint64_t size() const override { return source_->size(); }
  Place place(uint64_t index) const override { return source_->place(index); }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override { return source_->open(block); }
  Lot lot(uint64_t index) const override { return source_->lot(index); }
  uint64_t num_files() const override { return source_->num_files(); }
  std::string file(uint64_t ordinal) const override { return source_->file(ordinal); }
  const SourceFile* known_file(uint64_t ordinal) const override { return source_->known_file(ordinal); }
  SamplePlace where(uint64_t index) const override { return source_->where(index); }
  Value describe() const override { return source_->describe(); }
  std::string fingerprint() const override { return source_->fingerprint(); }
  Value metadata() const override { return source_->metadata(); }

 protected:
  const SourcePtr source_;
};

// The opening of a block that is made of the block of another opening.
using WrapBlock = std::function<BlockPtr(BlockPtr block)>;
std::unique_ptr<Opening<BlockPtr>> wrapped_block(std::unique_ptr<Opening<BlockPtr>> opening, WrapBlock wrap);

// The same data; metadata() is `metadata`.
SourcePtr with_metadata(SourcePtr source, Value metadata);
// The same data; describe() is `description`.
SourcePtr with_description(SourcePtr source, Value description);
// The same data, with one more of the "notes" of its metadata() (data_notes.h).
SourcePtr with_note(SourcePtr source, std::string note);

}  // namespace headrace
