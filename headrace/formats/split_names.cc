#include "headrace/formats/split_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include "headrace/core/text/text.h"
#include "headrace/formats/shard_names.h"

namespace headrace {
namespace {

// Those of Hugging Face's datasets, of MNIST, and "devel".
constexpr std::array<std::pair<std::string_view, SplitKind>, 20> kWords{
    {{"train", SplitKind::train},         {"training", SplitKind::train},
     {"trainval", SplitKind::train},      {"val", SplitKind::validation},
     {"valid", SplitKind::validation},    {"validation", SplitKind::validation},
     {"dev", SplitKind::validation},      {"devel", SplitKind::validation},
     {"test", SplitKind::test},           {"devtest", SplitKind::test},
     {"testing", SplitKind::test},        {"eval", SplitKind::test},
     {"evaluation", SplitKind::test},     {"t10k", SplitKind::test},
     {"holdout", SplitKind::test},        {"heldout", SplitKind::test},
     {"trn", SplitKind::train},           {"vld", SplitKind::validation},
     {"validate", SplitKind::validation}, {"minival", SplitKind::validation}}};
constexpr std::array<std::string_view, 8> kOtherWords{"extra",        "unlabeled", "unlabelled", "unsup",
                                                      "unsupervised", "pred",      "query",      "gallery"};
// Two kinds: it stands for itself.
constexpr std::string_view kBoth = "trainval";
// They say nothing about which data set it is.
constexpr std::array<std::string_view, 6> kFillers{"set", "sets", "data", "dataset", "split", "splits"};

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_number(char c) { return c >= '0' && c <= '9'; }

std::optional<SplitKind> kind_of_word(std::string_view word) {
  std::string lower = lower_case(word);
  const auto find = [&]() -> std::optional<SplitKind> {
    for (const auto& [name, kind] : kWords)
      if (lower == name) return kind;
    return std::nullopt;
  };
  if (auto kind = find()) return kind;
  for (const std::string_view ending : {"set", "data"}) {  // "trainset"
    if (!lower.ends_with(ending)) continue;
    lower.resize(lower.size() - ending.size());
    return find();
  }
  return std::nullopt;
}

struct Word {
  size_t begin = 0, end = 0;
};

// The end of the word that begins at a letter: before a character that is none, or a capital after a small
// letter, as in "trainImages". "t10k" is a word.
size_t end_of_word(std::string_view text, size_t at) {
  constexpr std::string_view kT10k = "t10k";
  const bool is_t10k = lower_case(text.substr(at, kT10k.size())) == kT10k;
  size_t end = is_t10k ? at + kT10k.size() : at;
  const auto is_letter = [&](size_t i) {
    return i < text.size() && (is_lower(text[i]) || is_upper(text[i]));
  };
  while (is_letter(end)) {
    if (end > at && is_lower(text[end - 1]) && is_upper(text[end])) break;
    // "KDDTrain" and "VOCtrainval": capitals, then a word.
    if (end >= at + 2 && is_upper(text[end - 1]) && is_upper(text[end - 2])) {
      size_t behind = end + 1;
      while (behind < text.size() && is_lower(text[behind])) ++behind;
      if (behind > end + 1 && kind_of_word(text.substr(end, behind - end))) break;
    }
    ++end;
  }
  return end;
}

// What belongs to the word behind it: a year ("train2017"); of a folder, any number, and a single capital
// ("test1", "trainA").
size_t end_of_name(std::string_view text, size_t end, bool is_folder) {
  size_t digits = end;
  while (digits < text.size() && is_number(text[digits])) ++digits;
  const bool is_year = digits - end == 4 && (text.substr(end, 2) == "19" || text.substr(end, 2) == "20");
  const bool ends_there = digits == text.size() || !(is_lower(text[digits]) || is_upper(text[digits]));
  if (digits > end) return ends_there && (is_year || is_folder) ? digits : end;
  const bool is_letter = is_folder && end < text.size() && is_upper(text[end]) &&
                         (end + 1 == text.size() || !(is_lower(text[end + 1]) || is_upper(text[end + 1])));
  return is_letter ? end + 1 : end;
}

// The words of the rest, joined by "_"; numbers and words without meaning are left out.
std::string rest_of(std::string_view before, std::string_view behind) {
  std::string out;
  const auto add_words = [&out](std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      if (!is_lower(text[at]) && !is_upper(text[at]) && static_cast<signed char>(text[at]) >= 0) {
        ++at;
        continue;
      }
      size_t end = std::max(end_of_word(text, at), at + 1);
      while (end < text.size() && static_cast<signed char>(text[end]) < 0) ++end;
      const std::string word = lower_case(text.substr(at, end - at));
      if (std::ranges::find(kFillers, word) == kFillers.end()) out += (out.empty() ? "" : "_") + word;
      at = end;
    }
  };
  add_words(before);
  out += out.empty() ? "*" : "_*";
  add_words(behind);
  return out;
}

std::optional<SplitName> find_word(std::string_view text, bool is_folder) {
  std::optional<SplitName> out;
  std::optional<Word> other;
  for (size_t at = 0; at < text.size();) {
    if (!is_lower(text[at]) && !is_upper(text[at])) {
      ++at;
      continue;
    }
    const size_t end = end_of_word(text, at);
    if (const auto kind = kind_of_word(text.substr(at, end - at))) {
      if (out && out->kind != *kind) return std::nullopt;  // "train_test_split"
      const size_t behind = end_of_name(text, end, is_folder);
      std::string word(text.substr(at, behind - at));
      for (const std::string_view filler : {"set", "data"})
        if (behind == end && lower_case(word).ends_with(filler)) word.resize(word.size() - filler.size());
      out = SplitName{*kind, std::move(word), rest_of(text.substr(0, at), text.substr(behind))};
      if (behind > end && is_upper(text[end]))  // "trainA" and "trainB" are two data sets
        out->rest = rest_of(text.substr(0, at), text.substr(end));
    } else if (std::ranges::find(kOtherWords, lower_case(text.substr(at, end - at))) != kOtherWords.end()) {
      other = Word{at, end};
    }
    at = end;
  }
  if (out && other) return SplitName{SplitKind::other, std::string(text), "*"};  // "train_extra"
  if (out || !other) return out;
  const std::string_view word = text.substr(other->begin, other->end - other->begin);
  return SplitName{SplitKind::other, std::string(word),
                   rest_of(text.substr(0, other->begin), text.substr(other->end))};
}

// An extension, and that of a compression behind it: "train.jsonl.gz", "train.en.txt", but not "v1.0-train".
std::string_view without_extensions(std::string_view text, bool is_folder) {
  constexpr std::array<std::string_view, 7> packed{".gz", ".zlib", ".zz", ".zst", ".lz4", ".bz2", ".xz"};
  for (int i = 0; i < 2; ++i) {
    const size_t dot = text.rfind('.');
    if (dot == std::string_view::npos || dot == 0 || find_word(text.substr(dot + 1), is_folder)) break;
    const bool is_packed = std::ranges::find(packed, lower_case(text.substr(dot))) != packed.end();
    text = text.substr(0, dot);
    if (!is_packed) break;
  }
  return text;
}

}  // namespace

