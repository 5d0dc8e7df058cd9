#include "headrace/graph/explain/order_hints.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "headrace/graph/walk_nodes.h"

namespace headrace {
namespace {

constexpr double kMuch = 0.5;  // an operator that keeps at most this share of the values shrinks them
constexpr double kMuchOfImage = 0.25;
constexpr double kWorthSaying = 0.05, kMostOfWork = 0.25;  // shares of the CPU time of all operators

std::string with_line(const Call& call) {
  return std::string(call.op->name()) + (call.made_at.empty() ? "" : " (" + call.made_at + ")");
}

std::string amount(double bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB"};
  int unit = 0;
  for (; bytes >= 1000 && unit < 3; ++unit) bytes /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %s", bytes, units[unit]);
  return text;
}

bool same_dimensions(const Shape& a, const Shape& b) {
  std::vector<int64_t> of_a(a.dims().begin(), a.dims().end()), of_b(b.dims().begin(), b.dims().end());
  std::ranges::sort(of_a);
  std::ranges::sort(of_b);
  return of_a == of_b;
}

// The chain of maps below `top`, up to the first verb that does more than move indices.
Program program_from(const Node& top) {
  std::vector<const Program*> programs;
  for (const Node* node = &top; node->as<Map>() || moves_indices(*node); node = node->input().get())
    if (const auto* map = node->as<Map>()) programs.push_back(&map->program);
  Program out = *programs.back();
  for (size_t i = programs.size() - 1; i-- > 0;) out = compose(out, *programs[i]);
  return out;
}

class Hints {
 public:
  Hints(const Program& program, std::span<const OperatorCost> measured, std::vector<std::string>& out)
      : program_(program), measured_(measured), out_(out) {
    for (const OperatorCost& cost : measured) all_s_ += cost.cpu_s * static_cast<double>(cost.calls);
  }

  void find() {
    for (const Call& call : program_.steps) {
      if (told_.contains(call.first_output)) continue;
      if (works_on_each_value(call)) follow(call);
      if (makes_whole_image(call)) look_at_image(call);
    }
  }

 private:
  const TensorSpec& spec(int value) const { return program_.specs[static_cast<size_t>(value)]; }

  // Work proportional to the number of values, with as many values out as in.
  bool works_on_each_value(const Call& call) const {
    const AnyOp& op = *call.op;
    if (op.phase() != Phase::cpu || call.outputs != 1 || op.placing() != Placing::none || op.reads_part())
      return false;
    const TensorSpec &in = spec(call.inputs[0]), &out = spec(call.first_output);
    if (is_text(in.dtype) || in.shape.rank() == 0) return false;
    return op.elementwise() || (in.dtype != out.dtype && same_dimensions(in.shape, out.shape));
  }

  // The only step that uses the value; null when there are several, or when the value is an output.
  const Call* only_reader(int value) const {
    if (std::ranges::find(program_.outputs, value) != program_.outputs.end()) return nullptr;
    const Call* reader = nullptr;
    for (const Call& call : program_.steps) {
      if (std::ranges::find(call.inputs, value) == call.inputs.end()) continue;
      if (reader) return nullptr;
      reader = &call;
    }
    return reader;
  }

  const OperatorCost* cost_of(const Call& call) const {
    if (call.ordinal >= measured_.size() || measured_[call.ordinal].calls == 0) return nullptr;
    return &measured_[call.ordinal];
  }
  // Share of the CPU time of all operators.
  double share_of(const OperatorCost& cost) const {
    return all_s_ > 0 ? cost.cpu_s * static_cast<double>(cost.calls) / all_s_ : 0;
  }
  double values_of(const OperatorCost& cost, int value) const {
    return cost.bytes / static_cast<double>(std::max<size_t>(1, size_of(spec(value).dtype)));
  }

  // The share of the values of `call` that is left after `reader`; 1 where unknown or not less.
  double left_of(const Call& call, const Call& reader, int value) const {
    const OperatorCost *before = cost_of(call), *after = cost_of(reader);
    if (before && after && before->bytes > 0)
      return share_of(*before) < kWorthSaying
                 ? 1
                 : values_of(*after, reader.first_output) / values_of(*before, call.first_output);
    const TensorSpec &in = spec(value), &out = spec(reader.first_output);
    if (in.is_static() && out.is_static() && in.shape.count() > 0)
      return static_cast<double>(out.shape.count()) / static_cast<double>(in.shape.count());
    return reader.op->reads_part() && !in.shape.is_static() ? 0 : 1;  // a crop of a larger image
  }

  // Whether the two may be swapped, as far as dtypes and shapes go.
  bool may_change_places(const Call& call, const Call& reader, int value) const {
    std::vector<TensorSpec> inputs;
    for (const int input : reader.inputs) inputs.push_back(spec(input == value ? call.inputs[0] : input));
    const auto first = reader.op->infer(inputs);
    if (!first.ok()) return false;
    std::vector<TensorSpec> of_call{first->front()};
    for (size_t i = 1; i < call.inputs.size(); ++i) of_call.push_back(spec(call.inputs[i]));
    return call.op->infer(of_call).ok();
  }

