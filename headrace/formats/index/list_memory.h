// One index file for a list of files, kept from one run to the next: where their records are, and what was
// looked up to open them, so that opening them again asks the file system a handful of questions, however
// many files there are (docs/decisions/0044-one-index-for-a-list.md).
//
// Its file is in the user's cache folder, or next to the data for all their readers (list_place.h). What it
// says of names is believed while their folders are unchanged; of two files, the first that is asked for and
// the one that was written last, it is checked at once; of the others when they are opened (unchanged.h). Any
// thread.
#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/formats/index/list_index.h"
#include "headrace/formats/index/list_place.h"
#include "headrace/formats/index/sidecar.h"
#include "headrace/formats/source.h"
#include "headrace/io/store.h"

namespace headrace {

class ListMemory {
 public:
  // `paths`: as the user gave them. `beside`: what is learned is stored next to the data.
  // REQUIRES: `store`, which answers what is not known, outlives it.
  ListMemory(Store& store, std::span<const std::string> paths, bool beside = false);

  Store& store() const { return store_; }

  // What is known without a look; nothing, or false, where that is not believed.
  std::optional<FileInfo> recall(const std::string& path);  // of a file: is_recalled
  bool is_absent(const std::string& path);
  std::optional<Entries> entries(const std::string& folder);
  std::shared_ptr<const Listing> listing(const std::string& root);
  std::optional<std::string> head(const std::string& path);

  void learn(const std::string& path, const Result<FileInfo>& info);
  void learn_entries(const std::string& folder, const Entries& entries);
  void learn_listing(const std::string& root, const Listing& listing);
  void learn_head(const std::string& path, std::string head);

  std::optional<ListIndex::Records> find(std::string_view kind, const std::string& path);
  void keep(std::string_view kind, const std::string& path, ListIndex::Records records);

  // A file was found to be another one than was recalled: nothing is recalled from then on.
  void was_wrong();
  void was_checked(const std::string& path);  // it was opened, and is as it was
  // Whether all that was recalled is true, or is checked when the source opens its files (RecalledFile):
  // looks at what is neither. Otherwise the data are to be opened again, and nothing is recalled; so after an
  // error, which may be due to what was.
  bool bears_out(const Result<SourcePtr>& source);

  // Held while what is not known is found out and stored, so that processes which start at once do it once
  // between them.
  Result<SidecarLock> lock(const StopFlag* stop);
  void reload();  // what others have stored since
  // Stores what was learned, if anything. `is_locked`: by the caller; else `unavailable` if others hold the
  // lock.
  Status save(bool is_locked);
  std::string path();  // of the file; "" if there is no place for one

 private:
  // REQUIRES of all: mutex_ is held.
  void load();
  // The folder as it is now; null if it cannot be told from what it was.
  const FileInfo* look_at(const std::string& folder);
  bool is_believed(const std::string& folder);
  const ListIndex::Name* known(const std::string& name);
  // Whether the file that is asked for first, and the one of all that was written last, are as they were:
  // finds out data that are written anew, or appended to.
  bool is_borne_out_by_two(const std::string& name, const ListIndex::Name& found);

  Store& store_;
  const bool beside_;
  const std::optional<ListPlace> place_;
  int64_t begun_ns_;

  std::mutex mutex_;
  bool is_loaded_ = false, recalls_ = true, is_wrong_ = false, has_checked_ = false, has_recalled_ = false;
  std::optional<SidecarPlace> at_;  // where it was read from, or is to be stored
  ListIndex known_;                 // as stored
  ListIndex learned_;               // since
  std::map<std::string, std::optional<FileInfo>, std::less<>> looked_at_;  // folders, now
  std::map<std::string, FileInfo> unchecked_;                              // recalled, by path
};

}  // namespace headrace
