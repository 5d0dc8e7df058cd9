// The fast path from CSV rows to the columns of a batch: delimiters and quotes are found for many rows at
// once, numbers are parsed in place, strings share the bytes of the file. Rows that fail are left to
// CsvTable::read(), which reports the error.
#include <cstring>

#include "headrace/core/text/utf8.h"
#include "headrace/formats/csv/chosen_columns.h"
#include "headrace/formats/records/made_bytes.h"
#include "headrace/formats/records/marks.h"

namespace headrace {
namespace {

// The position after what was taken; null where it cannot be taken this way.
using Next = const char*;

kernels::WantedBytes wanted(char c) { return {static_cast<uint8_t>(c), static_cast<uint8_t>(c), 0}; }

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

constexpr ptrdiff_t kCopied = 64;  // bytes at a time: two quotes are mostly a few words apart

// Copies and returns the end of the copy. May write beyond it, and read up to `readable`.
char* copy(const char* at, const char* end, char* out, const char* readable) {
  const ptrdiff_t size = end - at;
  if (readable - end < kCopied) {
    std::memcpy(out, at, static_cast<size_t>(size));
    return out + size;
  }
  for (ptrdiff_t done = 0; done < size; done += kCopied) std::memcpy(out + done, at + done, kCopied);
  return out + size;
}

class RowsToColumns {
 public:
  RowsToColumns(const CsvTable& table, const RecordRun& run, std::span<const FieldPlace> to)
      : dialect_(table.dialect),
        run_(run),
        readable_(reinterpret_cast<const char*>(run.buffer->data()) + run.buffer->size()),
        neighbours_(run),
        delimiters_(wanted(table.dialect.delimiter)),
        quotes_(wanted(table.dialect.quote)),
        checks_utf8_(table.checks_utf8),
        made_(run.bytes()) {
    uses_.reserve(table.width);
    for (const uint32_t use : table.uses) {
      Use& here = uses_.emplace_back();
      if (use == CsvTable::kUnused) continue;
      const CsvColumn& column = table.columns[use];
      has_str_ = has_str_ || (column.dtype == DType::str && checks_utf8_);
      here = {&column, parse_plain(column.dtype), to[use], size_of(column.dtype), is_text(column.dtype)};
    }
  }

  size_t run() {
    size_t n = 0;
    while (n < run_.records.size() && put_row(n)) ++n;
    return n;
  }

 private:
  // What to do with the field at one position of a row.
  struct Use {
    const CsvColumn* column = nullptr;  // null: skipped
    ParsePlain parse = nullptr;         // for a number; null: parse_number()
    FieldPlace to = {};
    size_t size = 0;  // of a number
    bool is_text = false;
  };

  bool put_row(size_t n) {
    prepare(n);
    const std::string_view row = without_row_end(run_.text(n));
    const char* at = row.data();
    const char* const end = at + row.size();
    const Use* const last = &uses_.back();
    for (const Use* use = uses_.data();; ++use, ++at) {
      at = is_quote(at, end) ? put_quoted(*use, n, at + 1, end) : put_unquoted(*use, n, at, end);
      if (!at) return false;
      if (at == end) return use == last;
      if (use == last || *at != dialect_.delimiter) return false;
    }
  }

  void prepare(size_t n) {
    if (neighbours_.cover(n)) {
      delimiters_.mark(neighbours_.text());
      if (dialect_.quote != '\0') quotes_.mark(neighbours_.text());
      if (has_str_) neighbours_.look_for_utf8();
    }
    is_utf8_ = neighbours_.is_utf8(n);
  }

  bool is_quote(const char* at, const char* end) const {
    return at != end && *at == dialect_.quote && *at != '\0';
  }

  Next put_unquoted(const Use& use, size_t n, const char* at, const char* end) {
    const Next next = delimiters_.next(at, end);
    return put_field(use, n, between(at, next)) ? next : nullptr;
  }

  // `at`: just after the opening quote.
  Next put_quoted(const Use& use, size_t n, const char* at, const char* end) {
    const char* const stop = quotes_.next(at, end);
    if (stop == end) return nullptr;
    if (is_quote(stop + 1, end)) return put_escaped(use, n, at, end);
    return put_field(use, n, between(at, stop)) ? stop + 1 : nullptr;
  }

  // A field with quotes in it, so not a number.
  Next put_escaped(const Use& use, size_t n, const char* at, const char* end) {
    const size_t room = static_cast<size_t>(end - at) + kCopied;
    std::byte* const begin = made_.take(room);
    char* made = reinterpret_cast<char*>(begin);
    const Next next = unquote(at, end, made);
    if (!next) return nullptr;
    const std::string_view text = between(reinterpret_cast<const char*>(begin), made);
    made_.give_back(room - text.size());
    if (!use.column) return next;
    return use.is_text && put_text(use, n, text, made_.buffer()) ? next : nullptr;
  }

  // Copies up to the closing quote, two quotes as one; returns the position after it.
  Next unquote(const char* at, const char* end, char*& out) const {
    while (true) {
      const char* const stop = quotes_.next(at, end);
      out = copy(at, stop, out, readable_);
      if (stop == end) return nullptr;
      if (!is_quote(stop + 1, end)) return stop + 1;
      *out++ = dialect_.quote;
      at = stop + 2;
    }
  }

  // A field whose bytes are part of the row.
  bool put_field(const Use& use, size_t n, std::string_view text) {
    if (!use.column) return true;
    const bool takes_fallback = text.empty() && use.column->fallback;
    if (!use.is_text) return put_number(use, n, text, takes_fallback);
    if (!takes_fallback) return put_text(use, n, text, run_.buffer);
    use.to.share(n, Tensor(use.column->fallback_value));
    return true;
  }

  bool put_number(const Use& use, size_t n, std::string_view text, bool takes_fallback) {
    std::byte* const out = use.to.values ? use.to.values + n * use.size : made_.take(use.size);
    if (!use.to.values)
      use.to.tensors[n] = {made_.buffer(), made_.offset_of(out), use.column->dtype, Shape(), nullptr};
    if (takes_fallback) {
      std::memcpy(out, use.column->fallback_value.view().data, use.size);
      return true;
    }
    return ((use.parse && use.parse(text, out)) || parse_number(text, use.column->dtype, out)) &&
           !use.column->is_rounded(text, out);
  }

  bool put_text(const Use& use, size_t n, std::string_view text, const BufferPtr& buffer) const {
    const DType dtype = use.column->dtype;
    if (dtype == DType::str && checks_utf8_ && !is_utf8_ && utf8_prefix(text) < text.size()) return false;
    use.to.texts->set(n, buffer, std::as_bytes(std::span(text)));
    return true;
  }

  const CsvDialect dialect_;
  const RecordRun& run_;
  const char* const readable_;  // the end of the buffer
  Neighbours neighbours_;
  Marks delimiters_, quotes_;
  const bool checks_utf8_;
  bool has_str_ = false, is_utf8_ = false;  // some column is str and is checked; this row is UTF-8
  std::vector<Use> uses_;                   // by position; at least one
  MadeBytes made_;
};

}  // namespace

size_t CsvTable::put(const RecordRun& run, std::span<const FieldPlace> to) const {
  return RowsToColumns(*this, run, to).run();
}

}  // namespace headrace
