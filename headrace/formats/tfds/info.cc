#include "headrace/formats/tfds/info.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>

#include "headrace/core/text/text.h"
#include "headrace/formats/images/image_files.h"

namespace headrace {
namespace {

constexpr size_t kMostShards = 1'000'000;
constexpr uint64_t kMostSamples = uint64_t{1} << 48;
constexpr char kTemplate[] = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}";

std::string text_member(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value && value->text() ? *value->text() : std::string();
}

// Protocol buffers write 64-bit numbers as strings.
bool read_count(const Value& value, uint64_t& out) {
  if (value.integer() && *value.integer() >= 0) {
    out = static_cast<uint64_t>(*value.integer());
    return out <= kMostSamples;
  }
  if (!value.text()) return false;
  const std::string& text = *value.text();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out <= kMostSamples;
}

std::string five_digits(size_t number) {
  char out[24];
  std::snprintf(out, sizeof out, "%05zu", number);
  return out;
}

Result<TfdsSplit> parse_split(const Value& value) {
  TfdsSplit out;
  out.name = text_member(value, "name");
  out.file_template = text_member(value, "filepathTemplate");
  if (out.file_template.empty()) out.file_template = kTemplate;
  if (out.name.empty()) return corrupt("expected a split with a name");
  const Value* lengths = value.find("shardLengths");
  if (!lengths || !lengths->list()) return corrupt("expected 'shardLengths' in split " + in_quotes(out.name));
  if (lengths->list()->size() > kMostShards)
    return Status(Code::exhausted, "expected at most " + std::to_string(kMostShards) + " files per split");
  for (const Value& length : *lengths->list()) {
    uint64_t count = 0;
    if (!read_count(length, count) || count > kMostSamples - out.size)
      return corrupt({.expected = "numbers of samples", .got = length.dump().substr(0, 40)})
          .before("'shardLengths' of split " + in_quotes(out.name) + ": ");
    out.shards.push_back(count);
    out.size += count;
  }
  return out;
}

const TfdsSplit* find(const TfdsInfo& info, const std::string& name) {
  const auto at = std::ranges::find(info.splits, name, &TfdsSplit::name);
  return at == info.splits.end() ? nullptr : &*at;
}

Result<std::vector<SplitPart>> parts_of(const TfdsInfo& info, const std::string& split) {
  if (split.empty()) {
    if (info.splits.size() == 1) return std::vector<SplitPart>{{info.splits[0].name, {}, {}, {}}};
    return invalid("contains the splits " + info.split_names() + "; set split= to one of them");
  }
  HEADRACE_ASSIGN(std::vector<SplitPart> parts, parse_splits(split, SplitRules::tfds));
  std::vector<SplitPart> out;
  for (SplitPart& part : parts) {
    if (part.name.empty() && info.splits.size() == 1) part.name = info.splits[0].name;
    if (find(info, part.name)) {
      out.push_back(std::move(part));
    } else if (part.name == "all" && !part.from && !part.to) {
      for (const TfdsSplit& one : info.splits) out.push_back({one.name, {}, {}, {}});
    } else {
      return invalid("has no split " + in_quotes(part.name) + "; there are " + info.split_names());
    }
  }
  return out;
}

}  // namespace

std::string TfdsSplit::file(const std::string& dataset, const std::string& format, size_t shard) const {
  const std::pair<std::string_view, std::string> values[] = {
      {"{DATASET}", dataset},
      {"{SPLIT}", name},
      {"{FILEFORMAT}", format},
      {"{SHARD_X_OF_Y}", five_digits(shard) + "-of-" + five_digits(shards.size())},
      {"{SHARD_INDEX}", five_digits(shard)},
      {"{NUM_SHARDS}", five_digits(shards.size())}};
  std::string out;
  for (size_t at = 0; at < file_template.size();) {
    const std::string_view rest = std::string_view(file_template).substr(at);
    const auto found =
        std::ranges::find_if(values, [&](const auto& value) { return rest.starts_with(value.first); });
    if (found == std::end(values)) {
      out += rest[0];
      ++at;
    } else {
      out += found->second;
      at += found->first.size();
    }
  }
  return out;
}

Result<TfdsInfo> TfdsInfo::parse(const Value& info) {
  TfdsInfo out;
  out.name = text_member(info, "name");
  out.file_format = text_member(info, "fileFormat");
  if (out.file_format.empty()) out.file_format = "tfrecord";
  if (out.file_format != "tfrecord" && out.file_format != "array_record" && out.file_format != "parquet")
    return Status(Code::unavailable, {.expected = "files of tfrecord, array_record or parquet",
                                      .got = in_quotes(out.file_format)});
  const Value* splits = info.find("splits");
  if (!splits || !splits->list() || splits->list()->empty())
    return corrupt("expected a list 'splits' with at least one split");
  for (const Value& split : *splits->list()) {
    HEADRACE_ASSIGN(TfdsSplit one, parse_split(split));
    if (find(out, one.name))
      return corrupt({.expected = "each split once", .got = in_quotes(one.name) + " twice"});
    out.splits.push_back(std::move(one));
  }
  return out;
}

std::string TfdsInfo::split_names() const {
  std::string out;
  for (const TfdsSplit& split : splits) out += (out.empty() ? "" : ", ") + in_quotes(split.name);
  return out;
}

Result<TfdsFiles> files_of_split(const TfdsInfo& info, const std::string& split) {
  HEADRACE_ASSIGN(const std::vector<SplitPart> parts, parts_of(info, split));
  TfdsFiles out;
  std::map<std::string, uint64_t> first;  // for each file, the number of samples in earlier files
  for (const SplitPart& part : parts) {
    const TfdsSplit& of = *find(info, part.name);
    HEADRACE_ASSIGN(const SplitRows rows, rows_of(part, of.size, SplitRules::tfds, of.shards));
    uint64_t before = 0;
    for (size_t shard = 0; shard < of.shards.size(); before += of.shards[shard], ++shard) {
      const uint64_t begin = std::max(rows.first, before);
      const uint64_t end = std::min(rows.first + rows.count, before + of.shards[shard]);
      if (begin >= end) continue;
      const std::string name = of.file(info.name, info.file_format, shard);
      if (!is_below(name)) return corrupt({.expected = "files in its folder", .got = in_quotes(name)});
      const auto [at, is_new] = first.emplace(name, out.size);
      if (is_new) {
        out.names.push_back(name);
        out.counts.push_back(of.shards[shard]);
        out.size += of.shards[shard];
      }
      const SplitRows range{at->second + begin - before, end - begin};
      if (!out.ranges.empty() && out.ranges.back().first + out.ranges.back().count == range.first)
        out.ranges.back().count += range.count;
      else
        out.ranges.push_back(range);
    }
  }
  if (out.names.empty())
    return invalid({.expected = "a split with at least one sample", .got = "none in " + in_quotes(split)});
  return out;
}

}  // namespace headrace
