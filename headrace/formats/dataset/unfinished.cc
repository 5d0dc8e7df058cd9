#include "headrace/formats/dataset/unfinished.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "headrace/core/text/text.h"
#include "headrace/formats/writer.h"
#include "headrace/io/file_system.h"
#include "headrace/io/look_up.h"
#include "headrace/io/new_file.h"
#include "headrace/io/store.h"

namespace headrace {
namespace {

constexpr std::string_view kPartial = ".partial";
constexpr std::string_view kMark = "unfinished_dataset";  // the first key of a journal
constexpr int64_t kJournalVersion = 1;
constexpr std::string_view kLock = "lock", kJournal = "journal";
constexpr std::string_view kQuarantineName = "quarantine.json";

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

// Files in the folder of a shard that are not part of it: those added when it is complete, and indexes.
bool is_beside_shard(std::string_view name) {
  const std::string folder = std::string(kIndexFolder) + "/";
  return name == kManifestName || name == kQuarantineName || name.starts_with(folder) ||
         name.find("/" + folder) != std::string_view::npos;
}

Result<uint64_t> bytes_at(const std::string& path) {
  const auto store = file_store();
  HEADRACE_ASSIGN(const FileInfo info, store->info(path));
  if (!info.is_directory) return info.size;
  uint64_t sum = 0;
  HEADRACE_ASSIGN(const Listing listing, store->list(path));
  for (size_t i = 0; i < listing.files.size(); ++i) {
    if (is_beside_shard(listing.files[i])) continue;
    HEADRACE_ASSIGN(const FileInfo file, store->info(under(path, listing.files[i])));
    sum += file.size;
  }
  return sum;
}

bool is_folder(const std::string& path) {
  const auto info = file_store()->info(path);
  return info.ok() && info->is_directory;
}

std::string manifest_of(const std::string& target) {
  return is_folder(target) ? under(target, kManifestName) : beside(target, kManifestName);
}

// Whether the target contains exactly what its manifest lists, so that overwriting it is allowed.
Status check_ours(const std::string& target, bool overwrite) {
  const auto refuse = [&](const std::string& why) {
    const std::string wanted =
        overwrite ? "overwrite replaces only a data set that Headrace wrote, which " + in_quotes(target) +
                        " is not: "
                  : in_quotes(target) +
                        " exists already, and overwrite=True (--overwrite) replaces only a data "
                        "set that Headrace wrote: ";
    return invalid(wanted + why + "; remove it yourself if it is not needed");
  };
  const std::string path = manifest_of(target);
  const auto text = text_of(path);
  if (!text.ok()) return refuse("there is no " + in_quotes(path));
  const auto manifest = Manifest::parse(*text);
  if (!manifest.ok())
    return refuse(in_quotes(path) + " is not a manifest: " + std::string(manifest.status().text()));
  if (is_folder(target)) {
    HEADRACE_ASSIGN(const FileNames found, names_of(target));
    if (!(found == manifest->files))
      return refuse("it has " + std::to_string(found.count) + " files, not the " +
                    std::to_string(manifest->files.count) + " that were written");
  }
  const WriterInfo* format = find_writer(manifest->format);
  for (const ShardEntry& shard : manifest->shards) {
    const bool is_inside =
        is_folder(target) && format && !format->ending.empty() && exists(under(target, shard.name));
    const std::string place = is_inside ? under(target, shard.name) : target;
    HEADRACE_ASSIGN(const uint64_t bytes, bytes_at(place));
    if (bytes != shard.bytes)
      return refuse(in_quotes(name_of(place)) + " has " + std::to_string(bytes) + " bytes, not the " +
                    std::to_string(shard.bytes) + " that were written");
  }
  return {};
}

bool is_journal(std::string_view text) {
  const auto head = Value::parse(text.substr(0, text.find('\n')));
  return head.ok() && head->find(kMark);
}

// What an interrupted atomic write of a file may leave: "journal.1234".
bool is_piece_of(std::string_view name, std::string_view piece) {
  return piece.size() > name.size() + 1 && piece.starts_with(name) && piece[name.size()] == '.' &&
         piece.find_first_not_of("0123456789", name.size() + 1) == std::string_view::npos;
}

bool has_number(const std::string& path, const Value& number) {
  const auto found = file_number(path);
  return found.ok() && number == Value(*found);
}

Result<Manifest> manifest_at(const std::string& path) {
  HEADRACE_ASSIGN(const std::string text, text_of(path));
  return Manifest::parse(text);
}

std::vector<std::string> companions_of(const std::string& target, const WriterInfo& format) {
  std::vector<std::string> out;
  for (const std::string& ending : format.beside) out.push_back(companion_of(target, format, ending));
  return out;
}

// Of the file written at the target.
std::vector<std::string> companions_at(const std::string& target) {
  const auto manifest = manifest_at(beside(target, kManifestName));
  const WriterInfo* format = manifest.ok() ? find_writer(manifest->format) : nullptr;
  return format ? companions_of(target, *format) : std::vector<std::string>();
}

// Files written next to the target must not replace files that are not ours. Ours are those of an earlier
// data set of that name that is overwritten, or whose file was removed.
Status check_beside(const NewDataset& wanted) {
  if (wanted.makes_folder) return {};
  const bool may_replace = wanted.overwrite || !exists(wanted.target);
  std::vector<std::string> ours, made = companions_of(wanted.target, *wanted.format);
  if (may_replace) ours = companions_at(wanted.target);
  const std::string manifest = beside(wanted.target, kManifestName);
  if (!may_replace || !manifest_at(manifest).ok())
    made.insert(made.end(), {manifest, beside(wanted.target, kQuarantineName)});
  for (const std::string& path : made)
    if (exists(path) && std::ranges::find(ours, path) == ours.end())
      return invalid(in_quotes(path) + " exists already, and the data set would write its own; remove it" +
                     (wanted.overwrite ? "" : ", or set overwrite=True (--overwrite) if Headrace wrote it"))
          .with({.file = path});
  return {};
}

Status check_target(const NewDataset& wanted) {
  std::error_code error;
  if (const auto leads = std::filesystem::read_symlink(wanted.target, error); !error)
    return invalid(in_quotes(wanted.target) + " is a link; write to its target " + in_quotes(leads.native()))
        .with({.file = wanted.target});
  if (is_empty_folder(wanted.target)) {
    if (!wanted.makes_folder)
      return invalid(in_quotes(wanted.target) + " is a folder, but the data set is a file; remove the folder")
          .with({.file = wanted.target});
  } else if (exists(wanted.target)) {
    HEADRACE_TRY(check_ours(wanted.target, wanted.overwrite));
    if (!wanted.overwrite)
      return invalid(in_quotes(wanted.target) + " exists already; overwrite=True (--overwrite) replaces it")
          .with({.file = wanted.target});
  }
  return check_beside(wanted);
}

}  // namespace

UnfinishedDataset::UnfinishedDataset(NewDataset wanted)
    : wanted_(std::move(wanted)),
      partial_(wanted_.target + std::string(kPartial)),
      data_(under(partial_, ".data")),
      old_(under(partial_, ".old")) {}

// Frees the disk, which may be full, of data that no run can continue.
UnfinishedDataset::~UnfinishedDataset() {
  if (is_useless_ && lock_ && lock_->is_held_here()) (void)discard();
}

Result<std::unique_ptr<UnfinishedDataset>> UnfinishedDataset::begin(NewDataset wanted) {
  while (wanted.target.size() > 1 && wanted.target.ends_with('/')) wanted.target.pop_back();
  if (wanted.target.empty()) return invalid({.expected = "a path to write to", .got = "an empty string"});
  std::unique_ptr<UnfinishedDataset> out(new UnfinishedDataset(std::move(wanted)));
  if (!exists(out->partial_)) HEADRACE_TRY(check_target(out->wanted_));  // before anything is made
  HEADRACE_TRY(out->enter());
  return out;
}

Status UnfinishedDataset::enter() {
  HEADRACE_TRY(make_partial());
  HEADRACE_TRY(check_partial());
  auto lock = FileLock::take(under(partial_, kLock));
  if (lock.status().code() == Code::not_found) return enter();  // its holder removed the folder
  HEADRACE_ASSIGN(lock_, std::move(lock));
  if (!lock_)
    return Status(Code::io, in_quotes(wanted_.target) + " is being written by another process")
        .with({.file = wanted_.target});
  HEADRACE_TRY(restore_old());
  const auto journal = text_of(under(partial_, kJournal));
  if (!journal.ok()) return start_journal();
  HEADRACE_TRY(read_journal(*journal));
  if (!lock_) {  // an earlier run had finished except for cleaning up
    earlier_.clear(), notes_.clear(), discarded_.clear();
    return enter();
  }
  HEADRACE_TRY(check_no_old());
  HEADRACE_TRY(check_target(wanted_));
  return take_over();
}

Status UnfinishedDataset::make_partial() const {
  if (exists(partial_)) return {};
  HEADRACE_TRY(make_folders_above(partial_));
  Status made = make_folder(partial_);
  return exists(partial_) ? Status() : made;  // another process may have created it
}

// Whether the contents of the folder are ours, and may be removed.
Status UnfinishedDataset::check_partial() const {
  const Status refused =
      invalid(in_quotes(partial_) +
              " is needed for the unfinished data set, but something else is there; move it away")
          .with({.file = partial_});
  std::error_code error;
  if (!std::filesystem::is_directory(std::filesystem::symlink_status(partial_, error))) return refused;
  if (const auto journal = text_of(under(partial_, kJournal)); journal.ok())
    return is_journal(*journal) ? Status() : refused;
  for (const auto& entry : std::filesystem::directory_iterator(partial_, error))
    if (const std::string name = entry.path().filename(); name != kLock && !is_piece_of(kJournal, name))
      return refused;
  return {};
}

// An earlier run may have been stopped while it replaced the old data set by the new one.
Status UnfinishedDataset::restore_old() {
  if (!exists(old_) || exists(wanted_.target)) return {};
  return move(old_, wanted_.target, Existing::refused);
}

Status UnfinishedDataset::check_no_old() const {
  if (!exists(old_)) return {};
  return invalid("the data set to be replaced is at " + in_quotes(old_) + ", and there is another one at " +
                 in_quotes(wanted_.target) + "; move one of them away");
}

Status UnfinishedDataset::start_journal() {
  HEADRACE_TRY(check_target(wanted_));
  is_useless_ = true;
  HEADRACE_TRY(remove_all(data_));  // first: the disk may have no room for both it and the journal
  const Value head = Value::Object{{std::string(kMark), kJournalVersion}, {"identity", wanted_.identity}};
  HEADRACE_TRY(write_atomically(under(partial_, kJournal), text_bytes(head.dump() + "\n")));
  return make_folder(data_);
}

// Ignores a last line that was cut off by a crash.
Status UnfinishedDataset::read_journal(std::string_view text) {
  bool is_head = true;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string_view::npos; at = end + 1) {
    const auto parsed = Value::parse(text.substr(at, end - at));
    if (!parsed.ok()) break;
    const Value& line = *parsed;
    if (is_head) {
      const Value* identity = line.find("identity");
      if (wanted_.identity.is_null())
        discarded_ = "data without shards are written anew";
      else if (!identity || !(*identity == wanted_.identity))
        discarded_ = "other samples or options";
      is_head = false;
    } else if (const Value* committing = line.find("committing")) {
      if (has_number(wanted_.target, *committing)) return end_commit(line);
      // Otherwise this folder may hold the old data set.
      if (!has_number(made(), *committing)) discarded_ = "the files it made were moved away";
    } else if (const Value* shard = line.find("shard")) {
      HEADRACE_ASSIGN(const int64_t number, line.get_integer("number"));
      HEADRACE_ASSIGN(ShardEntry entry, ShardEntry::from(*shard));
      const Value* after = line.find("after");
      earlier_[static_cast<uint64_t>(number)] = {std::move(entry), after ? *after : Value()};
    } else {
      notes_.push_back(line);
    }
  }
  return {};
}

