#include "headrace/formats/damaged.h"

#include <algorithm>

#include "headrace/core/text/text.h"
#include "headrace/formats/data_notes.h"

namespace headrace {
namespace {

struct DamagedSample {
  uint64_t index = 0;  // among all samples
  std::string path;
  uint64_t record = 0;  // of its file
  uint64_t offset = 0;
  std::string reason;
  bool is_file = false;  // the whole file
};

// The damage of all files, moved out of their indexes, in the order of the samples.
std::vector<DamagedSample> take_damage(const std::vector<SourceFile>& files,
                                       std::vector<FileIndex>& indexes) {
  std::vector<DamagedSample> out;
  uint64_t first = 0;  // good records in earlier files
  for (size_t file = 0; file < indexes.size(); ++file) {
    uint64_t before = 0;  // damage of this file
    for (DamagedPlace& place : std::exchange(indexes[file].damaged, {})) {
      const uint64_t after = std::min<uint64_t>(place.after, indexes[file].records.size());
      out.push_back({first + after + out.size(), files[file].path, after + before++, place.offset,
                     std::move(place.reason)});
    }
    first += indexes[file].records.size();
  }
  return out;
}

std::string place_text(const DamagedSample& sample) {
  return "record " + std::to_string(sample.record) + " at byte " + std::to_string(sample.offset);
}

class Refused final : public Opening<BlockPtr> {
 public:
  explicit Refused(Status why) : why_(std::move(why)) {}
  Result<Step<BlockPtr>> advance(std::span<const BufferPtr>) override { return why_; }

 private:
  Status why_;
};

class WithDamage final : public Source {
 public:
  // `note`: human-readable.
  WithDamage(SourcePtr good, std::vector<DamagedSample> damage, std::string note)
      : good_(std::move(good)), damage_(std::move(damage)), note_(std::move(note)) {}

  const Schema& schema() const override { return good_->schema(); }
  uint64_t size() const override { return good_->size() + damage_.size(); }

  Place place(uint64_t index) const override {
    const size_t before = damage_before(index);
    return is_damage(before, index) ? Place{good_->size() + before, 0} : good_->place(index - before);
  }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    if (block < good_->size()) return good_->open(block);
    const DamagedSample& sample = damage_[block - good_->size()];
    ErrorFacts facts{.file = sample.path};
    if (!sample.is_file) facts.byte = sample.offset, facts.record = sample.record;
    return std::make_unique<Refused>(corrupt(sample.reason).with(facts));
  }

  // A damaged sample has no extent of its own and does not affect the others.
  bool extents(std::span<const uint64_t> indices, std::span<Extent> out) const override {
    std::vector<uint64_t> good;
    std::vector<size_t> at;  // of each in `indices`
    good.reserve(indices.size()), at.reserve(indices.size());
    for (size_t i = 0; i < indices.size(); ++i) {
      const size_t before = damage_before(indices[i]);
      out[i] = {};
      if (!is_damage(before, indices[i])) good.push_back(indices[i] - before), at.push_back(i);
    }
    std::vector<Extent> found(good.size());
    if (!good_->extents(good, found)) return false;
    for (size_t i = 0; i < at.size(); ++i) out[at[i]] = found[i];
    return true;
  }
  BlockPtr together(std::vector<uint64_t> indices, std::vector<size_t> at, BufferPtr bytes) const override {
    take_off_damage(indices);
    return good_->together(std::move(indices), std::move(at), std::move(bytes));
  }
  size_t put_mapped(std::span<const uint64_t> indices, MappedBytes& mapped,
                    std::span<const FieldPlace> to) const override {
    std::vector<uint64_t> good(indices.begin(), indices.end());
    take_off_damage(good);
    return good_->put_mapped(good, mapped, to);
  }

  Lot lot(uint64_t index) const override {
    const size_t before = damage_before(index);
    if (is_damage(before, index)) return {index + 1};
    Lot out = good_->lot(index - before);
    out.end += before;
    if (before < damage_.size()) out.end = std::min(out.end, damage_[before].index);
    return out;
  }
  uint64_t num_files() const override { return good_->num_files(); }
  std::string file(uint64_t ordinal) const override { return good_->file(ordinal); }
  const SourceFile* known_file(uint64_t ordinal) const override { return good_->known_file(ordinal); }
  SamplePlace where(uint64_t index) const override {
    const size_t before = damage_before(index);
    if (!is_damage(before, index)) return good_->where(index - before);
    const DamagedSample& sample = damage_[before];
    if (sample.is_file) return {sample.path};
    return {sample.path, ", " + place_text(sample), sample.record, sample.offset};
  }
  Value describe() const override { return good_->describe(); }

