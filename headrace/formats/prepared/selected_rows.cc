#include "headrace/formats/prepared/selected_rows.h"

#include <algorithm>

#include "headrace/formats/columns.h"

namespace headrace {
namespace {

using ReadRow = std::function<Status(const std::vector<Tensor>&, std::vector<Tensor>&)>;

class ReadBlock final : public Block {
 public:
  ReadBlock(BlockPtr block, std::shared_ptr<const SelectedRows> rows)
      : block_(std::move(block)), rows_(std::move(rows)) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    std::vector<Tensor> from;
    HEADRACE_TRY(block_->get(row, from));
    return rows_->read(from, fields);
  }
  size_t put(std::span<const uint64_t> rows, std::span<const FieldPlace> to) const override {
    return put_each(*this, rows, to);
  }
  size_t held_bytes() const override { return block_->held_bytes(); }

 private:
  BlockPtr block_;
  std::shared_ptr<const SelectedRows> rows_;
};

class OpenRead final : public Opening<BlockPtr> {
 public:
  OpenRead(std::unique_ptr<Opening<BlockPtr>> inner, std::shared_ptr<const SelectedRows> rows)
      : inner_(std::move(inner)), rows_(std::move(rows)) {}
  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    HEADRACE_ASSIGN(Step<BlockPtr> step, inner_->advance(bytes));
    if (auto* block = std::get_if<BlockPtr>(&step))
      return Step<BlockPtr>(std::make_shared<ReadBlock>(std::move(*block), rows_));
    return step;
  }

 private:
  std::unique_ptr<Opening<BlockPtr>> inner_;
  std::shared_ptr<const SelectedRows> rows_;
};

class SelectedSource final : public Source {
 public:
  SelectedSource(SourcePtr source, SelectedRows rows)
      : source_(std::move(source)), rows_(std::make_shared<const SelectedRows>(std::move(rows))) {
    for (const SplitRows& range : rows_->ranges) first_.push_back(first_.back() + range.count);
  }

  const Schema& schema() const override { return rows_->schema; }
  uint64_t size() const override { return first_.back(); }
  Place place(uint64_t index) const override { return source_->place(row(index)); }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    auto opening = source_->open(block);
    if (!rows_->read) return opening;
    return std::make_unique<OpenRead>(std::move(opening), rows_);
  }
  bool extents(std::span<const uint64_t> indices, std::span<Extent> out) const override {
    return source_->extents(rows(indices), out);
  }
  BlockPtr together(std::vector<uint64_t> indices, std::vector<size_t> at, BufferPtr bytes) const override {
    BlockPtr block = source_->together(rows(indices), std::move(at), std::move(bytes));
    if (!rows_->read || !block) return block;
    return std::make_shared<ReadBlock>(std::move(block), rows_);
  }
  size_t put_mapped(std::span<const uint64_t> indices, MappedBytes& mapped,
                    std::span<const FieldPlace> to) const override {
    return rows_->read ? 0 : source_->put_mapped(rows(indices), mapped, to);
  }
  Lot lot(uint64_t index) const override {
    const auto range = static_cast<size_t>(std::ranges::upper_bound(first_, index) - first_.begin() - 1);
    Lot out = source_->lot(row(index));
    out.end = std::min(index + (out.end - row(index)), first_[range + 1]);
    return out;
  }
  SourcePtr with_fields(std::span<const int> fields) const override {
    SourcePtr part = rows_->read ? nullptr : source_->with_fields(fields);
    if (!part) return nullptr;
    SelectedRows rows = *rows_;
    rows.schema = chosen(rows_->schema, fields);
    return std::make_shared<SelectedSource>(std::move(part), std::move(rows));
  }
  uint64_t num_files() const override { return source_->num_files(); }
  std::string file(uint64_t ordinal) const override { return source_->file(ordinal); }
  const SourceFile* known_file(uint64_t ordinal) const override { return source_->known_file(ordinal); }
  SamplePlace where(uint64_t index) const override { return source_->where(row(index)); }
  Value describe() const override { return rows_->description; }
  std::string fingerprint() const override {
    std::string text = rows_->name + ' ' + rows_->schema.stable_text() + ' ' + source_->fingerprint();
    for (const SplitRows& range : rows_->ranges)
      text += ' ' + std::to_string(range.first) + '+' + std::to_string(range.count);
    return hash_text(text);
  }
  Value metadata() const override {
    Value out = source_->metadata();
    if (const Value::Object* more = rows_->metadata.object())
      for (const auto& [key, value] : *more) out.set(key, value);
    return out;
  }

 private:
  uint64_t row(uint64_t index) const {
    if (rows_->ranges.size() == 1) return rows_->ranges[0].first + index;
    const auto at = static_cast<size_t>(std::ranges::upper_bound(first_, index) - first_.begin() - 1);
    return rows_->ranges[at].first + (index - first_[at]);
  }
  std::vector<uint64_t> rows(std::span<const uint64_t> indices) const {
    std::vector<uint64_t> out;
    out.reserve(indices.size());
    for (const uint64_t index : indices) out.push_back(row(index));
    return out;
  }

  SourcePtr source_;
  std::shared_ptr<const SelectedRows> rows_;
  std::vector<uint64_t> first_{0};  // rows in earlier ranges
};

}  // namespace

Result<SourcePtr> select_rows(SourcePtr source, SelectedRows rows) {
  for (const SplitRows& range : rows.ranges)
    if (range.first > source->size() || range.count > source->size() - range.first)
      return corrupt({.expected = "at least " + std::to_string(range.first + range.count) + " samples",
                      .got = std::to_string(source->size())});
  std::erase_if(rows.ranges, [](const SplitRows& range) { return range.count == 0; });
  return SourcePtr(std::make_shared<SelectedSource>(std::move(source), std::move(rows)));
}

void set_class_names(std::vector<std::pair<std::string, std::vector<std::string>>> names, Value& metadata) {
  if (names.empty()) return;
  Value all;
  const std::vector<std::string>* classes = names.size() == 1 ? &names[0].second : nullptr;
  for (const auto& [field, list] : names) {
    all.set(field, Value::List(list.begin(), list.end()));
    if (field == "label") classes = &list;
  }
  metadata.set("class_names", std::move(all));
  if (classes) metadata.set("classes", Value::List(classes->begin(), classes->end()));
}

}  // namespace headrace
