// Writes Zarr version 3: "Writing" in README.md in this folder.
#include "headrace/formats/writer.h"

#include <algorithm>
#include <set>

#include "headrace/core/text/text.h"
#include "headrace/formats/dataset/manifest.h"
#include "headrace/formats/zarr/new_array.h"
#include "headrace/io/file_system.h"

namespace headrace {
namespace {

using zarr::NewArray;
using zarr::NewOptions;
using zarr::NewPacking;

constexpr std::string_view kNodeFile = "zarr.json";

Result<NewOptions> new_options(const WriteRequest& request) {
  NewOptions out;
  HEADRACE_ASSIGN(const std::string compression, request.text("compression", "zstd"));
  if (compression != "none" && compression != "zstd" && compression != "gzip")
    return invalid("compression must be \"zstd\", \"gzip\" or \"none\", got \"" + compression + "\"");
  out.packing = compression == "none"   ? NewPacking::none
                : compression == "zstd" ? NewPacking::zstd
                                        : NewPacking::gzip;
  const int64_t most = compression == "gzip" ? 9 : 22;
  HEADRACE_ASSIGN(const int64_t level, request.integer("level", compression == "gzip" ? 4 : 3));
  if (level < 1 || level > most)
    return invalid("level must be 1 to " + std::to_string(most) + ", got " + std::to_string(level));
  out.level = static_cast<int>(level);
  HEADRACE_ASSIGN(const int64_t chunk, request.integer("rows_per_chunk", 0));
  HEADRACE_ASSIGN(const int64_t shard, request.integer("rows_per_shard", 0));
  constexpr int64_t kMostRows = int64_t{1} << 24;
  if (chunk < 0 || chunk > kMostRows)
    return invalid("rows_per_chunk must be 1 to 2^24, got " + std::to_string(chunk));
  if (shard < 0 || shard > (int64_t{1} << 40))
    return invalid("rows_per_shard must be 1 or more, got " + std::to_string(shard));
  out.chunk_rows = static_cast<uint64_t>(chunk), out.shard_rows = static_cast<uint64_t>(shard);
  if (out.shard_rows > 0 && out.shard_rows % std::max<uint64_t>(out.chunk_rows, 1) != 0)
    return invalid("rows_per_shard must be a multiple of rows_per_chunk, " + std::to_string(chunk) +
                   ", got " + std::to_string(shard));
  if (out.shard_rows > 0 && out.chunk_rows == 0)
    return invalid("rows_per_shard needs rows_per_chunk, of which it must be a multiple");
  if (out.shard_rows / std::max<uint64_t>(out.chunk_rows, 1) > uint64_t{1} << 20)
    return invalid("rows_per_shard: a shard can have at most 1,048,576 chunks");
  return out;
}

// Names with slashes are arrays in groups.
Status check_name(const std::string& name, const std::set<std::string>& arrays) {
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == ".." || part == kNodeFile || part == kManifestName ||
        part == kIndexFolder || part.size() > 255 || part.find('\0') != std::string::npos)
      return invalid({.expected = "names that are parts of a path", .got = in_quotes(name)})
          .in_format("zarr");
    if (end < name.size() && arrays.contains(name.substr(0, end)))
      return invalid("zarr cannot have both a field " + in_quotes(name.substr(0, end)) + " and one below it");
    begin = end + 1;
  }
  return check_member_name(name).in_format("zarr");
}

std::set<std::string> groups_above(const std::vector<std::string>& names) {
  std::set<std::string> out;
  for (const std::string& name : names)
    for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1))
      out.insert(name.substr(0, slash));
  return out;
}

Value group_node(Value attributes, Value::Object below) {
  const Value consolidated =
      Value::Object{{"kind", "inline"}, {"must_understand", false}, {"metadata", std::move(below)}};
  return Value::Object{{"attributes", std::move(attributes)},
                       {"zarr_format", 3},
                       {"consolidated_metadata", consolidated},
                       {"node_type", "group"}};
}

