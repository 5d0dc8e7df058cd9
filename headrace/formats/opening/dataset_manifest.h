// What the manifests beside data that Headrace wrote (manifest.h) tell whoever opens them: how they are read,
// what they hold, and what of it should be there.
//
// Anybody can write such a file. One that is damaged, huge or of another format is as good as none; what it
// says of shards is heard of files that it names, what it says of reading while these are all there is and
// none is larger than it knows.
// For one thread.
#pragma once
#include <string>
#include <vector>

#include "headrace/formats/format.h"
#include "headrace/formats/source.h"

namespace headrace {

class DatasetManifest {
 public:
  // Looks at a few files beside. `looked` is what `given`, paths and patterns, stand for.
  DatasetManifest(Store& store, const FormatInfo& format, const Probe& looked,
                  const std::vector<std::string>& given);

  // Those that are given, and of read_with those that are not.
  Value options(const Value& given) const;

  // The source, and under keys of its metadata() what there is to say of it, each a text:
  //   "missing"  shards that the manifest names, or numbers in the names of the others, and that are not
  //              there; not those that a pattern or a list leaves out
  //   "differs"  the number of samples is not the manifest's, or the size of a file
  //   "empty"    files of no bytes beside others, of which no manifest speaks
  // and in its "notes" that a folder holds several sets, which are read as one, and what is not heard; and
  // what the manifest knows of the data where the source does not. `note`: one more of its "notes".
  SourcePtr tell(SourcePtr source, const Value& given, const std::string& note = {}) const;

 private:
  const FormatInfo& format_;
  Value read_with_, about_;         // null: manifests do not agree, or some files have none
  std::string missing_, numbered_;  // by a manifest, by numbers in names
  std::string empty_, odd_;         // odd: of other sizes than written
  std::string several_;             // sets in a folder
  std::vector<std::string> notes_;  // why something is not heard
  std::string counted_by_;          // "'out/headrace.json'"; "": the number of samples is not known
  uint64_t samples_ = 0, num_files_ = 0;
};

}  // namespace headrace
