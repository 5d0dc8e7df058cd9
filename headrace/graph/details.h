// Text of programs and sources, as explain() and other outputs show them.
#pragma once
#include <string>
#include <vector>

#include "headrace/graph/program.h"

namespace headrace {

inline constexpr size_t kColumns = 100;  // of lines

// Items separated by commas, on as many lines as needed; lines after the first begin with `indent` spaces.
// `at`: the column where the first line begins.
std::string joined(const std::vector<std::string>& items, size_t at, size_t indent);

// Its operators, each with the parameters that differ from their defaults.
std::vector<std::string> step_texts(const Program& program);
std::string steps_text(const Program& program);

// The format or generator, with its options.
std::string source_text(const Value& description);

template <class T> std::string list_text(const std::vector<T>& numbers) {
  std::string out;
  for (const T n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return "[" + out + "]";
}

}  // namespace headrace
