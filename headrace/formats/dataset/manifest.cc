#include "headrace/formats/dataset/manifest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <list>
#include <mutex>
#include <numeric>

#include "headrace/io/look_up.h"
#include "headrace/io/system.h"

namespace headrace {
namespace {

constexpr int64_t kManifestVersion = 1;

Result<uint64_t> natural(const Value& object, std::string_view key) {
  HEADRACE_ASSIGN(const int64_t number, object.get_integer(key));
  if (number < 0)
    return invalid("'" + std::string(key) + "' must be at least 0, got " + std::to_string(number));
  return static_cast<uint64_t>(number);
}

Result<const Value::List*> list_in(const Value& object, std::string_view key) {
  const Value* found = object.find(key);
  if (!found || !found->list()) return invalid("expected a list '" + std::string(key) + "'");
  return found->list();
}

Result<TensorSpec> spec_from(const Value& field) {
  TensorSpec out;
  HEADRACE_ASSIGN(const std::string dtype, field.get_text("dtype"));
  HEADRACE_ASSIGN(out.dtype, parse_dtype(dtype));
  HEADRACE_ASSIGN(const Value::List* dims, list_in(field, "shape"));
  if (dims->size() > static_cast<size_t>(kMaxRank)) return invalid("'shape': expected at most 8 dimensions");
  std::vector<int64_t> shape;
  for (const Value& dim : *dims) {
    if (!dim.is_null() && (!dim.integer() || *dim.integer() < 0))
      return invalid("'shape': expected lengths and nulls, got " + dim.dump());
    shape.push_back(dim.is_null() ? kAny : *dim.integer());
  }
  out.shape = Shape(std::span<const int64_t>(shape));
  return out;
}

Value spec_value(const std::string& name, const TensorSpec& spec) {
  Value::List shape;
  for (const int64_t dim : spec.shape.dims()) shape.push_back(dim == kAny ? Value() : Value(dim));
  Value out;
  out.set("name", name), out.set("dtype", short_name(spec.dtype)), out.set("shape", std::move(shape));
  return out;
}

// Sorted; "link//" for what is neither file nor folder, "folder/" for an empty folder.
Result<std::vector<std::string>> marked_names(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::string name = at->path().native().substr(folder.size() + 1);
    const fs::file_status status = at->symlink_status(error);
    if (error) break;
    if (fs::is_directory(status)) {
      if (at->path().filename() == kIndexFolder)
        at.disable_recursion_pending();
      else if (fs::is_empty(at->path(), error))
        out.push_back(name + "/");
      if (error) break;
    } else if (!fs::is_regular_file(status)) {
      out.push_back(name + "//");
    } else if (name != kManifestName) {
      out.push_back(std::move(name));
    }
  }
  if (error) return system_error("cannot list", folder, error);
  std::ranges::sort(out);
  return out;
}

bool is_plain_name(std::string_view name) {
  const auto is_odd = [](char c) { return c == '/' || static_cast<unsigned char>(c) < 0x20; };
  return !name.empty() && std::ranges::none_of(name, is_odd);
}

// The manifests that were read last.
class KnownManifests {
 public:
  static KnownManifests& of_process() {
    static auto* const made = new KnownManifests;  // threads may outlive main()
    return *made;
  }
  static std::string key_of(const std::string& path) {
    std::error_code error;
    std::string out = std::filesystem::absolute(path, error).string();
    return error ? "" : out;
  }

