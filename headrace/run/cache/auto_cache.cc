#include "headrace/run/cache/auto_cache.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <set>
#include <span>

#include "headrace/core/text/text.h"
#include "headrace/formats/index/sidecar.h"
#include "headrace/graph/passes/cut.h"
#include "headrace/graph/rewrites/rewrites.h"
#include "headrace/graph/verbs/inference.h"
#include "headrace/graph/walk_nodes.h"
#include "headrace/ops/c_function.h"
#include "headrace/run/cache/cache_files.h"
#include "headrace/run/element_cache/extra_cache.h"
#include "headrace/run/measure/machine.h"
#include "headrace/run/measure/probe.h"

namespace headrace {
namespace {

// Shares (1/n) of the memory for caches: for the positions of elements on disk, and for elements waiting to
// be written there.
constexpr size_t kPlacesOf = 2, kWaitingOf = 4;
constexpr double kFilesShare = 0.1;                        // of the budget, the minimum for those
constexpr double kMemoryShare = 0.5;                       // of the budget, for cached elements
constexpr double kDiskShare = 0.5;                         // of the free disk space
constexpr double kPageShare = 0.5;                         // of the free memory: the system's page cache
constexpr double kLookAtSteps = 0.08, kLookAtWays = 0.25;  // s
constexpr size_t kSamplesForSteps = 8, kSamplesForWays = 48;
constexpr size_t kLookedAt = 2;  // candidates that are tried

// From the top of a chain down to its read.
struct Path {
  std::vector<const Node*> nodes;
  NodePtr bottom;
};

Path path_below(const NodePtr& top) {
  Path out{{}, top};
  while (out.bottom->as<Map>() || moves_indices(*out.bottom)) {
    out.nodes.push_back(out.bottom.get());
    out.bottom = out.bottom->input();
  }
  return out;
}

Program all_fields(const Schema& schema) {
  Program out;
  for (size_t f = 0; f < schema.size(); ++f) {
    out.input_fields.push_back(static_cast<int>(f));
    out.outputs.push_back(static_cast<int>(f));
    out.specs.push_back(schema.specs[f]);
  }
  out.schema = schema;
  return out;
}

Program program_along(const Path& path) {
  Program out = all_fields(path.bottom->schema);
  for (auto node = path.nodes.rbegin(); node != path.nodes.rend(); ++node)
    if (const auto* map = (*node)->as<Map>()) out = compose(out, map->program);
  return out;
}

// The verbs of the path that move indices, over `data`; null where that is not possible.
NodePtr verbs_over(const Path& path, NodePtr data) {
  for (auto node = path.nodes.rbegin(); node != path.nodes.rend() && data; ++node)
    if (!(*node)->as<Map>()) data = with_data(**node, data);
  return data;
}

NodePtr path_over(const Path& path, NodePtr data) {
  for (auto node = path.nodes.rbegin(); node != path.nodes.rend() && data; ++node)
    data = with_data(**node, data);
  return data;
}

const std::string& line_of(const Path& path) {
  for (const Node* node : path.nodes)
    if (node->as<Map>()) return node->made_at;
  return path.bottom->made_at;
}

// The inputs that hold elements.
std::span<const NodePtr> data_of(const Node& node) {
  const std::span<const NodePtr> all = node.inputs;
  if (moves_indices(node)) return all.first(1);
  return is_union(node) ? all.first(num_datasets(node)) : all;
}

// Whether every element is the same in every epoch and identified by where it was read.
bool is_repeatable(const Node& node) {
  if (!node.indexed) return false;
  // A source without files may give another result each time: a user's __getitem__ may draw random numbers.
  if (const auto* read = node.as<Read>()) return read->source->resident() || read->source->num_files() > 0;
  if (const auto* map = node.as<Map>()) {
    const Program& program = map->program;
    if (std::ranges::find(program.input_fields, kValidField) != program.input_fields.end()) return false;
    const std::vector<bool> same = repeatable_steps(program);
    return std::ranges::find(same, false) == same.end() && is_repeatable(*node.input());
  }
  return ((is_union(node) && !node.as<Zip>()) || moves_indices(node)) &&
         std::ranges::all_of(data_of(node), [](const NodePtr& input) { return is_repeatable(*input); });
}

struct Counted {
  uint64_t count = 0;
  bool others_each_epoch = false;  // the set of elements changes between epochs
};

// The distinct elements in an epoch of all ranks.
Counted elements_of(const Node& node) {
  if (const auto* read = node.as<Read>()) return {read->source->size(), false};
  Counted out;
  for (const NodePtr& input : data_of(node)) {
    const Counted one = elements_of(*input);
    out.count += one.count, out.others_each_epoch = out.others_each_epoch || one.others_each_epoch;
  }
  const auto* take = node.as<Take>();
  const auto* skip = node.as<Skip>();
  if (take && !out.others_each_epoch) out.count = std::min(out.count, take->count);
  if (skip && !out.others_each_epoch) out.count -= std::min(out.count, skip->count);
  if (const auto* select = node.as<Select>())
    out.count = std::set<uint64_t>(select->order->begin(), select->order->end()).size();
  if (reorders_each_epoch(node)) out.others_each_epoch = true;
  return out;
}

// Decoding and normalizing images is one step, unless a cache is in between.
Program as_it_runs(const Program& program, const NodePtr& below, const std::set<std::string>& rewrites_off) {
  if (rewrites_off.contains("all") || rewrites_off.contains("fuse_decode_crop_resize_flip_normalize"))
    return program;
  auto made = make_node(Map{program}, {below});
  if (!made.ok()) return program;
  NodePtr node = *made;
  for (NodePtr next = fuse_decode_crop_resize_flip_normalize(node); next != node;
       next = fuse_decode_crop_resize_flip_normalize(node))
    node = next;
  return node->as<Map>()->program;
}

bool same_outside(const Node& a, const Node& b) {
  return a.schema.names == b.schema.names && a.schema.structure == b.schema.structure && a.size == b.size &&
         a.total == b.total && a.indexed == b.indexed;
}

}  // namespace

// The work on one plan.
class AutoCache::Placing {
 public:
  explicit Placing(AutoCache& owner) : owner_(owner), options_(owner.options_) {
    const Pool::Ledger ledger = owner.pool_->ledger();
    machine_.workers = options_.workers, machine_.io = options_.io;
    machine_.cores = usable_cores();
    const size_t usable = usable_memory_bytes();
    machine_.page_cache =
        static_cast<uint64_t>(kPageShare * static_cast<double>(usable - std::min(usable, ledger.budget)));
  }

