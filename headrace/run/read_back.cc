#include "headrace/run/read_back.h"

#include <algorithm>

#include "headrace/core/stop_flag.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/opening/open.h"
#include "headrace/graph/node.h"
#include "headrace/io/wrapped_store.h"

namespace headrace {
namespace {

constexpr uint64_t kLookMs = 50;  // ms between two calls of `progress`

// The files of the data set under their future names.
class Renamed final : public WrappedStore {
 public:
  Renamed(const std::string& target, const std::string& data, const WriterInfo& format)
      : WrappedStore(file_store()) {
    places_.emplace_back(target, data);
    for (const std::string& ending : format.beside)
      places_.emplace_back(companion_of(target, format, ending), companion_of(data, format, ending));
  }
  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override {
    return WrappedStore::open(where(path));
  }
  Result<FileInfo> info(const std::string& path) override { return WrappedStore::info(where(path)); }
  Result<Listing> list(const std::string& root) override { return WrappedStore::list(where(root)); }
  Result<Entries> entries(const std::string& folder) override { return WrappedStore::entries(where(folder)); }
  Result<Listing> list_readable(const std::string& root) override {
    return WrappedStore::list_readable(where(root));
  }
  Result<Entries> entries_readable(const std::string& folder) override {
    return WrappedStore::entries_readable(where(folder));
  }

 private:
  std::string where(const std::string& path) const {
    for (const auto& [target, data] : places_)
      if (path.starts_with(target) && (path.size() == target.size() || path[target.size()] == '/'))
        return data + path.substr(target.size());
    return path;
  }
  std::vector<std::pair<std::string, std::string>> places_;  // current name, future name
};

std::string shard_text(const ShardEntry& shard) { return "verify: " + in_quotes(shard.name) + ": "; }

Status compare(const ShardEntry& shard, const std::vector<uint64_t>& written,
               const std::vector<uint64_t>& read) {
  if (read.size() != shard.samples)
    return corrupt(shard_text(shard) + "expected " + std::to_string(shard.samples) + " samples, got " +
                   std::to_string(read.size()));
  if (shard_hash(read) == shard.xxh3_128 || hash_sum(read) == shard.sum) return {};
  const auto [mine, theirs] = std::ranges::mismatch(written, read);
  const std::string which = written.empty() ? "a sample" : "sample " + std::to_string(mine - written.begin());
  return corrupt(shard_text(shard) + which + " does not read back as written");
}

class Hashes {
 public:
  Hashes(Loader& loader, const std::function<bool(uint64_t)>& progress)
      : loader_(loader), progress_(progress) {}
  // Hashes of the next samples, at most `count`.
  Result<std::vector<uint64_t>> next(uint64_t count) {
    std::vector<uint64_t> out;
    out.reserve(count);
    while (out.size() < count) {
      if (samples_ % 64 == 0 && progress_ && !progress_(samples_)) return stopped();
      Sample sample;
      HEADRACE_ASSIGN(const auto more, loader_.next_within(sample, kLookMs));
      if (!more) continue;
      if (!*more) break;
      out.push_back(sample_hash(sample.fields));
      ++samples_;
    }
    return out;
  }

 private:
  Loader& loader_;
  const std::function<bool(uint64_t)>& progress_;
  uint64_t samples_ = 0;
};

}  // namespace

Status read_back(const DatasetWriter& writer, std::string target, const LoaderOptions& loading,
                 const std::function<bool(uint64_t)>& progress) {
  while (target.size() > 1 && target.ends_with('/')) target.pop_back();
  const DatasetWriter::Closed& closed = writer.closed();
  uint64_t samples = 0;
  for (const ShardEntry& shard : closed.shards) samples += shard.samples;
  if (samples == 0) return {};  // most readers reject empty data
  const auto store = std::make_shared<Renamed>(target, closed.data, writer.format());
  auto source = open_source(*store, target, writer.format().name, writer.read_with());
  if (!source.ok()) return source.status().in_op("verify");
  HEADRACE_ASSIGN(const NodePtr plan, make_node(Read{*source}, {}));
  LoaderOptions options;
  options.workers = loading.workers, options.io = loading.io, options.memory_budget = loading.memory_budget;
  HEADRACE_ASSIGN(const auto loader, Loader::make(plan, options, store));
  HEADRACE_TRY(loader->begin());
  Hashes hashes(*loader, progress);
  for (size_t i = 0; i < closed.shards.size(); ++i) {
    auto read = hashes.next(closed.shards[i].samples);
    if (!read.ok()) return read.status().in_op("verify");
    HEADRACE_TRY(compare(closed.shards[i], closed.hashes[i], *read));
  }
  HEADRACE_ASSIGN(const auto more, hashes.next(1));
  return more.empty()
             ? Status()
             : corrupt({.expected = std::to_string(samples) + " samples", .got = "more"}).in_op("verify");
}

}  // namespace headrace
