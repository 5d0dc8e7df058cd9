// Rows of CSV as RFC 4180 has them: where one ends, and what its fields are. A field that begins with a quote
// goes on to the next quote that is alone; delimiters and line ends between them are its own, and two quotes
// are one. A row ends with \n or \r\n. Pure; any thread.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/status.h"

namespace headrace {

struct CsvDialect {
  char delimiter = ',';
  char quote = '"';  // '\0': there are none
};

// Looks for the end of a row whose bytes may come piece by piece.
class RowEnd {
 public:
  explicit RowEnd(const CsvDialect& dialect) : dialect_(dialect) {}
  // The number of bytes of the row that begins `text`, its \n included; npos when it is not there yet. Then
  // the call that follows gets the same text and more behind it.
  size_t find(std::string_view text);
  bool is_quoted() const { return state_ == State::quoted; }  // a quote was not closed so far

 private:
  enum class State { field_begin, plain, quoted, quote };  // quote: the one that closes, or the first of two
  void reset() { state_ = State::field_begin, seen_ = 0; }

  CsvDialect dialect_;
  State state_ = State::field_begin;
  size_t seen_ = 0;
};

struct CsvField {
  std::string_view text;     // of the row, without the quotes around it
  bool has_escapes = false;  // two quotes stand for one
  bool is_quoted = false;
};
std::string unescaped(const CsvField& field, char quote);

// A row without what ends it.
std::string_view without_row_end(std::string_view row);
// The fields of such a row, one at least. The error names the column by its number, from 1.
Status split_row(std::string_view row, const CsvDialect& dialect, std::vector<CsvField>& out);

}  // namespace headrace
