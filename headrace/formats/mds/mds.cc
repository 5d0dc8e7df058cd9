// MosaicML's MDS: see README.md.
#include <algorithm>
#include <set>

#include "headrace/core/text/text.h"
#include "headrace/formats/mds/index.h"
#include "headrace/formats/mds/verify.h"
#include "headrace/formats/records/framed_files.h"
#include "headrace/formats/records/offset_table.h"
#include "headrace/formats/split_names.h"
#include "headrace/formats/strings/utf8_strings.h"

namespace headrace {
namespace {

using mds::MdsIndex;
using mds::MdsShard;

// A shard and the file that exists of it.
struct ShardFile {
  SourceFile file;
  MdsShard shard;
  bool is_packed = false;
  Packed packing = Packed::plain;

  const MdsShard::File& about() const { return is_packed ? shard.packed : shard.plain; }
};

Result<UnpackedFrame> unpack_shard(const ShardFile& shard, std::span<const std::byte> packed) {
  UnpackedFrame out;
  HEADRACE_ASSIGN(out.bytes, unpack(shard.packing, packed, shard.shard.plain.bytes));
  HEADRACE_ASSIGN(out.records, read_offset_table(out.bytes->bytes(), shard.shard.samples, out.bytes->size()));
  return out;
}

// The samples of a plain shard; a packed one is a frame. `columns`: learns from the first sample what only a
// sample has.
class OpenMdsShard final : public Opening<FileIndex> {
 public:
  OpenMdsShard(ShardFile shard, std::optional<mds::MdsColumns> columns)
      : shard_(std::move(shard)), columns_(std::move(columns)) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) return begin();
    if (shard_.is_packed) {
      HEADRACE_ASSIGN(const UnpackedFrame frame, unpack_shard(shard_, bytes[0]->bytes()));
      const RecordExtent& first = frame.records[0];
      return learn({frame.bytes, first.offset, first.length});
    }
    if (!index_.records.empty()) return learn({bytes[0], 0, bytes[0]->size()});
    HEADRACE_ASSIGN(index_.records,
                    read_offset_table(bytes[0]->bytes(), shard_.shard.samples, shard_.file.size));
    if (!columns_ || index_.records.empty()) return Step<FileIndex>(std::move(index_));
    return Step<FileIndex>(std::vector<Extent>{{0, index_.records[0].offset, index_.records[0].length}});
  }

 private:
  Result<Step<FileIndex>> begin() {
    if (shard_.file.size != shard_.about().bytes)
      return corrupt({.expected = std::to_string(shard_.about().bytes) + " bytes as the index states",
                      .got = std::to_string(shard_.file.size)});
    if (!shard_.is_packed)
      return Step<FileIndex>(std::vector<Extent>{{0, 0, offset_table_bytes(shard_.shard.samples)}});
    HEADRACE_TRY(check_unpacked_size(shard_.file.size, shard_.shard.plain.bytes));
    index_.records = {{0, shard_.file.size}};
    if (!columns_ || shard_.shard.samples == 0) return Step<FileIndex>(std::move(index_));
    return Step<FileIndex>(std::vector<Extent>{Extent{}});
  }

  Result<Step<FileIndex>> learn(const Record& first) {
    HEADRACE_TRY(columns_->learn_from(first).after(" (in the first sample)"));
    index_.extra = columns_->learned();
    return Step<FileIndex>(std::move(index_));
  }

  ShardFile shard_;
  std::optional<mds::MdsColumns> columns_;
  FileIndex index_;
};

struct Mds {
  mds::MdsColumns columns;
  std::vector<ShardFile> shards;
  // The shard whose first sample defines the columns; none if the index defines them.
  std::optional<size_t> teacher;
};

bool is_named(const std::string& path, const std::string& name) {
  return path.ends_with(name) && (path.size() == name.size() || path[path.size() - name.size() - 1] == '/');
}

Result<Mds> mds_of(const OpenRequest& request) {
  HEADRACE_ASSIGN(MdsIndex index, MdsIndex::parse(request.list));
  const std::vector<SourceFile>& files = request.path().files;
  if (files.size() != index.shards.size()) return internal_error("expected a file for each shard");
  Mds out{std::move(index.columns)};
  for (size_t i = 0; i < files.size(); ++i) {
    ShardFile shard{files[i], std::move(index.shards[i])};
    shard.is_packed = !is_named(files[i].path, shard.shard.plain.name);
    if (shard.is_packed) {
      auto packing = mds::mds_packing(shard.shard.compression);
      if (!packing.ok()) return packing.status().in_file(files[i].path);
      shard.packing = *packing;
    }
    if (!out.teacher && shard.shard.samples > 0 && out.columns.depends_on_first()) out.teacher = i;
    out.shards.push_back(std::move(shard));
  }
  return out;
}

