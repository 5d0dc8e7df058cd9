#include "headrace/graph/explain/notes.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "headrace/core/byte_size.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/endings.h"
#include "headrace/graph/file_order.h"
#include "headrace/graph/meaning.h"
#include "headrace/graph/moving_parts.h"
#include "headrace/graph/verbs/inference.h"
#include "headrace/graph/walk_nodes.h"

namespace headrace {
namespace {

void note(const std::string& text, std::vector<std::string>& out) {
  if (std::ranges::find(out, text) == out.end()) out.push_back(text);
}

constexpr uint64_t kManyRows = 1000;  // rows of a block are counted up to this number
constexpr uint64_t kManyBlocks = 10'000;
constexpr size_t kManyNames = 200;  // characters

uint64_t rows_of_first_block(const Source& source) {
  uint64_t rows = 0;
  while (rows < std::min(source.size(), kManyRows) && source.place(rows).block == source.place(0).block)
    ++rows;
  return rows;
}

uint64_t blocks_of(const Source& source) {
  uint64_t blocks = 0;
  for (uint64_t i = 0; i < source.size() && blocks < kManyBlocks; ++blocks) {
    const Lot lot = source.lot(i);
    blocks += lot.blocks - 1, i = lot.end;
  }
  return blocks;
}

// A source whose blocks hold many samples.
struct ReadBlocks {
  const Source& source;
  uint64_t rows, blocks;        // rows of the first block, number of blocks: up to kManyRows and kManyBlocks
  std::optional<double> bytes;  // of a block
};

std::vector<ReadBlocks> read_blocks(const Node& node, const KeptBlocks& kept) {
  std::vector<ReadBlocks> out;
  each_node(node, [&](const Node& one) {
    const auto* read = one.as<Read>();
    if (!read || read->source->resident() || lie_alone(*read->source)) return;
    const Source& source = *read->source;
    const uint64_t rows = rows_of_first_block(source);
    if (rows < 2) return;
    const uint64_t blocks = blocks_of(source);
    const auto size = kept.sizes.find(&one);
    std::optional<double> bytes;
    if (size != kept.sizes.end())
      bytes = size->second.bytes * static_cast<double>(blocks < kManyBlocks ? source.size() / blocks : rows);
    out.push_back({source, rows, blocks, bytes});
  });
  return out;
}

std::string at_least(uint64_t count, uint64_t most) {
  return (count < most ? "" : "at least ") + std::to_string(count);
}

// A permutation jumps from block to block, and mostly needs one sample of each block it opens.
void note_amplified_reads(const Node& node, const KeptBlocks& kept, std::vector<std::string>& out) {
  for (const ReadBlocks& read : read_blocks(node, kept)) {
    const auto blocks = static_cast<double>(read.blocks);
    std::string how_many =
        "unless all blocks fit in " + byte_size_text(kept.bytes) + " of memory, most samples";
    if (read.bytes) {
      const double stay = std::floor(kept.bytes / std::max(*read.bytes, 1.0));
      if (stay >= blocks) continue;
      const double alone = std::max(1.0, std::round(100 * (1 - stay / blocks)));
      how_many = std::to_string(static_cast<uint64_t>(stay)) + " of " + at_least(read.blocks, kManyBlocks) +
                 " blocks stay in memory (" + byte_size_text(kept.bytes) +
                 ", half of the budget), so about " + std::to_string(static_cast<uint64_t>(alone)) +
                 " of 100 samples";
    }
    note("shuffle permutes all samples, and each block of this data holds many (the first, at " +
             read.source.where(0).text() + ", holds " + at_least(read.rows, kManyRows) + "): " + how_many +
             " each read and open a whole block; shuffle(blocks=) opens each block once, "
             "shuffle(window=) reads blocks in order",
         out);
  }
}

void note_blocks_that_do_not_fit(const Node& node, uint64_t mixed, const KeptBlocks& kept,
                                 std::vector<std::string>& out) {
  for (const ReadBlocks& read : read_blocks(node, kept)) {
    const uint64_t blocks = std::min(mixed, read.blocks);
    if (!read.bytes || static_cast<double>(blocks) * *read.bytes <= kept.bytes) continue;
    note("shuffle mixes " + std::to_string(blocks) + " blocks of about " + byte_size_text(*read.bytes) +
             " (the first, at " + read.source.where(0).text() + ", holds " + at_least(read.rows, kManyRows) +
             " samples), which exceeds " + byte_size_text(kept.bytes) +
             ", half of the memory budget: some blocks are read and opened repeatedly; with fewer "
             "blocks= or a larger memory_budget= each is opened once",
         out);
  }
}

void note_blocks(const Node& shuffle, const KeptBlocks& kept, std::vector<std::string>& out) {
  const auto& kind = *shuffle.as<Shuffle>();
  if (is_batched(*shuffle.input())) return;  // the rows of a batch are read together
  if (kind.blocks > 0) note_blocks_that_do_not_fit(*shuffle.input(), kind.blocks, kept, out);
  if (kind.window == 0 && kind.blocks == 0) note_amplified_reads(*shuffle.input(), kept, out);
}

// A folder in which no file is recognized as an image is no class, which changes the labels.
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
           ", so these folders are not classes; the files left out have the extensions " +
           endings_text(*left_out->find("endings")),
       out);
}

