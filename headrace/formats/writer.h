// What writes a format: samples in, a file (or a folder) that the format's reader gives back equal.
//
// A format can be written when its folder has a writer.cc that ends in
//
//   const WriterRegistration registered({
//       .name = "tfrecord",
//       .doc = "TFRecord files, a tf.train.Example each record.",
//       .ending = ".tfrecord",
//       .make = make,
//   });
//
// A FileWriter writes one shard, in order, and knows nothing of the others: where a shard begins, what is
// called what, what survives a crash and what may be overwritten are the business of formats/write.h.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/core/status.h"
#include "headrace/formats/options.h"

namespace headrace {

struct WriteRequest : GivenOptions {
  std::string path;  // nothing is there, its folder is; the name that readers see is given later. A format
                     // whose shard is a folder (LMDB's) makes one there.
  Schema schema;     // of the samples to come: dense, ragged (kAny) and text fields
  Value metadata;    // an object: what the source says of itself ({"classes": […]}), what was done to it
};

// One thread at a time.
class FileWriter {
 public:
  virtual ~FileWriter() = default;  // without finish(): leaves what is at the path as it is
  // `fields` are as the schema says. What cannot be written in this format is an error that names the field,
  // and leaves the file as if this sample had not come.
  virtual Status add(const std::vector<Tensor>& fields) = 0;
  // Every byte is with the system; that they last is the caller's business. Once, at the end.
  virtual Status finish() = 0;
  // What the format's reader will give of the sample last added, in the reader's order of fields, where that
  // is something else than the fields themselves: the bytes of a record, a number as text. It is hashed, and
  // reading back is compared with it. Valid until the next call.
  virtual const std::vector<Tensor>* as_read() const { return nullptr; }
};

// Why a schema is refused, in a format whose fields are few; `fields`: those there is no place for.
inline std::string no_place_for(const std::string& fields) {
  return "there is no place for " + fields + "; leave it out, as headrace convert --fields does";
}

struct Manifest;

// A file over all shards of a data set, an index that other readers want: made when they are there.
struct FileOverAll {
  std::string name;  // "index.json"; "": there is none
  // From all of the manifest but its files.
  Result<std::string> (*text)(const Manifest&) = nullptr;
  // A data set with such a file is always a folder of shards: of so many bytes, when nothing is said.
  uint64_t shard_size = 0;
};

struct WriterInfo {
  std::string name;    // the reader's own: "tfrecord"
  std::string doc;     // a line for people
  std::string ending;  // of a shard's name: ".tfrecord"; "" where there is one folder and no shards
  std::vector<OptionInfo> options = {};
  // Whether samples of this schema can be written at all, and a writer for a shard of them.
  Result<std::unique_ptr<FileWriter>> (*make)(const WriteRequest&) = nullptr;
  // Further endings that name this format ("out.tfrecords"), and what they mean for the options
  // (".tfrecord.gz": {"compression": "gzip"}).
  std::vector<std::pair<std::string, Value>> other_endings = {};
  // Options with which the reader gives samples back as they were; null: it needs none.
  Value (*read_with)(const WriteRequest&) = nullptr;
  // Of further files that belong to a shard: a writer makes each at its path + this (".idx"), readers look
  // for it where the shard's own ending is replaced by it ("train-3.idx" of "train-3.rec").
  std::vector<std::string> beside = {};
  // Whether a shard is a folder, with these options; null: it is one where `ending` is "".
  bool (*is_folder)(const GivenOptions&) = nullptr;
  FileOverAll over_all = {};
};

// "train-3.idx" of "train-3.rec", "data.v1.idx" of "data.v1".
std::string companion_of(const std::string& shard, const WriterInfo& format, const std::string& ending);

using WriterRegistry = std::map<std::string, WriterInfo, std::less<>>;
const WriterRegistry& writers();  // all writers, by name; filled before main()
const WriterInfo* find_writer(std::string_view name);

// The writer that a target's ending or `format` names, with what the ending says of the options.
struct ChosenWriter {
  const WriterInfo* info = nullptr;
  std::string ending;  // of the format that the target has: ".tfrecord.gz"; else the format's own
  Value options;
};
Result<ChosenWriter> choose_writer(const std::string& target, const std::string& format,
                                   const Value& options);

struct WriterRegistration {
  explicit WriterRegistration(WriterInfo info);
};

}  // namespace headrace
