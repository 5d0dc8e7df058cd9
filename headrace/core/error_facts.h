// What is known of an error besides its message, for programs.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace headrace {

class Value;

// Strings are empty, and numbers absent, where nothing is known. The names are those of the attributes of
// Python's exceptions and of the keys of `--json`.
struct ErrorFacts {
  std::string format;    // of the data: "webdataset"
  std::string file;      // its path; for a member of an archive, the archive's path and the member's
  std::string field;     // of the sample or table: "label"
  std::string op;        // the operator, verb or function: "decode_image"; `operator` in Python and JSON
  std::string option;    // the argument: "split"
  std::string expected;  // "uint8[3]", as the message has it
  std::string got;
  std::string place;               // in the user's code: "map at train.py:31"
  std::optional<uint64_t> byte;    // in the file
  std::optional<uint64_t> record;  // in the file: a record, row, line or member, from 0
  std::optional<uint64_t> sample;  // in the data set, from 0

  // Of a user's function that raised: the number by which the Python side finds its exception; 0: none.
  uint64_t exception = 0;

  // Adds what `other` knows and this does not: what was known nearest to the cause stays.
  void add(const ErrorFacts& other);
  Value values() const;  // an object of what is known
};

}  // namespace headrace