// The index gives the number of samples of a damaged shard.
Result<SourcePtr> finish(const OpenRequest& request, const std::shared_ptr<const Mds>& mds,
                         std::vector<FileIndex> indexes, std::vector<RefusedFile> refused) {
  auto columns = std::make_shared<mds::MdsColumns>(mds->columns);
  for (const RefusedFile& one : refused)
    if (mds->teacher == one.file) return corrupt(one.reason).in_file(mds->shards[one.file].file.path);
  if (mds->teacher) HEADRACE_TRY(columns->take_learned(indexes[*mds->teacher].extra));
  std::vector<FramedFile> files;
  for (size_t i = 0; i < indexes.size(); ++i) {
    const ShardFile& shard = mds->shards[i];
    files.push_back({shard.file, std::move(indexes[i].records), {}, shard.is_packed});
    if (shard.is_packed) files.back().first = {0, shard.shard.samples};
  }
  for (RefusedFile& one : refused) {
    FramedFile& file = files[one.file];
    file.frames = {{0, 0}}, file.first = {0, mds->shards[one.file].shard.samples};
    file.is_packed = true, file.refused = std::move(one.reason);
  }
  FramedFormat format;
  format.name = "mds";
  format.schema = columns->schema();
  format.unpack = [mds](size_t file, uint64_t, const Record& packed, MadeBytes&,
                        UnpackedFrame& out) -> Status {
    HEADRACE_ASSIGN(out, unpack_shard(mds->shards[file], packed.bytes()));
    return {};
  };
  format.read = [columns](const Record& record, std::vector<Tensor>& fields) {
    return columns->read(record, fields);
  };
  return framed_files(std::move(format), request, std::move(files));
}

Result<SourceOpening> open(const OpenRequest& request) {
  HEADRACE_ASSIGN(Mds parsed, mds_of(request));
  HEADRACE_ASSIGN(const bool verify, request.flag("verify", false));
  if (verify)
    for (const ShardFile& shard : parsed.shards)
      HEADRACE_TRY(mds::check_hashes(shard.about().hashes).in_file(shard.file.path));
  const auto mds = std::make_shared<const Mds>(std::move(parsed));
  RecordOpening out;
  out.kind = "mds 1";
  // The index decides which shard is read first, and has the hashes.
  if (verify || mds->teacher)
    out.kind += std::string(verify ? " verified " : " ") + hash_text(request.list).substr(0, 16);
  out.files = request.path().files;
  out.index = [mds, verify](uint64_t file) -> std::unique_ptr<Opening<FileIndex>> {
    const ShardFile& shard = mds->shards[file];
    std::optional<mds::MdsColumns> columns;
    if (mds->teacher == file) columns = mds->columns;
    auto opening = std::make_unique<OpenMdsShard>(shard, std::move(columns));
    if (!verify) return opening;
    return mds::verified(std::move(opening), shard.file.size, shard.about().hashes);
  };
  out.finish = [request, mds](std::vector<FileIndex> indexes) {
    return finish(request, mds, std::move(indexes), {});
  };
  out.finish_without = [request, mds](std::vector<FileIndex> indexes, std::vector<RefusedFile> refused) {
    return finish(request, mds, std::move(indexes), std::move(refused));
  };
  return from_records(std::move(out));
}

bool is_shard_name(std::string_view name) {
  const size_t dot = name.find(".mds", name.rfind('/') + 1);
  return dot != std::string_view::npos && (name.size() == dot + 4 || name[dot + 4] == '.');
}

// Folders, "" for this one, with an index and shards.
std::set<std::string> indexed_folders(const Listing& listing) {
  std::set<std::string> with_index, out;
  const auto folder = [](std::string_view name) { return std::string(name.substr(0, name.rfind('/') + 1)); };
  for (size_t i = 0; i < listing.files.size(); ++i)
    if (is_named(std::string(listing.files[i]), std::string(mds::kMdsIndex)))
      with_index.insert(folder(listing.files[i]));
  for (size_t i = 0; i < listing.files.size(); ++i)
    if (is_shard_name(listing.files[i]) && with_index.contains(folder(listing.files[i])))
      out.insert(folder(listing.files[i]));
  return out;
}