  void follow(const Call& call) {
    std::vector<const Call*> works{&call};
    int value = call.first_output;
    while (const Call* reader = only_reader(value)) {
      if (left_of(call, *reader, value) <= kMuch && may_change_places(call, *reader, value))
        return tell(works, *reader);
      const bool only_moves = reader->op->placing() == Placing::moves && !reader->op->reads_part();
      const bool works_too = works_on_each_value(*reader);
      if (reader->outputs != 1 || !(only_moves || works_too)) return;
      if (works_too) works.push_back(reader);
      value = reader->first_output;
    }
  }

  void tell(const std::vector<const Call*>& works, const Call& reader) {
    std::string names;
    for (size_t i = 0; i < works.size(); ++i) {
      names += (i == 0 ? "" : i + 1 == works.size() ? " and " : ", ") + with_line(*works[i]);
      told_.insert(works[i]->first_output);
    }
    const Call& first = *works.front();
    const OperatorCost *before = cost_of(first), *after = cost_of(reader);
    std::string sizes = "only " + spec(reader.first_output).shape.text();
    if (before && after) sizes = amount(after->bytes) + " of " + amount(before->bytes);
    const char* work = works.size() == 1 ? " processes" : " process";
    out_.push_back(names + work + " every value of an element, but " + with_line(reader) + " then keeps " +
                   sizes + "; swap them to do less work");
  }

  // A decode of the whole image that could decode a part.
  bool makes_whole_image(const Call& call) const {
    if (!call.op->makes_part()) return false;
    const auto match = call.op->params().get_text("match");
    return match.ok() && *match == "exact";
  }

  void look_at_image(const Call& call) {
    const Call* reader = only_reader(call.first_output);
    const OperatorCost* before = cost_of(call);
    const OperatorCost* after = reader ? cost_of(*reader) : nullptr;
    if (!after || !before || reader->op->placing() != Placing::resamples) return;
    if (after->bytes > kMuchOfImage * before->bytes || share_of(*before) < kMostOfWork) return;
    out_.push_back(
        with_line(call) + " decodes " + amount(before->bytes) + " of pixels per image, which " +
        with_line(*reader) + " reduces to " + amount(after->bytes) +
        "; with match=\"fast\" the two are one step that decodes little more than it needs, with almost the "
        "same values (docs/jpeg.md)");
  }

  const Program& program_;
  std::span<const OperatorCost> measured_;
  std::vector<std::string>& out_;
  double all_s_ = 0;
  std::set<int> told_;
};

// Bytes of a row of these fields; negative where unknown.
double row_bytes(const Schema& schema, const std::vector<bool>& counted) {
  double bytes = 0;
  for (size_t f = 0; f < schema.size(); ++f) {
    if (!counted[f]) continue;
    if (!schema.specs[f].is_static()) return -1;
    bytes += static_cast<double>(schema.specs[f].size_bytes());
  }
  return bytes;
}

// Fields that are gathered into batches and then not used.
void hint_at_batch(const Node& node, std::vector<std::string>& out) {
  const auto* map = node.as<Map>();
  if (!map) return;
  const Node* below = node.input().get();
  while (moves_indices(*below)) below = below->input().get();
  if (!below->as<Batch>()) return;
  const Schema& rows = below->input()->schema;
  std::vector<bool> all(rows.size(), true), unread(rows.size(), true);
  for (const int field : map->program.input_fields)
    if (field >= 0) unread[static_cast<size_t>(field)] = false;
  const double whole = row_bytes(rows, all), left_out = row_bytes(rows, unread);
  if (whole <= 0 || left_out < (1 - kMuch) * whole) return;
  const auto line = [](const Node& one) {
    return std::string(kind_name(one.kind)) + (one.made_at.empty() ? "" : " (at " + one.made_at + ")");
  };
  out.push_back(line(*below) + " gathers " + amount(whole) + " per element, of which " + line(node) +
                " does not use " + amount(left_out) + "; drop those fields with a map before the batch");
}

void collect(const Node& node, bool in_chain, std::span<const OperatorCost> measured,
             std::vector<std::string>& out) {
  const bool chains = node.as<Map>() || moves_indices(node);
  for (const NodePtr& input : node.inputs)
    collect(*input, chains && (in_chain || node.as<Map>()), measured, out);
  hint_at_batch(node, out);
  if (!node.as<Map>() || in_chain) return;
  Hints(program_from(node), measured, out).find();
}

}  // namespace

std::vector<std::string> order_hints(const NodePtr& plan, std::span<const OperatorCost> measured) {
  std::vector<std::string> out;
  collect(*number(plan), false, measured, out);
  return out;
}

}  // namespace headrace
