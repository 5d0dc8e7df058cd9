#include "headrace/graph/passes/planar.h"

#include <algorithm>

#include "headrace/graph/walk_nodes.h"
#include "headrace/ops/decode_resampled.h"
#include "headrace/ops/geometry.h"

namespace headrace {
namespace {

// A value that is a decoded image, or one after crops, flips and at most one resampling.
struct Link {
  int decode = -1;  // the step that decodes it; -1: the value is something else
  int step = -1;    // the step that produces the value
  bool resampled = false;
  bool shown = false;   // its pixels are used
  bool placed = false;  // its geometry is needed: for pixels that are used, or for masks
  bool leads = false;   // masks that are used are cropped where it is
  bool is_end() const { return decode >= 0 && resampled && shown; }
};

class Chains {
 public:
  explicit Chains(const Program& program) : program_(program), links_(program.specs.size()) {
    find_links();
    find_shown();
    for (size_t v = 0; v < links_.size(); ++v)
      if (links_[v].is_end()) mark_placed(static_cast<int>(v));
    find_leading();
  }

  bool empty() const {
    return std::none_of(links_.begin(), links_.end(), [](const Link& link) { return link.placed; });
  }

  const Link& link(int value) const { return links_[static_cast<size_t>(value)]; }
  const Link& made_by(const Call& call) const { return link(call.first_output); }
  std::vector<int> ends() const {
    std::vector<int> out;
    for (size_t v = 0; v < links_.size(); ++v)
      if (links_[v].is_end()) out.push_back(static_cast<int>(v));
    return out;
  }

  const Call& decoding(int end) const { return program_.steps[static_cast<size_t>(link(end).decode)]; }
  const Call& resampling(int end) const {
    const Call& call = program_.steps[static_cast<size_t>(link(end).step)];
    return link(call.inputs[0]).resampled ? resampling(call.inputs[0]) : call;
  }

  // "decode_image + random_resized_crop".
  std::string text(int end) const {
    const Call& call = program_.steps[static_cast<size_t>(link(end).step)];
    const std::string name(call.op->name());
    return link(end).step == link(end).decode ? name : text(call.inputs[0]) + " + " + name;
  }

 private:
  Link& at(int value) { return links_[static_cast<size_t>(value)]; }

  void find_links() {
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      const Call& call = program_.steps[s];
      const auto step = static_cast<int>(s);
      if (decodes_fast(*call.op)) at(call.first_output) = {.decode = step, .step = step};
      const Placing placing = call.op->placing();
      const size_t images = call.inputs.size() - call.op->bound().size();
      if (placing == Placing::none || images != static_cast<size_t>(call.outputs)) continue;
      const Link& image = link(call.inputs[0]);
      const bool resamples = placing == Placing::resamples;
      if (image.decode < 0 || (resamples && image.resampled)) continue;
      at(call.first_output) = {
          .decode = image.decode, .step = step, .resampled = image.resampled || resamples};
    }
  }

  void find_shown() {
    for (const Call& call : program_.steps)
      for (size_t i = 0; i < call.inputs.size(); ++i)
        if (i > 0 || made_by(call).decode < 0) at(call.inputs[i]).shown = true;
    for (const int value : program_.outputs) at(value).shown = true;
  }

  // From the end, because masks need the geometry of the steps before them. An image that is not resampled
  // stays in one call with its masks.
  void find_leading() {
    for (size_t s = program_.steps.size(); s-- > 0;) {
      const Call& call = program_.steps[s];
      Link& image = at(call.first_output);
      if (image.decode < 0 || !(image.resampled || image.placed)) continue;
      for (int mask = 1; mask < call.outputs; ++mask)
        image.leads = image.leads || link(call.first_output + mask).shown;
      if (image.leads) mark_placed(call.inputs[0]);
    }
  }

  void mark_placed(int value) {
    for (Link* link = &at(value); !link->placed; link = &at(value)) {
      link->placed = true;
      if (link->step == link->decode) return;
      value = program_.steps[static_cast<size_t>(link->step)].inputs[0];
    }
  }

  const Program& program_;
  std::vector<Link> links_;
};

// Orders the calls of the new program: each after its inputs, decodes as late as possible, so that one call
// produces all outputs from an image. If the geometry of one output depends on the pixels of another, the
// latter is decoded first, by a call of its own.
class Assembly {
 public:
  Assembly(const Program& program, const Chains& chains)
      : program_(program), chains_(chains), ends_(chains.ends()), made_(program.specs.size(), false) {
    out_.input_fields = program.input_fields;
    out_.specs = program.specs;
    for (size_t v = 0; v < program.specs.size(); ++v) {
      value_of_.push_back(static_cast<int>(v));
      geometry_of_.push_back(-1);
      made_[v] = v < program.input_fields.size();
    }
    header_of_.assign(program.steps.size(), -1);
    for (const Call& call : program.steps) wait_for(call);
  }

