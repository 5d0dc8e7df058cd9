#include "headrace/run/lower/pipeline.h"

#include <algorithm>
#include <utility>

#include "headrace/core/cache/element_cache.h"
#include "headrace/graph/file_order.h"
#include "headrace/graph/passes/cache_key.h"
#include "headrace/graph/passes/dead_fields.h"
#include "headrace/graph/passes/filters_first.h"
#include "headrace/graph/passes/partial_outputs.h"
#include "headrace/graph/passes/place_on_error.h"
#include "headrace/graph/passes/planar.h"
#include "headrace/graph/passes/used_fields.h"
#include "headrace/graph/walk_nodes.h"
#include "headrace/run/lower/attach_points.h"
#include "headrace/run/lower/lower_level.h"
#include "headrace/run/order/part_order.h"
#include "headrace/run/row_paths/level_body.h"
#include "headrace/run/streams/generate.h"
#include "headrace/run/streams/scan.h"
#include "headrace/run/streams/shard_assignment.h"
#include "headrace/run/work/group_body.h"
#include "headrace/run/work/pack_body.h"
#include "headrace/run/work/sample_body.h"

namespace headrace {
namespace {

// Elements per ticket if they are not batched: enough to make a ticket cheap, few enough for the budget when
// each is a file. More of them where more reads should be in flight.
constexpr uint64_t kResidentBlock = 64, kReadBlock = 8;
constexpr size_t kHeldInWindow = 16;

// The operators of the plan as written, and where they are in the plan that runs.
std::vector<ReportedOp> list_operators(const Node& written, const Node& rewritten) {
  std::vector<ReportedOp> out;
  each_call(written, [&](const Call& call) {
    if (out.size() <= call.ordinal) out.resize(call.ordinal + 1);
    out[call.ordinal].name = call.op->name();
  });
  each_call(rewritten, [&](const Call& call) {
    for (const uint32_t ordinal : call.absorbed) out[ordinal].within = out[call.ordinal].name;
  });
  return out;
}

// A shard divides the order of its segment after all index verbs, wherever it is written in it: it is moved
// to the end, below the next border or batch. Levels do this by themselves. Not a rewrite either.
NodePtr place_shard(const NodePtr& node) {
  std::vector<NodePtr> inputs;
  for (const NodePtr& input : node->inputs) inputs.push_back(place_shard(input));
  NodePtr out = inputs.empty() ? node : with_inputs(*node, inputs);
  const bool moves_indices = out->as<Take>() || out->as<Skip>() || out->as<Repeat>() || out->as<Map>();
  if (out->indexed || !moves_indices || !out->input()->as<Shard>()) return out;  // a fixed one is indexed
  const NodePtr shard = out->input();
  const NodePtr below = with_inputs(*out, {shard->input()});
  const NodePtr made = below ? with_inputs(*shard, {below}) : nullptr;
  return made ? made : out;
}

void mark_and_note_parts(std::span<Program> chain, Pipeline& pipeline) {
  mark_part_readers(chain);
  for (size_t p = 0; p < chain.size(); ++p)
    for (const Call& call : chain[p].steps) {
      std::string readers;
      for (const PartReader& at : call.part_readers)
        readers +=
            (readers.empty() ? "" : ", ") + std::string(chain[p + at.program].steps[at.step].op->name());
      if (!readers.empty())
        pipeline.parts.insert(std::string(call.op->name()) + " computes only the part that is read by " +
                              readers);
    }
}

void list_caches(const Level& level, std::vector<std::shared_ptr<ElementCache>>& out) {
  for (const LeafPlan& leaf : level.leaves) {
    for (const LeafPlan::Cached& cache : leaf.caches)
      if (std::ranges::find(out, cache.elements) == out.end()) out.push_back(cache.elements);
    if (leaf.rows) list_caches(*leaf.rows, out);
    for (const auto& input : leaf.zipped) list_caches(*input, out);
  }
}

void mark_and_note_parts(Level& level, Pipeline& pipeline) {
  for (LeafPlan& leaf : level.leaves) {
    size_t first = 0;  // cached elements are stored whole
    for (const LeafPlan::Cached& cache : leaf.caches) {
      mark_and_note_parts(std::span(leaf.programs).subspan(first, cache.covered - first), pipeline);
      first = cache.covered;
    }
    mark_and_note_parts(std::span(leaf.programs).subspan(first), pipeline);
    mark_part_readers(leaf.straight);
    if (leaf.rows) mark_and_note_parts(*leaf.rows, pipeline);
    for (const auto& input : leaf.zipped) mark_and_note_parts(*input, pipeline);
  }
}

// The number of samples read for one element: for a zip, a sample of each input.
uint64_t samples_an_element(const Level& level) {
  uint64_t most = 1;
  for (const LeafPlan& leaf : level.leaves) {
    uint64_t samples = 0;
    for (const auto& input : leaf.zipped) samples += samples_an_element(*input);
    most = std::max(most, samples);
  }
  return most;
}

class Lowering {
 public:
  Lowering(Pipeline& pipeline, bool ordered, std::shared_ptr<Fetcher> fetcher, uint64_t read_block)
      : pipeline_(pipeline),
        fetcher_(std::move(fetcher)),
        read_block_(ordered ? std::max(read_block, kReadBlock) : kReadBlock) {}

