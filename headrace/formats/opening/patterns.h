// Patterns of paths: "train-?????-of-01024", "{train,val}/part-{000..127}.tar".
//
// `*` is any text within a name, `?` one character, `[a-c]` and `[!a-c]` one of some; `**`, as a whole part
// of a path, is any number of folders, or all files below when it is the last. None of them matches a dot at
// the beginning of a name. Braces are written out before anything is looked for: {a,b} each of its parts,
// {08..12} each of its numbers with the zeros of its ends. Bytes are compared, not characters of a language.
// Any thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/io/store.h"

namespace headrace {

inline constexpr size_t kMostExpanded = 1'000'000;  // names, of one pattern

bool is_pattern(std::string_view text);  // holds any of * ? [ {
// Whether one part of a path, without slashes, is what a pattern without braces and slashes says.
bool matches(std::string_view name, std::string_view pattern);
// The same of whole paths.
bool matches_path(std::string_view path, std::string_view pattern);
// The pattern's braces written out, in the order of the pattern; what is no closed brace stands for itself.
Result<std::vector<std::string>> expand_braces(std::string_view pattern);
// The files that a pattern names, sorted by bytes, each once; at least one, or `not_found`. A path that
// exists is its own only answer, whatever characters it holds.
Result<std::vector<std::string>> expand(Store& store, const std::string& pattern);

}  // namespace headrace