  std::string fingerprint() const override {
    std::string text = good_->fingerprint();
    for (const DamagedSample& sample : damage_)
      text +=
          ' ' + std::to_string(sample.index) + ' ' +
          (sample.is_file ? sample.path.substr(sample.path.rfind('/') + 1) : std::to_string(sample.offset));
    return hash_text(text);
  }
  Value metadata() const override {
    Value out = good_->metadata();
    Value::List list;
    for (const DamagedSample& sample : damage_)
      list.push_back(damage_entry(sample.path, sample.index, sample.offset, sample.reason));
    if (const Value* inner = out.find("damaged"); inner && inner->list())
      for (const Value& entry : *inner->list()) list.push_back(entry);
    out.set("damaged", std::move(list));
    add_note(out, note_);
    return out;
  }
  SourcePtr with_fields(std::span<const int> fields) const override {
    SourcePtr some = good_->with_fields(fields);
    return some ? std::make_shared<WithDamage>(std::move(some), damage_, note_) : nullptr;
  }

 private:
  size_t damage_before(uint64_t index) const {
    const auto is_before = [&](const DamagedSample& sample) { return sample.index < index; };
    return static_cast<size_t>(std::ranges::partition_point(damage_, is_before) - damage_.begin());
  }
  // REQUIRES: none of them is damaged.
  void take_off_damage(std::vector<uint64_t>& indices) const {
    for (uint64_t& index : indices) index -= damage_before(index);
  }
  bool is_damage(size_t at, uint64_t index) const {
    return at < damage_.size() && damage_[at].index == index;
  }

  SourcePtr good_;
  std::vector<DamagedSample> damage_;
  std::string note_;
};

Result<SourcePtr> finished(const FinishRecords& finish, const std::vector<SourceFile>& files,
                           std::vector<FileIndex> indexes) {
  const bool has_records =
      std::ranges::any_of(indexes, [](const FileIndex& i) { return !i.records.empty(); });
  std::vector<DamagedSample> damage = take_damage(files, indexes);
  if (damage.empty()) return finish(std::move(indexes));
  if (!has_records) {
    const DamagedSample& first = damage[0];
    return corrupt(first.reason + " (" + place_text(first) + ")")
        .with({.byte = first.offset, .record = first.record})
        .in_file(first.path);
  }
  HEADRACE_ASSIGN(SourcePtr good, finish(std::move(indexes)));
  std::string note = std::to_string(damage.size()) + " of " + std::to_string(good->size() + damage.size()) +
                     (damage.size() == 1 ? " samples stands" : " samples stand") +
                     " for data that cannot be read, one record or several: " + in_quotes(damage[0].path) +
                     ", " + place_text(damage[0]) + ": " + damage[0].reason +
                     (damage.size() > 1 ? "; …" : "");
  return SourcePtr(std::make_shared<WithDamage>(std::move(good), std::move(damage), std::move(note)));
}

}  // namespace

Value damage_entry(const std::string& path, uint64_t index, uint64_t offset, std::string_view reason) {
  Value out;
  out.set("path", path), out.set("index", index), out.set("offset", offset), out.set("reason", reason);
  return out;
}

std::string refused_note(const std::vector<SourceFile>& files, const std::vector<RefusedFile>& refused,
                         std::string_view how) {
  return std::to_string(refused.size()) + " of " + std::to_string(files.size()) +
         (refused.size() == 1 ? " files is damaged" : " files are damaged") + std::string(how) + ": " +
         in_quotes(files[refused[0].file].path) + ": " + refused[0].reason +
         (refused.size() > 1 ? "; …" : "");
}

SourcePtr with_refused_files(SourcePtr good, const std::vector<SourceFile>& files,
                             std::vector<RefusedFile> refused) {
  std::string note = refused_note(files, refused,
                                  refused.size() == 1 ? " and counts as one sample, the last"
                                                      : " and count as one sample each, the last ones");
  std::vector<DamagedSample> damage;
  for (RefusedFile& file : refused)
    damage.push_back({.index = good->size() + damage.size(),
                      .path = files[file.file].path,
                      .reason = std::move(file.reason),
                      .is_file = true});
  return std::make_shared<WithDamage>(std::move(good), std::move(damage), std::move(note));
}

FinishRecords finish_with_damage(FinishRecords finish, std::vector<SourceFile> files) {
  return [finish = std::move(finish), files = std::move(files)](std::vector<FileIndex> indexes) {
    return finished(finish, files, std::move(indexes));
  };
}

}  // namespace headrace
