// Rows of CSV (RFC 4180): where a row ends, and its fields. A field that begins with a quote ends at the next
// quote that is not doubled; delimiters and line ends inside belong to it, and two quotes stand for one. A
// row ends with \n or \r\n. Pure; any thread.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/status.h"

namespace headrace {

struct CsvDialect {
  char delimiter = ',';
  char quote = '"';  // '\0': no quoting
};

// Finds the end of a row whose bytes may come in pieces.
class RowEnd {
 public:
  explicit RowEnd(const CsvDialect& dialect) : dialect_(dialect) {}
  // The size in bytes of the row that begins `text`, its \n included; npos when its end has not come yet. The
  // next call then gets the same text with more appended.
  size_t find(std::string_view text);
  bool is_quoted() const { return state_ == State::quoted; }  // inside an open quote

 private:
  enum class State { field_begin, plain, quoted, quote };  // quote: the closing one, or the first of two
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

// A row without its line end.
std::string_view without_row_end(std::string_view row);
// The fields of such a row, at least one. The error gives the column's number, from 1.
Status split_row(std::string_view row, const CsvDialect& dialect, std::vector<CsvField>& out);

}  // namespace headrace
