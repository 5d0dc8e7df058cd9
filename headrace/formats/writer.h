// Writing a format: samples in, a file (or a folder) out that the format's reader returns unchanged.
//
// A format can be written when its folder has a writer.cc that ends in
//
//   const WriterRegistration registered({
//       .name = "tfrecord",
//       .doc = "TFRecord files, each record a tf.train.Example.",
//       .ending = ".tfrecord",
//       .make = make,
//   });
//
// A FileWriter writes one shard, in order, independently of the others: dataset/dataset_writer.h decides
// where a shard begins, how it is named, what survives a crash and what may be overwritten.
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
  std::string path;  // does not exist, but its folder does; renamed to its final name later. A format whose
                     // shard is a folder (LMDB) creates one here.
  Schema schema;     // of the samples to be added: dense, ragged (kAny) and string fields
  Value metadata;    // an object: metadata of the source ({"classes": […]}), how it was transformed
};

// One thread at a time.
class FileWriter {
 public:
  virtual ~FileWriter() = default;  // without finish(): leaves the file at the path as it is
  // `fields` match the schema. If the format cannot store them, the error names the field and the file stays
  // as if this sample had not been added.
  virtual Status add(const std::vector<Tensor>& fields) = 0;
  // Hands all bytes to the operating system; making them durable is up to the caller. Once, at the end.
  virtual Status finish() = 0;
  // The fields that the format's reader will return for the sample last added, in the reader's order, if they
  // differ from the fields themselves: the bytes of a record, a number as a string. They are hashed, and
  // compared with what is read back. Valid until the next call.
  virtual const std::vector<Tensor>* as_read() const { return nullptr; }
};

// The error for a schema with fields that a format of few fields cannot store; `fields`: those fields.
inline std::string no_place_for(const std::string& fields) {
  return "this format cannot store " + fields + "; leave it out, for example with headrace convert --fields";
}

struct Manifest;

// A file for all shards of a data set, an index that other readers need: written after the shards.
struct FileOverAll {
  std::string name;  // "index.json"; "": none
  // From the manifest; its list of files is not used.
  Result<std::string> (*text)(const Manifest&) = nullptr;
  // A data set with such a file is always a folder of shards, of this size by default.
  uint64_t shard_size = 0;
};

struct WriterInfo {
  std::string name;    // that of the reader: "tfrecord"
  std::string doc;     // one line for users
  std::string ending;  // of a shard's name: ".tfrecord"; "" if the data set is one folder without shards
  std::vector<OptionInfo> options = {};
  // Checks whether samples of this schema can be written, and makes a writer for one shard.
  Result<std::unique_ptr<FileWriter>> (*make)(const WriteRequest&) = nullptr;
  // Further endings of this format ("out.tfrecords"), and the options they imply (".tfrecord.gz":
  // {"compression": "gzip"}).
  std::vector<std::pair<std::string, Value>> other_endings = {};
  // Options with which the reader returns samples unchanged; null: none needed.
  Value (*read_with)(const WriteRequest&) = nullptr;
  // Endings of companion files of a shard: a writer creates each at its path + this (".idx"), readers look
  // for it under the shard's name with its own ending replaced ("train-3.idx" for "train-3.rec").
  std::vector<std::string> beside = {};
  // Whether a shard is a folder, with these options; null: it is one if `ending` is "".
  bool (*is_folder)(const GivenOptions&) = nullptr;
  FileOverAll over_all = {};
};

// "train-3.idx" of "train-3.rec", "data.v1.idx" of "data.v1".
std::string companion_of(const std::string& shard, const WriterInfo& format, const std::string& ending);

using WriterRegistry = std::map<std::string, WriterInfo, std::less<>>;
// An error if a name would lead out of the archive or folder it is written to: absolute, with a part "..",
// with a drive letter, or with a NUL; whichever system unpacks it.
Status check_member_name(std::string_view name);

const WriterRegistry& writers();  // all writers, by name; filled before main()
const WriterInfo* find_writer(std::string_view name);

// The writer selected by a target's ending or `format`, with the options implied by the ending.
struct ChosenWriter {
  const WriterInfo* info = nullptr;
  std::string ending;  // the ending that the target has: ".tfrecord.gz"; else the format's default
  Value options;
};
Result<ChosenWriter> choose_writer(const std::string& target, const std::string& format,
                                   const Value& options);

struct WriterRegistration {
  explicit WriterRegistration(WriterInfo info);
};

}  // namespace headrace
