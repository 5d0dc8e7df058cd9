#include "headrace/formats/source.h"

#include <cstring>
#include <optional>

#include "headrace/formats/put_each.h"

namespace headrace {
namespace {

// The fields of `part`, everything else of `whole`.
class NarrowedSource final : public Source {
 public:
  NarrowedSource(SourcePtr whole, SourcePtr part) : whole_(std::move(whole)), part_(std::move(part)) {}

  const Schema& schema() const override { return part_->schema(); }
  uint64_t size() const override { return whole_->size(); }
  Place place(uint64_t index) const override { return part_->place(index); }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override { return part_->open(block); }
  bool extents(std::span<const uint64_t> indices, std::span<Extent> out) const override {
    return part_->extents(indices, out);
  }
  BlockPtr together(std::vector<uint64_t> indices, std::vector<size_t> at, BufferPtr bytes) const override {
    return part_->together(std::move(indices), std::move(at), std::move(bytes));
  }
  size_t put_mapped(std::span<const uint64_t> indices, MappedBytes& mapped,
                    std::span<const FieldPlace> to) const override {
    return part_->put_mapped(indices, mapped, to);
  }
  // A shuffle by runs is defined on the whole source, so runs end where those of `whole` do.
  Lot lot(uint64_t index) const override {
    Lot out{whole_->lot(index).end, 0};
    for (uint64_t i = index; i < out.end;) {
      const Lot within = part_->lot(i);
      out.blocks += within.blocks, i = within.end;
    }
    return out;
  }
  uint64_t num_files() const override { return whole_->num_files(); }
  std::string file(uint64_t ordinal) const override { return whole_->file(ordinal); }
  const SourceFile* known_file(uint64_t ordinal) const override { return whole_->known_file(ordinal); }
  SamplePlace where(uint64_t index) const override { return whole_->where(index); }
  Value describe() const override { return whole_->describe(); }
  std::string fingerprint() const override { return whole_->fingerprint(); }
  Value metadata() const override { return whole_->metadata(); }
  bool resident() const override { return part_->resident(); }

 private:
  SourcePtr whole_, part_;
};

}  // namespace

Status with_place(Status status, const SamplePlace& place, uint64_t sample) {
  if (status.ok()) return status;
  ErrorFacts facts{.sample = sample};
  // Numbers of another file, such as that of the labels, do not mix with these.
  if (const std::string& file = status.facts().file; file.empty() || file == place.file)
    facts.file = place.file, facts.record = place.record, facts.byte = place.byte;
  return std::move(status).with(std::move(facts));
}

bool MappedBytes::take_more(size_t at_least) {
  const MutableBufferPtr made = take(at_least);
  if (made) left_ = {made->mutable_data(), made->size()}, buffer_ = made;
  return made != nullptr;
}

bool FieldPlace::put(size_t n, Tensor&& row) const {
  if (!values) {
    if (texts && row.is_ragged()) return false;
    share(n, std::move(row));
    return true;
  }
  if (row.dtype != spec->dtype || !(row.shape == spec->shape)) return false;
  const View view = row.view();
  const size_t size = view.size_bytes();
  if (size > 0) std::memcpy(values + n * size, view.data, size);
  return true;
}

size_t put_each(const Block& block, std::span<const uint64_t> rows, std::span<const FieldPlace> to) {
  return put_each(rows, to,
                  [&](uint64_t row, std::vector<Tensor>& fields) { return block.get(row, fields); });
}

uint64_t SourceFile::first_beside() const {
  for (size_t i = 0; i < beside.size(); ++i)
    if (!beside[i].empty()) return i + 1;
  return 0;
}

bool lie_alone(const Source& source) {
  const uint64_t first = 0;
  Extent extent;
  return source.size() > 0 && source.extents({&first, 1}, {&extent, 1}) &&
         (extent.length != kToEnd || extent.lies_apart());
}

SourcePtr narrowed(const SourcePtr& whole, std::span<const int> fields) {
  SourcePtr part = whole->with_fields(fields);
  return part ? std::make_shared<NarrowedSource>(whole, std::move(part)) : nullptr;
}

Lot Source::lot(uint64_t index) const {
  if (resident()) return {size()};
  // The file of a sample that can be read alone.
  const auto file_of = [&](uint64_t i) -> std::optional<uint64_t> {
    Extent extent;
    if (!extents({&i, 1}, {&extent, 1}) || extent.length == kToEnd) return {};
    return extent.file;
  };
  const auto file = file_of(index);
  const uint64_t block = place(index).block;
  const auto is_near = [&](uint64_t i) {
    return i < size() && file_of(i) == file && (file || place(i).block == block);
  };
  uint64_t last = index, step = 1;
  for (; is_near(last + step); step *= 2) last += step;
  for (; step > 0; step /= 2)
    if (is_near(last + step)) last += step;
  return {last + 1};
}

}  // namespace headrace
