// Writes Parquet files: "Writing" in ../README.md.
#include "headrace/formats/writer.h"

#include <cstring>

#include "headrace/core/text/base64.h"
#include "headrace/formats/arrow/writing/new_messages.h"
#include "headrace/formats/parquet/hints.h"
#include "headrace/formats/parquet/writing/new_column.h"
#include "headrace/io/new_file.h"

namespace headrace {
namespace {

using parquet::NewChunk;
using parquet::NewColumn;
using parquet::NewThrift;
using namespace std::literals;

// All columns begin a page at the same row, so that a few rows need one page of each.
constexpr uint64_t kPageBytes = uint64_t{256} << 10, kPageRows = uint64_t{1} << 16;
constexpr uint64_t kGroupBytes = uint64_t{32} << 20, kGroupRows = uint64_t{1} << 20;
constexpr size_t kMostGroups = 32767;  // other readers count them with 16 bits

// Arrow's schema, from which pyarrow and this reader learn the lengths of fixed-size lists.
Result<std::string> arrow_schema(const std::vector<FieldColumn>& fields,
                                 const std::vector<parquet::Path>& paths) {
  std::vector<arrow::NewColumn> columns;
  for (const FieldColumn& field : fields) {
    HEADRACE_ASSIGN(arrow::NewColumn column, arrow::NewColumn::make(field, {}));
    columns.push_back(std::move(column));
  }
  return in_base64(arrow::schema_message(columns, {}, paths));
}

struct NewGroup {
  uint64_t rows = 0;
  std::vector<NewChunk> chunks;
};

class ParquetWriter final : public FileWriter {
 public:
  ParquetWriter(std::vector<NewColumn> columns, std::vector<parquet::Path> paths,
                std::vector<std::pair<std::string, std::string>> about, uint64_t rows_per_group,
                std::unique_ptr<AppendedFile> file)
      : columns_(std::move(columns)),
        paths_(std::move(paths)),
        about_(std::move(about)),
        rows_per_group_(rows_per_group),
        file_(std::move(file)) {}

  Status begin() { return append("PAR1"); }

  Status add(const std::vector<Tensor>& fields) override {
    for (const NewColumn& column : columns_) HEADRACE_TRY(column.check(fields));
    for (NewColumn& column : columns_) column.add(fields);
    ++rows_;
    uint64_t bytes = 0;
    for (const NewColumn& column : columns_) bytes += column.bytes();
    if (bytes >= kPageBytes || rows_ - page_row_ >= kPageRows) HEADRACE_TRY(end_pages());
    return is_full() ? end_group() : Status();
  }

  Status finish() override {
    HEADRACE_TRY(end_group());
    for (NewGroup& group : groups_)
      for (NewChunk& chunk : group.chunks) HEADRACE_TRY(append_index(chunk));
    const std::string footer = this->footer();
    const auto length = static_cast<uint32_t>(footer.size());
    if (length != footer.size() || length > INT32_MAX)
      return invalid("a Parquet footer must be below 2 GiB; set a larger rows_per_group, or leave it out");
    HEADRACE_TRY(append(footer));
    HEADRACE_TRY(append({reinterpret_cast<const char*>(&length), sizeof length}));
    HEADRACE_TRY(append("PAR1"));
    return file_->finish();
  }

 private:
  Status append(std::string_view text) { return file_->append(std::as_bytes(std::span(text))); }

  bool is_full() const {
    if (rows_per_group_ != 0) return rows_ >= rows_per_group_;
    uint64_t bytes = 0;
    for (const NewColumn& column : columns_) bytes += column.chunk_bytes();
    return rows_ >= kGroupRows || bytes >= kGroupBytes;
  }

  Status end_pages() {
    if (rows_ == page_row_) return {};
    for (NewColumn& column : columns_) HEADRACE_TRY(column.end_page(page_row_));
    page_row_ = rows_;
    return {};
  }

  Status end_group() {
    HEADRACE_TRY(end_pages());
    if (rows_ == 0) return {};
    if (groups_.size() == kMostGroups)
      return invalid(
          "a Parquet file can have at most 32767 row groups; set a larger rows_per_group, or leave it out");
    NewGroup& group = groups_.emplace_back();
    group.rows = rows_;
    std::string pages;
    for (NewColumn& column : columns_) {
      NewChunk chunk = column.end_chunk(pages);
      chunk.offset = file_->size();
      HEADRACE_TRY(append(pages));
      group.chunks.push_back(std::move(chunk));
    }
    all_rows_ += rows_;
    rows_ = page_row_ = 0;
    return {};
  }

  Status append_index(NewChunk& chunk) {
    NewThrift out;
    out.list_of_structures(1, chunk.pages.size());
    for (const parquet::PagePlace& page : chunk.pages) {
      out.begin_element();
      out.number(1, static_cast<int64_t>(chunk.offset + page.offset));
      out.small(2, static_cast<int32_t>(page.size));
      out.number(3, static_cast<int64_t>(page.first_row));
      out.end();
    }
    const std::string index = std::move(out).finish();
    chunk.index_offset = file_->size(), chunk.index_size = index.size();
    return append(index);
  }

