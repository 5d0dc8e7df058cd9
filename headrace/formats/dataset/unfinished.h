// A data set that is being written: out.tfrecord.partial holds it until it is complete, then it appears under
// its name in one step. A process killed at any point leaves the old data set or the new one.
//
//   out.partial/lock      held while a process writes here
//   out.partial/journal   what is being written, then a line for each finished shard; created first and
//                         removed last, as it marks the folder as ours
//   out.partial/.data     the data; hidden, and refused by readers (check_finished)
//   out.partial/.old      the replaced data, briefly, if two names cannot be exchanged in one step
//
// Methods may be called from several threads at once, except begin() and commit().
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "headrace/formats/dataset/manifest.h"

namespace headrace {

class FileLock;
class Store;
struct WriterInfo;

enum class Form : uint8_t {
  // One file or folder under the target's name. A file (out.tfrecord) has its manifest next to it
  // (out.tfrecord.headrace.json), a folder in it.
  one,
  shards,  // a folder of shards, and the manifest
};

struct FinishedShard {
  ShardEntry entry;
  Value after;  // where the samples continue after it; opaque here
};

struct NewDataset {
  std::string target;
  Form form = Form::one;
  const WriterInfo* format = nullptr;  // never null, and not owned
  bool makes_folder = false;           // whether the target becomes a folder, also for Form::one
  // Must be equal for the shards of an earlier, stopped run to be reused; null: they never are.
  Value identity;
  bool overwrite = false;  // replace a data set that we wrote; any other is refused
};

class UnfinishedDataset {
 public:
  static Result<std::unique_ptr<UnfinishedDataset>> begin(NewDataset wanted);
  ~UnfinishedDataset();  // finished shards stay for the next run, unless none can use them

  const NewDataset& wanted() const { return wanted_; }
  // From an earlier run, by number.
  const std::map<uint64_t, FinishedShard>& finished() const { return earlier_; }
  const std::string& discarded() const { return discarded_; }  // why earlier work is not reused, or ""

  // Where to write a shard of this name; its companions at that path plus their endings.
  std::string path_of(const std::string& shard) const;
  // Its files are complete: makes them durable, measures their sizes, and records the shard.
  Status finish_shard(uint64_t number, FinishedShard shard);
  std::string made() const;                                                    // what becomes the target
  const std::map<uint64_t, FinishedShard>& shards() const { return shards_; }  // while no thread finishes one
  // All shards are finished: writes the format's file over all of them, if it has one. `manifest`: without
  // shards and files.
  Status write_over_all(Manifest manifest) const;
  // Makes the shards, in their order, the data set. `manifest`: without shards and files. `reports`: further
  // files for users, named "quarantine.json".
  Result<Manifest> commit(Manifest manifest, const std::map<std::string, std::string>& reports = {});
  Status discard();  // removes everything

  // Adds a line to the journal, written to disk together with the next finished shard (without that shard its
  // samples are processed again); and the lines of an earlier run.
  void note(const Value& line);
  const std::vector<Value>& notes() const { return notes_; }

 private:
  explicit UnfinishedDataset(NewDataset wanted);
  Status enter();
  Status put_down(const Value& line);  // in the journal on disk, after the noted lines
  Status make_partial() const;
  Status check_partial() const;
  Status start_journal();
  Status read_journal(std::string_view text);
  Status take_over();
  Status restore_old();
  Status check_no_old() const;
  Status put_in_place(bool is_file, bool replaces_file);
  Status complete(Manifest& manifest, const std::map<std::string, std::string>& reports);
  Status remove_old_companions() const;
  Status end_commit(const Value& committing);
  Status move_companions();
  Status remove_named(std::string_view name) const;

  NewDataset wanted_;
  std::string partial_, data_, old_, discarded_;
  std::unique_ptr<FileLock> lock_;
  bool is_useless_ = false;  // the folder holds work of this run that no other run can continue
  std::map<uint64_t, FinishedShard> earlier_, shards_;
  std::vector<Value> notes_;
  std::mutex mutex_;   // guards the journal file, shards_ and noted_
  std::string noted_;  // lines to be written with the next one
};

// An error if `path` is an unfinished data set, or is in one.
Status check_finished(Store& store, const std::string& path);

}  // namespace headrace
