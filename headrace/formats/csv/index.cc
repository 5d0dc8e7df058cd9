#include "headrace/formats/csv/index.h"

#include <algorithm>
#include <cstring>

#include "headrace/core/text/utf8.h"

namespace headrace {
namespace {

class RowFinder final : public RecordFinder {
 public:
  RowFinder(const CsvDialect& dialect, bool has_header)
      : dialect_(dialect), wants_header_(has_header), end_(dialect) {}

  Status take(std::span<const std::byte> piece, FileIndex& index) override {
    const std::string_view text(reinterpret_cast<const char*>(piece.data()), piece.size());
    if (is_lost_) return {};
    if (!is_begun_) {
      pending_ += text;
      if (pending_.size() < kByteOrderMark.size()) return {};
      is_begun_ = true;
      if (pending_.starts_with(kByteOrderMark)) pending_.erase(0, position_ = kByteOrderMark.size());
      pending_.erase(0, rows_of(pending_, index));
    } else if (pending_.empty()) {
      const size_t used = rows_of(text, index);
      pending_ = text.substr(used);
    } else {
      pending_ += text;
      pending_.erase(0, rows_of(pending_, index));
    }
    if (pending_.size() > kMostCsvRow) lose("expected rows of at most 64 MiB, got a longer one", index);
    return {};
  }

  void finish(bool whole, FileIndex& index) override {
    if (whole && !is_lost_ && !pending_.empty()) {
      if (end_.is_quoted())
        lose("expected a closing quote for the last field, got none", index);
      else
        add(pending_, index);
    }
    index.extra = contents_.pack();
  }

 private:
  // Adds the complete rows at the start of the text; returns their size in bytes.
  size_t rows_of(std::string_view text, FileIndex& index) {
    size_t used = 0;
    while (used < text.size()) {
      const size_t length = end_.find(text.substr(used));
      if (length == std::string_view::npos) break;
      add(text.substr(used, length), index);
      used += length;
    }
    return used;
  }

  void add(std::string_view row, FileIndex& index) {
    const uint64_t begin = position_, line = line_;
    position_ += row.size();
    line_ += static_cast<uint64_t>(std::ranges::count(row, '\n'));
    const std::string_view content = without_row_end(row);
    if (content.empty()) return;
    if (std::exchange(wants_header_, false)) {
      contents_.header = content;
      return;
    }
    see(content, line);
    contents_.lines.add(index.records.size(), line);
    index.records.push_back({begin, row.size()});
  }

  void see(std::string_view row, uint64_t line) {
    if (!split_row(row, dialect_, fields_).ok()) return;  // reading the row gives the error
    if (contents_.columns.empty()) contents_.columns.resize(fields_.size());
    const size_t count = std::min(fields_.size(), contents_.columns.size());
    for (size_t i = 0; i < count; ++i)
      if (!fields_[i].text.empty()) contents_.columns[i].see(fields_[i].text, line);
  }

  void lose(const char* why, FileIndex& index) {
    index.damaged.push_back(
        {index.records.size(), position_, why + (" (line " + std::to_string(line_) + ")")});
    is_lost_ = true;
    pending_.clear();
  }

  CsvDialect dialect_;
  bool wants_header_;
  RowEnd end_;
  std::string pending_;               // the start of a row whose end has not come
  uint64_t position_ = 0, line_ = 1;  // of the next row
  bool is_begun_ = false;             // the byte order mark was checked
  bool is_lost_ = false;
  std::vector<CsvField> fields_;
  CsvContents contents_;
};

void put(std::string& out, uint64_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put(std::string& out, const ColumnKind& kind) {
  const MostlyNumbers& counts = kind.counts;
  for (const uint64_t value : {counts.num_numbers, counts.num_texts, counts.text_line, counts.text.size(),
                               uint64_t{kind.is_integer}, uint64_t{counts.is_of_texts}})
    put(out, value);
  out += counts.text;
}

// Takes the numbers that put() wrote off the front of `bytes`.
template <size_t N> bool take(std::string_view& bytes, uint64_t (&out)[N]) {
  if (bytes.size() < sizeof out) return false;
  std::memcpy(out, bytes.data(), sizeof out);
  bytes.remove_prefix(sizeof out);
  return true;
}

std::optional<ColumnKind> take_kind(std::string_view& bytes) {
  uint64_t numbers[6];
  if (!take(bytes, numbers) || numbers[3] > bytes.size()) return std::nullopt;
  ColumnKind out{{numbers[0], numbers[1], numbers[5] != 0, numbers[2], {}, {}}, numbers[4] != 0};
  out.counts.text = bytes.substr(0, numbers[3]);
  bytes.remove_prefix(numbers[3]);
  return out;
}

}  // namespace

std::string CsvContents::pack() const {
  std::string out;
  put(out, header.size()), put(out, columns.size());
  out += header;
  for (const ColumnKind& kind : columns) put(out, kind);
  return out + lines.pack();
}

std::optional<CsvContents> CsvContents::unpack(std::string_view bytes) {
  uint64_t counts[2];
  if (!take(bytes, counts)) return std::nullopt;
  const auto [header_size, num_columns] = counts;
  if (header_size > bytes.size()) return std::nullopt;
  CsvContents out;
  out.header = bytes.substr(0, header_size);
  bytes.remove_prefix(header_size);
  for (uint64_t i = 0; i < num_columns; ++i) {
    auto kind = take_kind(bytes);
    if (!kind) return std::nullopt;
    out.columns.push_back(*std::move(kind));
  }
  auto lines = LineNumbers::unpack(bytes);
  if (!lines) return std::nullopt;
  out.lines = *std::move(lines);
  return out;
}

std::unique_ptr<RecordFinder> csv_rows(const CsvDialect& dialect, bool has_header) {
  return std::make_unique<RowFinder>(dialect, has_header);
}

}  // namespace headrace
