// Wraps graph/order_kinds.h: verbs over several datasets, or with a column of numbers alongside the data.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "python/src/base/errors.h"
#include "python/src/base/module.h"
#include "python/src/base/text.h"

namespace headrace::python {
namespace {

NodeHandle node_of(Kind kind, const std::vector<NodeHandle>& inputs, const std::string& at) {
  std::vector<NodePtr> nodes;
  for (const NodeHandle& input : inputs) nodes.push_back(input.node);
  return {unwrap(make_node(std::move(kind), std::move(nodes), at))};
}

MixStop stop_of(const std::string& name, const std::string& verb) {
  std::string known;
  for (size_t i = 0; i < std::size(kStops); ++i) {
    if (name == kStops[i]) return static_cast<MixStop>(i);
    known += (i == 0 ? "'" : ", '") + std::string(kStops[i]) + "'";
  }
  check(invalid(verb + ": stop must be one of " + known + ", got '" + name + "'"));
  return {};
}

NodeHandle mix(const std::vector<NodeHandle>& inputs,
               const std::vector<std::pair<uint64_t, std::vector<double>>>& schedule, uint64_t seed,
               const std::string& stop, const std::string& at) {
  Mix kind;
  for (const auto& [from, weights] : schedule) kind.schedule.push_back({from, weights});
  kind.seed = seed, kind.stop = stop_of(stop, "mix");
  return node_of(std::move(kind), inputs, at);
}

}  // namespace

void bind_joins(nb::module_& m) {
  const auto in = nb::arg("node");
  const auto inputs = nb::arg("inputs");
  const auto at = nb::arg("at");
  m.def(
      "zip",
      [](const std::vector<NodeHandle>& inputs, const std::string& structure, uint32_t ids,
         const std::string& at) { return node_of(Zip{structure, ids}, inputs, at); },
      inputs, nb::arg("structure"), nb::arg("ids"), at);
  m.def("mix", &mix, inputs, nb::arg("schedule"), nb::arg("seed"), nb::arg("stop"), at);
  m.def(
      "choose",
      [](const std::vector<NodeHandle>& inputs, const std::string& stop, const std::string& at) {
        return node_of(Choose{stop_of(stop, "choose")}, inputs, at);
      },
      inputs, nb::arg("stop"), at, "The last input holds the choices.");
  m.def(
      "window",
      [](const NodeHandle& n, uint64_t size, uint64_t shift, uint64_t stride, bool drop_last, bool ragged,
         const std::string& at) { return node_of(Window{size, shift, stride, drop_last, ragged}, {n}, at); },
      in, nb::arg("size"), nb::arg("shift"), nb::arg("stride"), nb::arg("drop_last"), nb::arg("ragged"), at);
  m.def(
      "sample",
      [](const NodeHandle& n, const NodeHandle& weights, uint64_t seed, bool replacement,
         std::optional<uint64_t> num,
         const std::string& at) { return node_of(Draw{seed, replacement, num}, {n, weights}, at); },
      in, nb::arg("weights"), nb::arg("seed"), nb::arg("replacement"), nb::arg("num").none(), at);
  m.def(
      "sort_by",
      [](const NodeHandle& n, const NodeHandle& keys, bool descending, const std::string& at) {
        return node_of(SortBy{descending}, {n, keys}, at);
      },
      in, nb::arg("keys"), nb::arg("descending"), at);
}

}  // namespace headrace::python
