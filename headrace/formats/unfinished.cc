#include "headrace/formats/unfinished.h"

#include <set>

#include "headrace/io/file_system.h"
#include "headrace/io/new_file.h"
#include "headrace/io/store.h"

namespace headrace {
namespace {

constexpr std::string_view kPartial = ".partial";
constexpr std::string_view kMark = "unfinished_dataset";  // the first key of a journal
constexpr int64_t kVersion = 1;
constexpr std::string_view kQuarantineName = "quarantine.json";

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string under(const std::string& folder, std::string_view name) {
  return folder + "/" + std::string(name);
}

std::string beside(const std::string& target, std::string_view name) {
  return target + "." + std::string(name);
}

Result<std::string> text_of(const std::string& path) {
  HEADRACE_ASSIGN(const std::unique_ptr<OpenFile> file, file_store()->open(path));
  HEADRACE_ASSIGN(const BufferPtr bytes, read_bytes(*file, 0, ~uint64_t{0}));
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

Result<uint64_t> bytes_at(const std::string& path) {
  const auto store = file_store();
  HEADRACE_ASSIGN(const FileInfo info, store->info(path));
  if (!info.is_directory) return info.size;
  uint64_t sum = 0;
  HEADRACE_ASSIGN(const Listing listing, store->list(path));
  for (size_t i = 0; i < listing.files.size(); ++i) {
    if (listing.files[i] == kManifestName) continue;
    HEADRACE_ASSIGN(const FileInfo file, store->info(under(path, listing.files[i])));
    sum += file.size;
  }
  return sum;
}

bool is_folder(const std::string& path) {
  const auto info = file_store()->info(path);
  return info.ok() && info->is_directory;
}

bool is_empty_folder(const std::string& path) {
  if (!is_folder(path)) return false;
  const auto entries = file_store()->entries(path);
  return entries.ok() && entries->files.empty() && entries->folders.empty();
}

std::string manifest_of(const std::string& target) {
  return is_folder(target) ? under(target, kManifestName) : beside(target, kManifestName);
}

// Whether all that lies at the target is what its manifest says we wrote.
Status check_ours(const std::string& target) {
  const auto refuse = [&](const std::string& why) {
    return invalid("overwrite wants a data set that Headrace wrote, at " + quoted(target) + " " + why +
                   "; remove it yourself if it is not needed");
  };
  const std::string path = manifest_of(target);
  const auto text = text_of(path);
  if (!text.ok()) return refuse("is no " + quoted(path));
  const auto manifest = Manifest::parse(*text);
  if (!manifest.ok())
    return refuse("is " + quoted(path) + " that is none: " + std::string(manifest.status().text()));
  if (is_folder(target)) {
    HEADRACE_ASSIGN(const Listing listing, file_store()->list(target));
    const FileNames found = names_of(listing);
    if (found == manifest->files) return {};
    return refuse("are " + std::to_string(found.count) + " files, not the " +
                  std::to_string(manifest->files.count) + " that were written");
  }
  HEADRACE_ASSIGN(const uint64_t bytes, bytes_at(target));
  if (manifest->shards.size() == 1 && manifest->shards[0].bytes == bytes) return {};
  return refuse("are " + std::to_string(bytes) + " bytes, not the " + std::to_string(manifest->bytes()) +
                " that were written");
}

Status check_target(const NewDataset& wanted) {
  if (!exists(wanted.target) || is_empty_folder(wanted.target)) return {};
  if (wanted.overwrite) return check_ours(wanted.target);
  return invalid(quoted(wanted.target) + " is there already; overwrite=True (--overwrite) replaces it");
}

bool is_true(const Value& object, std::string_view key) {
  const Value* found = object.find(key);
  return found && found->boolean() && *found->boolean();
}

// "train-3" of "train-3.rec" and "train-3.rec.idx".
std::string stem(const std::string& name) { return name.substr(0, name.rfind('.')); }

}  // namespace

UnfinishedDataset::UnfinishedDataset(NewDataset wanted)
    : wanted_(std::move(wanted)),
      partial_(wanted_.target + std::string(kPartial)),
      data_(under(partial_, ".data")) {}

UnfinishedDataset::~UnfinishedDataset() = default;

Result<std::unique_ptr<UnfinishedDataset>> UnfinishedDataset::begin(NewDataset wanted) {
  while (wanted.target.size() > 1 && wanted.target.ends_with('/')) wanted.target.pop_back();
  if (wanted.target.empty()) return invalid("wants a path to write to, got an empty one");
  std::unique_ptr<UnfinishedDataset> out(new UnfinishedDataset(std::move(wanted)));
  if (!exists(out->partial_)) HEADRACE_TRY(check_target(out->wanted_));  // before anything is made
  HEADRACE_TRY(out->enter());
  return out;
}

Status UnfinishedDataset::enter() {
  if (!exists(partial_)) {
    HEADRACE_TRY(make_folder(partial_));
  } else if (!exists(under(partial_, "journal")) && !exists(under(partial_, "lock")) &&
             !is_empty_folder(partial_)) {
    return invalid("wants to write to " + quoted(partial_) +
                   " until the data set is whole, there is something else");
  }
  HEADRACE_ASSIGN(lock_, FileLock::take(under(partial_, "lock")));
  if (!lock_) return Status(Code::io, quoted(wanted_.target) + " is being written by another process");
  const auto journal = text_of(under(partial_, "journal"));
  if (!journal.ok()) return start_journal();
  HEADRACE_TRY(read_journal(*journal));
  if (!exists(partial_)) {  // an earlier run had all but cleaned up
    earlier_.clear(), notes_.clear(), discarded_.clear();
    return enter();
  }
  HEADRACE_TRY(check_target(wanted_));
  return take_over();
}

Status UnfinishedDataset::start_journal() {
  HEADRACE_TRY(check_target(wanted_));
  HEADRACE_TRY(remove_all(data_));
  HEADRACE_TRY(make_folder(data_));
  const Value head = Value::Object{{std::string(kMark), kVersion}, {"identity", wanted_.identity}};
  return write_atomically(under(partial_, "journal"), bytes_of(head.dump() + "\n"));
}

// What a crash cut off at its end does not count.
Status UnfinishedDataset::read_journal(std::string_view text) {
  bool is_head = true;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string_view::npos; at = end + 1) {
    const auto parsed = Value::parse(text.substr(at, end - at));
    if (!parsed.ok()) break;
    const Value& line = *parsed;
    if (is_head) {
      if (!line.find(kMark)) return invalid(quoted(under(partial_, "journal")) + " is no journal of ours");
      const Value* identity = line.find("identity");
      if (wanted_.identity.is_null() || !identity || !(*identity == wanted_.identity))
        discarded_ = "other samples or options";
      is_head = false;
    } else if (const Value* committing = line.find("committing")) {
      const auto there = file_number(wanted_.target);
      if (there.ok() && committing->integer() && static_cast<int64_t>(*there) == *committing->integer())
        return end_commit(is_true(line, "is_file"), is_true(line, "replaces_file"));
    } else if (const Value* shard = line.find("shard")) {
      HEADRACE_ASSIGN(const int64_t number, line.get_integer("number"));
      HEADRACE_ASSIGN(ShardEntry entry, ShardEntry::from(*shard));
      const Value* after = line.find("after");
      earlier_[static_cast<uint64_t>(number)] = {std::move(entry), after ? *after : Value()};
    } else {
      notes_.push_back(line);
    }
  }
  if (is_head) discarded_ = "it had hardly begun";
  return {};
}

// Keeps the shards that are whole, and removes what else lies there.
Status UnfinishedDataset::take_over() {
  if (!discarded_.empty()) {
    earlier_.clear(), notes_.clear();
    return start_journal();
  }
  std::erase_if(earlier_, [&](const auto& item) {
    const auto bytes = bytes_at(path_of(item.second.entry.name));
    return !bytes.ok() || *bytes != item.second.entry.bytes;
  });
  std::set<std::string> kept;
  for (const auto& [number, shard] : earlier_) kept.insert(stem(shard.entry.name));
  if (!exists(data_)) HEADRACE_TRY(make_folder(data_));
  HEADRACE_ASSIGN(const Entries entries, file_store()->entries(data_));
  for (const Names* names : {&entries.files, &entries.folders})
    for (size_t i = 0; i < names->size(); ++i)
      if (!kept.contains(stem(std::string((*names)[i])))) HEADRACE_TRY(remove_all(under(data_, (*names)[i])));
  // Written again, since its last line may have been cut.
  std::string text =
      Value(Value::Object{{std::string(kMark), kVersion}, {"identity", wanted_.identity}}).dump() + "\n";
  for (const auto& [number, shard] : earlier_)
    text += Value(Value::Object{{"number", number}, {"shard", shard.entry.value()}, {"after", shard.after}})
                .dump() +
            "\n";
  for (const Value& line : notes_) text += line.dump() + "\n";
  shards_ = earlier_;
  return write_atomically(under(partial_, "journal"), bytes_of(text));
}

std::string UnfinishedDataset::path_of(const std::string& shard) const { return under(data_, shard); }

Status UnfinishedDataset::note(const Value& line) {
  const std::lock_guard lock(mutex_);
  return append_lasting(under(partial_, "journal"), bytes_of(line.dump() + "\n"));
}

Status UnfinishedDataset::finish_shard(uint64_t number, FinishedShard shard) {
  const std::string path = path_of(shard.entry.name);
  HEADRACE_TRY(sync_path(path));
  for (const std::string& ending : wanted_.beside) {
    HEADRACE_TRY(sync_path(path + ending));
    HEADRACE_TRY(move(path + ending, stem(path) + ending, Existing::replaced));
  }
  sync_names(path);
  HEADRACE_ASSIGN(shard.entry.bytes, bytes_at(path));
  const Value line =
      Value::Object{{"number", number}, {"shard", shard.entry.value()}, {"after", shard.after}};
  HEADRACE_TRY(note(line));
  const std::lock_guard lock(mutex_);
  shards_[number] = std::move(shard);
  return {};
}

std::string UnfinishedDataset::made() const {
  return wanted_.form == Form::shards ? data_ : path_of(name_of(wanted_.target));
}

// Writes what stands beside the shards, the manifest last.
Status UnfinishedDataset::complete(Manifest& manifest, const std::map<std::string, std::string>& reports) {
  const std::string folder = is_folder(made()) ? made() : partial_;
  for (const auto& [name, text] : reports)
    HEADRACE_TRY(write_atomically(under(folder, name), bytes_of(text)));
  for (const auto& [number, shard] : shards_) manifest.shards.push_back(shard.entry);
  HEADRACE_ASSIGN(const Listing listing, file_store()->list(is_folder(made()) ? made() : data_));
  manifest.files = names_of(listing);
  return write_atomically(under(folder, kManifestName), bytes_of(manifest.text()));
}

Result<Manifest> UnfinishedDataset::commit(Manifest manifest,
                                           const std::map<std::string, std::string>& reports) {
  HEADRACE_TRY(complete(manifest, reports));
  HEADRACE_TRY(check_target(wanted_));
  const bool is_file = !is_folder(made());
  const bool replaces_file = exists(wanted_.target) && !is_folder(wanted_.target);
  HEADRACE_ASSIGN(const uint64_t number, file_number(made()));
  HEADRACE_TRY(
      note(Value::Object{{"committing", number}, {"is_file", is_file}, {"replaces_file", replaces_file}}));
  const Existing existing = !wanted_.overwrite         ? Existing::refused
                            : is_file && replaces_file ? Existing::replaced
                                                       : Existing::exchanged;
  HEADRACE_TRY(move(made(), wanted_.target, existing));
  HEADRACE_TRY(end_commit(is_file, replaces_file));
  return manifest;
}

// The data set is in its place. What belongs beside a file follows it, and what stood beside the old one
// goes. The old data set lies in our folder now, and goes with it.
Status UnfinishedDataset::end_commit(bool is_file, bool replaced_file) {
  sync_names(wanted_.target);
  if (replaced_file && !is_file)
    for (const std::string_view name : {kQuarantineName, kManifestName})
      HEADRACE_TRY(remove_all(beside(wanted_.target, name)));
  if (is_file) {
    for (const std::string_view name : {kQuarantineName, kManifestName})
      if (const std::string made = under(partial_, name); exists(made))
        HEADRACE_TRY(move(made, beside(wanted_.target, name), Existing::replaced));
    HEADRACE_TRY(move_companions());
  }
  sync_names(wanted_.target);
  return discard();
}

Status UnfinishedDataset::move_companions() {
  const std::string name = stem(name_of(wanted_.target));
  for (const std::string& ending : wanted_.beside)
    if (const std::string path = under(data_, name + ending); exists(path))
      HEADRACE_TRY(move(path, under(folder_of(wanted_.target), name + ending), Existing::replaced));
  return {};
}

// The lock goes last: a folder without it is none of ours.
Status UnfinishedDataset::discard() {
  HEADRACE_TRY(remove_all(data_));
  for (const std::string_view name : {kQuarantineName, kManifestName, std::string_view("journal")})
    HEADRACE_TRY(remove_all(under(partial_, name)));
  return remove_all(partial_);
}

Status check_finished(Store& store, const std::string& path) {
  for (size_t at = path.find(kPartial); at != std::string::npos; at = path.find(kPartial, at + 1)) {
    const size_t end = at + kPartial.size();
    if (end != path.size() && path[end] != '/') continue;
    const std::string folder = path.substr(0, end);
    if (store.info(under(folder, "journal")).ok())
      return invalid(quoted(folder) +
                     " is a data set that is not whole: it is being written, or its writer was stopped; "
                     "written again, it goes on from there");
  }
  return {};
}

}  // namespace headrace
