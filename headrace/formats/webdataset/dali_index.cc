#include "headrace/formats/webdataset/dali_index.h"

#include <algorithm>
#include <charconv>

#include "headrace/core/text/text.h"
#include "headrace/formats/webdataset/index.h"
#include "headrace/formats/webdataset/sample_name.h"
#include "headrace/formats/webdataset/tar_head.h"

namespace headrace {
namespace {

constexpr size_t kChecked = 64;          // samples
constexpr uint64_t kHeaderBytes = 4096;  // read of each: most have 512 or, with PAX, 1536

class Line {
 public:
  explicit Line(std::string_view text) : left_(text) {}
  bool word(std::string_view& out) {
    const size_t begin = left_.find_first_not_of(' ');
    if (begin == std::string_view::npos) return false;
    left_.remove_prefix(begin);
    out = left_.substr(0, left_.find(' '));
    left_.remove_prefix(out.size());
    return true;
  }
  bool number(uint64_t& out) {
    std::string_view text;
    if (!word(text)) return false;
    const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && after == text.data() + text.size();
  }

 private:
  std::string_view left_;
};

std::string_view take_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

uint64_t padded(uint64_t size) { return (size + kTarBlock - 1) / kTarBlock * kTarBlock; }

bool take_sample(std::string_view text, bool has_names, uint64_t size, DaliTarIndex& out) {
  Line line(text);
  const uint64_t begin = out.end;
  uint64_t end = 0;
  size_t members = 0;
  std::string_view suffix, name;
  while (line.word(suffix)) {
    DaliTarIndex::Member member{lower_case(suffix), 0, 0};
    if (!line.number(member.offset) || !line.number(member.size) || (has_names && !line.word(name)))
      return false;
    const bool is_behind = member.offset >= out.end + kTarBlock && member.offset % kTarBlock == 0;
    if (!is_behind || member.offset > size || member.size > size - member.offset) return false;
    if (++members > kMostSampleMembers) return false;
    if (members == 1) out.data.push_back(member.offset);
    end = member.offset + member.size;
    out.end = padded(end);
    if (out.samples.empty()) out.first.push_back(std::move(member));
  }
  if (members == 0 || end - begin > kMostTarSample) return false;
  out.samples.push_back({begin, end - begin});
  return true;
}

size_t num_checked(const DaliTarIndex& index) { return std::min(index.samples.size(), kChecked); }
size_t checked(const DaliTarIndex& index, size_t i) {
  const size_t count = num_checked(index);
  return count < 2 ? 0 : i * (index.samples.size() - 1) / (count - 1);
}

// Whether the headers lead to the offset that the index gives for the first member's data.
bool leads_to(std::span<const std::byte> bytes, const RecordExtent& sample, uint64_t data) {
  std::string joined;
  for (uint64_t at = 0; at < bytes.size();) {
    const auto head = read_tar_head(bytes.subspan(at), sample.length - at, joined);
    if (!head.ok() || head->needed > 0 || head->is_end) return false;
    if (head->is_file && sample_name(head->name)) return sample.offset + at + head->data == data;
    at += head->next();
  }
  return false;
}

}  // namespace

std::optional<DaliTarIndex> read_dali_tar_index(std::string_view text, uint64_t size) {
  DaliTarIndex out;
  Line first(take_line(text));
  std::string_view version;
  uint64_t count = 0;
  if (!first.word(version) || !first.number(count) || (version != "v1.1" && version != "v1.2"))
    return std::nullopt;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (!line.empty() && !take_sample(line, version == "v1.2", size, out)) return std::nullopt;
  }
  const bool is_whole = count == out.samples.size() && count > 0 && out.end + 2 * kTarBlock <= size;
  return is_whole ? std::optional(std::move(out)) : std::nullopt;
}

std::vector<Extent> looks_at(const DaliTarIndex& index) {
  std::vector<Extent> out;
  for (size_t i = 0; i < num_checked(index); ++i) {
    const RecordExtent& sample = index.samples[checked(index, i)];
    out.push_back({0, sample.offset, std::min(kHeaderBytes, sample.length)});
  }
  out.push_back({0, index.end, 2 * kTarBlock});
  for (const DaliTarIndex::Member& member : index.first)
    if (is_array(member.suffix)) out.push_back({0, member.offset, std::min(member.size, kArrayHead)});
  return out;
}

std::optional<FileIndex> agreed(const DaliTarIndex& index, std::span<const BufferPtr> bytes) {
  const size_t count = num_checked(index);
  for (size_t i = 0; i < count; ++i) {
    const size_t sample = checked(index, i);
    if (!leads_to(bytes[i]->bytes(), index.samples[sample], index.data[sample])) return std::nullopt;
  }
  const auto end = bytes[count]->bytes();
  if (std::ranges::any_of(end, [](std::byte b) { return b != std::byte{0}; })) return std::nullopt;
  std::vector<FirstMember> first;
  size_t array = count + 1;
  for (const DaliTarIndex::Member& member : index.first) {
    first.push_back({member.suffix, {}, false});
    if (is_array(member.suffix)) look_at_array(bytes[array++]->bytes(), first.back());
  }
  return FileIndex{index.samples, pack_first_members(first) + std::string(2, '\0'), {}};
}

}  // namespace headrace