Status write_node(const std::string& folder, const Value& node) {
  HEADRACE_ASSIGN(const auto file, AppendedFile::make(folder + "/" + std::string(kNodeFile)));
  HEADRACE_TRY(file->append(text_bytes(node.dump(2))));
  return file->finish();
}

class ZarrWriter final : public FileWriter {
 public:
  ZarrWriter(const WriteRequest& request, const NewOptions& options)
      : root_(request.path), schema_(request.schema), metadata_(request.metadata) {
    for (size_t i = 0; i < schema_.size(); ++i)
      arrays_.emplace_back(root_ + "/" + schema_.names[i], schema_.specs[i], options);
  }

  Status make_folders() {
    HEADRACE_TRY(make_folder(root_));
    for (const std::string& group : groups_above(schema_.names))
      HEADRACE_TRY(make_folder(root_ + "/" + group));
    for (const std::string& name : schema_.names) HEADRACE_TRY(make_folder(root_ + "/" + name));
    return {};
  }

  Status add(const std::vector<Tensor>& fields) override {
    for (size_t i = 0; i < arrays_.size(); ++i)
      HEADRACE_TRY(arrays_[i].check_value(fields[i].view()).in_field(schema_.names[i]));
    for (size_t i = 0; i < arrays_.size(); ++i) HEADRACE_TRY(arrays_[i].add(fields[i].view()));
    return {};
  }

  // The root's metadata is written last: without it, the folder is not a store.
  Status finish() override {
    std::vector<std::pair<std::string, Value>> nodes;
    for (size_t i = 0; i < arrays_.size(); ++i) {
      HEADRACE_TRY(arrays_[i].finish());
      nodes.emplace_back(schema_.names[i], arrays_[i].metadata());
    }
    for (const std::string& group : groups_above(schema_.names))
      nodes.emplace_back(group, group_node(Value::Object(), {}));
    std::ranges::sort(nodes, {}, &std::pair<std::string, Value>::first);
    for (const auto& [path, node] : nodes) HEADRACE_TRY(write_node(root_ + "/" + path, node));
    Value about{Value::Object()};
    about.set("fields", Value::List(schema_.names.begin(), schema_.names.end()));
    if (metadata_.object() && !metadata_.object()->empty()) about.set("about", metadata_);
    return write_node(root_, group_node(Value::Object{{"headrace", about}}, {nodes.begin(), nodes.end()}));
  }

 private:
  std::string root_;
  Schema schema_;
  Value metadata_;
  std::vector<NewArray> arrays_;
};

Result<std::unique_ptr<FileWriter>> make(const WriteRequest& request) {
  HEADRACE_ASSIGN(const NewOptions options, new_options(request));
  const Schema& schema = request.schema;
  if (schema.size() == 0) return invalid({.expected = "at least one field", .got = "none"}).in_format("zarr");
  const std::set<std::string> names(schema.names.begin(), schema.names.end());
  for (size_t i = 0; i < schema.size(); ++i) {
    HEADRACE_TRY(check_name(schema.names[i], names));
    HEADRACE_TRY(NewArray::check(schema.specs[i], options).in_field(schema.names[i]));
  }
  auto out = std::make_unique<ZarrWriter>(request, options);
  HEADRACE_TRY(out->make_folders());
  return out;
}

const WriterRegistration registered_writer({
    .name = "zarr",
    .doc = "Zarr version 3 stores: one sharded array per field; bytes and str have variable length.",
    .ending = ".zarr",
    .options =
        {{"compression", "str", "\"zstd\", \"gzip\" or \"none\"; compresses each chunk.", "zstd"},
         {"level", "int | None",
          "Compression level: 1 to 22, for gzip 1 to 9. When not given, 3, for gzip 4."},
         {"rows_per_chunk", "int | None", "Rows of a chunk. When not given, chunks have 64 KiB."},
         {"rows_per_shard", "int | None",
          "Rows of a file, a multiple of rows_per_chunk. When not given, some 64 MiB, at most 1024 chunks."}},
    .make = make,
    .is_folder = [](const GivenOptions&) { return true; },
});

}  // namespace
}  // namespace headrace