bool reads_a_generator(const Node& node) {
  return find_node(node, [](const Node& one) { return one.as<Generate>() != nullptr; });
}

// Random draws below a cache happen once.
void note_frozen_draws(const Node& node, std::vector<std::string>& out) {
  each_node(node, [&](const Node& one) {
    const auto* map = one.as<Map>();
    if (!map) return;
    for (const Call& call : map->program.steps)
      if (varies_by_epoch(call))
        note(std::string(call.op->name()) +
                 " is before cache: its random draws of epoch 0 are kept for all epochs; put it after cache "
                 "to draw again in every epoch",
             out);
  });
}

// Elements that are joined below a cache keep the order of epoch 0.
void note_frozen_orders(const Node& node, bool joined, std::vector<std::string>& out) {
  const auto* shuffle = node.as<Shuffle>();
  if (joined && shuffle && shuffle->reshuffle_each_epoch)
    note(
        "shuffle is before cache, with batch, window or zip in between: every epoch has the same samples in "
        "each batch; put cache before batch to mix samples again in every epoch",
        out);
  joined = joined || gathers(node) || node.as<Zip>();
  for (const NodePtr& input : node.inputs) note_frozen_orders(*input, joined, out);
}

// The first or the last elements of an order that changes are others in each epoch: no split of a data set.
void note_members_that_move(const Node& node, std::vector<std::string>& out) {
  const auto* take = node.as<Take>();
  const auto* skip = node.as<Skip>();
  if ((!take || take->count == 0) && (!skip || skip->count == 0)) return;
  const Node* below = node.input().get();
  while (below->as<Take>() || below->as<Skip>() || below->as<Map>()) below = below->input().get();
  const auto* shuffle = below->as<Shuffle>();
  if (!shuffle || !shuffle->reshuffle_each_epoch || shuffle->window > 0 || !below->total) return;
  if (take && take->count >= *below->total) return;
  const std::string verb(kind_name(node.kind));
  note(verb +
           " is after shuffle, whose order changes every epoch, so it keeps other elements in each; to "
           "split a dataset use random_split(), or shuffle(reshuffle_each_epoch=False)",
       out);
}

// Files differ in size, so that what ranks lack, or have too much, may be many samples.
void note_dealt_files(const Node& node, std::vector<std::string>& out) {
  const auto* interleave = node.as<Interleave>();
  if (!interleave || !interleave->ordered || !node.sharded) return;
  const NodePtr& order = node.inputs.back();
  const Shard& shard = *find_shard(*order);
  const std::string deals = "shard is before interleave: it deals whole files to " +
                            std::to_string(shard.world) + " ranks" +
                            (shard.deals() && order_varies(*order) ? ", others each epoch" : "");
  const std::string instead = "; put shard after interleave to deal samples";
  if (!interleave->reads_are_indexed(node)) {
    note(deals + ", and the samples of streams are not counted, so ranks are even by steps= alone" + instead,
         out);
    return;
  }
  const auto share = share_in(*order, *totals_of(node, num_datasets(node)), 0);
  if (!share.ok() || shard.world == 1) return;
  const uint64_t given = multiply_sizes(share->steps, shard.world);
  const bool drops = shard.even == Even::drop;
  note(deals + ", which differ in samples: in epoch 0, even=\"" +
           std::string(EnumNames<Even>::names[static_cast<size_t>(shard.even)]) + "\" " +
           (drops ? "leaves out " : "repeats ") +
           std::to_string(drops ? share->all - given : given - share->all) + " of " +
           std::to_string(share->all) + " samples" + instead,
       out);
}

