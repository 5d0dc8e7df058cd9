#include "headrace/formats/webdataset/passed_over.h"

#include <algorithm>

#include "headrace/core/text/text.h"
#include "headrace/core/text/utf8.h"
#include "headrace/formats/split_names.h"

namespace headrace {
namespace {

constexpr size_t kMostSuffixes = 64, kShownSuffixes = 10, kMostSplits = 16;
constexpr size_t kMostName = 200;  // bytes

std::string short_name(std::string_view name) {
  std::string out(name.substr(0, kMostName));
  if (utf8_prefix(out) < out.size())
    for (char& c : out) c = static_cast<unsigned char>(c) < 0x80 ? c : '?';
  return out;
}

// The number and the name of "links" and the like; nothing if they are not there.
template <class Group> void take(const Value& all, const char* key, Group& out) {
  const Value* one = all.find(key);
  if (!one || !one->list() || one->list()->size() != 2) return;
  const Value &count = (*one->list())[0], &name = (*one->list())[1];
  if (!count.integer() || *count.integer() < 0 || !name.text()) return;
  out.count = static_cast<uint64_t>(*count.integer()), out.name = *name.text();
}

}  // namespace

void PassedOver::add(Group& group, std::string_view member) {
  if (group.count++ == 0) group.name = short_name(member);
}

void PassedOver::add_suffix(std::string_view suffix) {
  if (suffixes_.size() < kMostSuffixes) suffixes_.insert(short_name(lower_case(suffix)));
}

void PassedOver::add_key(std::string_view key) {
  const size_t slash = key.find('/');
  const std::string_view folder = key.substr(0, slash == std::string_view::npos ? 0 : slash);
  // In a tar of many samples without folders, the first ones tell whether their names say more.
  if (folder.empty() && has_other_keys_) return;
  if (!folder.empty() && folder == last_folder_) return;
  last_folder_ = folder;
  const auto split = split_name(folder.empty() ? key : folder, !folder.empty());
  if (!split && folder.empty()) has_other_keys_ = true;
  if (split && split->is_bare() && splits_.size() < kMostSplits) splits_.insert(printable(split->name));
}

void PassedOver::add(const PassedOver& other) {
  next_tars_ += other.next_tars_;
  if (splits_.empty() && other.splits_.size() > 1) splits_ = other.splits_;
  for (const auto member : {&PassedOver::links_, &PassedOver::without_suffix_}) {
    Group& group = this->*member;
    if (group.count == 0) group.name = (other.*member).name;
    group.count += (other.*member).count;
  }
  for (const std::string& suffix : other.suffixes_)
    if (suffixes_.size() < kMostSuffixes) suffixes_.insert(suffix);
}

std::string PassedOver::pack() const {
  Value out{Value::Object()};
  const auto put = [&](const char* key, const Group& group) {
    if (group.count > 0) out.set(key, Value::List{group.count, group.name});
  };
  put("links", links_), put("without_suffix", without_suffix_);
  if (!suffixes_.empty()) out.set("suffixes", Value::List(suffixes_.begin(), suffixes_.end()));
  if (splits_.size() > 1) out.set("splits", Value::List(splits_.begin(), splits_.end()));
  if (next_tars_ > 0) out.set("next_tars", next_tars_);
  return out.object()->empty() ? std::string() : out.dump();
}

PassedOver PassedOver::unpack(std::string_view text) {
  PassedOver out;
  const auto all = Value::parse(text);
  if (!all.ok()) return out;
  take(*all, "links", out.links_), take(*all, "without_suffix", out.without_suffix_);
  if (const Value* splits = all->find("splits"); splits && splits->list())
    for (const Value& split : *splits->list())
      if (split.text() && out.splits_.size() < kMostSplits) out.splits_.insert(*split.text());
  if (const Value* tars = all->find("next_tars"); tars && tars->integer() && *tars->integer() > 0)
    out.next_tars_ = static_cast<uint64_t>(*tars->integer());
  if (const Value* suffixes = all->find("suffixes"); suffixes && suffixes->list())
    for (const Value& suffix : *suffixes->list())
      if (suffix.text() && out.suffixes_.size() < kMostSuffixes) out.suffixes_.insert(*suffix.text());
  return out;
}

std::vector<std::string> PassedOver::notes(const std::vector<std::string>& first, bool chosen) const {
  std::vector<std::string> out;
  const auto members = [](const Group& group) {
    const std::string name = in_quotes(group.name);
    return group.count == 1 ? "the member " + name + " is"
                            : std::to_string(group.count) + " members (the first is " + name + ") are";
  };
  if (links_.count > 0)
    out.push_back(members(links_) + (links_.count == 1 ? " a link and is" : " links and are") +
                  " left out; tar --dereference --hard-dereference packs the files instead");
  if (without_suffix_.count > 0)
    out.push_back(members(without_suffix_) +
                  " left out for want of a suffix; the members of a sample are called KEY.SUFFIX");
  std::string splits;
  for (const std::string& split : splits_) splits += (splits.empty() ? "" : ", ") + Value(split).dump();
  if (splits_.size() > 1)
    out.push_back("the names of the samples are those of several splits, " + splits +
                  ", and all are read as one data set; filter(lambda s: s[\"__key__\"].startswith(" +
                  Value(*splits_.begin()).dump() + "), python=True) reads one of them");
  if (next_tars_ > 0)
    out.push_back("behind the end of a tar another one follows, which is left out" +
                  (next_tars_ == 1 ? std::string() : " (" + std::to_string(next_tars_) + " tars)") +
                  "; tar --concatenate joins tars, cat does not");
  std::string others, fields;
  size_t shown = 0;
  for (const std::string& suffix : first) fields += (fields.empty() ? "\"" : ", \"") + suffix + "\"";
  for (const std::string& suffix : suffixes_) {
    if (std::ranges::find(first, suffix) != first.end() || shown++ >= kShownSuffixes) continue;
    others += (others.empty() ? "" : ", ") + in_quotes(suffix);
    fields += (fields.empty() ? "\"" : ", \"") + suffix + "\"";
  }
  if (!others.empty() && !chosen)
    out.push_back("members that the first sample lacks are left out: " + others +
                  (shown > kShownSuffixes ? ", …" : "") + "; fields=[" + fields +
                  "] reads them, with missing=\"empty\" if not all samples have them");
  return out;
}

}  // namespace headrace