// Keeps complete shards, and removes everything else in the folder.
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
  for (const auto& [number, shard] : earlier_) {
    kept.insert(shard.entry.name);
    for (const std::string& ending : wanted_.format->beside)
      kept.insert(companion_of(shard.entry.name, *wanted_.format, ending));
  }
  if (!exists(data_)) HEADRACE_TRY(make_folder(data_));
  HEADRACE_ASSIGN(const Entries entries, file_store()->entries(data_));
  for (const Names* names : {&entries.files, &entries.folders})
    for (size_t i = 0; i < names->size(); ++i)
      if (!kept.contains(std::string((*names)[i]))) HEADRACE_TRY(remove_all(under(data_, (*names)[i])));
  // Rewritten, since its last line may be cut off.
  std::string text =
      Value(Value::Object{{std::string(kMark), kJournalVersion}, {"identity", wanted_.identity}}).dump() +
      "\n";
  for (const auto& [number, shard] : earlier_)
    text += Value(Value::Object{{"number", number}, {"shard", shard.entry.value()}, {"after", shard.after}})
                .dump() +
            "\n";
  for (const Value& line : notes_) text += line.dump() + "\n";
  shards_ = earlier_;
  return write_atomically(under(partial_, kJournal), text_bytes(text));
}

std::string UnfinishedDataset::path_of(const std::string& shard) const { return under(data_, shard); }

