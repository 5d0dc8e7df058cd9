// A format: its name, its options, how it is recognised and how it is opened; and the registry of all of
// them.
//
// A format is a folder below formats/ and exists through one statement at the end of its .cc:
//
//   const FormatRegistration registered({
//       .name = "json_map",
//       .doc = "A JSON object from image path to label.",
//       .options = {{"root", "str", "Folder the paths are relative to; the map's own when not given."}},
//       .recognise = recognise,
//       .open = open,
//   });
//
// Read images/json_map.cc before you write one. A format does no I/O: what it may look at comes in an
// OpenRequest, further bytes through the Opening. Everything here is immutable after registration and may be
// used from several threads.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/file_index.h"
#include "headrace/formats/options.h"
#include "headrace/formats/source.h"
#include "headrace/io/store.h"

namespace headrace {

// A path, looked at: enough to recognise a format by, and what a folder holds.
struct Probe {
  std::string path;
  FileInfo info;
  BufferPtr head;                          // of a file: its first kProbeBytes, or all there are
  std::shared_ptr<const Listing> listing;  // of a folder
  // The file, or all that a pattern, a list or a folder of shards stands for; `head` and `info` are then the
  // first one's. None of a folder that is no set of shards.
  std::vector<SourceFile> files = {};
  Value left_out = {};  // of a folder of shards: what Shards::left_out says
  // Of a file that is an archive (a zip, a squashfs image): what lies in it. A format that knows the file
  // gets it as a file; otherwise its folder is read.
  std::shared_ptr<const Listing> inside = nullptr;
  Status not_inside = {};  // of one that looks like an archive: why nothing can be found in it

  std::string_view text() const {  // the head as characters
    return head ? std::string_view(reinterpret_cast<const char*>(head->data()), head->size())
                : std::string_view();
  }
};
inline constexpr uint64_t kProbeBytes = 4096;

struct OpenRequest : GivenOptions {
  std::vector<Probe> probes;         // the path first, then what FormatInfo::places named
  std::string list;                  // the text of the file that FormatInfo::list named
  std::vector<std::string> folders;  // those of FormatInfo::folders that are there
  bool recognised = false;           // the format was found by content, not named by the user
  Value given = {};                  // the path, or the list of paths, as the user gave it; for describe()

  const Probe& path() const { return probes[0]; }
};

// Where the files are that an Opening's extents name: a path the Store understands for each ordinal.
using FilePaths = std::function<std::string(uint64_t ordinal)>;

// Record files on their way: an opening for each file, so that many are under way at once and what was found
// of one is kept (formats/index/record_indexes.h). `index` and `finish` may be called from any thread.
struct RecordOpening {
  std::string kind;  // of index, with a version: "tfrecord 1". What was kept under another is not used.
  std::vector<SourceFile> files;
  // In its extents 0 is the file and n the n-th that lies beside it. Errors name the byte; the file's name is
  // added.
  std::function<std::unique_ptr<Opening<FileIndex>>(uint64_t file)> index;
  std::function<Result<SourcePtr>(std::vector<FileIndex> indexes)> finish;  // one a file
  // The same where some are damaged, for formats that know without them what is in them. Null: each counts as
  // one sample.
  std::function<Result<SourcePtr>(std::vector<FileIndex> indexes, std::vector<RefusedFile> refused)>
      finish_without = nullptr;
};

// Data whose files are of another format: which, how they are opened, and what is made of the source that
// they are.
struct OtherData {
  std::vector<std::string> paths;  // files
  std::string format;              // recognised when it is empty
  Value options = {};
  std::function<Result<SourcePtr>(SourcePtr source)> finish;
};

// A source on its way, in one of three forms. `steps` and `other` may extend what `files` answers while they
// learn of more files.
struct SourceOpening {
  std::unique_ptr<Opening<SourcePtr>> steps;
  FilePaths files;
  std::optional<RecordOpening> records = std::nullopt;  // instead of both
  std::unique_ptr<Opening<OtherData>> other = nullptr;  // instead of `steps`
};
SourceOpening from_records(RecordOpening records);
// {"format", "path", the options given}: Source::describe() of most.
Value describe_opening(std::string_view format, const OpenRequest& request);
// The source is there already, or comes from all bytes of one file.
SourceOpening ready(SourcePtr source);
std::unique_ptr<Opening<BlockPtr>> ready(BlockPtr block);
SourceOpening parse_file(std::string path, std::function<Result<SourcePtr>(const BufferPtr& bytes)> parse);

// A file that another one lists.
struct ListedFile {
  std::string name;            // in the list's folder
  std::string otherwise = {};  // what may lie there instead: the same, not compressed
};

struct FormatInfo {
  std::string name, doc;
  std::vector<OptionInfo> options = {};
  // 0: not this; 100: surely. By content, never by the file's name alone. None: only when named.
  int (*recognise)(const Probe&) = nullptr;
  // Further folders or files to look at before `open`, from the options: their probes follow the path's.
  // Optional.
  Result<std::vector<std::string>> (*places)(const std::string& path, const Value& options) = nullptr;
  // Folders in which what the data name may lie: OpenRequest::folders are those that are there. Optional.
  std::vector<std::string> (*folders)(const std::string& path, const GivenOptions& options) = nullptr;
  Result<SourceOpening> (*open)(const OpenRequest&) = nullptr;
  // For a source without a path (a range): `open` is null then.
  Result<SourcePtr> (*make)(const Value& options) = nullptr;
  // Several files make one source: patterns, lists and folders of shards are asked of these formats only.
  bool takes_files = false;
  // For data that are an index and the files it lists (index.json): where the index is, and what it lists.
  // These become the request's files, in this order, whether it takes files or not. Optional, both or none.
  Result<std::string> (*list)(const Probe& path, const GivenOptions& options) = nullptr;
  Result<std::vector<ListedFile>> (*listed)(const std::string& text) = nullptr;
  // Names of further files that may lie beside one: indexes of other tools. Optional.
  std::vector<std::string> (*beside)(const std::string& path) = nullptr;
};

using FormatRegistry = std::map<std::string, FormatInfo, std::less<>>;
const FormatRegistry& formats();  // all formats, by name; filled before main()
const FormatInfo* find_format(std::string_view name);

struct FormatRegistration {
  explicit FormatRegistration(FormatInfo info);
};

}  // namespace headrace