std::optional<SplitName> split_name(std::string_view name, bool is_folder) {
  if (const size_t sign = name.find('='); is_folder && sign != std::string_view::npos) {
    // A partition: the values of other columns may be words of splits, too.
    constexpr std::array<std::string_view, 5> keys{"split", "set", "subset", "fold", "partition"};
    if (std::ranges::find(keys, lower_case(name.substr(0, sign))) == keys.end()) return std::nullopt;
  }
  const std::string unnumbered = without_number(std::string(name));
  return find_word(without_extensions(unnumbered, is_folder), is_folder);
}

std::vector<SplitName> joined_split_names(std::string_view name, bool is_folder) {
  const std::string unnumbered = without_number(std::string(name));
  std::string_view stem = without_extensions(unnumbered, is_folder);
  if (is_folder && name.find('=') != std::string_view::npos) return {};  // a partition
  while (!stem.empty() && (is_number(stem.back()) || stem.back() == '-' || stem.back() == '_'))
    stem.remove_suffix(1);
  const std::string lower = lower_case(stem);
  std::vector<SplitName> out;
  for (const auto& [word, kind] : kWords) {
    if (lower.size() < word.size() + 2) continue;  // one letter before it is more likely another word
    const size_t begin = lower.size() - word.size();
    if (lower.ends_with(word)) out.push_back({kind, std::string(word), lower.substr(0, begin) + "*"});
    if (lower.starts_with(word)) out.push_back({kind, std::string(word), "*" + lower.substr(word.size())});
  }
  return out;
}

std::vector<KnownSplit> known_kinds(const std::vector<std::string>& names) {
  std::vector<KnownSplit> out;
  for (const std::string& name : names) {
    const auto found = split_name(name, true);
    out.push_back({name, found && found->is_bare() ? found->kind : SplitKind::other});
  }
  return out;
}

std::optional<size_t> meant_split(std::span<const KnownSplit> all, std::string_view word) {
  const std::string lower = lower_case(word);
  for (const bool is_exact : {true, false})
    for (size_t i = 0; i < all.size(); ++i)
      if (is_exact ? all[i].name == word : lower_case(all[i].name) == lower) return i;
  const auto kind = split_kind(word);
  std::optional<size_t> out;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!kind || all[i].kind != *kind || lower_case(all[i].name) == kBoth) continue;
    if (out) return std::nullopt;
    out = i;
  }
  return out;
}

Status check_named_once(const Value::List& wanted, std::span<const std::string> chosen) {
  for (size_t i = 0; i < chosen.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (chosen[i] == chosen[j]) return invalid(wanted[i].dump() + " is given twice").in_option("split");
  return {};
}

std::optional<SplitKind> split_kind(std::string_view word) {
  const auto is_letter = [](char c) { return is_lower(c) || is_upper(c); };
  const bool is_word = std::ranges::all_of(word, is_letter) || word == "t10k";
  return is_word && lower_case(word) != kBoth ? kind_of_word(word) : std::nullopt;
}

std::string split_stem(std::string_view name) {
  const std::string unnumbered = without_number(std::string(name));
  std::string_view out = without_extensions(unnumbered, false);
  while (!out.empty() && (is_number(out.back()) || out.back() == '-' || out.back() == '_'))
    out.remove_suffix(1);
  return std::string(out);
}

}  // namespace headrace