void collect(const Node& node, const KeptBlocks& kept, std::vector<std::string>& out) {
  for (const NodePtr& input : node.inputs) collect(*input, kept, out);
  if (const auto* read = node.as<Read>()) {
    note_left_out_classes(*read->source, out);
    for (const std::string& one : notes_of(*read->source)) note(one, out);
  }
  for (const std::string& one : notes_on_meanings(node)) note(one, out);
  if (node.as<Cache>()) {
    note_frozen_draws(*node.input(), out);
    note_frozen_orders(*node.input(), false, out);
  }
  const auto* shuffle = node.as<Shuffle>();
  if (shuffle && is_batched(*node.input()))
    note(
        "shuffle is after batch: whole batches are shuffled, and the same samples stay together; put it "
        "before batch to mix samples",
        out);
  if (shuffle && shuffle->seed == 0 && shuffle->reshuffle_each_epoch)
    note(
        "shuffle has seed 0, the default: every run has the same order in each epoch; pass another seed= to "
        "change it",
        out);
  if (shuffle) note_blocks(node, kept, out);
  const bool may_fail = program_of(node.kind) != nullptr;
  if (may_fail && node.input()->as<OnError>() && !gathers(*node.input()->input()))
    note("on_error is before a " + std::string(kind_name(node.kind)) +
             ": it applies to failures of the verbs before it, not of those after it; put it after the verbs "
             "it is for",
         out);
  const auto* on_error = node.as<OnError>();
  if (on_error && on_error->policy != OnErrorPolicy::raise && reads_a_generator(node))
    note(
        "on_error is after from_generator: when the generator itself raises, or yields an element of another "
        "structure, the run ends anyway, because no element comes after that",
        out);
  note_dealt_files(node, out);
  // Elsewhere the shard acts at the data, whatever verbs are in between.
  if (node.as<Shard>() && !node.input()->indexed)
    note(
        "shard is after a filter, unbatch, window shuffle, on_error(\"skip\") or another verb whose elements "
        "depend on earlier ones: every rank reads and decodes everything and keeps its share; put shard "
        "before it if ranks may have different numbers of samples",
        out);
}

}  // namespace

bool is_batched(const Node& node) {
  if (node.as<Batch>() || node.as<GroupBy>() || node.as<Window>()) return true;
  if (node.inputs.empty() || node.as<Unbatch>() || node.as<Pack>()) return false;
  return is_batched(*node.input());
}

std::vector<std::string> notes(const NodePtr& plan, const KeptBlocks& kept) {
  std::vector<std::string> out;
  collect(*plan, kept, out);
  if (!caches_of_moving_parts(*plan, true).empty()) note(std::string(kPartsMove), out);
  return out;
}

std::vector<std::string> data_notes(const Node& plan) {
  std::vector<std::string> out;
  each_node(plan, [&](const Node& node) {
    if (const auto* read = node.as<Read>())
      for (std::string& one : notes_of(*read->source)) note(std::move(one), out);
    for (std::string& one : notes_on_meanings(node)) note(std::move(one), out);
  });
  return out;
}

std::vector<std::string> warnings(const NodePtr& plan, const KeptBlocks& kept) {
  std::vector<std::string> out;
  each_node(*plan, [&](const Node& node) { note_members_that_move(node, out); });
  // Every sample of the data is delivered, and on its own.
  const auto is_plain = [](const Node& node) {
    return node.as<Read>() || node.as<Map>() || node.as<OnError>() || node.as<Shard>() ||
           node.as<Shuffle>() || node.as<Concatenate>() || node.as<Interleave>() || node.as<Mix>() ||
           node.as<Repeat>();
  };
  each_node(*plan, [&](const Node& node) {
    if (find_node(node, [&](const Node& below) { return !is_plain(below); })) return;
    const auto is_unknown = [&](const Node& below) {
      return below.as<Read>() && !kept.sizes.contains(&below);
    };
    if (node.as<Shuffle>() && !find_node(node, is_unknown)) note_blocks(node, kept, out);
  });
  return out;
}

}  // namespace headrace
