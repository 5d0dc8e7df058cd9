#include "headrace/formats/opening/patterns.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "headrace/core/text/text.h"
#include "headrace/io/look_up.h"

namespace headrace {
namespace {

constexpr size_t kShownNames = 3;  // in a message

Status too_many(std::string_view pattern) {
  return Status(
             Code::exhausted,
             {.expected = "a pattern of at most " + std::to_string(kMostExpanded) + " files", .got = "more"})
      .in_file(pattern);
}

// The position of the brace that closes the one at `open`, or npos.
size_t closing(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (depth == 0) return i;
  }
  return std::string_view::npos;
}

std::optional<uint64_t> number(std::string_view digits) {
  uint64_t out = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return out;
}

// "08..11": 08, 09, 10, 11. Empty if it is not a range.
Result<std::vector<std::string>> range_of(std::string_view inside) {
  std::vector<std::string> out;
  const size_t dots = inside.find("..");
  if (dots == std::string_view::npos) return out;
  const std::string_view first = inside.substr(0, dots), last = inside.substr(dots + 2);
  const auto from = number(first), to = number(last);
  if (!from || !to) return out;
  if ((*from > *to ? *from - *to : *to - *from) >= kMostExpanded) return too_many(inside);
  const bool padded =
      (first.size() > 1 && first.starts_with('0')) || (last.size() > 1 && last.starts_with('0'));
  const size_t width = padded ? std::max(first.size(), last.size()) : 0;
  for (uint64_t n = *from;; *from <= *to ? ++n : --n) {
    std::string digits = std::to_string(n);
    out.push_back(std::string(width - std::min(width, digits.size()), '0') + digits);
    if (n == *to) return out;
  }
}

// "a,{b,c}": a and {b,c}. Empty for a single part.
std::vector<std::string> parts_of(std::string_view inside) {
  std::vector<std::string> out;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= inside.size(); ++i) {
    if (i == inside.size() || (inside[i] == ',' && depth == 0)) {
      out.emplace_back(inside.substr(begin, i - begin));
      begin = i + 1;
    } else {
      depth += inside[i] == '{' ? 1 : inside[i] == '}' ? -1 : 0;
    }
  }
  if (out.size() == 1) out.clear();
  return out;
}

// Whether c is in the "[...]" at the start of `pattern`; `length`: that of the brackets, 0 if they are not
// closed.
bool in_brackets(char c, std::string_view pattern, size_t& length) {
  const bool negated = pattern.size() > 1 && (pattern[1] == '!' || pattern[1] == '^');
  const size_t first = negated ? 2 : 1;
  const size_t close = pattern.find(']', first + 1);  // a closing bracket in first place is literal
  length = close == std::string_view::npos ? 0 : close + 1;
  if (length == 0) return false;
  bool found = false;
  const auto byte = [](char b) { return static_cast<unsigned char>(b); };
  for (size_t i = first; i < close; ++i) {
    if (i + 2 < close && pattern[i + 1] == '-') {
      found = found || (byte(pattern[i]) <= byte(c) && byte(c) <= byte(pattern[i + 2]));
      i += 2;
    } else {
      found = found || pattern[i] == c;
    }
  }
  return found != negated;
}

// The length of the start of `pattern` that matches the one character `c`, or 0.
size_t matched(char c, std::string_view pattern) {
  if (pattern.empty() || pattern[0] == '*') return 0;
  if (pattern[0] == '?') return 1;
  if (pattern[0] == '[') {
    size_t length = 0;
    if (in_brackets(c, pattern, length)) return length;
    if (length > 0) return 0;
  }
  return pattern[0] == c ? 1 : 0;
}

bool has_wildcard(std::string_view part) { return part.find_first_of("*?[") != std::string_view::npos; }

std::string without_slash(const std::string& folder) {
  const size_t last = folder.find_last_not_of('/');
  if (last == std::string::npos) return folder.empty() ? "." : "/";
  return folder.substr(0, last + 1);
}