  Program assemble() {
    while (emit_ready() || emit_decode()) {
    }
    for (const int value : program_.outputs) out_.outputs.push_back(value_of_[static_cast<size_t>(value)]);
    out_.schema = program_.schema;
    return without_dead_steps(out_);
  }

 private:
  int fresh(const TensorSpec& spec) {
    out_.specs.push_back(spec);
    value_of_.push_back(out_.num_values() - 1);
    made_.push_back(false);
    return out_.num_values() - 1;
  }

  // What a step of the user becomes: itself (unless its pixels come from a decode_resampled), its part of a
  // geometry, and the same step on the image's masks.
  void wait_for(const Call& call) {
    const Link& link = chains_.made_by(call);
    if (!(link.decode >= 0 && link.resampled)) waiting_.push_back(link.leads ? of_image(call) : call);
    if (link.leads) waiting_.push_back(of_masks(call));
    if (link.placed) wait_for_geometry(call);
  }

  // A call on an image and its masks, without the masks.
  static Call of_image(const Call& call) {
    Call out = call;
    out.inputs.erase(out.inputs.begin() + 1, out.inputs.begin() + call.outputs);
    out.outputs = 1;
    return out;
  }

  // The same without the image.
  Call of_masks(const Call& call) const {
    Call out = call;
    out.op = make_follow(call.op, !chains_.made_by(call).placed);
    out.inputs[0] = geometry_of_[static_cast<size_t>(call.inputs[0])];
    ++out.first_output, --out.outputs;
    return out;
  }

  void wait_for_geometry(const Call& call) {
    const Link& link = chains_.made_by(call);
    Call placed = of_image(call);
    if (link.step == link.decode) {
      placed.op = make_read_image(call.op);
      placed.first_output = fresh(header_spec());
      placed.outputs = 2;
      header_of_[static_cast<size_t>(link.step)] = placed.first_output;
      geometry_of_[static_cast<size_t>(call.first_output)] = fresh(geometry_spec());
    } else {
      placed.op = make_place(call.op);
      placed.inputs[0] = geometry_of_[static_cast<size_t>(call.inputs[0])];
      placed.first_output = geometry_of_[static_cast<size_t>(call.first_output)] = fresh(geometry_spec());
    }
    waiting_.push_back(std::move(placed));
  }

  bool is_made(int value) const { return made_[static_cast<size_t>(value)]; }

  void emit(Call call) {
    for (int& value : call.inputs) value = value_of_[static_cast<size_t>(value)];
    for (int i = 0; i < call.outputs; ++i) made_[static_cast<size_t>(call.first_output + i)] = true;
    out_.steps.push_back(std::move(call));
  }

  bool emit_ready() {
    std::vector<Call> later;
    const size_t before = waiting_.size();
    for (Call& call : waiting_) {
      const bool ready =
          std::all_of(call.inputs.begin(), call.inputs.end(), [&](int value) { return is_made(value); });
      if (ready)
        emit(std::move(call));
      else
        later.push_back(std::move(call));
    }
    waiting_ = std::move(later);
    return waiting_.size() < before;
  }

  // All outputs of the first image for which one is ready.
  bool emit_decode() {
    int decode = -1;
    std::vector<int> ready, later;
    for (const int end : ends_) {
      const Link& link = chains_.link(end);
      const bool possible = is_made(geometry_of_[static_cast<size_t>(end)]);
      if (possible && decode < 0) decode = link.decode;
      (possible && link.decode == decode ? ready : later).push_back(end);
    }
    if (decode < 0) return false;
    ends_ = std::move(later);
    const Call& original = program_.steps[static_cast<size_t>(decode)];
    Call call = original;
    call.op = make_decode_resampled(original.op, ready.size());
    call.inputs.push_back(header_of_[static_cast<size_t>(decode)]);
    for (const int end : ready) call.inputs.push_back(geometry_of_[static_cast<size_t>(end)]);
    call.first_output = out_.num_values();
    call.outputs = static_cast<int>(ready.size());
    for (const int end : ready) {
      const auto at = static_cast<size_t>(end);
      value_of_[at] = fresh(program_.specs[at]);
      made_[at] = true;
    }
    emit(std::move(call));
    return true;
  }

  const Program& program_;
  const Chains& chains_;
  std::vector<int> ends_;
  Program out_;
  std::vector<Call> waiting_;
  std::vector<bool> made_;        // by value of out_, and of program_ for the ends
  std::vector<int> value_of_;     // in out_, of a value of program_
  std::vector<int> geometry_of_;  // the value of out_ that is the geometry of a value of program_
  std::vector<int> header_of_;    // by decoding step
};

// A map and the nodes below it, down to the lowest map that is separated from it only by verbs that move
// indices.
struct Run {
  std::vector<const Node*> nodes;                 // from the top
  std::vector<const Program*> programs() const {  // in the order in which they run
    std::vector<const Program*> out;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node)
      if (const auto* map = (*node)->as<Map>()) out.push_back(&map->program);
    return out;
  }
};