void UnfinishedDataset::note(const Value& line) {
  const std::lock_guard lock(mutex_);
  noted_ += line.dump() + "\n";
}

Status UnfinishedDataset::put_down(const Value& line) {
  const std::lock_guard lock(mutex_);
  HEADRACE_TRY(append_lasting(under(partial_, kJournal), text_bytes(noted_ + line.dump() + "\n")));
  noted_.clear();
  return {};
}

Status UnfinishedDataset::finish_shard(uint64_t number, FinishedShard shard) {
  const std::string path = path_of(shard.entry.name);
  HEADRACE_TRY(sync_path(path));
  for (const std::string& ending : wanted_.format->beside) {
    HEADRACE_TRY(sync_path(path + ending));
    HEADRACE_TRY(move(path + ending, companion_of(path, *wanted_.format, ending), Existing::replaced));
  }
  HEADRACE_TRY(sync_names(path));
  HEADRACE_ASSIGN(shard.entry.bytes, bytes_at(path));
  const Value line =
      Value::Object{{"number", number}, {"shard", shard.entry.value()}, {"after", shard.after}};
  HEADRACE_TRY(put_down(line));
  const std::lock_guard lock(mutex_);
  shards_[number] = std::move(shard);
  if (!wanted_.identity.is_null()) is_useless_ = false;
  return {};
}

