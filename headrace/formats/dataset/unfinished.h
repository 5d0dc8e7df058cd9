// A data set in the making: out.tfrecord.partial holds it until it is whole, then it appears under its name
// in one step. Whoever is killed meanwhile, at any point, leaves the old data set or the new one.
//
//   out.partial/lock      held while somebody writes here
//   out.partial/journal   what is made here, then a line for each finished shard; it marks a folder as ours,
//                         so it is made first and goes last
//   out.partial/.data     the data; hidden, and refused by readers (check_finished)
//   out.partial/.old      what is replaced, for a moment, where the file system cannot exchange two in a step
//
// Methods may be called from several threads at once, begin() and commit() aside.
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
  // What a writer makes under the target's name. A file (out.tfrecord) has its manifest beside it
  // (out.tfrecord.headrace.json), a folder in it.
  one,
  shards,  // a folder of them, and the manifest
};

struct FinishedShard {
  ShardEntry entry;
  Value after;  // where the samples go on behind it, in the words of the one who writes
};

struct NewDataset {
  std::string target;
  Form form = Form::one;
  const WriterInfo* format = nullptr;  // never null, and not owned
  bool makes_folder = false;           // what stands at the target in the end, also where the form is one
  // What must be the same for shards that an earlier, stopped run finished to be used; null: they never are.
  Value identity;
  bool overwrite = false;  // a data set that we wrote; any other is refused
};

class UnfinishedDataset {
 public:
  static Result<std::unique_ptr<UnfinishedDataset>> begin(NewDataset wanted);
  ~UnfinishedDataset();  // what is there stays for the next run, unless none can use it

  const NewDataset& wanted() const { return wanted_; }
  // From an earlier run, by number.
  const std::map<uint64_t, FinishedShard>& finished() const { return earlier_; }
  const std::string& discarded() const { return discarded_; }  // why an earlier run's work is not used, or ""

  // Where a shard of this name is to be written; its companions by their ending behind it.
  std::string path_of(const std::string& shard) const;
  // Its files are complete: makes them last, measures them, and remembers the shard.
  Status finish_shard(uint64_t number, FinishedShard shard);
  std::string made() const;                                                    // what becomes the target
  const std::map<uint64_t, FinishedShard>& shards() const { return shards_; }  // while no thread finishes one
  // All shards are finished: the format's file over all of them, where it has one. `manifest`: all but shards
  // and files.
  Status write_over_all(Manifest manifest) const;
  // The shards, in their order, become the data set. `manifest`: likewise. `reports`: further
  // files for people, of the name "quarantine.json".
  Result<Manifest> commit(Manifest manifest, const std::map<std::string, std::string>& reports = {});
  Status discard();  // nothing is left

  // A line of the journal beside those of shards, on disk with the next shard that is finished: without that
  // shard its samples come again. And those that an earlier run left.
  void note(const Value& line);
  const std::vector<Value>& notes() const { return notes_; }

 private:
  explicit UnfinishedDataset(NewDataset wanted);
  Status enter();
  Status put_down(const Value& line);  // in the journal, on disk, behind what was noted
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
  bool is_useless_ = false;  // what lies in the folder is this run's, and no other can go on from it
  std::map<uint64_t, FinishedShard> earlier_, shards_;
  std::vector<Value> notes_;
  std::mutex mutex_;   // guards the journal's file, shards_ and
  std::string noted_;  // what goes into it with the next line
};

// An error when `path` is what has not been finished, or lies in it.
Status check_finished(Store& store, const std::string& path);

}  // namespace headrace