  // Without a look at its bytes.
  ReadManifestPtr find(const std::string& key, const FileInfo& info) {
    const std::lock_guard lock(mutex_);
    const auto is_it = [&](const Known& one) {
      return one.key == key && one.has_settled && one.info.size == info.size &&
             one.info.mtime_ns == info.mtime_ns && one.info.changed_ns == info.changed_ns;
    };
    const auto it = std::ranges::find_if(known_, is_it);
    return it == known_.end() ? nullptr : it->manifest;
  }
  // By its bytes. A file that was written a moment ago may be written again and look the same.
  Result<ReadManifestPtr> of(const std::string& key, const FileInfo& info, std::string_view text) {
    constexpr int64_t kTick = 2'000'000'000;
    const auto now = std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    const bool has_settled = info.changed_ns != 0 && info.changed_ns + kTick <= now;
    const std::string hash = hash_text(text);
    {
      const std::lock_guard lock(mutex_);
      for (Known& one : known_)
        if (one.key == key && one.hash == hash) {
          one.info = info, one.has_settled = has_settled;
          return one.manifest;
        }
    }
    ++num_parsed;
    HEADRACE_ASSIGN(Manifest manifest, Manifest::parse(text));
    auto read = std::make_shared<const ReadManifest>(std::move(manifest));
    if (key.empty()) return ReadManifestPtr(std::move(read));
    const std::lock_guard lock(mutex_);
    std::erase_if(known_, [&](const Known& one) { return one.key == key; });
    known_.push_front({key, hash, info, has_settled, read});
    if (known_.size() > kMostKnown) known_.pop_back();
    return ReadManifestPtr(std::move(read));
  }

  std::atomic<uint64_t> num_parsed{0};

 private:
  static constexpr size_t kMostKnown = 64;  // of at most 4 MB each, as a rule of a few kB
  struct Known {
    std::string key, hash;
    FileInfo info;
    bool has_settled;
    ReadManifestPtr manifest;
  };
  std::mutex mutex_;
  std::list<Known> known_;  // newest first; guarded by mutex_
};

}  // namespace

Value ShardEntry::value() const {
  return Value::Object{
      {"name", name}, {"samples", samples}, {"bytes", bytes}, {"xxh3_128", xxh3_128}, {"sum", sum}};
}

Result<ShardEntry> ShardEntry::from(const Value& value) {
  ShardEntry out;
  HEADRACE_ASSIGN(out.name, value.get_text("name"));
  HEADRACE_ASSIGN(out.samples, natural(value, "samples"));
  HEADRACE_ASSIGN(out.bytes, natural(value, "bytes"));
  HEADRACE_ASSIGN(out.xxh3_128, value.get_text("xxh3_128"));
  HEADRACE_ASSIGN(const int64_t sum, value.get_integer("sum"));
  out.sum = static_cast<uint64_t>(sum);  // from 2^63 on it is written as a negative number
  return out;
}

Result<FileNames> names_of(const std::string& folder) {
  HEADRACE_ASSIGN(const std::vector<std::string> names, marked_names(folder));
  std::string all;
  for (const std::string& name : names) all.append(name) += '\0';
  return FileNames{names.size(), hash_text(all)};
}

uint64_t Manifest::samples() const {
  return std::accumulate(shards.begin(), shards.end(), uint64_t{0},
                         [](uint64_t sum, const ShardEntry& shard) { return sum + shard.samples; });
}

uint64_t Manifest::bytes() const {
  return std::accumulate(shards.begin(), shards.end(), uint64_t{0},
                         [](uint64_t sum, const ShardEntry& shard) { return sum + shard.bytes; });
}

std::string Manifest::text() const {
  Value out;
  out.set("headrace_dataset", kManifestVersion);
  out.set("format", format), out.set("options", options);
  out.set("samples", samples()), out.set("bytes", bytes());
  if (!read_with.is_null()) out.set("read_with", read_with);
  out.set("schema", schema_to_value(schema));
  out.set("metadata", metadata);
  out.set("files", Value::Object{{"count", files.count}, {"xxh3_128", files.xxh3_128}});
  Value::List list;
  for (const ShardEntry& shard : shards) list.push_back(shard.value());
  out.set("shards", std::move(list));
  return out.dump(1) + "\n";
}

ReadManifest::ReadManifest(Manifest of) : manifest(std::move(of)), samples(manifest.samples()) {
  by_name.reserve(manifest.shards.size());
  for (size_t i = 0; i < manifest.shards.size(); ++i) {
    by_name.emplace(manifest.shards[i].name, i);
    has_plain_names = has_plain_names && is_plain_name(manifest.shards[i].name);
  }
}

