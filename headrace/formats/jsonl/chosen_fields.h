// The fields of JSON lines that were chosen, and how a line becomes their values.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/jsonl/index.h"
#include "headrace/formats/jsonl/values.h"
#include "headrace/formats/records/record_files.h"

namespace headrace {

struct JsonlOptions {
  std::vector<std::string> columns;  // empty: all
  Value dtypes, defaults;            // objects by column, or null
};

struct JsonColumn {
  enum class Part : uint8_t { whole, texts, lengths };  // the others: of a list of texts
  std::string name;
  TensorSpec spec;
  Part part = Part::whole;
  std::optional<Tensor> fallback = std::nullopt;  // what stands for null, and for a key that is not there
  std::string note = {};                          // what made it text, where most of its values are numbers
};

class JsonTable {
 public:
  // `contents`: of each of `files`.
  static Result<JsonTable> make(const JsonlOptions& options, const std::vector<SourceFile>& files,
                                const std::vector<JsonlContents>& contents);

  Schema schema() const;
  const std::vector<std::string>& notes() const { return notes_; }  // of columns that may be meant otherwise
  JsonTable with_columns(std::span<const int> of_these) const;
  Status read(const Record& record, std::vector<Tensor>& fields) const;
  // As RecordFormat::put.
  size_t put(const RecordRun& run, std::span<const FieldPlace> to) const;

 private:
  // What is done with the value of a key.
  struct Use {
    uint32_t slot = JsonFields::kNone;  // of the values that are taken of a line; none: it is passed over
    bool is_entered = false;            // if it is an object
  };

  void add(JsonColumn column, uint32_t node);
  uint32_t slot_of(uint32_t node);
  void enter(uint32_t node);
  bool look(JsonReader& reader, uint32_t parent, std::vector<JsonSpan>& found) const;
  bool put_line(const Record& record, size_t n, std::span<const FieldPlace> to, const JsonPlace& place,
                std::vector<JsonSpan>& found) const;
  void forget(uint32_t node, std::vector<JsonSpan>& found) const;

  JsonFields fields_;
  std::vector<Use> uses_;  // by node
  std::vector<JsonColumn> columns_;
  std::vector<uint32_t> nodes_, slots_;  // of the columns
  uint32_t num_slots_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace headrace
