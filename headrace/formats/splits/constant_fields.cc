#include "headrace/formats/splits/constant_fields.h"

#include <cstring>
#include <memory>

#include "headrace/formats/wrapped_source.h"

namespace headrace {
namespace {

using Constants = std::shared_ptr<const std::vector<Tensor>>;

class BlockWithConstants final : public Block {
 public:
  BlockWithConstants(BlockPtr block, size_t own, Constants constants)
      : block_(std::move(block)), own_(own), constants_(std::move(constants)) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    HEADRACE_TRY(block_->get(row, fields));
    fields.insert(fields.end(), constants_->begin(), constants_->end());
    return {};
  }
  bool is_null(uint64_t row, int field) const override {
    return static_cast<size_t>(field) < own_ && block_->is_null(row, field);
  }
  size_t held_bytes() const override { return block_->held_bytes(); }
  bool gather(std::span<const uint64_t> rows, int field, std::byte* out) const override {
    if (static_cast<size_t>(field) < own_) return block_->gather(rows, field, out);
    const View value = constant(field).view();
    const size_t size = value.size_bytes();
    for (size_t i = 0; i < rows.size(); ++i) std::memcpy(out + i * size, value.data, size);
    return true;
  }
  bool append(std::span<const uint64_t> rows, int field, std::vector<Tensor>& out) const override {
    if (static_cast<size_t>(field) < own_) return block_->append(rows, field, out);
    out.insert(out.end(), rows.size(), constant(field));
    return true;
  }
  size_t put(std::span<const uint64_t> rows, std::span<const FieldPlace> to) const override {
    const size_t done = block_->put(rows, to.first(own_));
    for (size_t i = own_; i < to.size(); ++i)
      for (size_t row = 0; row < done; ++row) (void)to[i].put(row, Tensor((*constants_)[i - own_]));
    return done;
  }

 private:
  const Tensor& constant(int field) const { return (*constants_)[static_cast<size_t>(field) - own_]; }

  BlockPtr block_;
  size_t own_;
  Constants constants_;
};

class SourceWithConstants final : public WrappedSource {
 public:
  SourceWithConstants(SourcePtr source, Schema schema, Constants constants)
      : WrappedSource(std::move(source)), schema_(std::move(schema)), constants_(std::move(constants)) {}

  const Schema& schema() const override { return schema_; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    const size_t own = schema_.size() - constants_->size();
    return wrapped_block(source_->open(block), [own, constants = constants_](BlockPtr inner) {
      return std::make_shared<BlockWithConstants>(std::move(inner), own, constants);
    });
  }
  std::string fingerprint() const override {
    std::string text = source_->fingerprint() + " constants " + schema_.stable_text();
    for (const Tensor& value : *constants_) {
      const auto bytes = value.view().bytes();
      text.append(1, ' ').append(hash_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    }
    return hash_text(text);
  }
  // Where those of the source come first, as they do here.
  SourcePtr with_fields(std::span<const int> fields) const override {
    const size_t own = schema_.size() - constants_->size();
    std::vector<int> of_source;
    std::vector<ConstantField> constants;
    for (const int field : fields) {
      const auto at = static_cast<size_t>(field);
      if (at < own && !constants.empty()) return nullptr;
      if (at < own)
        of_source.push_back(field);
      else
        constants.push_back({schema_.names[at], (*constants_)[at - own]});
    }
    SourcePtr part = of_source.empty() ? nullptr : source_->with_fields(of_source);
    if (!part || constants.empty()) return part;
    return with_constant_fields(std::move(part), std::move(constants));
  }
  bool resident() const override { return source_->resident(); }

 private:
  Schema schema_;
  Constants constants_;
};

}  // namespace

SourcePtr with_constant_fields(SourcePtr source, std::vector<ConstantField> fields) {
  std::vector<std::string> names = source->schema().names;
  std::vector<TensorSpec> specs = source->schema().specs;
  auto constants = std::make_shared<std::vector<Tensor>>();
  for (ConstantField& field : fields) {
    names.push_back(std::move(field.name));
    specs.push_back({field.value.dtype, is_text(field.value.dtype) ? Shape{kAny} : field.value.shape});
    constants->push_back(std::move(field.value));
  }
  return std::make_shared<SourceWithConstants>(
      std::move(source), Schema::of(std::move(names), std::move(specs)), std::move(constants));
}

}  // namespace headrace