Run run_below(const Node& top) {
  Run run;
  std::vector<const Node*> path;
  for (const Node* node = &top; node->as<Map>() || moves_indices(*node); node = node->input().get()) {
    path.push_back(node);
    if (node->as<Map>()) run.nodes = path;
  }
  return run;
}

// The run as one map above its verbs.
NodePtr joined(const Run& run, Program program, NodePtr below) {
  for (auto node = run.nodes.rbegin(); node != run.nodes.rend() && below; ++node)
    if (!(*node)->as<Map>()) below = with_data(**node, below);
  if (!below) return nullptr;
  const auto made = make_node(Map{std::move(program)}, {below}, run.nodes.front()->made_at);
  return made.ok() ? *made : nullptr;
}

// The run as it is, with chains only within single maps.
NodePtr separate(const Run& run, NodePtr below, std::set<std::string>& notes) {
  std::set<uint32_t> followed;
  for (auto node = run.nodes.rbegin(); node != run.nodes.rend() && below; ++node) {
    const auto* map = (*node)->as<Map>();
    if (!map) {
      below = with_data(**node, below);
      continue;
    }
    const auto made =
        make_node(Map{with_planar_chains(map->program, followed, notes)}, {below}, (*node)->made_at);
    below = made.ok() ? *made : nullptr;
  }
  return below;
}

Program composed(const Run& run) {
  const auto programs = run.programs();
  Program whole = *programs[0];
  for (size_t i = 1; i < programs.size(); ++i) whole = compose(whole, *programs[i]);
  return whole;
}

// Notes the cost of the verb below the run, when without it a chain would lead from the maps below that verb
// to a resampling in this run.
void note_chains_cut_below(const Run& run, std::set<std::string>& notes) {
  const Node* node = run.nodes.back()->input().get();
  const Node* border = nullptr;
  for (; node->inputs.size() == 1 && !node->as<Map>() && node->schema == node->input()->schema;
       node = node->input().get())
    if (!moves_indices(*node)) border = node;  // the lowest one: it is the cause for those above it
  if (!border || !node->as<Map>()) return;
  const Program beyond = composed(run_below(*node)), whole = compose(beyond, composed(run));
  std::set<uint32_t> ordinals;
  for (const Call& call : beyond.steps) ordinals.insert(call.ordinal);
  const Chains chains(whole);
  for (const int end : chains.ends())
    if (ordinals.contains(chains.decoding(end).ordinal) && !ordinals.contains(chains.resampling(end).ordinal))
      notes.insert(chains.text(end) + ": " + std::string(kind_name(border->kind)) +
                   " is in between, so the whole image is decoded exactly, which is slower");
}

NodePtr rewritten(const Run& run, const NodePtr& below, std::set<std::string>& notes) {
  const auto programs = run.programs();
  note_chains_cut_below(run, notes);
  std::set<uint32_t> apart, together;
  std::set<std::string> joined_notes, unused;
  for (const Program* program : programs) with_planar_chains(*program, apart, unused);
  Program planar = with_planar_chains(composed(run), together, joined_notes);
  if (std::includes(apart.begin(), apart.end(), together.begin(), together.end()))
    return separate(run, below, notes);
  notes.merge(joined_notes);
  return joined(run, std::move(planar), below);
}

}  // namespace

Program with_planar_chains(const Program& program, std::set<uint32_t>& followed,
                           std::set<std::string>& notes) {
  const Chains chains(program);
  if (chains.empty()) return program;
  for (const int end : chains.ends())
    notes.insert(chains.text(end) +
                 ": one step: a plain JPEG is decoded only where needed and resampled plane by plane, "
                 "any other file as with match=\"exact\"");
  for (const Call& call : program.steps)
    if (chains.made_by(call).placed || chains.made_by(call).leads) followed.insert(call.ordinal);
  return Assembly(program, chains).assemble();
}

NodePtr with_planar_chains(const NodePtr& root, std::set<std::string>& notes) {
  if (root->as<Map>()) {
    const Run run = run_below(*root);
    const NodePtr made = rewritten(run, with_planar_chains(run.nodes.back()->input(), notes), notes);
    return made ? made : root;
  }
  Node node = *root;
  for (NodePtr& input : node.inputs) input = with_planar_chains(input, notes);
  Program* program = program_of(node.kind);
  if (program) {
    std::set<uint32_t> followed;
    *program = with_planar_chains(*program, followed, notes);
  }
  if (node.inputs == root->inputs && !program) return root;
  const NodePtr made = with_inputs(node, node.inputs);
  return made ? made : root;
}

}  // namespace headrace
