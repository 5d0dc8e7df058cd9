// LitData: see README.md.
#include <algorithm>
#include <limits>

#include "headrace/core/text/text.h"
#include "headrace/formats/arrow/table.h"
#include "headrace/formats/litdata/chunk.h"
#include "headrace/formats/strings/utf8_strings.h"

namespace headrace {
namespace {

using litdata::ChunkContents;
using litdata::ChunkForm;
using litdata::ChunkFrames;
using litdata::Leaves;

struct LitdataIndex {
  std::vector<std::pair<std::string, uint64_t>> chunks;  // name and samples
  Leaves leaves;
};

Status check_config(const Value& config) {
  const auto given = [&](std::string_view key) {
    const Value* found = config.find(key);
    return found && !found->is_null() ? found : nullptr;
  };
  if (given("encryption"))
    return {Code::unavailable,
            Mismatch{.expected = "chunks that are not encrypted", .got = "encrypted ones"}};
  if (const Value* loader = given("item_loader");
      loader && loader->text() && *loader->text() != "PyTreeLoader")
    return {Code::unavailable, Mismatch{.expected = "chunks of samples (PyTreeLoader)",
                                        .got = "those of " + in_quotes(*loader->text())}};
  return {};
}

Result<LitdataIndex> parse_index(std::string_view text) {
  HEADRACE_ASSIGN(const Value value, Value::parse(text));
  const Value *chunks = value.find("chunks"), *config = value.find("config");
  if (!chunks || !chunks->list() || chunks->list()->empty())
    return corrupt({.expected = "a list 'chunks' with at least one entry", .got = "none"});
  if (!config || !config->object()) return corrupt("expected an object 'config'");
  HEADRACE_TRY(check_config(*config));
  LitdataIndex out;
  const Value *formats = config->find("data_format"), *tree = config->find("data_spec");
  HEADRACE_ASSIGN(out.leaves, Leaves::parse(formats ? *formats : Value(), tree ? *tree : Value()));
  for (const Value& chunk : *chunks->list()) {
    HEADRACE_ASSIGN(const std::string name, chunk.get_text("filename"));
    HEADRACE_ASSIGN(const int64_t samples, chunk.get_integer("chunk_size"));
    if (samples < 0 || samples > int64_t{std::numeric_limits<uint32_t>::max()})
      return corrupt("'chunk_size' of " + in_quotes(name) + " must be an unsigned 32-bit number, got " +
                     std::to_string(samples));
    out.chunks.emplace_back(name, static_cast<uint64_t>(samples));
  }
  return out;
}

// Shared by source and blocks.
struct Litdata {
  LitdataIndex index;
  std::vector<SourceFile> files;
  std::optional<size_t> teacher;  // the chunk whose first sample defines the leaves
};

Status other_form(const Litdata& all, size_t file) {
  return corrupt("expected Arrow rows in all chunks or in none, but '" + all.files[0].path + "' and '" +
                 all.files[file].path + "' differ");
}

Result<SourcePtr> finish_rows(const OpenRequest& request, const Litdata& all, std::vector<FileIndex> indexes,
                              std::vector<ChunkContents> contents) {
  for (size_t i = 0; i < indexes.size(); ++i) {
    if (contents[i].form != ChunkForm::arrow) return other_form(all, i);
    indexes[i].extra = std::move(contents[i].rest);
  }
  HEADRACE_ASSIGN(arrow::Table table, arrow::make_table(all.files, std::move(indexes), {}, NullRules()));
  for (size_t i = 0; i < all.files.size(); ++i)
    if (const uint64_t rows = table.first[i + 1] - table.first[i]; rows != all.index.chunks[i].second)
      return corrupt({.expected = std::to_string(all.index.chunks[i].second) + " samples as the index states",
                      .got = std::to_string(rows)})
          .in_file(all.files[i].path);
  return arrow::table_source("litdata", request, std::move(table));
}

Result<SourcePtr> finish(const OpenRequest& request, const std::shared_ptr<const Litdata>& all,
                         std::vector<FileIndex> indexes) {
  std::vector<ChunkContents> contents;
  for (const FileIndex& index : indexes) {
    auto one = ChunkContents::unpack(index.extra);
    if (!one) return internal_error("expected the kept index of a chunk");
    contents.push_back(*std::move(one));
  }
  if (contents[0].form == ChunkForm::arrow)
    return finish_rows(request, *all, std::move(indexes), std::move(contents));
  auto leaves = std::make_shared<Leaves>(all->index.leaves);
  auto frames = std::make_shared<std::vector<ChunkFrames>>(indexes.size());
  std::vector<FramedFile> files;
  for (size_t i = 0; i < indexes.size(); ++i) {
    if (contents[i].form == ChunkForm::arrow) return other_form(*all, i);
    files.push_back({all->files[i], std::move(indexes[i].records), {}, contents[i].form != ChunkForm::plain});
    if (contents[i].form == ChunkForm::packed) files[i].first = {0, all->index.chunks[i].second};
    if (contents[i].form != ChunkForm::frames) continue;
    auto unpacked = ChunkFrames::unpack(contents[i].rest);
    if (!unpacked || unpacked->frames.size() != files[i].frames.size())
      return internal_error("expected the kept index of frames");
    files[i].first = {0};
    for (const litdata::ChunkFrame& frame : unpacked->frames)
      files[i].first.push_back(frame.first + frame.count);
    (*frames)[i] = *std::move(unpacked);
  }
  if (all->teacher) HEADRACE_TRY(leaves->take_learned(contents[*all->teacher].learned));
  FramedFormat format;
  format.name = "litdata";
  format.schema = leaves->schema();
  format.unpack = [all, frames](size_t file, uint64_t frame, const Record& packed, MadeBytes&,
                                UnpackedFrame& out) -> Status {
    const ChunkFrames& of_file = (*frames)[file];
    HEADRACE_ASSIGN(out, of_file.frames.empty()
                             ? litdata::unpack_whole(all->index.chunks[file].second, packed)
                             : litdata::unpack_frame(of_file, frame, packed));
    return {};
  };
  format.read = [leaves](const Record& record, std::vector<Tensor>& fields) {
    return leaves->read(record, fields);
  };
  return framed_files(std::move(format), request, std::move(files));
}

Result<SourceOpening> open(const OpenRequest& request) {
  auto all = std::make_shared<Litdata>();
  HEADRACE_ASSIGN(all->index, parse_index(request.list));
  all->files = request.path().files;
  if (all->files.size() != all->index.chunks.size()) return internal_error("expected a file for each chunk");
  if (all->index.leaves.depends_on_first()) {
    const auto has_samples = [](const auto& chunk) { return chunk.second > 0; };
    const auto first = std::ranges::find_if(all->index.chunks, has_samples);
    if (first != all->index.chunks.end()) all->teacher = first - all->index.chunks.begin();
  }
  RecordOpening out;
  // The index gives the number of samples of a chunk, and their format.
  out.kind = "litdata 1 " + hash_text(request.list).substr(0, 16);
  out.files = all->files;
  out.index = [all](uint64_t file) {
    std::optional<Leaves> leaves;
    if (all->teacher == file) leaves = all->index.leaves;
    return litdata::index_chunk(all->files[file], all->index.chunks[file].second, std::move(leaves));
  };
  out.finish = [request, all = std::shared_ptr<const Litdata>(all)](std::vector<FileIndex> indexes) {
    return finish(request, all, std::move(indexes));
  };
  return from_records(std::move(out));
}

constexpr std::string_view kIndexName = "index.json";

int recognise(const Probe& probe) {
  if (probe.listing) {
    bool has_index = false, has_chunk = false;
    for (size_t i = 0; i < probe.listing->files.size(); ++i) {
      const std::string_view name = probe.listing->files[i];
      has_index = has_index || name == kIndexName;
      has_chunk = has_chunk || (name.starts_with("chunk-") && name.ends_with(".bin"));
    }
    return has_index && has_chunk ? 95 : 0;
  }
  const std::string_view text = probe.text();
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  return text.starts_with('{') && has("\"chunks\"") && has("\"chunk_bytes\"") && has("\"filename\"") ? 95 : 0;
}

Result<std::string> index_path(const Probe& path, const GivenOptions&) {
  if (!path.info.is_directory) return path.path;
  return path.path + (path.path.ends_with('/') ? "" : "/") + std::string(kIndexName);
}

Result<std::vector<ListedFile>> listed(const std::string& text) {
  HEADRACE_ASSIGN(const LitdataIndex index, parse_index(text));
  std::vector<ListedFile> out;
  for (const auto& [name, samples] : index.chunks) out.push_back({name});
  return out;
}

const FormatRegistration registered({
    .name = "litdata",
    .doc = "A folder of LitData: index.json and the chunks it lists, plain, zstd, framed or Arrow rows.",
    .fields =
        "one per leaf of a sample; dicts, tuples and lists keep their nesting. `jpeg` and `file` leaves are "
        "bytes, `pil` uint8 (h, w, c), tensors and arrays have the dtype and rank of the first sample.",
    .path = "The folder, or its `index.json`.",
    .options = {encoding_option()},
    .raises = {{"CorruptSample",
                "the index, or the offsets or sizes of a sample, do not match their file. The message has "
                "file, record and byte."},
               {"NotImplementedError",
                "chunks are encrypted or contain tokens, or have leaves that would have to be unpickled."}},
    .example = "hr.read_litdata(\"optimized\")",
    .recognise = recognise,
    .open = open,
    .list = index_path,
    .listed = listed,
});

}  // namespace
}  // namespace headrace