  Result<StreamPtr> stream(const Node& node) {
    if (node.indexed) return level(node);
    return std::visit([&](const auto& kind) { return lower(node, kind); }, node.kind);
  }

 private:
  using Made = Result<StreamPtr>;

  StreamPtr stage(StreamPtr feeder, std::unique_ptr<Body> body) {
    auto made = std::make_unique<Stage>(std::move(feeder), std::move(body));
    stage_ = made.get();
    return made;
  }

  Made level(const Node& node) {
    uint32_t leaves = 0;
    HEADRACE_ASSIGN(std::unique_ptr<Level> lowered, lower_level(node, leaves, pipeline_.orders));
    mark_and_note_parts(*lowered, pipeline_);
    list_caches(*lowered, pipeline_.caches);
    std::optional<Shard> dealt;
    if (inexact_) dealt = std::exchange(lowered->shard, std::nullopt);
    if (dealt) pipeline_.dealt = lowered->total;
    const bool by_epoch = lowered->by_epoch != nullptr;
    lowered->even = !inexact_ && !(pipeline_.shard && pipeline_.shard->steps);
    const std::shared_ptr<const Level> made = std::move(lowered);
    auto body = std::make_unique<LevelBody>(made, fetcher_);
    bodies_.push_back(body.get());
    const uint64_t block = body->makes_batches() ? 1
                           : body->is_resident()
                               ? kResidentBlock
                               : std::max<uint64_t>(1, read_block_ / branches_ / samples_an_element(*made));
    body->set_block(block);
    auto feeder = dealt ? assigned_stream(made, block, *dealt)
                        : position_stream(made, &body->block(), &body->outer_start());
    pipeline_.level = bodies_.size() == 1 && !by_epoch ? bodies_[0] : nullptr;
    return stage(std::move(feeder), std::move(body));
  }

  // A link that may drop or add elements: a shard below it assigns each input once, without evening out
  // ranks.
  Made inexact_link(const Node& node, Link link) {
    const bool outside = std::exchange(inexact_, true);
    Made made = this->link(node, std::move(link));
    inexact_ = outside;
    return made;
  }
  // A link is added to the stage right below, or to a new one.
  Made link(const Node& node, Link link) {
    stage_ = nullptr;
    HEADRACE_ASSIGN(StreamPtr child, stream(*node.input()));
    pipeline_.level = nullptr;
    if (!stage_ || stage_ != child.get()) child = stage(std::move(child), std::make_unique<SampleBody>());
    stage_->body().chain.push_back(std::move(link));
    return child;
  }
  // The samples below, each with the key values of the verb.
  Made keyed(const Node& node, const Program& program) {
    HEADRACE_ASSIGN(StreamPtr child, inexact_link(node, KeyLink{program}));
    stage_ = nullptr;
    return child;
  }
  template <class F> Made verb(const Node& node, F&& f) {
    HEADRACE_ASSIGN(StreamPtr child, stream(*node.input()));
    stage_ = nullptr, pipeline_.level = nullptr;
    return f(std::move(child));
  }

