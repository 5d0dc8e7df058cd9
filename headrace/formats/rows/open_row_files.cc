#include "headrace/formats/rows/open_row_files.h"

#include <algorithm>

#include "headrace/core/text/text.h"

namespace headrace {
namespace {

// A field of small rows is kept in memory: a read of 100 bytes costs ten times as much as copying them, and
// labels next to larger rows would take a second read per sample. So are arrays in Fortran order, whose rows
// take many reads.
constexpr uint64_t kSmallRow = 4 << 10;   // bytes  // bench/pipelines/rivals.py: npy, 100 B, shuffled
constexpr uint64_t kMostKept = 64 << 20;  // bytes of everything that is kept
// In Fortran order each number of a row takes a read of its own, unless the array is kept.
constexpr uint64_t kMostNumbers = 1 << 16;

std::string named(const SourceFile& file) { return in_quotes(file.path) + ": "; }

class OpenRowFiles final : public Opening<SourcePtr> {
 public:
  OpenRowFiles(RowTable table, std::vector<ArrayWalk> walks, bool side_by_side)
      : table_(std::move(table)),
        walks_(std::move(walks)),
        side_by_side_(side_by_side),
        found_(walks_.size()),
        asked_(walks_.size()) {}

  Result<Step<SourcePtr>> advance(std::span<const BufferPtr> bytes) override {
    if (!has_found_) {
      HEADRACE_ASSIGN(std::vector<Extent> extents, walk(bytes));
      if (!extents.empty()) return Step<SourcePtr>(std::move(extents));
      has_found_ = true;
      HEADRACE_TRY(side_by_side_ ? join() : line_up());
      HEADRACE_ASSIGN(extents, choose_kept());
      if (!extents.empty()) return Step<SourcePtr>(std::move(extents));
      bytes = {};
    }
    for (size_t i = 0; i < kept_.size(); ++i) {
      const auto [part, field] = kept_[i];
      hold_rows(table_.fields[field].spec, table_.parts[part].rows, bytes[i]->bytes(),
                table_.parts[part].fields[field]);
    }
    return Step<SourcePtr>(row_files(std::move(table_)));
  }

 private:
  // All walks run at the same time.
  Result<std::vector<Extent>> walk(std::span<const BufferPtr> bytes) {
    std::vector<Extent> extents;
    for (uint64_t i = 0; i < walks_.size(); ++i) {
      if (!walks_[i]) continue;
      auto step = walks_[i]->advance(bytes.first(asked_[i]));
      if (!step.ok()) return step.status().in_file(table_.files[i].path);
      bytes = bytes.subspan(asked_[i]);
      asked_[i] = 0;
      if (auto* found = std::get_if<std::vector<FoundArray>>(&*step)) {
        found_[i] = std::move(*found);
        for (FoundArray& array : found_[i]) array.rows.file = i;
        walks_[i].reset();
        continue;
      }
      for (Extent extent : std::get<std::vector<Extent>>(*step)) {
        extent.file = i;
        extents.push_back(extent);
        ++asked_[i];
      }
    }
    return extents;
  }

  // Makes each file a part.
  Status line_up() {
    for (const FoundArray& array : found_[0]) table_.fields.push_back({array.name, array.spec});
    for (size_t i = 0; i < found_.size(); ++i) {
      RowPart& part = table_.parts.emplace_back();
      part.rows = found_[i].empty() ? 0 : found_[i][0].count;
      for (const RowField& field : table_.fields) {
        const auto it = std::ranges::find(found_[i], field.name, &FoundArray::name);
        const auto wanted = [&] {
          return named(table_.files[i]) + "expected " + field.spec.text() + " in '" + field.name +
                 "' as in " + in_quotes(table_.files[0].path) + ", got ";
        };
        if (it == found_[i].end()) return invalid(wanted() + "no such array");
        if (!(it->spec == field.spec)) return invalid(wanted() + it->spec.text());
        part.fields.push_back(std::move(it->rows));
      }
      if (found_[i].size() > table_.fields.size())
        return invalid(
                   {.expected = "the arrays of " + in_quotes(table_.files[0].path), .got = "additional ones"})
            .in_file(table_.files[i].path);
    }
    return {};
  }

