#include "headrace/formats/csv/row_syntax.h"

#include <cstring>

namespace headrace {

size_t RowEnd::find(std::string_view text) {
  if (seen_ == 0) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (end != std::string_view::npos &&
        (dialect_.quote == '\0' || line.find(dialect_.quote) == std::string_view::npos))
      return end + 1;
  }
  for (; seen_ < text.size(); ++seen_) {
    const char c = text[seen_];
    if (state_ == State::quoted) {
      const size_t quote = text.find(dialect_.quote, seen_);
      if (quote == std::string_view::npos) {
        seen_ = text.size();
        return std::string_view::npos;
      }
      seen_ = quote, state_ = State::quote;
    } else if (c == '\n') {
      const size_t end = seen_ + 1;
      reset();
      return end;
    } else if (c == dialect_.quote && c != '\0' && state_ != State::plain) {
      state_ = State::quoted;
    } else {
      state_ = c == dialect_.delimiter ? State::field_begin : State::plain;
    }
  }
  return std::string_view::npos;
}

std::string unescaped(const CsvField& field, char quote) {
  std::string out;
  for (size_t i = 0; i < field.text.size(); ++i) {
    out += field.text[i];
    if (field.text[i] == quote) ++i;
  }
  return out;
}

std::string_view without_row_end(std::string_view row) {
  if (row.ends_with('\n')) row.remove_suffix(1);
  if (row.ends_with('\r')) row.remove_suffix(1);
  return row;
}

namespace {

// The field that begins at `at`, just after its opening quote; moves `at` to the closing quote.
bool take_quoted(std::string_view row, char quote, size_t& at, CsvField& out) {
  const size_t begin = at;
  out.is_quoted = true;
  while (true) {
    at = row.find(quote, at);
    if (at == std::string_view::npos) return false;
    if (at + 1 == row.size() || row[at + 1] != quote) break;
    out.has_escapes = true;
    at += 2;
  }
  out.text = row.substr(begin, at - begin);
  return true;
}

}  // namespace

Status split_row(std::string_view row, const CsvDialect& dialect, std::vector<CsvField>& out) {
  out.clear();
  const auto column = [&] { return "column " + std::to_string(out.size() + 1) + ": expected "; };
  for (size_t at = 0;; ++at) {
    CsvField field;
    if (dialect.quote != '\0' && at < row.size() && row[at] == dialect.quote) {
      ++at;
      if (!take_quoted(row, dialect.quote, at, field)) return corrupt(column() + "a closing quote, got none");
      ++at;
      if (at < row.size() && row[at] != dialect.delimiter)
        return corrupt(column() + "a delimiter after the closing quote, got '" + std::string(1, row[at]) +
                       "'");
    } else {
      const size_t end = std::min(row.find(dialect.delimiter, at), row.size());
      field.text = row.substr(at, end - at);
      at = end;
    }
    out.push_back(field);
    if (at >= row.size()) return {};
  }
}

}  // namespace headrace
