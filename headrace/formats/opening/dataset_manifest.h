// What the manifests (manifest.h) next to data written by Headrace contribute when the data is opened: how to
// read it, what it contains, and what should be there.
//
// Anyone can write such a file. One that is damaged, huge or of another format is ignored. What it records
// about shards applies to the files it lists; its options for reading apply only while these are all the
// files there are and none is larger than recorded. For one thread.
#pragma once
#include <string>
#include <vector>

#include "headrace/formats/format.h"
#include "headrace/formats/source.h"

namespace headrace {

class DatasetManifest {
 public:
  // Looks at a few files next to the data. `looked` is what the paths and patterns in `given` resolve to;
  // `is_chosen`: only the splits that the user wants.
  DatasetManifest(Store& store, const FormatInfo& format, const Probe& looked,
                  const std::vector<std::string>& given, bool is_chosen = false);

  // Not ok if a manifest is there, or may be, and cannot be read: the data may mean something else with it.
  const Status& unread() const { return unread_; }

  // The given options, completed from read_with.
  Value options(const Value& given) const;

  // What the manifests say of the data, such as its classes; null if they disagree.
  const Value& about() const { return about_; }
  // An error if the manifests of the files number the classes differently.
  const Status& classes_agree() const { return classes_agree_; }

  // The source with findings added to its metadata(), each a string:
  //   "missing"  shards that are listed in the manifest, or implied by numbered names, but do not exist; not
  //              those that a pattern or a list leaves out
  //   "differs"  the number of samples, or the size of a file, is not that of the manifest
  //   "empty"    empty files among others, if there is no manifest
  // and to its "notes": that a folder holds several sets, which are read as one, and what is ignored. Also
  // adds metadata of the manifest that the source lacks. `note`: one more of its "notes".
  SourcePtr with_findings(SourcePtr source, const Value& given, const std::string& note = {}) const;

 private:
  const FormatInfo& format_;
  Value read_with_, about_;  // null: the manifests disagree, or some files have none
  Status classes_agree_;
  std::string missing_, numbered_;  // according to a manifest; to numbers in names
  std::string empty_, odd_;         // odd: sizes differ from when they were written
  std::string several_;             // sets in a folder
  Status unread_;
  std::vector<std::string> notes_;  // why something is ignored
  std::string counted_by_;          // "'out/headrace.json'"; "": the number of samples is not recorded
  uint64_t samples_ = 0, num_files_ = 0;
};

}  // namespace headrace
