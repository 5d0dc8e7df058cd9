#include "headrace/formats/splits/joined_source.h"

#include <algorithm>

#include "headrace/core/text/text.h"
#include "headrace/formats/columns.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/meaning/files_agree.h"
#include "headrace/formats/wrapped_source.h"

namespace headrace {
namespace {

// The extents of a part name its own files; here those of all parts are numbered one after the other.
class OpenInPart final : public Opening<BlockPtr> {
 public:
  OpenInPart(std::unique_ptr<Opening<BlockPtr>> opening, uint64_t first_file)
      : opening_(std::move(opening)), first_file_(first_file) {}
  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    HEADRACE_ASSIGN(Step<BlockPtr> step, opening_->advance(bytes));
    if (auto* extents = std::get_if<std::vector<Extent>>(&step))
      for (Extent& extent : *extents) extent.file += first_file_;
    return step;
  }

 private:
  std::unique_ptr<Opening<BlockPtr>> opening_;
  uint64_t first_file_;
};

// What is said of a part alone, and holds for the whole if the others have nothing to say.
bool is_of_part(std::string_view key) {
  constexpr std::string_view keys[] = {"left_out", "missing", "differs", "empty", "problems", "damaged"};
  return std::ranges::find(keys, key) != std::end(keys);
}

class JoinedSource final : public Source {
 public:
  JoinedSource(std::vector<SourcePtr> parts, Agreed agreed, Value description)
      : parts_(std::move(parts)), agreed_(std::move(agreed)), description_(std::move(description)) {
    Start next;
    for (const SourcePtr& part : parts_) {
      starts_.push_back(next);
      next.sample += part->size(), next.file += part->num_files();
    }
    size_ = next.sample;
  }

  const Schema& schema() const override { return parts_[0]->schema(); }
  uint64_t size() const override { return size_; }
  Place place(uint64_t index) const override {
    const size_t part = part_of(&Start::sample, index);
    const uint64_t inside = index - starts_[part].sample;
    Place out = parts_[part]->resident() ? Place{0, inside} : parts_[part]->place(inside);
    out.block |= static_cast<uint64_t>(part) << kBlockBits;
    return out;
  }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    const auto part = static_cast<size_t>(block >> kBlockBits);
    return std::make_unique<OpenInPart>(parts_[part]->open(block & ((uint64_t{1} << kBlockBits) - 1)),
                                        starts_[part].file);
  }
  Lot lot(uint64_t index) const override {
    const size_t part = part_of(&Start::sample, index);
    Lot out = parts_[part]->lot(index - starts_[part].sample);
    out.end += starts_[part].sample;
    return out;
  }
  uint64_t num_files() const override { return starts_.back().file + parts_.back()->num_files(); }
  std::string file(uint64_t ordinal) const override {
    const size_t part = part_of(&Start::file, ordinal);
    return parts_[part]->file(ordinal - starts_[part].file);
  }
  const SourceFile* known_file(uint64_t ordinal) const override {
    const size_t part = part_of(&Start::file, ordinal);
    return parts_[part]->known_file(ordinal - starts_[part].file);
  }
  SamplePlace where(uint64_t index) const override {
    const size_t part = part_of(&Start::sample, index);
    return parts_[part]->where(index - starts_[part].sample);
  }
  Value describe() const override { return description_; }
  std::string fingerprint() const override {
    std::string text = "joined";
    for (const SourcePtr& part : parts_) text += ' ' + part->fingerprint();
    return hash_text(text + agreed_.stable_text);
  }
  // Counts add up, notes are those of all parts, and what differs otherwise holds for none.
  Value metadata() const override {
    Value out = parts_[0]->metadata();
    for (size_t i = 1; i < parts_.size(); ++i) {
      const Value part = parts_[i]->metadata();
      for (const std::string& note : notes_in(part))
        if (const auto known = notes_in(out); std::ranges::find(known, note) == known.end())
          add_note(out, note);
      Value::Object both;
      for (const auto& [key, value] : *out.object()) {
        const Value* other = part.find(key);
        if (key == "notes" || (other && *other == value))
          both.emplace_back(key, value);
        else if (other && value.integer() && other->integer())
          both.emplace_back(key, *value.integer() + *other->integer());
        else if (!other && is_of_part(key))
          both.emplace_back(key, value);
      }
      for (const auto& [key, value] : *part.object())
        if (is_of_part(key) && !out.find(key)) both.emplace_back(key, value);
      out = Value(std::move(both));
    }
    agreed_.add_to(out);
    return out;
  }
  SourcePtr with_fields(std::span<const int> fields) const override {
    std::vector<SourcePtr> narrow;
    for (const SourcePtr& part : parts_) {
      narrow.push_back(part->with_fields(fields));
      if (!narrow.back()) return nullptr;
    }
    return std::make_shared<JoinedSource>(std::move(narrow), Agreed(), description_);
  }

