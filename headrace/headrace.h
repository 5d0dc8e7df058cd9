// Headrace for C++ users: datasets as a chain of verbs, and the loader that runs them.
//
//   auto train = headrace::read("imagenet/train").shuffle({.seed = 17}).map([](const Fields& s) -> Outputs {
//     Symbol image = s["image"].apply("decode_image").apply("random_resized_crop", {{"size", 224}});
//     return {{"image", image.apply("normalize", {{"layout", "CHW"}})}, {"label", s["label"]}};
//   }).batch(256);
//   auto loader = train.loader();                       // Result<std::unique_ptr<Loader>>
//   for (int epoch = 0; epoch < 90; ++epoch) {
//     (void)(*loader)->begin();                         // the next epoch; optional before the first
//     for (headrace::Sample batch; *(*loader)->next(batch);) use(batch.fields[0].view());
//   }
//
// A field of a batch whose rows differ in size, as bytes do, has no view() of the whole: check is_ragged().
// `*fields[0].rows` are its rows, one tensor each, or rows->bytes(i).
//
// A Dataset is an immutable value: each verb returns a new one. Errors are reported by loader(), so chains
// need no checks in between. Every verb is the same as in Python; see docs/concepts.md.
#pragma once
#include <functional>
#include <initializer_list>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "headrace/core/random/mixture.h"
#include "headrace/core/row_list.h"
#include "headrace/graph/plan/bindings.h"
#include "headrace/graph/ranks.h"
#include "headrace/graph/verb_options.h"
#include "headrace/ops/c_function.h"
#include "headrace/run/find_points.h"
#include "headrace/run/loader.h"
#include "headrace/run/state/merge.h"
#include "headrace/run/write.h"

namespace headrace {

using Params = std::initializer_list<std::pair<std::string, Value>>;

class Tracing;  // of one function; made by the verb that calls it
struct Program;

// A value inside a traced map: a field, or the output of an operator.
class Symbol {
 public:
  Symbol(Tracing* tracing, int value) : tracing_(tracing), value_(value) {}
  Symbol apply(std::string_view op, Params params = {}) const;  // one input, one output
  int value() const { return value_; }
  Tracing* tracing() const { return tracing_; }

 private:
  Tracing* tracing_;
  int value_;
};
// Operators with several inputs: apply("random_crop", {image, mask}, {{"size", 224}}).
std::vector<Symbol> apply(std::string_view op, std::vector<Symbol> inputs, Params params = {});
// A C function: apply(c_function("hypot", &hypot), {s["x"], s["y"]}); one symbol per output.
std::vector<Symbol> apply(const CFunction& function, const std::vector<Symbol>& inputs);

class Fields {
 public:
  explicit Fields(Tracing* tracing) : tracing_(tracing) {}
  // Values from `first` on, with these names.
  Fields(Tracing* tracing, std::vector<std::string> names, int first)
      : tracing_(tracing), names_(std::move(names)), first_(first) {}
  Symbol operator[](std::string_view name) const;

