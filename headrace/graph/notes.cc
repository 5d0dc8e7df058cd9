#include "headrace/graph/notes.h"

#include <algorithm>

#include "headrace/formats/data_notes.h"
#include "headrace/formats/endings.h"
#include "headrace/formats/shards.h"
#include "headrace/graph/walk.h"

namespace headrace {
namespace {

void note(const std::string& text, std::vector<std::string>& out) {
  if (std::ranges::find(out, text) == out.end()) out.push_back(text);
}

constexpr uint64_t kManyRows = 1000;  // of a block: more are not counted
constexpr size_t kManyNames = 200;    // characters

uint64_t rows_of_first_block(const Source& source) {
  uint64_t rows = 0;
  while (rows < std::min(source.size(), kManyRows) && source.place(rows).block == source.place(0).block)
    ++rows;
  return rows;
}

// A permutation jumps from block to block, and of each that it opens it mostly wants one sample.
void note_amplified_reads(const Node& node, std::vector<std::string>& out) {
  for (const NodePtr& input : node.inputs) note_amplified_reads(*input, out);
  const auto* read = node.as<Read>();
  if (!read || read->source->resident()) return;
  const uint64_t rows = rows_of_first_block(*read->source);
  if (rows < 2) return;
  const std::string first = read->source->where(0);
  note("shuffle permutes all samples, and a block of this data holds many (the first, at " + first + ", " +
           (rows < kManyRows ? "" : "at least ") + std::to_string(rows) +
           "): most samples read and open a whole block for themselves alone; shuffle(blocks=) opens each "
           "once, and shuffle(window=) reads them in order",
       out);
}

// A folder of files that nobody takes for images is a class less, and other labels.
void note_left_out_classes(const Source& source, std::vector<std::string>& out) {
  const Value metadata = source.metadata();
  const Value* left_out = metadata.find("left_out");
  const Value* folders = left_out ? left_out->find("folders") : nullptr;
  if (!folders) return;
  std::string names;
  for (const Value& folder : *folders->list()) {
    if (names.size() > kManyNames) {
      names += ", …";
      break;
    }
    names += (names.empty() ? "'" : ", '") + *folder.text() + "'";
  }
  note("no image was found in " + names +
           ", which are no classes then: the files left out have the endings " +
           endings_text(*left_out->find("endings")),
       out);
}

bool reads_a_generator(const Node& node) {
  return find_node(node, [](const Node& one) { return one.as<Generate>() != nullptr; });
}

// Draws below a cache are made once.
void note_frozen_draws(const Node& node, std::vector<std::string>& out) {
  each_node(node, [&](const Node& one) {
    const auto* map = one.as<Map>();
    if (!map) return;
    for (const Call& call : map->program.steps)
      if (varies_by_epoch(call))
        note(std::string(call.op->name()) +
                 " stands before cache: what it draws in epoch 0 is kept for all epochs; put it after cache "
                 "to "
                 "draw anew",
             out);
  });
}

// So is the order of what is joined below a cache.
void note_frozen_orders(const Node& node, bool joined, std::vector<std::string>& out) {
  const auto* shuffle = node.as<Shuffle>();
  if (joined && shuffle)
    note(
        "shuffle stands before cache, with batch, window or zip between: the same samples stand in each "
        "batch "
        "in every epoch; put cache before batch to mix them anew",
        out);
  joined = joined || gathers(node) || node.as<Zip>();
  for (const NodePtr& input : node.inputs) note_frozen_orders(*input, joined, out);
}

void collect(const Node& node, std::vector<std::string>& out) {
  for (const NodePtr& input : node.inputs) collect(*input, out);
  if (const auto* read = node.as<Read>()) {
    note_left_out_classes(*read->source, out);
    for (const std::string& one : notes_of(*read->source)) note(one, out);
    if (const std::string missing = missing_shards(*read->source); !missing.empty())
      note(missing + ", by the names of the others", out);
  }
  if (node.as<Cache>()) {
    note_frozen_draws(*node.input(), out);
    note_frozen_orders(*node.input(), false, out);
  }
  const auto* shuffle = node.as<Shuffle>();
  if (shuffle && is_batched(*node.input()))
    note(
        "shuffle stands after batch: whole batches change places, and the same samples stay together; put it "
        "before batch to mix samples",
        out);
  if (shuffle && shuffle->seed == 0)
    note(
        "shuffle has seed 0, as when none is given: every run has the same orders; another seed= "
        "chooses others",
        out);
  if (shuffle && shuffle->window == 0 && shuffle->blocks == 0) note_amplified_reads(*node.input(), out);
  const bool may_fail = program_of(node.kind) != nullptr;
  if (may_fail && node.input()->as<OnError>() && !gathers(*node.input()->input()))
    note("on_error stands before a " + std::string(kind_name(node.kind)) +
             ": it answers what fails above it, not in what follows; put it after the verbs it is for",
         out);
  const auto* on_error = node.as<OnError>();
  if (on_error && on_error->policy != OnErrorPolicy::raise && reads_a_generator(node))
    note(
        "on_error stands after from_generator: what the generator itself raises, or gives in another form, "
        "ends "
        "the run all the same; nothing comes after it",
        out);
  // Elsewhere it rises to the data, whatever verbs stand between.
  if (node.as<Shard>() && !node.input()->indexed)
    note(
        "shard stands after a filter, unbatch, window shuffle, on_error(\"skip\") or another verb whose "
        "elements "
        "depend on those before: every rank reads and decodes everything and keeps its share; put shard "
        "before "
        "it if ranks may take different numbers of samples",
        out);
}

}  // namespace

bool is_batched(const Node& node) {
  if (node.as<Batch>() || node.as<GroupBy>() || node.as<Window>()) return true;
  if (node.inputs.empty() || node.as<Unbatch>() || node.as<Pack>()) return false;
  return is_batched(*node.input());
}

std::vector<std::string> notes(const NodePtr& plan) {
  std::vector<std::string> out;
  collect(*plan, out);
  return out;
}

}  // namespace headrace
