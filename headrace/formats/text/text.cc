// Lines of text: see README.md.
#include <cstring>

#include "headrace/core/text/utf8.h"
#include "headrace/formats/records/record_files.h"
#include "headrace/formats/records/whole_walk.h"
#include "headrace/formats/strings/utf8_strings.h"

namespace headrace {
namespace {

constexpr uint64_t kMostLine = uint64_t{64} << 20;

// A record is a line with its line end, which the last line may lack.
class LineFinder final : public RecordFinder {
 public:
  // `skips_mark`: a byte order mark at the start of the file is not part of its first line. The first
  // `header` lines are left out.
  LineFinder(bool skips_mark, uint64_t header) : skips_mark_(skips_mark), header_(header) {}

  Status take(std::span<const std::byte> piece, FileIndex& index) override {
    const char* const begin = reinterpret_cast<const char*>(piece.data());
    if (head_.size() < kByteOrderMark.size())
      head_.append(begin, std::min(piece.size(), kByteOrderMark.size() - head_.size()));
    for (size_t at = 0; at < piece.size();) {
      const void* end = std::memchr(begin + at, '\n', piece.size() - at);
      if (!end) break;
      at = static_cast<size_t>(static_cast<const char*>(end) - begin) + 1;
      add(taken_ + at, index);
    }
    taken_ += piece.size();
    return {};
  }

  void finish(bool whole, FileIndex& index) override {
    if (whole && line_ < taken_) add(taken_, index);
    if (!skips_mark_ || head_ != kByteOrderMark || index.records.empty()) return;
    RecordExtent& first = index.records[0];
    if (first.offset > 0) return;  // after the header
    first.offset += head_.size(), first.length -= head_.size();
    if (first.length == 0) index.records.clear();  // only the mark
  }

 private:
  void add(uint64_t end, FileIndex& index) {
    if (header_ == 0 && end - line_ > kMostLine)
      index.damaged.push_back(
          {index.records.size(), line_,
           "expected lines of at most 64 MiB, got one of " + std::to_string(end - line_) + " bytes"});
    else if (header_ == 0)
      index.records.push_back({line_, end - line_});
    header_ -= std::min<uint64_t>(header_, 1);
    line_ = end;
  }

  bool skips_mark_;
  uint64_t header_;                // lines still to skip
  std::string head_;               // of the file
  uint64_t line_ = 0, taken_ = 0;  // where the current line begins; bytes taken so far
};

Status read(const Record& record, bool is_text, std::vector<Tensor>& fields) {
  std::string_view line(reinterpret_cast<const char*>(record.bytes().data()), record.length);
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.find('\n') != std::string_view::npos)
    return corrupt(
        {.expected = "one line", .got = "a line end inside it: the file has changed since it was indexed"});
  fields.assign(1, Tensor{record.buffer,
                          record.offset,
                          is_text ? DType::str : DType::bytes,
                          {static_cast<int64_t>(line.size())},
                          nullptr});
  return {};
}

struct Options {
  bool is_text = true;
  uint64_t header = 0;  // lines
  Packing packing = Packing::by_content;
};

Result<Options> options_of(const OpenRequest& request) {
  Options out;
  HEADRACE_ASSIGN(const Encoding encoding, encoding_of(request));
  HEADRACE_ASSIGN(const int64_t header, request.integer("header", 0));
  if (header < 0) return invalid("header must be 0 or more lines, got " + std::to_string(header));
  HEADRACE_ASSIGN(out.packing, packing(request, Packing::by_content));
  out.is_text = encoding != Encoding::bytes, out.header = static_cast<uint64_t>(header);
  return out;
}

Result<SourcePtr> finish(const OpenRequest& request, const Options& options, std::vector<FileIndex> indexes) {
  for (FileIndex& index : indexes) HEADRACE_TRY(take_finders_extra(index).status());
  RecordFormat format;
  format.name = "text";
  format.inflates = true;
  format.schema = Schema::of({"line"}, {{options.is_text ? DType::str : DType::bytes, {kAny}}});
  format.read = [is_text = options.is_text](const Record& record, std::vector<Tensor>& fields) {
    return read(record, is_text, fields);
  };
  format.called = [header = options.header](size_t, uint64_t record) {
    return "line " + std::to_string(header + record + 1);
  };
  return record_files(std::move(format), request, std::move(indexes));
}

Result<SourceOpening> open(const OpenRequest& request) {
  HEADRACE_ASSIGN(const Options options, options_of(request));
  HEADRACE_ASSIGN(const std::string compression, request.text("compression", "any"));
  RecordOpening out;
  out.kind = std::string("text 2 ") + (options.is_text ? "utf-8 " : "bytes ") +
             std::to_string(options.header) + " " + compression;
  out.files = request.path().files;
  out.index = [files = out.files, options](uint64_t file) {
    return walk_whole(files[file], options.packing,
                      std::make_unique<LineFinder>(options.is_text, options.header));
  };
  out.finish = [request, options](std::vector<FileIndex> indexes) {
    return finish(request, options, std::move(indexes));
  };
  return from_records(std::move(out));
}

const FormatRegistration registered({
    .name = "text",
    .doc = "The lines of text files, plain, gzip, zlib or zstd.",
    .fields = "`line` (str or bytes), without the line ending (LF or CRLF).",
    .options = {encoding_option(),
                {"header", "int", "Number of lines to skip at the start of each file.", 0},
                compression_option("gzip and zstd are detected")},
    .raises = {{"CorruptSample", "a line is not UTF-8. The message has file, line and byte."}},
    .example = "hr.read_text(\"logs/*.txt.gz\")",
    .open = open,
    .takes_files = true,
});

}  // namespace
}  // namespace headrace