 private:
  Tracing* tracing_;
  std::vector<std::string> names_;  // empty: those of the sample
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
  bool reshuffle_each_epoch = true;
};
struct ShardOptions {
  // Without both: those of ranks() where the dataset runs, also after it was saved and loaded.
  std::optional<uint32_t> rank = std::nullopt, world = std::nullopt;
  Even even = Even::wrap;
  std::optional<uint64_t> steps = std::nullopt;
  uint32_t replicate = 1;  // consecutive ranks that get the same elements
  // The same elements in every epoch: every world-th, or one run of them. The order before it must not
  // change.
  bool fixed = false, contiguous = false;
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
  std::vector<uint64_t> sizes = {};  // of batches, one per bucket or one for all; or
  uint64_t token_budget = 0;         // maximum of (elements × longest length)
  PadOptions pad = {};
  bool pad_to_boundary = false, drop_last = false, ragged = false;
};
struct PackOptions {
  PackStrategy strategy = PackStrategy::first_fit;
  uint64_t bins = 64;
  uint64_t max_sequences = 0;  // in a row; 0: no limit
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
  std::vector<double> weights = {};       // one for each dataset; empty: equal weights
  std::vector<MixWeights> schedule = {};  // or weights that change at given positions
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

// The line of the program that calls a verb, for errors of its elements. Line() stands for no line; messages
// leave it out.
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
  // Keeps the length; there is no random access after it.
  Dataset scan(const State& initial, const ScanStep& f, Line at = Line::current()) const;
  // The last state of epoch 0, computed immediately: its values in the order of `initial`.
  Result<std::vector<Tensor>> reduce(
      const State& initial,
      const std::function<Outputs(const Fields& state, const Fields& element)>& f) const;
  Dataset flat_map(const Mapping& f, Line at = Line::current()) const;
  Dataset unbatch(Line at = Line::current()) const;
  Dataset shuffle(ShuffleOptions o = {}, Line at = Line::current()) const;
  Dataset shard(ShardOptions o = {}, Line at = Line::current()) const;
  // 0 times: forever.
  Dataset repeat(uint64_t times = 0, Line at = Line::current()) const;
  Dataset take(uint64_t count, Line at = Line::current()) const;
  Dataset skip(uint64_t count, Line at = Line::current()) const;
  Dataset concatenate(const Dataset& other, Line at = Line::current()) const;
  Dataset batch(uint64_t size, BatchOptions o = {}, Line at = Line::current()) const;
  Dataset ragged_batch(uint64_t size, bool drop_last = false, Line at = Line::current()) const;
  Dataset cache(CacheOptions o = {}, Line at = Line::current()) const;
  Dataset padded_batch(uint64_t size, const PadOptions& pad = {}, bool drop_last = false,
                       Line at = Line::current()) const;
  Dataset bucket_by_length(std::string_view field, const BucketOptions& o, Line at = Line::current()) const;
  Dataset bucket_by_length(const Choice& length, const BucketOptions& o, Line at = Line::current()) const;
  Dataset group_by_window(const Choice& key, uint64_t size, BatchOptions o = {},
                          Line at = Line::current()) const;
  // Fields, each with the length of its rows.
  Dataset pack(const std::vector<std::pair<std::string, uint64_t>>& lengths, const PackOptions& o = {},
               Line at = Line::current()) const;
  Dataset window(uint64_t size, WindowOptions o = {}, Line at = Line::current()) const;
  Dataset rebatch(uint64_t size, BatchOptions o = {}, Line at = Line::current()) const;
  Dataset zip(const Dataset& other) const;  // tuples
  Dataset enumerate(int64_t start = 0,
                    Line at = Line::current()) const;  // tuples of the position and the element
  Dataset sample(std::vector<double> weights, SampleOptions o = {}, Line at = Line::current()) const;
  // The same elements, `count` an epoch; another number of them is an error. Gives a dataset whose length
  // depends on its data one that is exact.
  Dataset assert_cardinality(uint64_t count, Line at = Line::current()) const;
  Dataset sort_by(std::vector<double> keys, bool descending = false, Line at = Line::current()) const;
  // The elements at these positions of the order of an epoch, which must be the same in every epoch.
  Dataset select(const std::vector<int64_t>& indices, Line at = Line::current()) const;
  // The elements at the positions that a function gives for each epoch, `length` of them. It is called before
  // an epoch begins, by one thread at a time, and must depend on the epoch alone. `slot`: for binding it to a
  // saved plan.
  Dataset reorder(std::function<std::vector<int64_t>(uint64_t epoch)> positions, uint64_t length,
                  std::string slot = "order", Line at = Line::current()) const;
  // Parts without common elements that are all elements together, chosen at random by `seed`, the same in
  // every epoch and on every rank. `lengths`: numbers of elements, or fractions that sum to 1.
  Result<std::vector<Dataset>> random_split(const std::vector<double>& lengths, uint64_t seed = 0,
                                            Line at = Line::current()) const;
  Dataset on_error(OnErrorPolicy policy, Line at = Line::current()) const;
  Dataset with_ids(std::string_view field = "id",
                   Line at = Line::current()) const;  // adds the sample's id, int64
  // Adds a bool: false for samples that shard's Even::pad added.
  Dataset with_validity(std::string_view field = "valid", Line at = Line::current()) const;

