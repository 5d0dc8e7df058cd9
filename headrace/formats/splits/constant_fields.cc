#include "headrace/formats/splits/constant_fields.h"

#include <cstring>
#include <memory>
#include <optional>

#include "headrace/formats/wrapped_source.h"

namespace headrace {
namespace {

using ConstantsPtr = std::shared_ptr<const ConstantFields>;

class BlockWithConstants final : public Block {
 public:
  BlockWithConstants(BlockPtr block, size_t own, std::shared_ptr<const std::vector<Tensor>> constants)
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
  std::shared_ptr<const std::vector<Tensor>> constants_;
};

// Notes which file is read: it says which values the block has.
class OpenWithConstants final : public Opening<BlockPtr> {
 public:
  OpenWithConstants(std::unique_ptr<Opening<BlockPtr>> opening, size_t own, ConstantsPtr constants)
      : opening_(std::move(opening)), own_(own), constants_(std::move(constants)) {}
  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    HEADRACE_ASSIGN(Step<BlockPtr> step, opening_->advance(bytes));
    if (const auto* extents = std::get_if<std::vector<Extent>>(&step)) {
      if (!extents->empty()) file_ = extents->front().file;
      return step;
    }
    const bool is_one = constants_->values.size() == 1;
    if (!is_one && (!file_ || *file_ >= constants_->of_file.size()))
      return internal_error("expected a block that is read from a file, got one of none");
    const std::vector<Tensor>& values = constants_->values[is_one ? 0 : constants_->of_file[*file_]];
    return Step<BlockPtr>(BlockPtr(std::make_shared<BlockWithConstants>(
        std::get<BlockPtr>(std::move(step)), own_,
        std::shared_ptr<const std::vector<Tensor>>(constants_, &values))));
  }

 private:
  std::unique_ptr<Opening<BlockPtr>> opening_;
  size_t own_;
  ConstantsPtr constants_;
  std::optional<uint64_t> file_;
};

class SourceWithConstants final : public WrappedSource {
 public:
  SourceWithConstants(SourcePtr source, Schema schema, ConstantsPtr constants)
      : WrappedSource(std::move(source)), schema_(std::move(schema)), constants_(std::move(constants)) {}

  const Schema& schema() const override { return schema_; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    return std::make_unique<OpenWithConstants>(source_->open(block), num_own(), constants_);
  }
  Value describe() const override { return constants_->description; }
  std::string fingerprint() const override {
    std::string text = source_->fingerprint() + " constants " + schema_.stable_text();
    for (const std::vector<Tensor>& values : constants_->values)
      for (const Tensor& value : values) {
        const auto bytes = value.view().bytes();
        text.append(1, ' ').append(hash_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
      }
    for (const uint32_t partition : constants_->of_file) text += " " + std::to_string(partition);
    return hash_text(text);
  }
  // Where those of the source come first, as they do here.
  SourcePtr with_fields(std::span<const int> fields) const override {
    std::vector<int> of_source;
    ConstantFields some{{}, std::vector<std::vector<Tensor>>(constants_->values.size()), constants_->of_file};
    for (const int field : fields) {
      const auto at = static_cast<size_t>(field);
      if (at < num_own() && !some.names.empty()) return nullptr;
      if (at < num_own()) {
        of_source.push_back(field);
        continue;
      }
      some.names.push_back(schema_.names[at]);
      for (size_t i = 0; i < some.values.size(); ++i)
        some.values[i].push_back(constants_->values[i][at - num_own()]);
    }
    SourcePtr part = of_source.empty() ? nullptr : source_->with_fields(of_source);
    if (!part || some.names.empty()) return part;
    return with_constant_fields(std::move(part), std::move(some));
  }

 private:
  size_t num_own() const { return schema_.size() - constants_->names.size(); }

  Schema schema_;
  ConstantsPtr constants_;
};

}  // namespace

SourcePtr with_constant_fields(SourcePtr source, ConstantFields constants) {
  std::vector<std::string> names = source->schema().names;
  std::vector<TensorSpec> specs = source->schema().specs;
  for (size_t i = 0; i < constants.names.size(); ++i) {
    const Tensor& value = constants.values.front()[i];
    names.push_back(constants.names[i]);
    specs.push_back({value.dtype, is_text(value.dtype) ? Shape{kAny} : value.shape});
  }
  return std::make_shared<SourceWithConstants>(std::move(source),
                                               Schema::of(std::move(names), std::move(specs)),
                                               std::make_shared<const ConstantFields>(std::move(constants)));
}

}  // namespace headrace
