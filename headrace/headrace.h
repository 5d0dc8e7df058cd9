// Headrace for C++ users: datasets as a chain of verbs, and the loader that runs them.
//
//   auto train = headrace::read("imagenet/train").shuffle({.seed = 17}).map([](const Fields& s) -> Outputs {
//     Symbol image = s["image"].apply("decode_image").apply("random_resized_crop", {{"size", 224}});
//     return {{"image", image.apply("normalize", {{"layout", "CHW"}})}, {"label", s["label"]}};
//   }).batch(256);
//   auto loader = train.loader();                       // Result<std::unique_ptr<Loader>>
//   for (int epoch = 0; epoch < 90; ++epoch) {
//     (void)(*loader)->begin();                         // the next epoch; of the first one next() does it
//     for (headrace::Sample batch; *(*loader)->next(batch);) use(batch.fields[0].view());
//   }
//
// A field of a batch whose rows differ in size, as bytes do, has no view() of all: is_ragged() tells, and
// `*fields[0].rows` are its rows, a tensor each, or rows->bytes(i).
//
// A Dataset is an immutable value: each verb answers a new one. What went wrong is kept and told by loader(),
// so chains need no checks in between. Every verb means what it means in Python; docs/concepts.md says what
// that is.
#pragma once
#include <functional>
#include <initializer_list>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "headrace/graph/node.h"
#include "headrace/graph/plan/plan_json.h"
#include "headrace/ops/c_function.h"
#include "headrace/run/find_points.h"
#include "headrace/run/loader.h"
#include "headrace/run/state/merge.h"
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
// A C function: apply(c_function("hypot", &hypot), {s["x"], s["y"]}); one symbol an output.
std::vector<Symbol> apply(const CFunction& function, const std::vector<Symbol>& inputs);

class Fields {
 public:
  explicit Fields(ProgramBuilder* builder) : builder_(builder) {}
  // Values from `first` on, under these names.
  Fields(ProgramBuilder* builder, std::vector<std::string> names, int first)
      : builder_(builder), names_(std::move(names)), first_(first) {}
  Symbol operator[](std::string_view name) const;

 private:
  ProgramBuilder* builder_;
  std::vector<std::string> names_;  // none: those of the sample
  int first_ = 0;
};
using Outputs = std::vector<std::pair<std::string, Symbol>>;
using Mapping = std::function<Outputs(const Fields&)>;
using Choice = std::function<Symbol(const Fields&)>;
// A step of scan: the new state and the new element.
struct Stepped {
  Outputs state, element;
};
using ScanStep = std::function<Stepped(const Fields& state, const Fields& element)>;
using State = std::vector<std::pair<std::string, Tensor>>;

struct ShuffleOptions {
  uint64_t seed = 0, window = 0, blocks = 0;
};
struct ShardOptions {
  uint32_t rank = 0, world = 1;
  Even even = Even::wrap;
  std::optional<uint64_t> steps = std::nullopt;
};
struct BatchOptions {
  bool drop_last = false, ragged = false;
};
struct PadOptions {
  Value shapes = {};  // {field: [dimension or null, …]}; null: the largest row of the batch
  Value fill = 0;     // a number, or {field: number}
};
struct BucketOptions {
  std::vector<int64_t> boundaries = {};
  std::vector<uint64_t> sizes = {};  // of batches, one a bucket or one for all; or
  uint64_t token_budget = 0;         // most of (elements × longest length)
  PadOptions pad = {};
  bool pad_to_boundary = false, drop_last = false, ragged = false;
};
struct PackOptions {
  PackStrategy strategy = PackStrategy::first_fit;
  uint64_t bins = 64;
  uint64_t max_sequences = 0;  // of a row; 0: any number
  double fill = 0;
  bool drop_last = false;
};
struct InterleaveOptions {
  uint64_t cycle_length = 0;  // 0: all of them
  uint64_t block_length = 1;
};

struct CacheOptions {
  std::string path = "";    // a folder; "": in memory
  uint64_t max_memory = 0;  // bytes; 0: half of what the process may use
  std::string version = "";
};

struct MixOptions {
  std::vector<double> weights = {};       // one for each dataset; equal ones when empty
  std::vector<MixWeights> schedule = {};  // or others from some positions on
  uint64_t seed = 0;
  MixStop stop = MixStop::first_exhausted;
};
struct WindowOptions {
  uint64_t shift = 0;  // 0: the size
  uint64_t stride = 1;
  bool drop_last = false, ragged = false;
};
struct SampleOptions {
  std::optional<uint64_t> num = std::nullopt;
  bool replacement = true;
  uint64_t seed = 0;
};

// The line of a program that calls a verb: errors of elements name it. Line() is none, and is not named.
using Line = std::source_location;

class Dataset {
 public:
  explicit Dataset(Result<NodePtr> node) : node_(std::move(node)) {}