  // Warnings about the data as opened, such as missing shards; no duplicates.
  std::vector<std::string> notes() const;
  const Result<NodePtr>& node() const { return node_; }
  Result<std::unique_ptr<Loader>> loader(LoaderOptions options = {}) const;
  // The plan as JSON, the same from C++ and Python; load_plan is its inverse.
  Result<std::string> plan(uint64_t seed = 0) const;

 private:
  template <class K> Dataset then(K kind, const Line& at) const;
  Dataset group_by(Result<Program> program, bool by_length, const BucketOptions& o, const Line& at) const;
  template <class K>
  Dataset then(K kind, std::vector<double> numbers, std::string slot, const Line& at) const;
  Result<NodePtr> node_;
};

Dataset read(const std::string& path, std::string_view format = "", const Value& options = {});
Dataset read(const std::vector<std::string>& paths, std::string_view format = "", const Value& options = {});
// The names that the option "split" of read() takes for this path; none if it holds no splits.
Result<std::vector<std::string>> list_splits(const std::string& path, std::string_view format = "");
Dataset range(int64_t stop);
Dataset range(int64_t start, int64_t stop, int64_t step = 1);
Dataset from_source(SourcePtr source);
Dataset from_generator(GeneratorPtr generator);
// Round-robin, in the order of tf.data's interleave.
Dataset interleave(const std::vector<Dataset>& datasets, InterleaveOptions o = {});
// The same in an order of each epoch: verbs that choose or move elements, over range(datasets.size()). A
// shard among them deals whole datasets, and its `even` evens out their samples (docs/ranks.md).
Dataset interleave(const std::vector<Dataset>& datasets, const Dataset& order, InterleaveOptions o = {});
Dataset counter(int64_t start = 0, int64_t step = 1);                               // infinite
Dataset random(uint64_t seed, const Shape& shape = {}, uint64_t size = kInfinite);  // int64 below 2^32

// The datasets with one list of classes, to be concatenated, mixed, interleaved or chosen from: labels of
// those whose class lists differ are mapped by name to the classes of the first one, then the others in the
// order in which they are found. Joining datasets whose labels mean different classes is an error.
std::vector<Dataset> align_labels(const std::vector<Dataset>& datasets);

// Elements joined as tuples, or as fields with these names.
Dataset zip(const std::vector<Dataset>& datasets);
Dataset zip(const std::vector<std::pair<std::string, Dataset>>& datasets);
Dataset mix(const std::vector<Dataset>& datasets, MixOptions options = {});
Dataset choose(const std::vector<Dataset>& datasets, const std::vector<int64_t>& choices,
               MixStop stop = MixStop::first_exhausted);

// Finds in advance where the rows of JPEG files begin (entropy points), which decode_image(match="fast")
// otherwise does while decoding. `data` must have encoded images, not decoded ones. The index is stored in
// the user's cache folder and changes no output byte.
Result<IndexedPoints> index(const Dataset& data, const IndexOptions& options = {});

// Elements of epoch 0: at once where that is known, otherwise by a pass that computes only what the number
// depends on, and whose result is kept in the user's cache folder. For assert_cardinality(), or the steps of
// shard().
// `goes_on` is asked now and then; false: stop.
Result<uint64_t> count(const Dataset& data, LoaderOptions options = {},
                       const std::function<bool()>& goes_on = {});

// Writes all samples, in order and atomically, in the format given by the target's extension or
// options.format. See docs/writing.md.
Result<WriteReport> write(const Dataset& data, const std::string& target, const WriteOptions& options = {});

// Loader::report() as text, and as an HTML page that needs no other file; with the timeline of that loader,
// or null.
std::string report_text(const Value& report);
std::string report_page(const Value& report, const Timeline* timeline, std::string_view title);

struct LoadedPlan {
  Dataset dataset;
  uint64_t seed = 0;
};
Result<LoadedPlan> load_plan(std::string_view json, const Bindings& bindings = {});

}  // namespace headrace