  // Consecutive maps run as one, whichever rewrites are on.
  Made lower(const Node& node, const Map& map) {
    HEADRACE_ASSIGN(StreamPtr child, link(node, std::vector<Program>{}));
    auto& chain = stage_->body().chain;
    if (chain.size() > 1 && std::holds_alternative<std::vector<Program>>(chain[chain.size() - 2]))
      chain.pop_back();
    auto& programs = std::get<std::vector<Program>>(chain.back());
    programs.push_back(map.program);
    mark_and_note_parts(programs, pipeline_);
    return child;
  }
  Made lower(const Node& node, const Filter& filter) {
    return inexact_link(node, FilterLink{filter.program});
  }
  Made lower(const Node& node, const Unbatch&) {
    return inexact_link(node, UnbatchLink{node.input()->schema});
  }
  Made lower(const Node& node, const TakeWhile& take) {
    HEADRACE_ASSIGN(StreamPtr child, keyed(node, take.program));
    return take_while_stream(std::move(child));
  }
  Made lower(const Node& node, const Unique& unique) {
    HEADRACE_ASSIGN(StreamPtr child, keyed(node, unique.program));
    return unique_stream(std::move(child), unique.program.schema);
  }
  Made lower(const Node& node, const GroupBy& group) {
    HEADRACE_ASSIGN(StreamPtr child, keyed(node, group.program));
    note_held(*child, 0);
    return stage(group_by_stream(std::move(child), group),
                 std::make_unique<GroupBody>(group.batch, node.input()->schema));
  }
  Made lower(const Node& node, const Pack& pack) {
    const bool outside = std::exchange(inexact_, true);
    Made child = stream(*node.input());
    inexact_ = outside, pipeline_.level = nullptr;
    if (!child.ok()) return child;
    return stage(pack_stream(*std::move(child), pack), std::make_unique<PackBody>(pack));
  }
  // One item at a time: later verbs get a stage of their own.
  Made lower(const Node& node, const Scan& scan) {
    HEADRACE_ASSIGN(StreamPtr child, stream(*node.input()));
    return in_turn(scan_feeder(std::move(child), scan.initial),
                   std::make_unique<ScanBody>(scan.program, scan.initial.size()));
  }
  Made lower(const Node& node, const Generate& generate) {
    const std::string at = node.made_at.empty() ? "" : "from_generator at " + node.made_at;
    return in_turn(generate_feeder(), std::make_unique<GenerateBody>(generate, at));
  }
  // A verb above holds samples of the stream: limits how many of them share memory, since holding one keeps
  // the memory of all.
  static void note_held(Stream& stream, size_t most_together) {
    std::vector<Stage*> below;
    stream.stages(below);
    for (Stage* stage : below)
      stage->body().most_together = std::min(stage->body().most_together, most_together);
  }
  Made in_turn(StreamPtr feeder, std::unique_ptr<Body> body) {
    auto made = std::make_unique<Stage>(std::move(feeder), std::move(body));
    stage_ = nullptr, pipeline_.level = nullptr;
    return made;
  }
  Made lower(const Node& node, const OnError& on_error) {
    if (on_error.policy != OnErrorPolicy::skip) return stream(*node.input());
    HEADRACE_ASSIGN(StreamPtr linked, inexact_link(node, SkipLink{}));
    std::vector<Stage*> below;
    linked->stages(below);
    for (Stage* stage : below) stage->body().keep_failures = stage->body().keep_failures || stage != stage_;
    return linked;
  }
  Made lower(const Node& node, const Shuffle& shuffle) {
    return verb(node, [&](StreamPtr c) {
      note_held(*c, kHeldInWindow);
      return window_shuffle_stream(std::move(c), of_part(shuffle, node));
    });
  }
  Made lower(const Node& node, const Repeat& repeat) {
    return verb(node, [&](StreamPtr c) { return repeat_stream(std::move(c), repeat.times); });
  }
  Made lower(const Node& node, const Take& take) {
    return verb(node, [&](StreamPtr c) { return take_stream(std::move(c), take.count); });
  }
  Made lower(const Node& node, const Skip& skip) {
    return verb(node, [&](StreamPtr c) { return skip_stream(std::move(c), skip.count); });
  }
  Made lower(const Node& node, const Shard& shard) {
    const bool exact = node.total && *node.total != kInfinite;
    return verb(node, [&](StreamPtr c) { return round_stream(std::move(c), shard, exact); });
  }
  Made lower(const Node& node, const Batch& batch) {
    stage_ = nullptr;
    HEADRACE_ASSIGN(StreamPtr child, stream(*node.input()));
    pipeline_.level = nullptr;
    if (stage_ && stage_ == child.get()) stage_->body().feeds_batches = true;
    return stage(group_stream(std::move(child), batch.size, batch.drop_last),
                 std::make_unique<GroupBody>(batch, node.input()->schema));
  }
  Made lower(const Node& node, const Window& window) {
    HEADRACE_ASSIGN(StreamPtr child, stream(*node.input()));
    pipeline_.level = nullptr;
    const Batch rows{window.size, window.drop_last, window.ragged};
    return stage(window_stream(std::move(child), window),
                 std::make_unique<GroupBody>(rows, node.input()->schema));
  }
  Made lower(const Node& node, const Concatenate&) {
    return joined(node, [](auto children) { return concatenate_stream(std::move(children)); });
  }
  Made lower(const Node& node, const Interleave& interleave) {
    if (interleave.ordered && interleave.reads_are_indexed(node)) return level(node);
    return joined(node, [&](auto children) {
      return interleave_stream(std::move(children), interleave, node.inputs.back());
    });
  }
  Made lower(const Node& node, const Zip& zip) {
    return joined(node, [&](auto children) { return zip_stream(std::move(children), zip.ids); });
  }
  Made lower(const Node& node, const Mix& mix) {
    return joined(node, [&](auto children) { return mix_stream(std::move(children), mix); });
  }
  Made lower(const Node& node, const Choose& choose) {
    return joined(node, [&](auto children) { return choose_stream(std::move(children), choose); });
  }
  template <class F> Made joined(const Node& node, F&& join) {
    const size_t count = num_datasets(node);
    const bool one_by_one = node.as<Concatenate>();
    const uint64_t outside = std::exchange(branches_, one_by_one ? branches_ : branches_ * count);
    std::vector<StreamPtr> children;
    for (size_t i = 0; i < count; ++i) {
      HEADRACE_ASSIGN(StreamPtr child, stream(*node.inputs[i]));
      children.push_back(std::move(child));
    }
    branches_ = outside, stage_ = nullptr, pipeline_.level = nullptr;
    return join(std::move(children));
  }
  Made lower(const Node& node, const AssertCardinality& asserted) {
    return verb(node, [&](StreamPtr c) { return cardinality_stream(std::move(c), asserted.count); });
  }
  template <class Verb> Made lower(const Node& node, const Verb&) {
    return internal_error(std::string(kind_name(node.kind)) + " is part of a level");
  }

