// features.json of TensorFlow Datasets: the fields of a record that is a tf.train.Example, and decoding them.
// Immutable; any thread.
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
  };  // texts: any number of strings; ragged: numbers in lists of lists
  std::string name;  // also its key in the Example
  Kind kind = Kind::numbers;
  DType dtype = DType::i64;
  Shape shape;           // of numbers: at most one dimension is kAny
  bool is_list = false;  // of a Sequence: empty if a record lacks the key
};

class TfdsFeatures {
 public:
  // `features`: the JSON. Features of unsupported types are left out, and listed.
  static Result<TfdsFeatures> parse(const Value& features);

  const std::vector<std::string>& left_out() const { return left_out_; }
  // Files that may contain class names, "objects-label.labels.txt", and the fields that they belong to.
  const std::vector<std::pair<std::string, std::string>>& label_files() const { return label_files_; }

  // Selects these fields, in this order; a name selects all fields below it. All fields if `names` is empty.
  Status choose(const std::vector<std::string>& names);

  Schema schema() const;
  // The fields of a record, which share its bytes if possible.
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