std::string UnfinishedDataset::made() const {
  return wanted_.form == Form::shards ? data_ : path_of(name_of(wanted_.target));
}

Status UnfinishedDataset::write_over_all(Manifest manifest) const {
  const FileOverAll& over_all = wanted_.format->over_all;
  if (!over_all.text) return {};
  for (const auto& [number, shard] : shards_) manifest.shards.push_back(shard.entry);
  HEADRACE_ASSIGN(const std::string text, over_all.text(manifest));
  return write_atomically(under(made(), over_all.name), text_bytes(text));
}

// Writes the files that accompany the shards, the manifest last.
Status UnfinishedDataset::complete(Manifest& manifest, const std::map<std::string, std::string>& reports) {
  const std::string folder = is_folder(made()) ? made() : partial_;
  for (const auto& [name, text] : reports)
    HEADRACE_TRY(write_atomically(under(folder, name), text_bytes(text)));
  for (const auto& [number, shard] : shards_) manifest.shards.push_back(shard.entry);
  HEADRACE_ASSIGN(manifest.files, names_of(is_folder(made()) ? made() : data_));
  return write_atomically(under(folder, kManifestName), text_bytes(manifest.text()));
}

Result<Manifest> UnfinishedDataset::commit(Manifest manifest,
                                           const std::map<std::string, std::string>& reports) {
  HEADRACE_TRY(complete(manifest, reports));
  HEADRACE_TRY(check_target(wanted_));
  const bool is_file = !is_folder(made());
  const bool replaces_file = exists(wanted_.target) && !is_folder(wanted_.target);
  HEADRACE_ASSIGN(const uint64_t number, file_number(made()));
  const Value committing = Value::Object{{"committing", number},
                                         {"is_file", is_file},
                                         {"replaces_file", replaces_file},
                                         {"is_quarantined", reports.contains(std::string(kQuarantineName))}};
  HEADRACE_TRY(put_down(committing));
  is_useless_ = false;  // the next run can complete the commit
  if (replaces_file) HEADRACE_TRY(remove_old_companions());
  HEADRACE_TRY(put_in_place(is_file, replaces_file));
  HEADRACE_TRY(end_commit(committing));
  return manifest;
}

