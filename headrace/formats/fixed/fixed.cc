// Records of a fixed length: see README.md.
#include "headrace/formats/records/record_files.h"
#include "headrace/formats/records/whole_walk.h"

namespace headrace {
namespace {

struct Layout {
  uint64_t header = 0, record = 0, footer = 0;  // bytes
};

std::string bytes_text(uint64_t count) { return std::to_string(count) + (count == 1 ? " byte" : " bytes"); }

// The records of a file of `size` bytes. Not `whole`: its end is lost, maybe the footer, too.
Status lay_out(const Layout& layout, uint64_t size, bool whole, FileIndex& index) {
  const bool has_room = size >= layout.header && size - layout.header >= layout.footer;
  const uint64_t body = has_room ? size - layout.header - layout.footer : 0;
  if (whole && (!has_room || body % layout.record != 0))
    return corrupt({.expected = "whole records of " + bytes_text(layout.record) + " between a header of " +
                                bytes_text(layout.header) + " and a footer of " + bytes_text(layout.footer),
                    .got = bytes_text(size)});
  index.records.resize(body / layout.record);
  for (uint64_t i = 0; i < index.records.size(); ++i)
    index.records[i] = {layout.header + i * layout.record, layout.record};
  return {};
}

class OpenPlain final : public Opening<FileIndex> {
 public:
  OpenPlain(SourceFile file, const Layout& layout) : file_(std::move(file)), layout_(layout) {}
  // Reads at most the first bytes, for the message.
  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    FileIndex index;
    Status status = lay_out(layout_, file_.size, true, index);
    if (status.ok()) return Step<FileIndex>(std::move(index));
    if (bytes.empty() && file_.size > 0)
      return Step<FileIndex>(std::vector<Extent>{{0, 0, std::min(file_.size, uint64_t{3})}});
    const bool is_gzip = !bytes.empty() && begins_gzip(bytes[0]->bytes());
    return std::move(status).after(is_gzip ? "; it begins like gzip: read it with compression=\"gzip\"" : "");
  }

 private:
  SourceFile file_;
  Layout layout_;
};

// Counts what a file inflates to.
class Counting final : public RecordFinder {
 public:
  Counting(const Layout& layout, uint64_t packed_size) : layout_(layout), packed_size_(packed_size) {}
  Status take(std::span<const std::byte> piece, FileIndex&) override {
    size_ += piece.size();
    return check_inflated_count(size_ / layout_.record, packed_size_);
  }
  void finish(bool whole, FileIndex& index) override {
    const Status status = lay_out(layout_, size_, whole, index);
    if (!status.ok()) index.damaged.push_back({0, 0, std::string(status.text())});
  }

 private:
  Layout layout_;
  uint64_t packed_size_, size_ = 0;
};

Result<uint64_t> size_option(const OpenRequest& request, std::string_view name, int64_t least) {
  HEADRACE_ASSIGN(const int64_t value, request.integer(name, 0));
  if (value < least)
    return invalid(std::string(name) + " must be at least " + std::to_string(least) + ", got " +
                   std::to_string(value));
  return static_cast<uint64_t>(value);
}

Result<SourcePtr> finish(const OpenRequest& request, const Layout& layout, std::vector<FileIndex> indexes) {
  for (FileIndex& index : indexes) HEADRACE_TRY(take_finders_extra(index).status());
  RecordFormat format;
  format.name = "fixed";
  format.inflates = true;
  format.schema = Schema::of({"record"}, {{DType::bytes, {kAny}}});
  format.read = [](const Record& record, std::vector<Tensor>& fields) -> Status {
    fields.assign(
        1,
        Tensor{record.buffer, record.offset, DType::bytes, {static_cast<int64_t>(record.length)}, nullptr});
    return {};
  };
  format.options = std::to_string(layout.header) + " " + std::to_string(layout.record) + " " +
                   std::to_string(layout.footer);
  return record_files(std::move(format), request, std::move(indexes));
}

Result<SourceOpening> open(const OpenRequest& request) {
  Layout layout;
  HEADRACE_ASSIGN(layout.record, size_option(request, "record_bytes", 1));
  HEADRACE_ASSIGN(layout.header, size_option(request, "header_bytes", 0));
  HEADRACE_ASSIGN(layout.footer, size_option(request, "footer_bytes", 0));
  HEADRACE_ASSIGN(const Packing packed, packing(request, Packing::plain));
  RecordOpening out;
  out.kind = "fixed 1 " + std::to_string(layout.header) + " " + std::to_string(layout.record) + " " +
             std::to_string(layout.footer) + (packed == Packing::plain ? "" : " deflated");
  out.files = request.path().files;
  out.index = [files = out.files, layout, packed](uint64_t file) -> std::unique_ptr<Opening<FileIndex>> {
    if (packed == Packing::plain) return std::make_unique<OpenPlain>(files[file], layout);
    return walk_whole(files[file], packed, std::make_unique<Counting>(layout, files[file].size));
  };
  out.finish = [request, layout](std::vector<FileIndex> indexes) {
    return finish(request, layout, std::move(indexes));
  };
  return from_records(std::move(out));
}

const FormatRegistration registered({
    .name = "fixed",
    .doc = "Files of fixed-size records, between a header and a footer; plain, gzip, zlib or zstd.",
    .fields = "`record` (bytes). `ops.decode_raw` converts it to numbers.",
    .options = {{.name = "record_bytes",
                 .type = "int",
                 .doc = "Size of a record in bytes.",
                 .fallback = {},
                 .required = true},
                {"header_bytes", "int", "Bytes to skip at the start of each file.", 0},
                {"footer_bytes", "int", "Bytes to skip at the end of each file.", 0},
                compression_option("\"none\"")},
    .raises = {{"CorruptSample", "the size of a file is not a multiple of the record size."}},
    .example = "hr.read_fixed(\"data.bin\", record_bytes=3073)",
    .open = open,
    .takes_files = true,
});

}  // namespace
}  // namespace headrace