 private:
  static constexpr int kBlockBits = 48;  // of a number of a block: that in its part; the part is above
  struct Start {
    uint64_t sample = 0, file = 0;
  };
  size_t part_of(uint64_t Start::* number, uint64_t value) const {
    const auto after = std::ranges::upper_bound(starts_, value, {}, number);
    return static_cast<size_t>(after - starts_.begin()) - 1;
  }

  std::vector<SourcePtr> parts_;
  Agreed agreed_;  // what holds for all parts
  std::vector<Start> starts_;
  Value description_;
  uint64_t size_ = 0;
};

// A part whose values are changed to what holds for all.
class ChangedPart final : public WrappedSource {
 public:
  ChangedPart(SourcePtr source, Schema schema, FieldChangesPtr changes)
      : WrappedSource(std::move(source)), schema_(std::move(schema)), changes_(std::move(changes)) {}
  const Schema& schema() const override { return schema_; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    return with_changes(source_->open(block), changes_);
  }
  SourcePtr with_fields(std::span<const int> fields) const override {
    SourcePtr part = source_->with_fields(fields);
    FieldChangesPtr changes = chosen(changes_, fields);
    if (!part || !changes) return part;
    return std::make_shared<ChangedPart>(std::move(part), chosen(schema_, fields), std::move(changes));
  }
  bool resident() const override { return source_->resident(); }

 private:
  Schema schema_;
  FieldChangesPtr changes_;
};

constexpr std::string_view kClassKeys[] = {"classes", "class_names", "classes_of"};

Value members(const Value& metadata, std::span<const std::string_view> keys) {
  Value out{Value::Object()};
  for (const std::string_view key : keys)
    if (const Value* value = metadata.find(key)) out.set(std::string(key), *value);
  return out;
}

// What its numbers mean, as the part itself says it.
FileFields meaning_of(const PartOfJoined& part, const Value& metadata, bool with_classes) {
  const Schema& schema = part.source->schema();
  FileFields out{part.name, schema, std::vector<std::string>(schema.size()), {}};
  if (const Value* types = metadata.find("types"))
    for (size_t i = 0; i < schema.size(); ++i)
      if (const Value* type = types->find(schema.names[i]); type && type->text())
        out.types[i] = *type->text();
  if (with_classes) out.about = members(metadata, kClassKeys);
  return out;
}

Status check_same_classes(const PartOfJoined& first, const Value& wanted, const PartOfJoined& part,
                          const Value& got) {
  constexpr std::string_view keys[] = {"classes", "class_names", "categories", "category_ids"};
  if (members(got, keys) == members(wanted, keys)) return {};
  return invalid(first.name + " and " + part.name +
                 " have different classes, so that their labels mean different things; read them one by one");
}

}  // namespace

Result<SourcePtr> joined_source(std::vector<PartOfJoined> parts, Value description,
                                std::optional<bool> align_labels) {
  if (parts.size() == 1) return parts[0].source;
  const Value first = parts[0].source->metadata();
  FilesAgree agree("field", align_labels.value_or(false));
  for (const PartOfJoined& part : parts) {
    const Value metadata = part.source->metadata();
    if (!align_labels) HEADRACE_TRY(check_same_classes(parts[0], first, part, metadata));
    Status status = agree.add(meaning_of(part, metadata, align_labels.has_value()));
    if (!status.ok()) return std::move(status).before(part.name + ": ").after("; or read them one by one");
  }
  HEADRACE_ASSIGN(Agreed agreed, agree.finish());
  std::vector<SourcePtr> sources;
  for (size_t i = 0; i < parts.size(); ++i) {
    FieldChangesPtr changes = agree.changes(i);
    sources.push_back(changes ? std::make_shared<ChangedPart>(std::move(parts[i].source), agree.schema(),
                                                              std::move(changes))
                              : std::move(parts[i].source));
  }
  return SourcePtr(
      std::make_shared<JoinedSource>(std::move(sources), std::move(agreed), std::move(description)));
}

}  // namespace headrace