  NodePtr visit(const NodePtr& node) {
    if (node->as<Cache>()) {
      owner_.none_because_ = "the plan already has a cache()";
      return node;
    }
    if (node->indexed && (node->as<Map>() || node->as<Read>() || moves_indices(*node))) {
      const Path path = path_below(node);
      if (is_repeatable(*path.bottom)) {
        const size_t before = owner_.kept_.size();
        const NodePtr made = along(path);
        if (made && same_outside(*made, *node)) return made;
        while (owner_.kept_.size() > before) owner_.forget_last();
        return node;
      }
      if (path.nodes.empty()) return below(node);
      const NodePtr bottom = visit(path.bottom);
      const NodePtr made = bottom == path.bottom ? node : path_over(path, bottom);
      return made ? made : node;
    }
    return below(node);
  }

 private:
  NodePtr below(const NodePtr& node) {
    std::vector<NodePtr> inputs;
    bool changed = false;
    const double outside = std::exchange(rows_, rows_ * rows_of(*node));
    for (const NodePtr& input : node->inputs) {
      inputs.push_back(visit(input));
      changed = changed || inputs.back() != input;
    }
    rows_ = outside;
    const NodePtr made = changed ? with_inputs(*node, std::move(inputs)) : node;
    return made ? made : node;
  }

  // Elements of its input per element, approximately.
  static double rows_of(const Node& node) {
    if (const auto* batch = node.as<Batch>()) return static_cast<double>(batch->size);
    if (const auto* window = node.as<Window>()) return static_cast<double>(window->size);
    const auto* group = node.as<GroupBy>();
    return group && !group->sizes.empty() ? static_cast<double>(std::ranges::max(group->sizes)) : 1;
  }

  // The run needs memory, too: half of the budget, or enough for some of its output elements.
  void leave_room_for_run(const Pilot& measured) {
    constexpr double kUnderWay = 8;
    const double budget = static_cast<double>(owner_.pool_->budget());
    const double run = std::max((1 - kMemoryShare) * budget, kUnderWay * rows_ * measured.output_bytes);
    const double room = budget - run - static_cast<double>(owner_.reserved());
    machine_.memory_room = static_cast<uint64_t>(std::max(0.0, room));
    // The positions of elements on disk take little memory: there is room for them even with large batches.
    files_room_ = std::max(machine_.memory_room, static_cast<uint64_t>(kFilesShare * budget));
    machine_.disk_places = files_room_ / kPlacesOf / DiskCacheRoom::kPlaceBytes;
  }