uint64_t num_manifests_parsed() { return KnownManifests::of_process().num_parsed; }

Result<ReadManifestPtr> read_manifest(Store& store, const std::string& path, uint64_t& left) {
  HEADRACE_ASSIGN(const auto file, open_if_there(store, path));
  if (!file) return Status(Code::not_found, "there is none");
  HEADRACE_ASSIGN(const FileInfo info, file->as_opened());
  if (info.size > left)
    return invalid(
        {.expected = "at most " + std::to_string(left) + " bytes", .got = std::to_string(info.size)});
  left -= info.size;
  KnownManifests& known = KnownManifests::of_process();
  const std::string key = store.persistent() ? KnownManifests::key_of(path) : "";
  if (auto read = known.find(key, info)) return read;
  HEADRACE_ASSIGN(const BufferPtr bytes, read_bytes(*file, 0, info.size));
  return known.of(key, info, {reinterpret_cast<const char*>(bytes->data()), bytes->size()});
}

Result<Manifest> Manifest::parse(std::string_view text) {
  HEADRACE_ASSIGN(const Value value, Value::parse(text));
  HEADRACE_ASSIGN(const int64_t version, value.get_integer("headrace_dataset"));
  if (version != kManifestVersion)
    return invalid("'headrace_dataset': expected version 1, got " + std::to_string(version));
  Manifest out;
  HEADRACE_ASSIGN(out.format, value.get_text("format"));
  const auto member = [&](std::string_view key) {
    const Value* found = value.find(key);
    return found ? *found : Value();
  };
  out.options = member("options"), out.read_with = member("read_with"), out.metadata = member("metadata");
  HEADRACE_ASSIGN(out.schema, schema_from_value(member("schema")));
  const Value files = member("files");
  HEADRACE_ASSIGN(out.files.count, natural(files, "count"));
  HEADRACE_ASSIGN(out.files.xxh3_128, files.get_text("xxh3_128"));
  HEADRACE_ASSIGN(const Value::List* shards, list_in(value, "shards"));
  for (const Value& shard : *shards) {
    HEADRACE_ASSIGN(ShardEntry entry, ShardEntry::from(shard));
    out.shards.push_back(std::move(entry));
  }
  return out;
}

Value schema_to_value(const Schema& schema) {
  Value::List fields(schema.size());
  for (size_t i = 0; i < schema.size(); ++i) fields[i] = spec_value(schema.names[i], schema.specs[i]);
  Value out;
  out.set("fields", std::move(fields)), out.set("structure", schema.structure);
  return out;
}

Result<Schema> schema_from_value(const Value& value) {
  Schema out;
  HEADRACE_ASSIGN(out.structure, value.get_text("structure"));
  HEADRACE_ASSIGN(const Value::List* fields, list_in(value, "fields"));
  for (const Value& field : *fields) {
    HEADRACE_ASSIGN(std::string name, field.get_text("name"));
    HEADRACE_ASSIGN(const TensorSpec spec, spec_from(field));
    out.names.push_back(std::move(name));
    out.specs.push_back(spec);
  }
  return out;
}

uint64_t sample_hash(const std::vector<Tensor>& fields) {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset(&state);
  for (const Tensor& field : fields) {
    const View view = field.view();
    const auto dims = view.shape.dims();
    const uint8_t kind[2] = {static_cast<uint8_t>(view.dtype), static_cast<uint8_t>(dims.size())};
    XXH3_64bits_update(&state, kind, sizeof kind);
    XXH3_64bits_update(&state, dims.data(), dims.size_bytes());
    XXH3_64bits_update(&state, view.data, view.size_bytes());
  }
  return XXH3_64bits_digest(&state);
}

std::string shard_hash(const std::vector<uint64_t>& samples) {
  return hash_text({reinterpret_cast<const char*>(samples.data()), samples.size() * sizeof(uint64_t)});
}

uint64_t hash_sum(const std::vector<uint64_t>& samples) {
  return std::accumulate(samples.begin(), samples.end(), uint64_t{0});
}

}  // namespace headrace