int recognise(const Probe& probe) {
  if (probe.listing) {
    const std::set<std::string> folders = indexed_folders(*probe.listing);
    return folders.empty() ? 0 : folders.contains("") ? 95 : 60;
  }
  const std::string_view text = probe.text();
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  return text.starts_with('{') && has("\"shards\"") && has("\"column_encodings\"") && has("\"mds\"") ? 95 : 0;
}

// The folder of that name, or the only one that is named after a split of that kind: "train.mds" for "train".
std::string folder_of_split(const std::string& split, const std::set<std::string>& folders) {
  const std::string exact = split.empty() || split.ends_with('/') ? split : split + "/";
  const auto kind = split_kind(split);
  if (!kind || folders.contains(exact)) return exact;
  std::string found;
  for (const std::string& folder : folders) {
    std::optional<SplitName> name;
    for (size_t at = 0, slash = 0; !name && (slash = folder.find('/', at)) != std::string::npos;
         at = slash + 1)
      name = split_name(std::string_view(folder).substr(at, slash - at), true);
    if (!name || name->kind != *kind) continue;
    if (!found.empty()) return exact;
    found = folder;
  }
  return found.empty() ? exact : found;
}

// index.json in the folder, in that of a split, or named.
Result<std::string> index_path(const Probe& path, const GivenOptions& options) {
  HEADRACE_ASSIGN(const std::string split, options.text("split"));
  if (!path.info.is_directory) {
    if (!split.empty()) return invalid("split needs a folder, got the file " + in_quotes(path.path));
    return path.path;
  }
  const std::string folder = path.path + (path.path.ends_with('/') ? "" : "/");
  const std::set<std::string> folders =
      path.listing ? indexed_folders(*path.listing) : std::set<std::string>();
  const std::string inside = folder_of_split(split, folders);
  if (folders.empty() || folders.contains(inside)) return folder + inside + std::string(mds::kMdsIndex);
  std::string names;
  for (const std::string& name : folders)
    names += (names.empty() ? "" : ", ") + (name.empty() ? std::string("the folder itself")
                                                         : Value(name.substr(0, name.size() - 1)).dump());
  return invalid(split.empty() ? "contains the splits " + names +
                                     "; set split= to one of these names, a list of them, or \"all\""
                               : "there is no split " + in_quotes(split) + ", only " + names);
}

Result<std::vector<ListedFile>> listed(const std::string& text) {
  HEADRACE_ASSIGN(const MdsIndex index, MdsIndex::parse(text));
  std::vector<ListedFile> out;
  for (const MdsShard& shard : index.shards) out.push_back({shard.plain.name, shard.packed.name});
  return out;
}

Result<SplitsOpening> splits(const OpenRequest& request) {
  std::vector<std::string> out;
  if (request.path().listing)
    for (const std::string& folder : indexed_folders(*request.path().listing))
      if (!folder.empty()) out.push_back(folder.substr(0, folder.size() - 1));
  return known_splits(std::move(out));
}

const FormatRegistration registered({
    .name = "mds",
    .doc = "A folder of MosaicML Streaming (MDS): index.json and the shards it lists, plain, zstd or gz.",
    .fields =
        "one per column. Numbers keep their dtype; `str_int` is int64, `str_float` float64, `json` and "
        "`str_decimal` str; `jpeg` and `png` are bytes for `ops.decode_image`; `pil` is uint8 (h, w, c); "
        "`ndarray` is an array with the rank and dtype of the first sample if the index does not specify "
        "them. `jpeg_array` and lists of images are `{\"values\": bytes, \"lengths\": int64 (n,)}`.",
    .path = "The folder, or its `index.json`.",
    .options = {{"split", "str | None",
                 "The folder below the path that contains `index.json`, such as \"train\"; the path itself "
                 "when not given."},
                {"verify", "bool",
                 "Compare each shard with its hash (xxh32, xxh64, xxh128, xxh3_64) when it is first opened.",
                 false},
                encoding_option()},
    .raises = {{"CorruptSample",
                "the index, or the offsets or sizes of a sample, do not match their file. The message has "
                "file, record and byte."},
               {"NotImplementedError",
                "a column is `pkl`, which would have to be unpickled, or a shard is compressed with br, bz2 "
                "or snappy."}},
    .example = "hr.read_mds(\"c4\", split=\"train\")",
    .recognise = recognise,
    .open = open,
    .splits = splits,
    .list = index_path,
    .listed = listed,
});

}  // namespace
}  // namespace headrace
