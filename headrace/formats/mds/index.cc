#include "headrace/formats/mds/index.h"

#include <limits>
#include <set>
#include <string_view>

#include "headrace/core/text/text.h"
#include "headrace/formats/records/offset_table.h"

namespace headrace::mds {
namespace {

Result<const Value::List*> list_of(const Value& shard, std::string_view key) {
  const Value* found = shard.find(key);
  if (!found || !found->list()) return corrupt("expected a list " + in_quotes(key));
  return found->list();
}

// Offsets have 32 bits, so nothing in a shard is larger.
Result<uint64_t> count_of(const Value& object, std::string_view key) {
  HEADRACE_ASSIGN(const int64_t number, object.get_integer(key));
  if (number < 0 || number > int64_t{std::numeric_limits<uint32_t>::max()})
    return corrupt(in_quotes(key) + " must be an unsigned 32-bit number, got " + std::to_string(number));
  return static_cast<uint64_t>(number);
}

Result<MdsShard::File> file_of(const Value& about) {
  MdsShard::File out;
  HEADRACE_ASSIGN(out.name, about.get_text("basename"));
  HEADRACE_ASSIGN(out.bytes, count_of(about, "bytes"));
  if (const Value* hashes = about.find("hashes"); hashes && hashes->object()) out.hashes = *hashes;
  return out;
}

Result<MdsColumns> columns_of(const Value& shard) {
  HEADRACE_ASSIGN(const Value::List* names, list_of(shard, "column_names"));
  HEADRACE_ASSIGN(const Value::List* encodings, list_of(shard, "column_encodings"));
  HEADRACE_ASSIGN(const Value::List* sizes, list_of(shard, "column_sizes"));
  if (names->size() != encodings->size() || names->size() != sizes->size())
    return corrupt({.expected = "as many column names as encodings and sizes",
                    .got = std::to_string(names->size()) + ", " + std::to_string(encodings->size()) +
                           " and " + std::to_string(sizes->size())});
  MdsColumns out;
  std::set<std::string_view> seen;
  for (size_t i = 0; i < names->size(); ++i) {
    const std::string *name = (*names)[i].text(), *encoding = (*encodings)[i].text();
    const int64_t* size = (*sizes)[i].integer();
    if (!name || !encoding || (!size && !(*sizes)[i].is_null()))
      return corrupt(
          {.expected = "the name, the encoding and the size of a column",
           .got = (*names)[i].dump() + ", " + (*encodings)[i].dump() + " and " + (*sizes)[i].dump()});
    if (size && (*size < 0 || *size > int64_t{std::numeric_limits<uint32_t>::max()}))
      return corrupt({.expected = "an unsigned 32-bit size of column " + in_quotes(*name),
                      .got = std::to_string(*size)});
    if (!seen.insert(*name).second)
      return corrupt({.expected = "each column once", .got = in_quotes(*name) + " twice"});
    HEADRACE_ASSIGN(
        MdsColumn column,
        mds_column(*name, *encoding, size ? std::optional(static_cast<uint32_t>(*size)) : std::nullopt));
    out.all.push_back(std::move(column));
  }
  if (out.all.empty()) return corrupt({.expected = "at least one column", .got = "none"});
  return out;
}

Result<MdsShard> shard_of(const Value& value) {
  HEADRACE_ASSIGN(const std::string format, value.get_text("format"));
  if (format != "mds")
    return Status(Code::unavailable, {.expected = "shards of format 'mds'", .got = in_quotes(format)});
  HEADRACE_ASSIGN(const int64_t version, value.get_integer("version"));
  if (version != 2)
    return Status(Code::unavailable, {.expected = "version 2", .got = std::to_string(version)});
  MdsShard out;
  HEADRACE_ASSIGN(out.samples, count_of(value, "samples"));
  const Value* plain = value.find("raw_data");
  if (!plain) return corrupt({.expected = "'raw_data'", .got = "none"});
  HEADRACE_ASSIGN(out.plain, file_of(*plain));
  if (offset_table_bytes(out.samples) > out.plain.bytes)
    return corrupt("the offsets of " + std::to_string(out.samples) + " samples do not fit into a shard of " +
                   std::to_string(out.plain.bytes) + " bytes");
  const Value *packed = value.find("zip_data"), *compression = value.find("compression");
  if (!packed || packed->is_null()) return out;
  HEADRACE_ASSIGN(out.packed, file_of(*packed));
  if (!compression || !compression->text())
    return corrupt({.expected = "'compression' of the compressed shard", .got = "none"});
  out.compression = *compression->text();
  return out;
}

}  // namespace

Result<Packed> mds_packing(const std::string& compression) {
  const std::string name = compression.substr(0, compression.find(':'));
  if (name == "zstd") return Packed::zstd;
  if (name == "gz") return Packed::deflate;
  return Status(Code::unavailable, {.expected = "shards that are plain or compressed with zstd or gz",
                                    .got = in_quotes(compression),
                                    .fix = "a plain shard next to it is read instead"});
}

Result<MdsIndex> MdsIndex::parse(std::string_view json) {
  HEADRACE_ASSIGN(const Value value, Value::parse(json));
  HEADRACE_ASSIGN(const int64_t version, value.get_integer("version"));
  if (version != 2)
    return Status(Code::unavailable, {.expected = "an index of version 2", .got = std::to_string(version)});
  HEADRACE_ASSIGN(const Value::List* shards, list_of(value, "shards"));
  if (shards->empty()) return corrupt({.expected = "at least one shard", .got = "none"});
  MdsIndex out;
  for (const Value& one : *shards) {
    const std::string place = "shard " + std::to_string(out.shards.size()) + ": ";
    auto shard = shard_of(one);
    if (!shard.ok()) return shard.status().before(place);
    auto columns = columns_of(one);
    if (!columns.ok()) return columns.status().before(place);
    if (out.shards.empty())
      out.columns = *std::move(columns);
    else if (!(*columns == out.columns))
      return corrupt(place + "expected the columns of the first shard, " + out.columns.schema().text() +
                     ", got " + columns->schema().text());
    out.shards.push_back(*std::move(shard));
  }
  return out;
}

}  // namespace headrace::mds
