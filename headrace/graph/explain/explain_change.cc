#include <algorithm>

#include "headrace/graph/explain/explain.h"

namespace headrace {
namespace {

std::string marked(char mark, const std::string& node) {
  std::string out;
  for (size_t begin = 0; begin < node.size();) {
    const size_t end = node.find('\n', begin) + 1;  // a node's text ends with one
    out += std::string("  ") + mark + " " + node.substr(begin, end - begin);
    begin = end;
  }
  return out;
}

}  // namespace

// By their longest common subsequence: nodes that stay in place are not listed.
std::string explain_change(const NodePtr& before, const NodePtr& after) {
  const std::vector<std::string> old = explain_nodes(before), made = explain_nodes(after);
  std::vector<std::vector<size_t>> common(old.size() + 1, std::vector<size_t>(made.size() + 1, 0));
  for (size_t i = old.size(); i-- > 0;)
    for (size_t k = made.size(); k-- > 0;)
      common[i][k] =
          old[i] == made[k] ? common[i + 1][k + 1] + 1 : std::max(common[i + 1][k], common[i][k + 1]);
  std::string out;
  size_t i = 0, k = 0;
  while (i < old.size() || k < made.size()) {
    if (i < old.size() && k < made.size() && old[i] == made[k])
      ++i, ++k;
    else if (k == made.size() || (i < old.size() && common[i + 1][k] >= common[i][k + 1]))
      out += marked('-', old[i++]);
    else
      out += marked('+', made[k++]);
  }
  return out;
}

}  // namespace headrace