  // The path with a cache in it; null for no cache.
  NodePtr along(const Path& path) {
    const NodePtr data = verbs_over(path, path.bottom);
    CacheChain chain;
    chain.program = program_along(path);
    if (!data || elements_of(*data).count == 0) return nullptr;
    const PilotOptions look{
        .seed = options_.seed, .samples = kSamplesForSteps, .seconds = kLookAtSteps, .pool = owner_.pool_};
    auto measured = look_ahead(data, chain.program, owner_.store_, look);
    if (!measured.ok()) {
      owner_.none_because_ = "its samples could not be measured: " + std::string(measured.status().text());
      return nullptr;  // the run reports it, too
    }
    chain.measured = *std::move(measured);
    const Program straight = as_it_runs(chain.program, data, options_.rewrites_off);
    machine_.lock_share = chain.measured.lock_share;
    const CacheUse use = use_of(*data);
    leave_room_for_run(chain.measured);
    find_speeds(path, chain);
    Demand below = chain.measured.below;
    below.read_s = later_reads_s(chain.measured, use);
    Demand base = below;
    for (size_t s = 0; s < chain.program.steps.size(); ++s)
      base = base + demand_of(chain.program.steps[s], chain.measured.steps[s]);
    chain.candidates = cache_candidates(kind_name(path.bottom->kind), chain.program, chain.measured, use);
    for (CacheCandidate& one : chain.candidates) judge(one, base, use, machine_, chain.measured.output_bytes);
    look_closer(data, straight, chain, below, use, look);
    int best = choose(chain.candidates);
    NodePtr made;
    if (best >= 0) {
      if (!options_.only_explained) best = settle(path, chain, best);
      made = built(path, chain, straight, chain.candidates[static_cast<size_t>(best)], use);
    }
    owner_.chains_.push_back(std::move(chain));
    return made;
  }

  static CacheUse use_of(const Node& data) {
    const Counted elements = elements_of(data);
    CacheUse out{elements.count, elements.count, 1};
    const Shard* shard = find_shard(data);
    if (!shard || shard->world < 2) return out;
    if (shard->fixed) {
      const auto is_part = [](const Node& node) { return node.as<Shard>() != nullptr; };
      out.in_memory = std::min({elements.count, *data.total, *find_node(data, is_part)->total});
    } else if (elements.others_each_epoch)
      out.found_in_memory = 1.0 / shard->world;  // a rank has different elements in each epoch
    else
      out.in_memory = (elements.count + shard->world - 1) / shard->world;
    return out;
  }

  void find_speeds(const Path& path, const CacheChain& chain) {
    if (machine_.write_s_per_byte == 0) {
      const MemorySpeed memory = probe_memory();
      machine_.write_s_per_byte = memory.write, machine_.memory_s_per_byte = memory.read;
    }
    machine_.no_disk = why_not_on_disk(*path.bottom, chain.program);
    if (machine_.no_disk.empty() && machine_.disk_s_per_byte == 0) find_disk();
  }

  void find_disk() {
    const Result<std::string> folder = own_cache_folder(kElementFolder);
    if (!folder.ok()) {
      machine_.no_disk = folder.status().text();
      return;
    }
    const Result<DiskSpeed> speed = probe_disk(*folder);
    std::error_code error;
    const auto space = std::filesystem::space(*folder, error);
    if (!speed.ok() || error) {
      machine_.no_disk = speed.ok() ? error.message() : std::string(speed.status().text());
      return;
    }
    folder_ = *folder;
    machine_.disk_room = static_cast<uint64_t>(kDiskShare * static_cast<double>(space.available));
    machine_.disk_s_per_byte = speed->read, machine_.cold_disk_s_per_byte = speed->cold_read;
    machine_.disk_write_s_per_byte = speed->write;
  }

  // Files outlive the run: another run must be able to tell whether they hold the elements it would make.
  std::string why_not_on_disk(const Node& bottom, const Program& program) const {
    std::string out;
    const auto look = [&](const Call& call) {
      const CFunction* function = c_function_of(*call.op);
      const bool is_unknown = call.op->phase() == Phase::python || (function && function->version.empty());
      if (is_unknown && options_.version.empty())
        out = "cannot tell whether a function is the same in another run";
    };
    each_call(bottom, look);
    for (const Call& call : program.steps) look(call);
    each_node(bottom, [&](const Node& node) {
      const auto* read = node.as<Read>();
      if (!read) return;
      const auto format = read->source->describe().get_text("format");
      if (format.ok() && *format == "sequence")
        out = "cannot tell whether the items of a Python sequence are the same in another run";
    });
    return out;
  }

