// Headrace for C++ users: datasets as a chain of verbs, and the loader that runs them.
//
//   auto train = headrace::read("imagenet/train").shuffle({.seed = 17}).map([](const Fields& s) -> Outputs {
//     Symbol image = s["image"].apply("decode_image").apply("random_resized_crop", {{"size", 224}});
//     return {{"image", image.apply("normalize", {{"layout", "CHW"}})}, {"label", s["label"]}};
//   }).batch(256);
//   auto loader = train.loader();                       // Result<std::unique_ptr<Loader>>
//   for (headrace::Sample batch; *(*loader)->next(batch);) use(batch.fields[0].view());
//
// A Dataset is an immutable value: each verb answers a new one. What went wrong is kept and told by loader(),
// so chains need no checks in between. Every verb means what it means in Python; docs/concepts.md says what
// that is.
#pragma once
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "headrace/graph/node.h"
#include "headrace/graph/plan_json.h"
#include "headrace/run/index.h"
#include "headrace/run/loader.h"
#include "headrace/run/merge.h"
#include "headrace/run/write.h"

namespace headrace {

using Params = std::initializer_list<std::pair<std::string, Value>>;

// A value inside a traced map: a field, or what an operator made of it.
class Symbol {
 public:
  Symbol(ProgramBuilder* builder, int value) : builder_(builder), value_(value) {}
  Symbol apply(std::string_view op, Params params = {}) const;  // one input, one output
  int value() const { return value_; }
  ProgramBuilder* builder() const { return builder_; }

 private:
  ProgramBuilder* builder_;
  int value_;
};
// Operators of several inputs: apply("random_crop", {image, mask}, {{"size", 224}}).
std::vector<Symbol> apply(std::string_view op, std::vector<Symbol> inputs, Params params = {});

class Fields {
 public:
  explicit Fields(ProgramBuilder* builder) : builder_(builder) {}
  Symbol operator[](std::string_view name) const;

 private:
  ProgramBuilder* builder_;
};
using Outputs = std::vector<std::pair<std::string, Symbol>>;
using Mapping = std::function<Outputs(const Fields&)>;

struct ShuffleOptions {
  uint64_t seed = 0, window = 0;
};
struct ShardOptions {
  uint32_t rank = 0, world = 1;
  Even even = Even::wrap;
  std::optional<uint64_t> steps = std::nullopt;
};
struct BatchOptions {
  bool drop_last = false, ragged = false;
};

struct CacheOptions {
  std::string path = "";    // a folder; "": in memory
  uint64_t max_memory = 0;  // bytes; 0: half of what the process may use
  std::string version = "";
};

class Dataset {
 public:
  explicit Dataset(Result<NodePtr> node) : node_(std::move(node)) {}

  Dataset map(const Mapping& f) const;
  Dataset filter(const std::function<Symbol(const Fields&)>& f) const;
  Dataset flat_map(const Mapping& f) const { return map(f).unbatch(); }
  Dataset unbatch() const { return then(Unbatch{}); }
  Dataset shuffle(ShuffleOptions o = {}) const { return then(Shuffle{o.seed, o.window}); }
  Dataset shard(ShardOptions o) const { return then(Shard{o.rank, o.world, o.even, o.steps}); }
  Dataset repeat(uint64_t times = 0) const { return then(Repeat{times}); }  // 0: for ever
  Dataset take(uint64_t count) const { return then(Take{count}); }
  Dataset skip(uint64_t count) const { return then(Skip{count}); }
  Dataset concatenate(const Dataset& other) const;
  Dataset batch(uint64_t size, BatchOptions o = {}) const { return then(Batch{size, o.drop_last, o.ragged}); }
  Dataset cache(CacheOptions o = {}) const { return then(Cache{o.path, o.max_memory, o.version}); }
  Dataset on_error(OnErrorPolicy policy) const { return then(OnError{policy}); }
  Dataset with_ids(std::string_view field = "id") const;  // adds the sample's id, i64
  Dataset with_validity(
      std::string_view field = "valid") const;  // adds a bool: false for what shard's Even::pad added

  const Result<NodePtr>& node() const { return node_; }
  Result<std::unique_ptr<Loader>> loader(LoaderOptions options = {}) const;
  // The plan as JSON, the same from C++ and Python; load_plan is its inverse.
  Result<std::string> plan(uint64_t seed = 0) const;

 private:
  Dataset then(Kind kind) const;
  Result<NodePtr> node_;
};

Dataset read(const std::string& path, std::string_view format = "", const Value& options = {});
Dataset read(const std::vector<std::string>& paths, std::string_view format = "", const Value& options = {});
Dataset range(int64_t stop);
Dataset range(int64_t start, int64_t stop, int64_t step = 1);
Dataset from_source(SourcePtr source);

// Finds ahead where the rows of JPEG files begin, which decode_image(match="fast") otherwise does on the way:
// of encoded images, so before they are decoded. Kept in the user's cache folder; it changes no byte.
Result<IndexedPoints> index(const Dataset& data, const IndexOptions& options = {});

// Writes all samples, in their order, in the format that the target's ending or options.format names: whole
// or not at all. docs/writing.md says what is where.
Result<WriteReport> write(const Dataset& data, const std::string& target, const WriteOptions& options = {});

struct LoadedPlan {
  Dataset dataset;
  uint64_t seed = 0;
};
Result<LoadedPlan> load_plan(std::string_view json, const Bindings& bindings = {});

}  // namespace headrace