  Dataset map(const Mapping& f, Line at = Line::current()) const;
  Dataset filter(const Choice& f, Line at = Line::current()) const;
  // A C function of all fields, in their order; several outputs become a tuple.
  Dataset map(const CFunction& f, Line at = Line::current()) const;
  Dataset filter(const CFunction& f, Line at = Line::current()) const;
  Dataset take_while(const Choice& f, Line at = Line::current()) const;
  Dataset unique(const Mapping& key, Line at = Line::current()) const;
  // The length stays; random access ends.
  Dataset scan(const State& initial, const ScanStep& f, Line at = Line::current()) const;
  // The last state of epoch 0, computed now: its values in the order of `initial`.
  Result<std::vector<Tensor>> reduce(
      const State& initial,
      const std::function<Outputs(const Fields& state, const Fields& element)>& f) const;
  Dataset flat_map(const Mapping& f, Line at = Line::current()) const { return map(f, at).unbatch(at); }
  Dataset unbatch(Line at = Line::current()) const { return then(Unbatch{}, at); }
  Dataset shuffle(ShuffleOptions o = {}, Line at = Line::current()) const {
    return then(Shuffle{o.seed, o.window, o.blocks}, at);
  }
  Dataset shard(ShardOptions o, Line at = Line::current()) const {
    return then(Shard{o.rank, o.world, o.even, o.steps}, at);
  }
  // 0 times: for ever.
  Dataset repeat(uint64_t times = 0, Line at = Line::current()) const { return then(Repeat{times}, at); }
  Dataset take(uint64_t count, Line at = Line::current()) const { return then(Take{count}, at); }
  Dataset skip(uint64_t count, Line at = Line::current()) const { return then(Skip{count}, at); }
  Dataset concatenate(const Dataset& other, Line at = Line::current()) const;
  Dataset batch(uint64_t size, BatchOptions o = {}, Line at = Line::current()) const {
    return then(Batch{size, o.drop_last, o.ragged}, at);
  }
  Dataset ragged_batch(uint64_t size, bool drop_last = false, Line at = Line::current()) const {
    return batch(size, {.drop_last = drop_last, .ragged = true}, at);
  }
  Dataset cache(CacheOptions o = {}, Line at = Line::current()) const {
    return then(Cache{o.path, o.max_memory, o.version}, at);
  }
  Dataset padded_batch(uint64_t size, const PadOptions& pad = {}, bool drop_last = false,
                       Line at = Line::current()) const;
  Dataset bucket_by_length(std::string_view field, const BucketOptions& o, Line at = Line::current()) const;
  Dataset bucket_by_length(const Choice& length, const BucketOptions& o, Line at = Line::current()) const;
  Dataset group_by_window(const Choice& key, uint64_t size, BatchOptions o = {},
                          Line at = Line::current()) const;
  // Fields and the lengths of their rows.
  Dataset pack(const std::vector<std::pair<std::string, uint64_t>>& lengths, const PackOptions& o = {},
               Line at = Line::current()) const;
  Dataset window(uint64_t size, WindowOptions o = {}, Line at = Line::current()) const {
    return then(Window{size, o.shift == 0 ? size : o.shift, o.stride, o.drop_last, o.ragged}, at);
  }
  Dataset rebatch(uint64_t size, BatchOptions o = {}, Line at = Line::current()) const {
    return unbatch(at).batch(size, o, at);
  }
  Dataset zip(const Dataset& other) const;  // tuples
  Dataset enumerate(int64_t start = 0,
                    Line at = Line::current()) const;  // tuples of the position and the element
  Dataset sample(std::vector<double> weights, SampleOptions o = {}, Line at = Line::current()) const;
  Dataset sort_by(std::vector<double> keys, bool descending = false, Line at = Line::current()) const;
  Dataset on_error(OnErrorPolicy policy, Line at = Line::current()) const {
    return then(OnError{policy}, at);
  }
  Dataset with_ids(std::string_view field = "id",
                   Line at = Line::current()) const;  // adds the sample's id, i64
  // Adds a bool: false for what shard's Even::pad added.
  Dataset with_validity(std::string_view field = "valid", Line at = Line::current()) const;

  // What is worth a warning of the data as they were opened, as shards that are missing; none twice.
  std::vector<std::string> notes() const;
  const Result<NodePtr>& node() const { return node_; }
  Result<std::unique_ptr<Loader>> loader(LoaderOptions options = {}) const;
  // The plan as JSON, the same from C++ and Python; load_plan is its inverse.
  Result<std::string> plan(uint64_t seed = 0) const;

 private:
  Dataset then(Kind kind, const Line& at) const;
  Dataset group_by(Result<Program> program, bool by_length, const BucketOptions& o, const Line& at) const;
  Dataset then(Kind kind, std::vector<double> numbers, std::string slot, const Line& at) const;
  Result<NodePtr> node_;
};

Dataset read(const std::string& path, std::string_view format = "", const Value& options = {});
Dataset read(const std::vector<std::string>& paths, std::string_view format = "", const Value& options = {});
Dataset range(int64_t stop);
Dataset range(int64_t start, int64_t stop, int64_t step = 1);
Dataset from_source(SourcePtr source);
Dataset from_generator(GeneratorPtr generator);
// In turns, in the order of tf.data's interleave.
Dataset interleave(const std::vector<Dataset>& datasets, InterleaveOptions o = {});
Dataset counter(int64_t start = 0, int64_t step = 1);                               // without end
Dataset random(uint64_t seed, const Shape& shape = {}, uint64_t size = kInfinite);  // i64 below 2^32

// Elements side by side, as tuples or as fields of these names.
Dataset zip(const std::vector<Dataset>& datasets);
Dataset zip(const std::vector<std::pair<std::string, Dataset>>& datasets);
Dataset mix(const std::vector<Dataset>& datasets, MixOptions options = {});
Dataset choose(const std::vector<Dataset>& datasets, const std::vector<int64_t>& choices,
               MixStop stop = MixStop::first_exhausted);

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