  // In the epochs after the first, in which files may be in memory.
  double later_reads_s(const Pilot& measured, const CacheUse& use) const {
    const double all = measured.read_bytes * static_cast<double>(use.elements);
    return all <= static_cast<double>(machine_.page_cache)
               ? std::min(measured.below.read_s, measured.read_again_s)
               : measured.below.read_s;
  }

  // Measures the most promising candidates as they would run, compared with no cache at all.
  void look_closer(const NodePtr& data, const Program& straight, CacheChain& chain, const Demand& below,
                   const CacheUse& use, PilotOptions look) const {
    look.samples = kSamplesForWays, look.seconds = kLookAtWays;
    std::vector<CacheCandidate*> order;
    for (CacheCandidate& one : chain.candidates)
      if (one.pays) order.push_back(&one);
    std::ranges::stable_sort(order, std::greater<>(), [](const CacheCandidate* one) { return one->speedup; });
    order.resize(std::min(order.size(), kLookedAt));
    if (order.empty()) return;
    std::vector<Way> ways{{{straight}, 0}};
    for (const CacheCandidate* one : order) {
      Halves halves = cut(chain.program, one->kept);
      ways.push_back({{std::move(halves.first), std::move(halves.second)}, 1});
    }
    const auto measured = compare(data, ways, owner_.store_, look);
    if (!measured.ok()) return;
    const Demand base = below + measured->front().demand;
    for (size_t i = 0; i < order.size(); ++i) {
      order[i]->demand = (*measured)[i + 1].demand, order[i]->element_bytes = (*measured)[i + 1].bytes;
      judge(*order[i], base, use, machine_, chain.measured.output_bytes);
    }
  }

  NodePtr kept_below(const Path& path, const CacheChain& chain, const CacheCandidate& candidate) const {
    auto made = make_node(Map{cut(chain.program, candidate.kept).first}, {path.bottom}, line_of(path));
    return made.ok() ? *made : nullptr;
  }

  // If another run has chosen a place whose elements are on disk, or soon will be, use that place.
  int settle(const Path& path, CacheChain& chain, int best) {
    if (chain.candidates[static_cast<size_t>(best)].where != KeptIn::disk) return best;
    std::vector<std::string> keys(chain.candidates.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      const CacheCandidate& one = chain.candidates[i];
      const NodePtr below = one.pays && one.where == KeptIn::disk ? kept_below(path, chain, one) : nullptr;
      if (below) keys[i] = element_key(below, options_.version, options_.seed, data_keys_);
    }
    const auto whole = make_node(Map{chain.program}, {path.bottom});
    if (!whole.ok()) return best;
    const std::string agreed =
        agree(folder_, element_key(*whole, options_.version, options_.seed, data_keys_),
              keys[static_cast<size_t>(best)]);
    const auto found = std::ranges::find(keys, agreed);
    if (agreed.empty() || found == keys.end()) return best;
    const auto settled = static_cast<int>(found - keys.begin());
    if (settled != best) {
      chain.candidates[static_cast<size_t>(best)].chosen = false;
      chain.candidates[static_cast<size_t>(best)].why +=
          ": another run chose a different place, whose files are reused";
      chain.candidates[static_cast<size_t>(settled)].chosen = true;
    }
    return settled;
  }

  // Null where that is not possible. Its memory is charged to the run's budget.
  std::shared_ptr<ElementCache> on_disk(const NodePtr& below, const CacheCandidate& candidate,
                                        size_t& reserved) {
    if (options_.only_explained) return memory_cache(0);
    const auto elements = static_cast<uint64_t>(candidate.share * static_cast<double>(candidate.elements));
    const DiskCacheRoom room{std::min(DiskCacheRoom::kMostWaiting, files_room_ / kWaitingOf),
                             std::min(machine_.disk_places, elements + elements / 16 + 16)};
    const std::string key = element_key(below, options_.version, options_.seed, data_keys_);
    auto opened = open_elements(folder_, key, room);
    reserved = room.waiting + room.places * DiskCacheRoom::kPlaceBytes;
    return opened.ok() && owner_.pool_->charge(reserved, Use::other) ? *std::move(opened) : nullptr;
  }

