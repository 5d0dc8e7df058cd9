#include "headrace/formats/jsonl/index.h"

#include <cstring>

#include "headrace/core/text/utf8.h"

namespace headrace {
namespace {

// The values of a line are kept until the whole line is known to be valid. A line with more than this many
// values is trusted before.
constexpr size_t kMostFound = size_t{1} << 16;

class JsonLineFinder final : public RecordFinder {
 public:
  Status take(std::span<const std::byte> piece, FileIndex& index) override {
    std::string_view text(reinterpret_cast<const char*>(piece.data()), piece.size());
    while (!text.empty() && !is_lost_) {
      const size_t end = text.find('\n');
      const std::string_view part = text.substr(0, end == std::string_view::npos ? end : end + 1);
      if (pending_.size() + part.size() > kMostJsonLine) {
        lose(index);
        break;
      }
      text.remove_prefix(part.size());
      if (end == std::string_view::npos) {
        pending_ += part;
      } else if (pending_.empty()) {
        add(part, index);
      } else {
        add(pending_.append(part), index);
        pending_.clear();
      }
    }
    return {};
  }

  void finish(bool whole, FileIndex& index) override {
    if (whole && !is_lost_ && !pending_.empty()) add(pending_, index);
    index.extra = contents_.pack();
  }

 private:
  void add(std::string_view line, FileIndex& index) {
    const uint64_t number = ++lines_;
    if (number == 1 && line.starts_with(kByteOrderMark)) {
      line.remove_prefix(kByteOrderMark.size());
      position_ += kByteOrderMark.size();
    }
    const uint64_t begin = position_;
    position_ += line.size();
    if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) return;
    contents_.lines.add(index.records.size(), number);
    index.records.push_back({begin, line.size()});
    JsonReader reader(without_line_end(line));
    // An invalid line contributes nothing; reading it gives its error.
    found_.clear();
    if (reader.begin_object() && look(reader, JsonFields::kRoot) && reader.is_at_end()) {
      see_found();
    } else if (contents_.refused.empty() && !reader.ok()) {
      contents_.refused = std::string(reader.error().text()) + " (line " + std::to_string(number) + ")";
    }
  }

  struct Found {
    uint32_t node;
    JsonSpan value;
  };

  void found(Found one) {
    if (found_.size() == kMostFound) see_found();
    found_.push_back(one);
  }
  void see_found() {
    for (const Found& one : found_) contents_.fields.kind(one.node).see(one.value, lines_);
    found_.clear();
  }

  bool look(JsonReader& reader, uint32_t parent) {
    JsonSpan key;
    size_t expected = 0;
    for (bool is_first = true; reader.next_key(key, is_first); is_first = false) {
      const uint32_t node = place_of(parent, key, expected);
      if (node == JsonFields::kNone && !check_key(key, reader)) return false;
      JsonSpan value;
      if (node != JsonFields::kNone && reader.begins_with('{')) {
        found({node, {.type = JsonType::object}});
        if (!reader.begin_object() || !look(reader, node)) return false;
        continue;
      }
      if (!reader.value(value)) return false;
      if (node != JsonFields::kNone) found({node, value});
    }
    return reader.ok();
  }

  uint32_t place_of(uint32_t parent, const JsonSpan& key, size_t& expected) {
    JsonFields& fields = contents_.fields;
    const std::string unescaped = key.has_escapes ? unescaped_json(key) : std::string();
    const std::string_view name = key.has_escapes ? unescaped : key.text;
    uint32_t node = fields.find(parent, name, expected);
    if (node != JsonFields::kNone || utf8_prefix(name) < name.size()) return node;
    node = fields.find_or_add(parent, name, expected);
    if (node == JsonFields::kNone) contents_.has_more_fields = true;
    return node;
  }

  void lose(FileIndex& index) {
    index.damaged.push_back(
        {index.records.size(), position_,
         "expected lines of at most 64 MiB, got a longer one (line " + std::to_string(lines_ + 1) + ")"});
    is_lost_ = true;
    pending_.clear();
  }

  std::string pending_;                // the start of a line whose end is still to come
  uint64_t position_ = 0, lines_ = 0;  // of the next line; the number of lines before it
  bool is_lost_ = false;
  std::vector<Found> found_;  // in one line
  JsonlContents contents_;
};

}  // namespace

std::string JsonlContents::pack() const {
  const std::string tree = fields.pack(), numbers = lines.pack();
  const uint64_t head[] = {has_more_fields, tree.size(), numbers.size()};
  std::string out(reinterpret_cast<const char*>(head), sizeof head);
  return out + tree + numbers + refused;
}

std::optional<JsonlContents> JsonlContents::unpack(std::string_view bytes) {
  uint64_t head[3];
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(head, bytes.data(), sizeof head);
  bytes.remove_prefix(sizeof head);
  const auto [has_more, tree_size, numbers_size] = head;
  if (has_more > 1 || tree_size > bytes.size() || numbers_size > bytes.size() - tree_size)
    return std::nullopt;
  auto fields = JsonFields::unpack(bytes.substr(0, tree_size));
  auto lines = LineNumbers::unpack(bytes.substr(tree_size, numbers_size));
  if (!fields || !lines) return std::nullopt;
  return JsonlContents{*std::move(fields), *std::move(lines), has_more == 1,
                       std::string(bytes.substr(tree_size + numbers_size))};
}

std::unique_ptr<RecordFinder> json_lines() { return std::make_unique<JsonLineFinder>(); }

}  // namespace headrace
