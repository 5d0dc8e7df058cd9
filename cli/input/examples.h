// The features of serialised tf.train.Examples, found by looking at many of them. For `inspect`, which prints
// the features as parse_example takes them. Const methods may be called from several threads.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headrace/codecs/example.h"
#include "headrace/core/value.h"

namespace headrace::cli {

// Whether the bytes are an Example or a SequenceExample with at least one feature, and nothing else.
bool is_example(std::span<const std::byte> record);
// Whether they are TensorFlow Ranking's ExampleListWithContext { 1: Example, one per candidate; 2: Example },
// which looks like an Example whose features have odd names and no values. No operator parses it.
bool is_example_list(std::span<const std::byte> record);

// The name of the first feature whose single value is an encoded image.
std::optional<std::string> image_feature(std::span<const std::byte> record);

// The value of that feature, if it has exactly one.
std::optional<std::span<const std::byte>> bytes_of_feature(std::span<const std::byte> record,
                                                           std::string_view name);

class FeatureSurvey {
 public:
  void add(std::span<const std::byte> record);
  bool empty() const { return looked_ == 0; }
  uint64_t others() const { return others_; }         // records that are not Examples
  bool has_lists() const { return !lists_.empty(); }  // some are SequenceExamples

  struct Row {
    std::string name, spec, note;  // 'label', "int64 ()", "missing in 3"
    bool in_lists = false;         // of a SequenceExample's feature lists
  };
  std::vector<Row> rows() const;
  // Parameters of parse_example or, where there are feature lists, of parse_sequence_example.
  Value params() const;
  // The same as a Python expression on `field` of a sample s; several lines.
  std::string python(const std::string& field) const;
  // {"operator", "params", "python", "missing": {name: count}, "others"}
  Value json(const std::string& field) const;

 private:
  struct Seen {
    uint64_t examples = 0;                    // that have it
    uint64_t last = ~uint64_t{0};             // the last one: a name that appears twice counts once
    std::array<uint64_t, 4> kinds{};          // how many features of each FeatureKind
    uint64_t least = ~uint64_t{0}, most = 0;  // number of values, per step in lists
    uint64_t images = 0;
    std::optional<FeatureKind> kind() const;  // if there is only one
    bool is_fixed() const { return least == most; }
  };
  using All = std::map<std::string, Seen, std::less<>>;
  static void count(const Feature& feature, Seen& seen);
  Value spec_of(const Seen& seen, bool in_lists) const;
  Value specs_of(const All& all, bool in_lists) const;

  uint64_t looked_ = 0, others_ = 0;
  All features_, lists_;
};

}  // namespace headrace::cli
