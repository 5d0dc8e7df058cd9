#include "headrace/formats/coco/annotation_reader.h"

#include <algorithm>

#include "headrace/core/text/utf8.h"
#include "headrace/formats/coco/elements.h"

namespace headrace {
namespace {

enum class Section { images, annotations, categories, other };

Section section_of(const JsonSpan& key) {
  const std::string name = unescaped_json(key);
  if (name == "images") return Section::images;
  if (name == "annotations") return Section::annotations;
  if (name == "categories") return Section::categories;
  return Section::other;
}

class CocoWalk final : public Opening<FileIndex> {
 public:
  CocoWalk(const SourceFile& file, size_t window) : size_(file.size), window_(window) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    if (!bytes.empty()) {
      text_.erase(0, at_);
      base_ += at_, at_ = 0;
      text_.append(reinterpret_cast<const char*>(bytes[0]->data()), bytes[0]->size());
    }
    while (state_ != State::end || !rest().empty()) {
      const Progress progress = step();
      if (progress == Progress::failed) return status_;
      if (progress == Progress::done) continue;
      if (is_last()) return corrupt("ends inside a value, or before all brackets are closed");
      if (text_.size() - at_ > kMostCocoValue)
        return Status(Code::exhausted, {.expected = "values of at most 64 MiB",
                                        .got = "a longer one at byte " + place_text(0)});
      break;
    }
    if (!is_last()) {
      const uint64_t read = base_ + text_.size();
      const uint64_t length = std::min<uint64_t>(size_ - read, std::max(window_, text_.size() - at_));
      return Step<FileIndex>(std::vector<Extent>{{0, read, length}});
    }
    if (state_ != State::end) return corrupt({.expected = "a JSON object", .got = "none"});
    HEADRACE_TRY(elements_.finish());
    FileIndex out;
    out.extra = elements_.table().pack();
    return Step<FileIndex>(std::move(out));
  }

 private:
  enum class State { begin, key, item, behind_item, behind_value, end };
  enum class Progress { done, more, failed };

  std::string_view rest() const { return std::string_view(text_).substr(at_); }
  bool is_last() const { return base_ + text_.size() == size_; }
  std::string place_text(size_t behind) const { return std::to_string(base_ + at_ + behind); }

  Progress fail(Status status) {
    status_ = std::move(status);
    return Progress::failed;
  }
  Progress wrong(const char* wanted) {
    return fail(corrupt(std::string("expected ") + wanted + " at byte " + place_text(0)));
  }

  // The next non-blank character, at at_; '\0' if it is not read yet.
  char next() {
    const size_t found = text_.find_first_not_of(" \t\r\n", at_);
    at_ = std::min(found, text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  Progress step() {
    if (state_ == State::begin && base_ + at_ == 0 && rest().starts_with(kByteOrderMark))
      at_ += kByteOrderMark.size();
    const char c = next();
    if (at_ == text_.size()) return state_ == State::end ? Progress::done : Progress::more;
    switch (state_) {
      case State::begin:
        if (c != '{') return wrong("a JSON object");
        ++at_;
        state_ = State::key, is_first_ = true;
        return Progress::done;
      case State::key: return c == '}' && is_first_ ? close() : key();
      case State::item:
        if (c == ']' && is_first_) return close_list();
        return read([&](JsonReader& reader) { return item(reader); }, State::behind_item);
      case State::behind_item:
        if (c == ']') return close_list();
        if (c != ',') return wrong("',' or ']' after a value");
        ++at_;
        state_ = State::item, is_first_ = false;
        return Progress::done;
      case State::behind_value:
        if (c == '}') return close();
        if (c != ',') return wrong("',' or '}' after a value");
        ++at_;
        state_ = State::key, is_first_ = false;
        return Progress::done;
      case State::end: return wrong("nothing after the object");
    }
    return Progress::failed;
  }

  Progress close() {
    ++at_;
    state_ = State::end;
    return Progress::done;
  }
  Progress close_list() {
    ++at_;
    state_ = State::behind_value;
    return Progress::done;
  }

  // A key, and the beginning of its value. Lists are read item by item, all other values are skipped.
  Progress key() {
    JsonReader reader(rest());
    JsonSpan name;
    // The reader starts at the key, as if inside an object.
    if (!reader.begins_with('"')) return wrong("a key in quotes");
    if (!reader.value(name)) return unread(reader);
    const size_t colon = text_.find_first_not_of(" \t\r\n", at_ + reader.position());
    if (colon == std::string::npos) return Progress::more;
    if (text_[colon] != ':') return wrong("':' after a key");
    const size_t value = text_.find_first_not_of(" \t\r\n", colon + 1);
    if (value == std::string::npos) return Progress::more;
    section_ = section_of(name);
    if (text_[value] == '[') {
      at_ = value + 1;
      state_ = State::item, is_first_ = true;
      return Progress::done;
    }
    const size_t key_at = std::exchange(at_, value);
    if (section_ != Section::other && text_[value] != 'n')
      return wrong("a list of images, annotations or categories");
    const Progress progress = read(
        [](JsonReader& one) {
          JsonSpan ignored;
          return one.value(ignored);
        },
        State::behind_value);
    if (progress == Progress::more) at_ = key_at;
    return progress;
  }

  // The reader failed: possibly only because the text is incomplete.
  Progress unread(const JsonReader& reader) {
    if (reader.is_cut() && !is_last()) return Progress::more;
    return fail(
        corrupt(reader.wanted_and_got("the end of the file") + " at byte " + place_text(reader.position())));
  }

  template <class F> Progress read(F take, State then) {
    JsonReader reader(rest());
    const bool is_taken = take(reader);
    if (!reader.ok()) return unread(reader);
    // A number at the end of the text may continue after it.
    if (reader.position() == rest().size() && !is_last()) return Progress::more;
    if (is_taken && section_ != Section::other) {
      if (Status status = elements_.keep(); !status.ok())
        return fail(std::move(status).after(" at byte " + place_text(0)));
    }
    at_ += reader.position();
    state_ = then;
    return Progress::done;
  }

  bool item(JsonReader& reader) {
    switch (section_) {
      case Section::images: return elements_.read_image(reader);
      case Section::annotations: return elements_.read_annotation(reader, rest().data(), base_ + at_);
      case Section::categories: return elements_.read_category(reader);
      case Section::other: break;
    }
    JsonSpan ignored;
    return reader.value(ignored);
  }

  uint64_t size_;
  size_t window_;
  std::string text_;   // a part of the file
  uint64_t base_ = 0;  // its offset in the file
  size_t at_ = 0;      // the position in it
  State state_ = State::begin;
  Section section_ = Section::other;
  bool is_first_ = true;
  CocoElements elements_;
  Status status_;
};

}  // namespace

std::unique_ptr<Opening<FileIndex>> walk_coco(const SourceFile& file, size_t window) {
  return std::make_unique<CocoWalk>(file, window);
}

}  // namespace headrace