Status UnfinishedDataset::put_in_place(bool is_file, bool replaces_file) {
  if (!wanted_.overwrite || !exists(wanted_.target) || is_empty_folder(wanted_.target))
    return move(made(), wanted_.target, Existing::refused);
  if (is_file && replaces_file) return move(made(), wanted_.target, Existing::replaced);
  return exchange(made(), wanted_.target, old_);
}

// Before the data is moved: readers may find data without them, but never data with those of other data.
Status UnfinishedDataset::remove_old_companions() const {
  for (const std::string& path : companions_at(wanted_.target)) HEADRACE_TRY(remove_file(path));
  return sync_names(wanted_.target);
}

// The data set is in place. Moves its companion files, removes those of the old one, and removes the old data
// set, which is in our folder now.
Status UnfinishedDataset::end_commit(const Value& committing) {
  const bool is_file = committing.is_true("is_file");
  const bool replaced_file = committing.is_true("replaces_file");
  HEADRACE_TRY(sync_names(wanted_.target));
  if (replaced_file && !committing.is_true("is_quarantined"))
    HEADRACE_TRY(remove_file(beside(wanted_.target, kQuarantineName)));
  if (replaced_file && !is_file) HEADRACE_TRY(remove_file(beside(wanted_.target, kManifestName)));
  if (is_file) {
    for (const std::string_view name : {kQuarantineName, kManifestName})
      if (const std::string made = under(partial_, name); exists(made))
        HEADRACE_TRY(move(made, beside(wanted_.target, name), Existing::replaced));
    HEADRACE_TRY(move_companions());
  }
  HEADRACE_TRY(sync_names(wanted_.target));
  HEADRACE_TRY(remove_all(old_));
  return discard();
}

Status UnfinishedDataset::move_companions() {
  const std::string shard = path_of(name_of(wanted_.target));
  for (const std::string& ending : wanted_.format->beside)
    if (const std::string made = companion_of(shard, *wanted_.format, ending); exists(made))
      HEADRACE_TRY(move(made, companion_of(wanted_.target, *wanted_.format, ending), Existing::replaced));
  return {};
}

// Files that are not ours stay, and so does the folder if there are any.
Status UnfinishedDataset::discard() {
  if (!exists(partial_)) return {};  // it was discarded earlier
  HEADRACE_TRY(restore_old());
  HEADRACE_TRY(check_no_old());
  HEADRACE_TRY(remove_all(data_));
  for (const std::string_view name : {kQuarantineName, kManifestName, kJournal})
    HEADRACE_TRY(remove_named(name));
  HEADRACE_TRY(remove_file(under(partial_, kLock)));
  remove_empty_folder(partial_);
  lock_.reset();
  return {};
}

Status UnfinishedDataset::remove_named(std::string_view name) const {
  HEADRACE_ASSIGN(const Entries entries, file_store()->entries(partial_));
  for (size_t i = 0; i < entries.files.size(); ++i)
    if (is_piece_of(name, entries.files[i])) HEADRACE_TRY(remove_file(under(partial_, entries.files[i])));
  return remove_file(under(partial_, name));
}

Status check_finished(Store& store, const std::string& path) {
  for (size_t at = path.find(kPartial); at != std::string::npos; at = path.find(kPartial, at + 1)) {
    const size_t end = at + kPartial.size();
    if (end != path.size() && path[end] != '/') continue;
    const std::string folder = path.substr(0, end);
    HEADRACE_ASSIGN(const bool is_unfinished, has_file(store, under(folder, kJournal)));
    if (is_unfinished)
      return invalid(in_quotes(folder) +
                     " is an unfinished data set: it is still being written, or its writer was stopped; "
                     "writing it again continues from there")
          .with({.file = folder});
  }
  return {};
}

}  // namespace headrace
