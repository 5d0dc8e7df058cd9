// Which field of a data set is its label, and the label of a sample, as text. For `inspect` and `doctor`.
// Const methods may be called from several threads.
#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/input/sample_reader.h"

namespace headrace::cli {

// An integer field with a name for labels; -1 if there is none.
int find_label(const Schema& schema);

// The label of samples, wherever it is stored: a field of numbers or text, or a feature of a tf.train.Example
// in a field.
class LabelReader {
 public:
  explicit LabelReader(const SampleReader& reader);

  bool has_labels() const { return field_ >= 0; }
  int field() const { return feature_.empty() ? field_ : -1; }  // -1: no field holds only the label
  // "label", or "image/class/label of record"; empty if there are no labels.
  std::string name() const;
  // "3" or "cat", one string per value. Nothing if this sample has no label.
  std::optional<std::vector<std::string>> of(const std::vector<Tensor>& fields) const;

 private:
  int field_ = -1;
  std::string field_name_, feature_;
};

// Counts labels. Methods may be called from several threads, but not while the result of counts() is in use.
class LabelCounts {
 public:
  // Adds the values of one sample. Returns a hash of them all, never 0.
  uint64_t add(const std::vector<std::string>& values);

  const std::map<std::string, uint64_t>& counts() const { return counts_; }  // value -> count
  // There are too many different values for classes; new ones are no longer counted.
  bool too_many() const { return too_many_; }
  // What add() hashed, "3" or "3, 5"; "" if there were too many.
  std::string text(uint64_t hash) const;

 private:
  std::mutex mutex_;  // guards all
  std::map<std::string, uint64_t> counts_;
  std::unordered_map<uint64_t, std::string> texts_;
  bool too_many_ = false;
};

}  // namespace headrace::cli
