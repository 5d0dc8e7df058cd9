// Path patterns: "train-?????-of-01024", "{train,val}/part-{000..127}.tar".
//
// `*` is any string within a name, `?` one character, `[a-c]` and `[!a-c]` a character in or not in the set;
// `**` as a whole part of a path is any number of folders, or all files below if it is last. None of them
// matches a dot at the start of a name. Braces are expanded first: {a,b} to each of its parts, {08..12} to
// each of its numbers, zero-padded like its ends. Bytes are compared, independent of the locale. Any thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/io/store.h"

namespace headrace {

inline constexpr size_t kMostExpanded = 1'000'000;  // names per pattern

bool is_pattern(std::string_view text);  // contains any of * ? [ {
// Whether one part of a path, without slashes, matches a pattern without braces and slashes.
bool matches(std::string_view name, std::string_view pattern);
// The same for whole paths.
bool matches_path(std::string_view path, std::string_view pattern);
// The pattern with its braces expanded, in the order of the pattern; a brace that is not closed is literal.
Result<std::vector<std::string>> expand_braces(std::string_view pattern);
// The files that match a pattern, sorted by bytes, each once; at least one, or `not_found`. A path that
// exists is returned as it is, whatever characters it contains.
Result<std::vector<std::string>> expand(Store& store, const std::string& pattern);

}  // namespace headrace