  std::string footer() const {
    NewThrift out;
    out.small(1, 2);  // version
    size_t elements = 1 + num_structs(0, columns_.size(), 0);
    for (const NewColumn& column : columns_) elements += static_cast<size_t>(column.elements());
    out.list_of_structures(2, elements);
    out.begin_element();
    const size_t members = parquet::num_members(paths_, 0, columns_.size(), 0);
    out.text(4, "schema"), out.small(5, static_cast<int32_t>(members));
    out.end();
    describe_members(0, columns_.size(), 0, out);
    out.number(3, static_cast<int64_t>(all_rows_));
    out.list_of_structures(4, groups_.size());
    for (size_t i = 0; i < groups_.size(); ++i) describe(groups_[i], i, out);
    out.list_of_structures(5, about_.size());
    for (const auto& [key, value] : about_) {
      out.begin_element();
      out.text(1, key), out.text(2, value);
      out.end();
    }
    out.text(6, "headrace");
    // Bounds use the order of their types (TypeDefinedOrder).
    out.list_of_structures(7, columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) out.begin_element(), out.begin(1), out.end(), out.end();
    return std::move(out).finish();
  }

  size_t num_structs(size_t begin, size_t end, size_t depth) const {
    size_t out = 0;
    for (size_t i = begin; i < end;) {
      const size_t next = parquet::end_of_member(paths_, i, end, depth);
      if (paths_[i].size() > depth + 1) out += 1 + num_structs(i, next, depth + 1);
      i = next;
    }
    return out;
  }

  void describe_members(size_t begin, size_t end, size_t depth, NewThrift& out) const {
    for (size_t i = begin; i < end;) {
      const size_t next = parquet::end_of_member(paths_, i, end, depth);
      if (paths_[i].size() == depth + 1) {
        columns_[i].describe(out);
      } else {
        out.begin_element();
        out.small(3, 0), out.text(4, paths_[i][depth]);  // required
        out.small(5, static_cast<int32_t>(parquet::num_members(paths_, i, next, depth + 1)));
        out.end();
        describe_members(i, next, depth + 1, out);
      }
      i = next;
    }
  }

  void describe(const NewGroup& group, size_t ordinal, NewThrift& out) const {
    uint64_t packed = 0, unpacked = 0;
    out.begin_element();
    out.list_of_structures(1, group.chunks.size());
    for (size_t i = 0; i < group.chunks.size(); ++i) {
      const NewChunk& chunk = group.chunks[i];
      out.begin_element();
      out.number(2, 0);
      out.begin(3);
      columns_[i].describe(chunk, out);
      out.end();
      out.number(4, static_cast<int64_t>(chunk.index_offset));
      out.small(5, static_cast<int32_t>(chunk.index_size));
      out.end();
      packed += chunk.size, unpacked += chunk.unpacked;
    }
    out.number(2, static_cast<int64_t>(unpacked));
    out.number(3, static_cast<int64_t>(group.rows));
    out.number(5, static_cast<int64_t>(group.chunks[0].offset));
    out.number(6, static_cast<int64_t>(packed));
    out.small(7, static_cast<int32_t>(ordinal));
    out.end();
  }

  std::vector<NewColumn> columns_;
  std::vector<parquet::Path> paths_;
  std::vector<std::pair<std::string, std::string>> about_;
  uint64_t rows_per_group_;
  std::unique_ptr<AppendedFile> file_;
  uint64_t rows_ = 0, page_row_ = 0;  // rows of the current row group; first row of its page
  uint64_t all_rows_ = 0;
  std::vector<NewGroup> groups_;
};

Result<bool> wants_zstd(const WriteRequest& request) {
  HEADRACE_ASSIGN(const std::string name, request.text("compression", "none"));
  if (name == "none") return false;
  if (name == "zstd") return true;
  return invalid("compression must be \"none\" or \"zstd\", got \"" + name + "\"");
}

Result<uint64_t> rows_per_group(const WriteRequest& request) {
  HEADRACE_ASSIGN(const int64_t rows, request.integer("rows_per_group", 0));
  const Value* given = request.options.find("rows_per_group");
  if (given && !given->is_null() && rows < 1)
    return invalid("rows_per_group must be 1 or more, got " + std::to_string(rows));
  return static_cast<uint64_t>(rows);
}

Result<std::unique_ptr<FileWriter>> make(const WriteRequest& request) {
  HEADRACE_ASSIGN(const bool is_zstd, wants_zstd(request));
  HEADRACE_ASSIGN(const uint64_t rows, rows_per_group(request));
  const std::vector<FieldColumn> fields = columns_of(request.schema.names, request.schema.specs);
  std::vector<parquet::Path> paths = parquet::column_paths(fields);
  std::vector<NewColumn> columns;
  for (size_t i = 0; i < fields.size(); ++i) {
    HEADRACE_ASSIGN(NewColumn column, NewColumn::make(fields[i], paths[i], is_zstd));
    columns.push_back(std::move(column));
  }
  if (columns.empty()) return invalid({.expected = "at least one field", .got = "none"}).in_format("parquet");
  std::vector<std::pair<std::string, std::string>> about;
  HEADRACE_ASSIGN(std::string arrow, arrow_schema(fields, paths));
  about.emplace_back(parquet::kArrowSchemaKey, std::move(arrow));
  if (request.metadata.object() && !request.metadata.object()->empty())
    about.emplace_back(parquet::kAboutKey, request.metadata.dump());
  HEADRACE_ASSIGN(auto file, AppendedFile::make(request.path));
  auto out = std::make_unique<ParquetWriter>(std::move(columns), std::move(paths), std::move(about), rows,
                                             std::move(file));
  HEADRACE_TRY(out->begin());
  return out;
}

const WriterRegistration registered_writer({
    .name = "parquet",
    .doc = "Parquet files: one column per field.",
    .ending = ".parquet",
    .options = {{"rows_per_group", "int | None",
                 "Rows of a row group. When not given, row groups have 32 MiB, at most 2^20 rows.", Value()},
                {"compression", "str", "\"none\" or \"zstd\"; each page is compressed on its own.", "none"}},
    .make = make,
});

}  // namespace
}  // namespace headrace
