// A format: its name, its options, how it is recognised and how it is opened; and the registry of all
// formats.
//
// A format is a folder below formats/ and exists through one statement at the end of its .cc:
//
//   const FormatRegistration registered({
//       .name = "json_map",
//       .doc = "Images listed in a JSON object that maps their paths to labels.",
//       .fields = "`image` (encoded, bytes) and `label` (int64 scalar).",
//       .path = "The JSON file.",
//       .options = {{"root", "str | None", "Folder that the paths are relative to; by default the file's."}},
//       .recognise = recognise,
//       .open = open,
//   });
//
// tools/gen_readers.py writes the Python function hr.read_json_map and the option tables of READMEs from it.
//
// Read images/json_map.cc before you write one. A format does no I/O: an OpenRequest holds what it may look
// at, further bytes come through the Opening. Everything here is immutable after registration and may be used
// from several threads.
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

// What is known about a path before it is opened: enough to recognise its format, and the contents of a
// folder.
struct Probe {
  std::string path;
  FileInfo info;
  BufferPtr head;                          // of a file: its first kProbeBytes, or all of it if it is shorter
  std::shared_ptr<const Listing> listing;  // of a folder
  // The file, or all files of a pattern, a list or a folder of shards; `head` and `info` are then those of
  // the first. Empty for a folder that is not a set of shards.
  std::vector<SourceFile> files = {};
  Value left_out = {};  // of a folder of shards: Shards::left_out
  // Of a file that is an archive (a zip, a squashfs image): its contents. A format that recognises the file
  // itself gets it as a file; otherwise it is read as a folder.
  std::shared_ptr<const Listing> inside = nullptr;
  Status not_inside = {};  // of a file that looks like an archive: why its contents cannot be listed

  std::string_view text() const {  // the head as characters
    return head ? std::string_view(reinterpret_cast<const char*>(head->data()), head->size())
                : std::string_view();
  }
};
inline constexpr uint64_t kProbeBytes = 4096;

struct OpenRequest : GivenOptions {
  std::vector<Probe> probes;         // the path first, then those of FormatInfo::places
  std::string list;                  // the contents of the file that FormatInfo::list named
  std::vector<std::string> folders;  // those of FormatInfo::folders that exist
  bool recognised = false;           // the format was recognised by content, not named by the user
  Value given = {};                  // the path, or the list of paths, as the user gave it; for describe()
  Value split = {};                  // of the folder in `given`, what is read: a name, or a list of names

  const Probe& path() const { return probes[0]; }
};

// Maps the file ordinals of an Opening's extents to paths that the Store understands.
using FilePaths = std::function<std::string(uint64_t ordinal)>;

// Record files that are being opened: one opening per file, so that many run at once and the index of each
// can be stored (formats/index/record_indexes.h). `index` and `finish` may be called from any thread.
struct RecordOpening {
  std::string kind;  // of index, with a version: "tfrecord 1". A stored index of another kind is not used.
  std::vector<SourceFile> files;
  // In its extents, 0 is the file and n is its n-th companion file. Errors name the byte; the caller adds the
  // name of the file.
  std::function<std::unique_ptr<Opening<FileIndex>>(uint64_t file)> index;
  std::function<Result<SourcePtr>(std::vector<FileIndex> indexes)> finish;  // one index per file
  // The same when some files are damaged, for formats that know their contents without them. Null: each
  // damaged file counts as one sample.
  std::function<Result<SourcePtr>(std::vector<FileIndex> indexes, std::vector<RefusedFile> refused)>
      finish_without = nullptr;
};

// Data whose files are of another format: which one, how they are opened, and what wraps the resulting
// source.
struct OtherData {
  std::vector<std::string> paths;  // files
  std::string format;              // recognised if empty
  Value options = {};
  std::function<Result<SourcePtr>(SourcePtr source)> finish;
};