// Whether a path matches a pattern, part by part, where "**" is any number of folders.
bool matches_parts(std::string_view path, std::string_view pattern) {
  const size_t slash = pattern.find('/'), end = path.find('/');
  const bool is_last = slash == std::string_view::npos, is_name = end == std::string_view::npos;
  const std::string_view part = pattern.substr(0, slash);
  if (part == "**") {
    if (matches_parts(path, is_last ? "*" : pattern.substr(slash + 1))) return true;
    return !is_name && !path.starts_with('.') && matches_parts(path.substr(end + 1), pattern);
  }
  if (is_last != is_name || !matches(path.substr(0, end), part)) return false;
  return is_last || matches_parts(path.substr(end + 1), pattern.substr(slash + 1));
}

// What it means that a folder cannot be listed: nothing, if only a part of the pattern implies it and it is
// not there.
Status not_listed(Store& store, const std::string& folder, const Status& why, bool is_listed) {
  if (is_absent(why) && !is_listed) return {};
  if (store.leaves_out(folder, why)) return {};
  return is_listed || is_absent(why) ? cannot_examine(why, folder) : why;
}

// The files below `folder` that match `rest`, which begins with "**".
Status descend_all(Store& store, const std::string& folder, std::string_view rest, bool is_listed,
                   std::vector<std::string>& out) {
  const std::string path = without_slash(folder);
  const auto listing = store.list(path);
  if (!listing.ok()) return not_listed(store, path, listing.status(), is_listed);
  for (size_t i = 0; i < listing->files.size(); ++i) {
    if (!matches_parts(listing->files[i], rest)) continue;
    if (out.size() >= kMostExpanded) return too_many(rest);
    out.push_back(folder + std::string(listing->files[i]));
  }
  return {};
}

// The paths below `folder` ("" is the working directory; else it ends with a slash) that match the rest of a
// pattern.
// `is_listed`: whether another folder lists this one, so that it is not absent.
Status descend(Store& store, const std::string& folder, std::string_view rest, bool is_listed,
               std::vector<std::string>& out) {
  const size_t slash = rest.find('/');
  const bool is_last = slash == std::string_view::npos;
  const std::string_view part = rest.substr(0, slash);
  const std::string_view below = is_last ? std::string_view() : rest.substr(slash + 1);
  if (part == "**") return descend_all(store, folder, rest, is_listed, out);
  if (!has_wildcard(part)) {
    const std::string path = folder + std::string(part);
    if (!is_last) return descend(store, path + "/", below, false, out);
    HEADRACE_ASSIGN(const bool is_there, has_file(store, path));
    if (is_there) out.push_back(path);
    return {};
  }
  const std::string here = without_slash(folder);
  auto entries = store.entries_readable(here);
  // What the pattern does not match need not be readable.
  if (entries.ok() &&
      std::ranges::any_of(entries->unread, [&](const auto& one) { return matches(one.path, part); }))
    entries = store.entries(here);
  if (!entries.ok()) return not_listed(store, here, entries.status(), is_listed);
  const Names& names = is_last ? entries->files : entries->folders;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!matches(names[i], part)) continue;
    const std::string path = folder + std::string(names[i]);
    if (out.size() >= kMostExpanded) return too_many(rest);
    if (is_last)
      out.push_back(path);
    else
      HEADRACE_TRY(descend(store, path + "/", below, true, out));
  }
  // Archives are folders, too. Each has to be opened, so the part needs an ending: "*.zip", not "*".
  if (is_last || part.find('.') == std::string_view::npos) return {};
  for (size_t i = 0; i < entries->files.size(); ++i) {
    const std::string path = folder + std::string(entries->files[i]) + "/";
    if (!matches(entries->files[i], part)) continue;
    HEADRACE_ASSIGN(const bool is_archive, has_folder(store, path));
    if (is_archive) HEADRACE_TRY(descend(store, path, below, true, out));
  }
  return {};
}