  NodePtr built(const Path& path, CacheChain& chain, const Program& straight, CacheCandidate& candidate,
                const CacheUse& use) {
    const NodePtr below = kept_below(path, chain, candidate);
    if (!below) return nullptr;
    std::shared_ptr<ElementCache> kept;
    size_t reserved = 0;
    ExtraCache::Room room{candidate.share, machine_.disk_room};
    if (candidate.where == KeptIn::memory) {
      const double each = candidate.element_bytes + candidate.beside + 256;
      const double wanted = 1.1 * each * static_cast<double>(use.in_memory);
      room.bytes = std::min(machine_.memory_room, static_cast<uint64_t>(wanted));
      reserved = room.bytes;
      if (!owner_.pool_->charge(reserved, Use::other)) return nullptr;
      kept = memory_cache(room.bytes);
    } else {
      kept = on_disk(below, candidate, reserved);
      if (!kept) return nullptr;
      machine_.disk_room -=
          std::min(machine_.disk_room, static_cast<uint64_t>(candidate.share * candidate.bytes()));
    }
    Cache cache{.path = candidate.where == KeptIn::disk ? folder_ : "",
                .max_memory = candidate.where == KeptIn::disk ? 0 : room.bytes,
                .version = "automatic"};
    auto extra = std::make_shared<ExtraCache>(std::move(kept), room, straight);
    owner_.kept_.push_back({extra, candidate.where, reserved});
    cache.memory = std::make_shared<MemoryCaches>(std::move(extra));
    const auto node = make_node(std::move(cache), {below}, line_of(path));
    const NodePtr verbs = node.ok() ? verbs_over(path, *node) : nullptr;
    if (verbs) {
      const auto top = make_node(Map{cut(chain.program, candidate.kept).second}, {verbs}, line_of(path));
      if (top.ok()) return *top;
    }
    owner_.forget_last();
    return nullptr;
  }

  AutoCache& owner_;
  const AutoCacheOptions& options_;
  CacheMachine machine_;
  std::string folder_;
  DataKeys data_keys_;
  uint64_t files_room_ = 0;  // bytes of memory for the index of files
  double rows_ = 1;          // rows per element after the batches above, approximately
};

AutoCache::AutoCache(AutoCacheOptions options, std::shared_ptr<Store> store, std::shared_ptr<Pool> pool)
    : options_(std::move(options)), store_(std::move(store)), pool_(std::move(pool)) {}

AutoCache::~AutoCache() { pool_->uncharge(reserved(), Use::other); }

size_t AutoCache::reserved() const {
  size_t out = 0;
  for (const Kept& kept : kept_) out += kept.reserved;
  return out;
}

NodePtr AutoCache::place(const NodePtr& plan) {
  const NodePtr made = Placing(*this).visit(plan);
  if (made && same_outside(*made, *plan)) return made;
  while (!kept_.empty()) forget_last();
  return plan;
}

void AutoCache::forget_last() {
  pool_->uncharge(kept_.back().reserved, Use::other);
  kept_.pop_back();
}

// Disk caches last: their elements can be used by the next run.
bool AutoCache::reclaim() {
  for (const KeptIn where : {KeptIn::memory, KeptIn::disk}) {
    size_t freed = 0;
    for (Kept& kept : kept_) {
      if (kept.where != where || kept.reserved == 0) continue;
      kept.cache->reclaim();
      freed += std::exchange(kept.reserved, 0);
    }
    if (freed == 0) continue;
    pool_->uncharge(freed, Use::other);
    has_given_up_ = true;
    return true;
  }
  return false;
}

Result<std::unique_ptr<AutoCache>> auto_cache(const LoaderOptions& options, const Settings& most,
                                              std::shared_ptr<Store> store, std::shared_ptr<Pool> pool) {
  if (options.cache.empty()) return std::unique_ptr<AutoCache>();
  if (options.cache != "auto")
    return invalid("options: cache must be 'auto' or empty, got " + in_quotes(options.cache));
  AutoCacheOptions wanted{options.seed,         most.workers,          most.io,
                          options.rewrites_off, options.cache_version, options.only_explained};
  return std::make_unique<AutoCache>(std::move(wanted), std::move(store), std::move(pool));
}

Value::List AutoCache::what_if() const {
  Value::List out;
  for (const CacheChain& chain : chains_)
    if (auto one = headrace::what_if(chain.candidates, !options_.only_explained))
      out.push_back(*std::move(one));
  return out;
}

std::string AutoCache::text() const {
  std::string out;
  for (const CacheChain& chain : chains_) out += to_text(chain.candidates);
  if (has_given_up_) out += "cache: dropped during the run, because its memory was needed\n";
  return out.empty() ? "cache: none: " + none_because_ + "\n" : out;
}

}  // namespace headrace