  Pipeline& pipeline_;
  std::shared_ptr<Fetcher> fetcher_;
  uint64_t read_block_;
  Stage* stage_ = nullptr;  // the last stage of the stream made last, or null
  std::vector<LevelBody*> bodies_;
  uint64_t branches_ = 1;  // branches that run in parallel and hold samples not taken yet
  bool inexact_ = false;   // below a filter, unbatch or on_error("skip")
};

uint64_t rows_per_element(const Node& node) {
  uint64_t unit = 1;
  for (const Node* n = &node; !n->inputs.empty(); n = n->input().get())
    if (const auto* batch = n->as<Batch>())
      unit *= batch->size;
    else if (const auto* window = n->as<Window>())
      unit *= window->size;
  return unit;
}

// The form of an elastic state for this plan, from the top down.
Pipeline::Elastic elastic_form(const Node& root) {
  using Form = Pipeline::Elastic::Form;
  Pipeline::Elastic out;
  const Shard* shard = find_shard(root);
  if (is_of_one_rank(root)) shard = nullptr;  // a rank counts its own part
  if (shard) out.shard = *shard, out.world = shard->world;
  const bool here = root.shard.has_value();  // the shard is in the outermost level
  const Node* n = &root;
  bool only_repeat = true;
  out.times = 1;
  bool windows = false;
  for (; !n->as<Batch>() && !n->inputs.empty(); n = n->input().get()) {
    windows = windows || n->as<Window>();
    if (const auto* repeat = n->as<Repeat>()) {
      only_repeat = only_repeat && out.times == 1;
      out.times = repeat->times;
    } else if (!n->as<Map>() && !n->as<OnError>()) {
      only_repeat = false;
    }
    if (is_union(*n)) break;
  }
  const auto* batch = n->as<Batch>();
  if (!here && shard && windows) return out;  // windows are taken over this rank's own order
  if (here || !batch) {
    out.form = Form::elements, out.total = *root.total, out.unit = rows_per_element(root), out.times = 1;
    return out;
  }
  if (!only_repeat || (shard && !n->input()->shard)) return out;
  out.form = Form::batches, out.total = *n->input()->total;
  out.batch = batch->size, out.drop_last = batch->drop_last;
  return out;
}

// The verbs between the root and the shard determine which ranks a cursor fits.
Pipeline::Sharing sharing_of(const Node& root, bool ordered) {
  using Whose = Pipeline::Sharing::Whose;
  Pipeline::Sharing out;
  std::vector<const Node*> above;
  const Node* n = &root;
  for (; !n->as<Shard>() && !(n->indexed && (n->shard || n->inputs.empty())); n = n->input().get())
    above.push_back(n);
  const bool rounds = !n->indexed;
  const bool dealt = n->indexed && !(above.empty() || above.back()->indexed);  // not rows of a batch
  const bool length_known = n->total.has_value();
  const Node* batch_below = nullptr;
  size_t unbatches = 0;
  for (auto it = above.rbegin(); it != above.rend(); ++it) {
    const Node& node = **it;
    const auto* shuffle = node.as<Shuffle>();
    const bool border = drops_or_adds(node) || node.as<Scan>() || (shuffle && shuffle->window > 0);
    if (gathers(node)) batch_below = &node;
    const bool counts = facts_of(node).counts;
    unbatches += node.as<Unbatch>() != nullptr;
    if (border || (node.as<Repeat>() && !length_known)) out.whose = Whose::rank;
    if (out.whose == Whose::any && counts) out.whose = Whose::world;
    const bool merges = node.as<Map>() || node.as<Batch>() || node.as<OnError>() || node.as<Filter>() ||
                        (node.as<Unbatch>() && unbatches == 1 && !batch_below);
    if (!merges && (out.bound_by.empty() || node.as<Repeat>())) out.bound_by = kind_name(node.kind);
  }
  if (!ordered) out.whose = Whose::rank, out.bound_by = "deterministic=False";
  if (root.indexed && out.whose == Whose::any) out.whose = Whose::world;
  if (out.whose != Whose::any && !dealt && out.bound_by.empty()) out.bound_by = rounds ? "shard" : "batch";
  out.merges = out.whose == Whose::rank && out.bound_by.empty();
  return out;
}

bool asks_validity(const Node& node) {
  const Map* map = node.as<Map>();
  return map && std::ranges::find(map->program.input_fields, kValidField) != map->program.input_fields.end();
}

// What shard(even="pad") adds is marked by its place in the order. A cache keeps one element for all places,
// and a batch taken apart again has one mark for all its rows.
Status check_marks(const Node& root) {
  const auto hides = [](const Node& node) { return node.as<Cache>() && find_node(node, asks_validity); };
  if (find_node(root, hides))
    return invalid(
        "with_validity: stands before cache(), which would keep one answer for a sample and for its "
        "repetition "
        "by shard(even=\"pad\"); put with_validity() after cache()");
  bool asked = false, apart = false;
  const Node* files = interleave_of_dealt_files(root);
  for (const Node* n = &root; n != files && !n->as<Shard>() && !n->shard && !n->inputs.empty();
       n = n->input().get()) {
    if (apart && gathers(*n))
      return invalid(
          "with_validity: stands after unbatch() of batches made after shard(even=\"pad\"), and a batch does "
          "not remember which of its rows were repeated; put with_validity() before the batch");
    asked = asked || asks_validity(*n);
    apart = apart || (asked && n->as<Unbatch>());
  }
  return {};
}

}  // namespace

Result<Pipeline> lower(const NodePtr& root, std::shared_ptr<Fetcher> fetcher, const LowerOptions& options) {
  Pipeline out;
  HEADRACE_ASSIGN(const NodePtr covered, place_on_error(number(root)));
  const NodePtr keyed =
      with_cache_keys(without_dead_fields(filters_first(place_shard(covered))), options.seed);
  const NodePtr placed = options.fewest_fields ? with_fewest_fields(keyed) : with_used_fields(keyed);
  NodePtr planar = with_planar_chains(placed, out.parts);
  if (options.caches) planar = options.caches->place(planar);
  out.plan = rewrite(planar, options.rewrites_off, &out.applied);
  if (options.point_memory > 0) out.points = attach_points(out.plan, options.point_memory);
  out.operators = list_operators(*placed, *out.plan);
  out.may_wait = find_node(*placed, [](const Node& node) { return node.as<Generate>() != nullptr; });
  each_call(*placed, [&](const Call& call) { out.may_wait = out.may_wait || may_wait(call); });
  if (const Shard* shard = find_shard(*placed)) out.shard = *shard;
  const Node* top = placed.get();
  while (!top->inputs.empty() && !gathers(*top) && !top->as<Unbatch>()) top = top->input().get();
  out.batched = top->as<Batch>() || top->as<GroupBy>();
  if (out.shard && out.shard->world > 1 && !placed->size && !out.shard->steps && !is_even_each_epoch(*placed))
    return invalid(
               "the length is unknown before the run, because of a filter, unbatch, on_error(\"skip\") or "
               "another "
               "verb that drops or gathers depending on the data, so ranks could take different numbers of "
               "steps; use shard(..., steps=), or assert_cardinality(n) before shard(). `headrace inspect "
               "--count PLAN` and count() of the dataset before shard() give n")
        .in_op("shard");
  if (out.shard && out.shard->steps && placed->size)
    return invalid(
               "steps= is only for lengths that are unknown before the run, and this length is known; remove "
               "steps=, and use take() to end the epoch earlier")
        .in_op("shard");
  if (out.shard && out.shard->world > 1 && out.shard->even == Even::pad) HEADRACE_TRY(check_marks(*placed));
  HEADRACE_ASSIGN(out.orders, AskedOrders::of(*out.plan));
  HEADRACE_ASSIGN(out.root,
                  Lowering(out, options.ordered, std::move(fetcher), options.read_block).stream(*out.plan));
  if (out.level) out.level->keep_failures = options.keep_failures;
  // Verbs above consume elements one after the other: only the last stage may deliver out of order. Its state
  // counts outputs of tickets, so the size of tickets must be fixed then.
  Stage* const unordered = options.ordered ? nullptr : out.root->outermost();
  if (unordered) unordered->give_what_is_ready();
  if (!options.rewrites_off.contains("all") && !options.rewrites_off.contains("hoist_over_batch")) {
    std::vector<Stage*> stages;
    out.root->stages(stages);
    for (Stage* stage : stages)
      if (stage != unordered) stage->body().allow_together();
  }
  if (out.shard && out.shard->steps) {
    out.root = steps_stream(std::move(out.root), *out.shard);
    out.level = nullptr;
  }
  if (out.level && options.ordered) out.elastic = elastic_form(*placed);
  if (is_of_one_rank(*placed))
    out.sharing = {Pipeline::Sharing::Whose::rank, false,
                   out.shard->fixed ? "shard(fixed=True)" : "interleave"};
  else if (out.shard && !(out.level && out.elastic.form != Pipeline::Elastic::Form::none))
    out.sharing = sharing_of(*placed, options.ordered);
  return out;
}

}  // namespace headrace
