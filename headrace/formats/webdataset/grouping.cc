#include "headrace/formats/webdataset/grouping.h"

#include <algorithm>

#include "headrace/core/text/text.h"
#include "headrace/formats/webdataset/index.h"
#include "headrace/formats/webdataset/sample_name.h"

namespace headrace {

Status at_member(Status status, uint64_t member, uint64_t position) {
  return std::move(status)
      .with({.byte = position, .record = member})
      .after(" (member " + std::to_string(member) + " at byte " + std::to_string(position) + ")");
}

Status Grouping::take(const TarHead& head, uint64_t position) {
  ++members_;
  const auto name = sample_name(head.name);
  if (head.is_link && (name || lacks_suffix(head.name))) passed_over_.add_link(head.name);
  if (head.is_file && lacks_suffix(head.name)) passed_over_.add_without_suffix(head.name);
  if (!name || !head.is_file) return {};
  if (index_.records.empty() || name->key != key_) {
    index_.records.push_back({position, 0});
    key_ = name->key;
    in_sample_ = 0;
    passed_over_.add_key(key_);
  }
  RecordExtent& sample = index_.records.back();
  sample.length = position + head.end() - sample.offset;
  const auto refuse = [&](uint64_t most, const char* of) {
    return at_member(Status(Code::exhausted, "expected a sample of at most " + std::to_string(most) + of +
                                                 ", but '" + key_ + "' has more"),
                     members_ - 1, position);
  };
  if (sample.length > kMostTarSample) return refuse(kMostTarSample, " bytes");
  if (++in_sample_ > kMostSampleMembers) return refuse(kMostSampleMembers, " members");
  if (index_.records.size() > 1) {
    const auto is_it = [&](const FirstMember& one) { return is_suffix(name->suffix, one.suffix); };
    if (std::ranges::none_of(first_, is_it)) passed_over_.add_suffix(name->suffix);
    return {};
  }
  first_.push_back({lower_case(name->suffix), {}, false});
  if (is_array(first_.back().suffix)) arrays_.push_back({first_.size() - 1, position + head.data, head.size});
  return {};
}

bool Grouping::is_closed_by(const TarHead& next) const {
  if (next.is_closed) return true;
  const auto name = next.is_file ? sample_name(next.name) : std::nullopt;
  return name && name->key != key_;
}

Status Grouping::lose(Status why, uint64_t offset, bool is_closed) {
  if (why.code() != Code::corrupt) return why;
  if (!is_closed && !index_.records.empty()) {
    offset = index_.records.back().offset;
    index_.records.pop_back();
  }
  index_.damaged.push_back({index_.records.size(), offset, std::string(why.text())});
  return {};
}

FileIndex Grouping::finish(std::string points) {
  index_.extra = pack_first_members(first_) + '\0' + passed_over_.pack() + '\0' + points;
  return std::move(index_);
}

}  // namespace headrace