// A source that is being opened, in one of three forms. `steps` and `other` may extend what `files` returns
// as they discover more files.
struct SourceOpening {
  std::unique_ptr<Opening<SourcePtr>> steps;
  FilePaths files;
  std::optional<RecordOpening> records = std::nullopt;  // instead of both
  std::unique_ptr<Opening<OtherData>> other = nullptr;  // instead of `steps`
};
// The same for the names of the splits of a data set.
struct SplitsOpening {
  std::unique_ptr<Opening<std::vector<std::string>>> steps;
  FilePaths files;
};
SplitsOpening known_splits(std::vector<std::string> names);
// Read from one file. Errors name it.
SplitsOpening splits_in(std::string path,
                        std::function<Result<std::vector<std::string>>(const BufferPtr& bytes)> parse);
SourceOpening from_records(RecordOpening records);
// {"format", "path", the options given}: what most formats return from Source::describe().
Value describe_opening(std::string_view format, const OpenRequest& request);
// The source exists already, or is parsed from all bytes of one file.
SourceOpening ready(SourcePtr source);
std::unique_ptr<Opening<BlockPtr>> ready(BlockPtr block);
SourceOpening parse_file(std::string path, std::function<Result<SourcePtr>(const BufferPtr& bytes)> parse);

// A file that another one lists.
struct ListedFile {
  std::string name;            // in the list's folder
  std::string otherwise = {};  // the file that may be there instead: the same, uncompressed
};

// An error of a format, for its documentation: a Python class, and why it is raised.
struct RaisedError {
  std::string error, reason;
};

// The strings are sentences of the docstring that tools/gen_readers.py writes; dtypes have NumPy's names.
struct FormatInfo {
  std::string name;
  std::string doc;                        // "Read …": it begins with "A", "The" or a plural
  std::string fields = {};                // "Fields: …"
  std::vector<std::string> details = {};  // further paragraphs
  std::string path = {};                  // the argument; "": a path, or those of files if it takes_files
  std::vector<OptionInfo> options = {};
  std::vector<RaisedError> raises = {};
  std::string example = {};  // Python code
  // 0: not this format; 100: certain. By content, never by the file's name alone. Null: only when named.
  int (*recognise)(const Probe&) = nullptr;
  // Further folders or files to look at before `open`, from the options: their probes follow the path's.
  // Optional.
  Result<std::vector<std::string>> (*places)(const std::string& path, const Value& options) = nullptr;
  // Folders that may hold files named in the data: OpenRequest::folders are those that exist. Optional.
  std::vector<std::string> (*folders)(const std::string& path, const GivenOptions& options) = nullptr;
  Result<SourceOpening> (*open)(const OpenRequest&) = nullptr;
  // For a source without a path (a range); `open` is then null.
  Result<SourcePtr> (*make)(const Value& options) = nullptr;
  // Several files make one source: only these formats take patterns, lists and folders of shards.
  bool takes_files = false;
  // The path may be a folder that anyone has put together, so that splits may lie side by side in it. In one
  // that the format recognises with 90 or more, as Zarr a store with metadata, names mean nothing.
  bool may_hold_splits = false;
  // The names of the splits that the option `split` of the format chooses from; it takes one of them, and
  // "all" if `takes_all_splits`. Optional.
  Result<SplitsOpening> (*splits)(const OpenRequest&) = nullptr;
  bool takes_all_splits = false;
  // Options that are files, and where such a file usually lies: those that exist are set if the user has not
  // set them. Optional.
  std::vector<std::pair<std::string, std::string>> (*files_beside)(const std::string& path) = nullptr;
  // For data that consist of an index and the files it lists (index.json): where the index is, and what it
  // lists. These files become the request's files, in this order, whether the format takes files or not.
  // Optional, both or none.
  Result<std::string> (*list)(const Probe& path, const GivenOptions& options) = nullptr;
  Result<std::vector<ListedFile>> (*listed)(const std::string& text) = nullptr;
  // Names of companion files that may be next to a file: indexes of other tools. Optional.
  std::vector<std::string> (*beside)(const std::string& path) = nullptr;
};

using FormatRegistry = std::map<std::string, FormatInfo, std::less<>>;
const FormatRegistry& formats();  // all formats, by name; filled before main()
const FormatInfo* find_format(std::string_view name);
// The option `split` of formats whose folders may hold splits side by side, which open_source() itself takes;
// nothing if there are none, or it is an option of the format.
std::optional<OptionInfo> split_option(const FormatInfo& format);

struct FormatRegistration {
  explicit FormatRegistration(FormatInfo info);
};

}  // namespace headrace