  // Makes all files one part.
  Status join() {
    RowPart& part = table_.parts.emplace_back();
    part.rows = found_[0][0].count;
    for (size_t i = 0; i < found_.size(); ++i)
      for (FoundArray& array : found_[i]) {
        if (array.count != part.rows)
          return corrupt(
                     {.expected = std::to_string(part.rows) + " rows as in '" + table_.files[0].path + "'",
                      .got = std::to_string(array.count)})
              .in_file(table_.files[i].path);
        table_.fields.push_back({array.name, array.spec});
        part.fields.push_back(std::move(array.rows));
      }
    return {};
  }

  // First the fields that cannot be read otherwise, then small ones, so that as many as possible are kept.
  Result<std::vector<Extent>> choose_kept() {
    struct Choice {
      bool is_optional = true;
      uint64_t bytes = 0;
      size_t field = 0;
      auto operator<=>(const Choice&) const = default;
    };
    std::vector<Choice> choices;
    for (size_t f = 0; f < table_.fields.size(); ++f) {
      Choice& choice = choices.emplace_back(check_numbers(f).ok(), 0, f);
      for (const RowPart& part : table_.parts)
        if (is_worth_keeping(part, f)) choice.bytes += part.rows * table_.fields[f].spec.size_bytes();
    }
    std::ranges::sort(choices);
    std::vector<Extent> out;
    uint64_t left = kMostKept;
    for (const Choice& choice : choices) {
      if (choice.bytes > left) {
        HEADRACE_TRY(check_numbers(choice.field));
        continue;
      }
      left -= choice.bytes;
      for (size_t p = 0; p < table_.parts.size(); ++p) {
        if (!is_worth_keeping(table_.parts[p], choice.field)) continue;
        const FieldRows& rows = table_.parts[p].fields[choice.field];
        kept_.emplace_back(p, choice.field);
        out.push_back({rows.file, rows.offset, bytes_in_file(rows, table_.parts[p].rows)});
      }
    }
    return out;
  }

  // Interleaved rows are not kept, since the bytes in between would be read too.
  bool is_worth_keeping(const RowPart& part, size_t field) const {
    const FieldRows& rows = part.fields[field];
    const bool is_small = table_.fields[field].spec.size_bytes() <= kSmallRow && rows.stride == rows.bytes;
    return !rows.held && part.rows > 0 && (rows.numbers > 0 || is_small);
  }

  Status check_numbers(size_t field) const {
    for (const RowPart& part : table_.parts) {
      const FieldRows& rows = part.fields[field];
      if (rows.numbers > kMostNumbers)
        return Status(Code::unavailable, {.expected = "rows of at most " + std::to_string(kMostNumbers) +
                                                      " numbers in Fortran order",
                                          .got = std::to_string(rows.numbers),
                                          .fix = "save numpy.ascontiguousarray(x)"})
            .in_file(table_.files[rows.file].path);
    }
    return {};
  }

  RowTable table_;
  std::vector<ArrayWalk> walks_;
  bool side_by_side_;
  std::vector<std::vector<FoundArray>> found_;  // of each file
  std::vector<size_t> asked_;                   // extents of each walk's last step
  bool has_found_ = false;
  std::vector<std::pair<size_t, size_t>> kept_;  // the parts and fields that are being read
};

SourceOpening opening_of(std::string format, const OpenRequest& request, std::vector<SourceFile> files,
                         std::vector<ArrayWalk> walks, bool side_by_side) {
  RowTable table;
  table.description = describe_opening(format, request);
  table.format = std::move(format);
  table.left_out = request.path().left_out;
  table.files = files;
  return {std::make_unique<OpenRowFiles>(std::move(table), std::move(walks), side_by_side),
          [files = std::move(files)](uint64_t ordinal) { return files[ordinal].path; }};
}

}  // namespace

SourceOpening open_row_files(std::string format, const OpenRequest& request, std::vector<SourceFile> files,
                             std::vector<ArrayWalk> walks) {
  return opening_of(std::move(format), request, std::move(files), std::move(walks), false);
}

SourceOpening open_rows_side_by_side(std::string format, const OpenRequest& request,
                                     std::vector<SourceFile> files, std::vector<ArrayWalk> walks) {
  return opening_of(std::move(format), request, std::move(files), std::move(walks), true);
}

}  // namespace headrace
