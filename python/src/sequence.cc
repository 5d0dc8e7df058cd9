#include "sequence.h"

#include "errors.h"
#include "gil.h"
#include "headrace/formats/described.h"
#include "tensors.h"

namespace headrace::python {
namespace {

class ItemBlock final : public Block {
 public:
  explicit ItemBlock(std::vector<Tensor> fields) : fields_(std::move(fields)) {
    for (const Tensor& field : fields_) held_ += field.buffer ? field.buffer->size() : 0;
  }
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row != 0) return invalid("sequence: wants row 0, got " + std::to_string(row));
    fields = fields_;
    return {};
  }
  size_t held_bytes() const override { return held_; }

 private:
  std::vector<Tensor> fields_;
  size_t held_ = 0;
};

// Reading is a call; there are no bytes to ask for.
class ItemOpening final : public Opening<BlockPtr> {
 public:
  ItemOpening(const Schema& schema, const std::string& slot, SharedObject item, uint64_t index)
      : schema_(schema), slot_(slot), item_(std::move(item)), index_(index) {}

  Result<Step<BlockPtr>> advance(std::span<const BufferPtr>) override {
    const Gil gil;
    std::vector<Tensor> fields;
    try {
      for (nb::handle leaf : nb::cast<nb::list>((*item_)(index_))) fields.push_back(to_tensor(leaf));
    } catch (nb::python_error& error) {
      return foreign(error, slot_);
    } catch (const std::exception& error) {
      return invalid(slot_ + ": " + error.what());
    }
    if (fields.size() != schema_.size())
      return invalid(slot_ + ": wants " + std::to_string(schema_.size()) + " fields, got " +
                     std::to_string(fields.size()));
    for (size_t i = 0; i < fields.size(); ++i)
      if (const TensorSpec got = fields[i].view().spec(); !schema_.specs[i].admits(got))
        return invalid(slot_ + ": field '" + schema_.names[i] + "' wants " + schema_.specs[i].text() +
                       " as item 0 has it, got " + got.text());
    return Step<BlockPtr>(BlockPtr(std::make_shared<ItemBlock>(std::move(fields))));
  }

 private:
  const Schema& schema_;  // of the source, which outlives its openings
  const std::string& slot_;
  SharedObject item_;
  uint64_t index_;
};

class SequenceSource final : public Source {
 public:
  SequenceSource(Schema schema, uint64_t size, std::string slot, nb::object item)
      : schema_(std::move(schema)), size_(size), slot_(std::move(slot)), item_(share(std::move(item))) {}

  const Schema& schema() const override { return schema_; }
  uint64_t size() const override { return size_; }
  Place place(uint64_t index) const override { return {index, 0}; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    return std::make_unique<ItemOpening>(schema_, slot_, item_, block);
  }
  std::string where(uint64_t) const override { return slot_; }
  Value describe() const override {
    Value out;
    out.set("format", "sequence");
    out.set("slot", slot_);
    describe_schema(schema_, out);
    return out;
  }
  // What the items hold is not known without reading them all.
  std::string fingerprint() const override {
    return hash_text("sequence " + slot_ + ' ' + schema_.text() + schema_.structure + ' ' +
                     std::to_string(size_));
  }

 private:
  Schema schema_;
  uint64_t size_;
  std::string slot_;
  SharedObject item_;
};

}  // namespace

SourcePtr sequence_source(Schema schema, uint64_t size, std::string slot, nb::object item) {
  return std::make_shared<SequenceSource>(std::move(schema), size, std::move(slot), std::move(item));
}

}  // namespace headrace::python
