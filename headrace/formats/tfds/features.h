// features.json of TensorFlow Datasets: which fields a record has, and the fields of a record that is a
// tf.train.Example. Immutable; any thread.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/core/value.h"

namespace headrace {

struct TfdsField {
  enum class Kind {
    numbers,
    one_text,
    texts,
    ragged
  };  // texts: of any number; ragged: numbers in lists of lists
  std::string name;  // also its key in the Example
  Kind kind = Kind::numbers;
  DType dtype = DType::i64;
  Shape shape;           // of numbers: at most one dimension is kAny
  bool is_list = false;  // of a Sequence: where a record lacks the key it has none
};

class TfdsFeatures {
 public:
  // `features`: the JSON. What cannot be read is left out, and counted.
  static Result<TfdsFeatures> parse(const Value& features);

  const std::vector<std::string>& left_out() const { return left_out_; }
  // The files that may name classes, "objects-label.labels.txt", with the fields whose classes they name.
  const std::vector<std::pair<std::string, std::string>>& label_files() const { return label_files_; }

  // These fields in this order, a name stands for all below it; all when `names` is empty.
  Status choose(const std::vector<std::string>& names);

  Schema schema() const;
  // Of a record, whose bytes they share where they can.
  Status read(const Tensor& record, std::vector<Tensor>& out) const;

 private:
  friend class TfdsParser;
  void index();

  std::vector<TfdsField> fields_;
  std::vector<std::string> left_out_;
  std::vector<std::pair<std::string, std::string>> label_files_;
  struct Key {
    size_t field = 0;
    bool is_lengths = false;  // of a ragged field
  };
  std::map<std::string, Key, std::less<>> keys_;  // of the Example
};

}  // namespace headrace
