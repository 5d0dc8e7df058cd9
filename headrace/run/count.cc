#include "headrace/run/count.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <string>

#include "headrace/formats/index/sidecar.h"
#include "headrace/graph/plan/plan_json.h"
#include "headrace/graph/walk_nodes.h"
#include "headrace/io/new_file.h"
#include "headrace/run/element_cache/disk_cache.h"

namespace headrace {
namespace {

constexpr std::string_view kFolder = "counts";

// Whether functions, generators or data of the program are in the plan: it names them by slots.
bool has_slots(const Value& plan) {
  if (const auto* list = plan.list()) return std::ranges::any_of(*list, has_slots);
  if (!plan.object()) return false;
  return std::ranges::any_of(
      *plan.object(), [](const auto& member) { return member.first == "slot" || has_slots(member.second); });
}

// A file of this name has the number; empty: it is not kept.
std::string place_of(const NodePtr& plan, uint64_t seed) {
  const auto may_leave_out = [](const Node& node) {
    const auto* on_error = node.as<OnError>();
    return on_error && on_error->policy != OnErrorPolicy::raise;
  };
  if (find_node(*plan, may_leave_out) || has_slots(plan_to_value(plan))) return "";
  const Result<std::string> folder = own_cache_folder(kFolder);
  if (!folder.ok()) return "";
  std::string key = fingerprint(plan, seed);
  each_node(*plan, [&](const Node& node) {
    if (const auto* read = node.as<Read>()) key += data_key(*read->source);
  });
  return *folder + "/" + hash_text(key);
}

std::optional<uint64_t> kept_at(const std::string& path, Store& store) {
  auto file = store.open(path);
  if (!file.ok()) return std::nullopt;
  const auto bytes = read_bytes(**file, 0, ~uint64_t{0}, 64);
  if (!bytes.ok()) return std::nullopt;
  const std::string_view text(reinterpret_cast<const char*>((*bytes)->data()), (*bytes)->size());
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool is_whole = error == std::errc() && end + 1 == text.data() + text.size() && *end == '\n';
  return is_whole ? std::optional(count) : std::nullopt;
}

Result<uint64_t> counted(const NodePtr& plan, LoaderOptions options, std::shared_ptr<Store> store,
                         const std::function<bool()>& goes_on) {
  constexpr uint64_t kAskMs = 50, kAskElements = 4096;
  options.fewest_fields = true;
  HEADRACE_ASSIGN(const auto loader, Loader::make(plan, std::move(options), std::move(store)));
  Sample sample;
  for (uint64_t count = 0;;) {
    HEADRACE_ASSIGN(const std::optional<bool> more, loader->next_within(sample, kAskMs));
    if (more && !*more) return count;
    count += more ? 1 : 0;
    if (goes_on && (!more || count % kAskElements == 0) && !goes_on())
      return Status(Code::cancelled, "count: was stopped");
  }
}

// Whether it begins again for ever, where its length does not say so.
bool is_endless(const Node& node) {
  for (const Node* n = &node; n->inputs.size() == 1; n = n->input().get()) {
    if (n->as<Take>() || n->as<TakeWhile>() || n->as<AssertCardinality>()) return false;
    if (const auto* repeat = n->as<Repeat>(); repeat && repeat->times == 0) return true;
  }
  return false;
}

}  // namespace

Result<uint64_t> count_elements(const NodePtr& plan, LoaderOptions options, std::shared_ptr<Store> store,
                                const std::function<bool()>& goes_on) {
  if (plan->size ? *plan->size == kInfinite : is_endless(*plan))
    return invalid({.expected = "a dataset that ends", .got = "one that never does"}).in_op("count");
  if (plan->size) return *plan->size;
  const std::string path = place_of(plan, options.seed);
  if (!path.empty())
    if (const auto kept = kept_at(path, *file_store())) return *kept;
  HEADRACE_ASSIGN(const uint64_t count, counted(plan, std::move(options), std::move(store), goes_on));
  if (!path.empty()) {
    const std::string text = std::to_string(count) + "\n";
    (void)write_atomically(path, std::as_bytes(std::span(text)));  // it is counted again if that fails
  }
  return count;
}

}  // namespace headrace
