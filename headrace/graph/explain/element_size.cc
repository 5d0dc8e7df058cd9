#include "headrace/graph/explain/element_size.h"

#include <algorithm>

namespace headrace {
namespace {

bool is_elementwise(const Program& program) {
  return std::ranges::all_of(program.steps, [](const Call& call) { return call.op->elementwise(); });
}

// From the shapes alone; `rows` stands for the first dimension of every field.
std::optional<double> by_shapes(const Schema& schema, std::optional<uint64_t> rows) {
  double bytes = 0;
  for (const TensorSpec& spec : schema.specs) {
    TensorSpec whole = spec;
    if (rows && spec.shape.rank() > 0 && spec.shape[0] == kAny)
      whole.shape.set(0, static_cast<int64_t>(std::min<uint64_t>(*rows, uint64_t{1} << 40)));
    if (!whole.is_static()) return std::nullopt;
    bytes += static_cast<double>(whole.size_bytes());
  }
  return bytes;
}

std::optional<ElementSize> stacked(uint64_t rows, const ElementSize& row) {
  return ElementSize{static_cast<double>(rows) * row.bytes, row.looked_at};
}

std::optional<ElementSize> by_inputs(const Node& node, const ElementSizes& sizes) {
  std::vector<ElementSize> below;
  for (const NodePtr& input : node.inputs) {
    const auto found = sizes.find(input.get());
    if (found == sizes.end()) return std::nullopt;
    below.push_back(found->second);
  }
  if (facts_of(node).hands_on) return below[0];
  if (const auto* batch = node.as<Batch>(); batch && !batch->padding) return stacked(batch->size, below[0]);
  if (const auto* window = node.as<Window>(); window && !window->ragged)
    return stacked(window->size, below[0]);
  if (!node.as<Zip>()) return std::nullopt;
  ElementSize sum;
  for (const ElementSize& one : below) {
    sum.bytes += one.bytes;
    if (one.looked_at > 0)
      sum.looked_at = sum.looked_at > 0 ? std::min(sum.looked_at, one.looked_at) : one.looked_at;
  }
  return sum;
}

void add(const NodePtr& node, const MeasureElements& measure, ElementSizes& out) {
  for (const NodePtr& input : node->inputs) add(input, measure, out);
  std::optional<ElementSize> size;
  if (const auto bytes = by_shapes(node->schema, rows_of_element(*node))) size = ElementSize{*bytes, 0};
  if (!size) size = by_inputs(*node, out);
  if (!size && measure) size = measure(node);
  if (size) out[node.get()] = *size;
}

}  // namespace

std::optional<uint64_t> rows_of_element(const Node& node) {
  if (const auto* batch = node.as<Batch>()) return batch->size;
  if (const auto* window = node.as<Window>()) return window->size;
  const auto* map = node.as<Map>();
  if (facts_of(node).hands_on || (map && is_elementwise(map->program))) return rows_of_element(*node.input());
  return std::nullopt;
}

ElementSizes element_sizes(const NodePtr& root, const MeasureElements& measure) {
  ElementSizes out;
  add(root, measure, out);
  return out;
}

}  // namespace headrace