// For a pattern without matches: the names in its deepest existing folder.
std::string what_is_there(Store& store, std::string_view pattern) {
  const size_t wildcard = pattern.find_first_of("*?[{");
  const size_t slash = pattern.rfind('/', wildcard);
  const std::string folder =
      slash == std::string_view::npos ? "." : std::string(pattern.substr(0, slash + 1));
  const auto entries = store.entries_readable(without_slash(folder));
  if (!entries.ok())
    return is_absent(entries.status()) ? "; there is no folder " + in_quotes(folder)
                                       : "; " + std::string(entries.status().text());
  std::string out = "; " + in_quotes(folder) + " has " + std::to_string(entries->files.size()) + " files";
  for (size_t i = 0; i < std::min(entries->files.size(), kShownNames); ++i)
    out += (i == 0 ? ": " : ", ") + in_quotes(entries->files[i]);
  if (entries->files.size() > kShownNames) out += ", …";
  out += " and " + std::to_string(entries->folders.size()) + " folders";
  for (size_t i = 0; i < std::min(entries->folders.size(), kShownNames); ++i)
    out += (i == 0 ? ": " : ", ") + in_quotes(entries->folders[i]);
  return out;
}

}  // namespace

bool is_pattern(std::string_view text) { return text.find_first_of("*?[{") != std::string_view::npos; }

bool matches(std::string_view name, std::string_view pattern) {
  if (name.starts_with('.') && !pattern.starts_with('.')) return false;
  size_t n = 0, p = 0;
  size_t star = std::string_view::npos, retry = 0;  // the last star, and the end of what it matched
  while (n < name.size()) {
    if (const size_t length = matched(name[n], pattern.substr(p)); length > 0) {
      ++n, p += length;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++, retry = n;
    } else if (star != std::string_view::npos) {
      p = star + 1, n = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool matches_path(std::string_view path, std::string_view pattern) { return matches_parts(path, pattern); }

Result<std::vector<std::string>> expand_braces(std::string_view pattern) {
  std::vector<std::string> choices;
  size_t open = pattern.find('{'), close = std::string_view::npos;
  for (; open != std::string_view::npos; open = pattern.find('{', open + 1)) {
    close = closing(pattern, open);
    if (close == std::string_view::npos) continue;
    const std::string_view inside = pattern.substr(open + 1, close - open - 1);
    HEADRACE_ASSIGN(choices, range_of(inside));
    if (choices.empty()) choices = parts_of(inside);
    if (!choices.empty()) break;
  }
  if (choices.empty()) return std::vector<std::string>{std::string(pattern)};
  const std::string head(pattern.substr(0, open));
  HEADRACE_ASSIGN(const std::vector<std::string> tails, expand_braces(pattern.substr(close + 1)));
  if (choices.size() > kMostExpanded / tails.size()) return too_many(pattern);
  std::vector<std::string> out;
  for (const std::string& choice : choices) {
    HEADRACE_ASSIGN(const std::vector<std::string> inner, expand_braces(choice));
    if (inner.size() > kMostExpanded / tails.size() ||
        out.size() + inner.size() * tails.size() > kMostExpanded)
      return too_many(pattern);
    for (const std::string& middle : inner)
      for (const std::string& tail : tails) out.push_back(head + middle + tail);
  }
  return out;
}

Result<std::vector<std::string>> expand(Store& store, const std::string& pattern) {
  if (!is_pattern(pattern)) return std::vector<std::string>{pattern};
  HEADRACE_ASSIGN(const auto of_this_name, find(store, pattern));
  if (of_this_name) return std::vector<std::string>{pattern};
  HEADRACE_ASSIGN(const std::vector<std::string> globs, expand_braces(pattern));
  std::vector<std::string> out, missing;
  for (const std::string& glob : globs) {
    const size_t before = out.size();
    const size_t root = glob.find_first_not_of('/');
    if (root == std::string::npos) continue;
    HEADRACE_TRY(descend(store, glob.substr(0, root), std::string_view(glob).substr(root), false, out));
    // Braces list names one by one, so a missing one is an error; a glob takes whatever exists.
    if (out.size() == before) missing.push_back(glob);
  }
  const auto not_found = [&](const std::string& text) {
    return Status(Code::not_found, in_quotes(pattern) + " " + text + what_is_there(store, pattern))
        .with({.file = pattern})
        .refused(ENOENT, pattern);
  };
  if (out.empty()) return not_found("matches no file");
  if (!missing.empty())
    return not_found("expands to " + std::to_string(globs.size()) + " names, but " +
                     std::to_string(missing.size()) + " of them match no file, the first is " +
                     in_quotes(missing[0]));
  std::ranges::sort(out);
  const auto repeated = std::ranges::unique(out);
  out.erase(repeated.begin(), repeated.end());
  return out;
}

}  // namespace headrace
