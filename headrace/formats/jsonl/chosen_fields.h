// The chosen fields of JSON lines, and the conversion of a line to their values.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/jsonl/index.h"
#include "headrace/formats/jsonl/values.h"
#include "headrace/formats/nulls.h"
#include "headrace/formats/records/record_files.h"

namespace headrace {

struct JsonlOptions {
  std::vector<std::string> columns;  // empty: all
  Value dtypes, defaults;            // objects by column, or null
  NullRules nulls;                   // for null and missing keys
};

struct JsonColumn {
  // texts, lengths: of a list of strings. mask: whether there is a value.
  enum class Part : uint8_t { whole, texts, lengths, mask };
  std::string name;
  TensorSpec spec;
  Part part = Part::whole;
  std::optional<Tensor> fallback = std::nullopt;  // the value for null and for a missing key
  Rounding rounding = Rounding::refused;          // taken: `dtypes` chose float64
  std::string note = {};                          // what made it text, when most of its values are numbers
};

class JsonTable {
 public:
  // `contents`: one for each of `files`.
  static Result<JsonTable> make(const JsonlOptions& options, const std::vector<SourceFile>& files,
                                const std::vector<JsonlContents>& contents);

  Schema schema() const;
  bool has_masks() const;
  const std::string& nulls() const { return nulls_; }               // how nulls are read, for a fingerprint
  const std::vector<std::string>& notes() const { return notes_; }  // columns that may be misread
  JsonTable with_columns(std::span<const int> of_these) const;
  Status read(const Record& record, std::vector<Tensor>& fields) const;
  // See RecordFormat::put.
  size_t put(const RecordRun& run, std::span<const FieldPlace> to) const;

 private:
  // What is done with the value of a key.
  struct Use {
    uint32_t slot = JsonFields::kNone;  // in the values of a line; kNone: ignored
    bool is_entered = false;            // if it is an object
  };
  explicit JsonTable(JsonFields fields) : fields_(std::move(fields)), uses_(fields_.size()) {}
  void add(JsonColumn column, uint32_t node);
  uint32_t slot_of(uint32_t node);
  void enter(uint32_t node);
  // Finds the values of a line.
  Status look(std::string_view line, std::vector<JsonSpan>& found) const;
  bool look(JsonReader& reader, uint32_t parent, std::vector<JsonSpan>& found) const;
  void forget(uint32_t node, std::vector<JsonSpan>& found) const;
  // What was found as fields.
  Status make_fields(const Record& record, const std::vector<JsonSpan>& found,
                     std::vector<Tensor>& fields) const;
  bool put_found(const std::vector<JsonSpan>& found, const JsonPlace& place, size_t row,
                 std::span<const FieldPlace> to) const;

  JsonFields fields_;
  std::vector<Use> uses_;  // by node
  std::vector<JsonColumn> columns_;
  std::vector<uint32_t> nodes_, slots_;  // of the columns
  uint32_t num_slots_ = 0;
  std::vector<std::string> notes_;
  std::string nulls_;
};

}  // namespace headrace
