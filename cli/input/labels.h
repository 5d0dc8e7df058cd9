// Which field of a data set is its label, and what a sample's label says, as text. For `inspect` and
// `doctor`. Const methods may be called from several threads.
#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/input/sample_reader.h"

namespace headrace::cli {

// A field of whole numbers that is called like a label; -1 when there is none.
int find_label(const Schema& schema);

// The label of samples, wherever it stands: a field of numbers or text, or a feature of the tf.train.Example
// in one.
class LabelReader {
 public:
  explicit LabelReader(const SampleReader& reader);

  bool has_labels() const { return field_ >= 0; }
  int field() const { return feature_.empty() ? field_ : -1; }  // -1: none has the label and nothing else
  // "label", or "image/class/label of record"; empty when there are none.
  std::string name() const;
  // "3" or "cat", one text a value. Nothing where this sample has none.
  std::optional<std::vector<std::string>> of(const std::vector<Tensor>& fields) const;

 private:
  int field_ = -1;
  std::string field_name_, feature_;
};

// Counts labels. Its methods may be called from several threads while nobody holds what counts() gave.
class LabelCounts {
 public:
  // The values of one sample. Answers a hash of them all, never 0.
  uint64_t add(const std::vector<std::string>& values);

  const std::map<std::string, uint64_t>& counts() const { return counts_; }  // value -> how many
  // More different values than classes can be: from then on no new ones were counted.
  bool too_many() const { return too_many_; }
  // What add() hashed, "3" or "3, 5"; "" when there were too many.
  std::string text(uint64_t hash) const;

 private:
  std::mutex mutex_;  // guards all
  std::map<std::string, uint64_t> counts_;
  std::unordered_map<uint64_t, std::string> texts_;
  bool too_many_ = false;
};

}  // namespace headrace::cli
