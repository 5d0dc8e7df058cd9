// What the names of files say: numbered shards ("train-00012-of-00100.tfrecord.gz"), compressed copies, and
// what lies beside data. Pure; any thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

// The parts of "train-00012-of-00100.x".
struct NumberedName {
  std::string before, number, of, after;  // "train-", "00012", "00100", ".x"
};
// Nothing if the name has no number.
std::optional<NumberedName> numbered(const std::string& name);
// "train.x"; unchanged if it has no number.
std::string without_number(const std::string& name);

// The kind of shard that a name stands for: its ending in lower case, without that of a compression and
// without "-00012-of-00100"; "" if there is none. ".tfrecord" of "x.tfrecord-00000-of-00010" and
// "train-00001-of-00002.tfrecord.gz".
std::string shard_kind(std::string_view name);

// Without the ending of a compression: "train.csv" of "train.csv.gz"; unchanged if it has none.
std::string_view without_compression(std::string_view name);
// Moves those of the sorted names to `copies` that lie there without their compression, too: as gzip -k
// leaves them, they hold the same samples.
void take_out_copies(std::vector<std::string>& names, std::vector<std::string>& copies);

// ---- what lies beside data; nothing else decides this

// Files that Headrace stores with data that it wrote or indexed, by their path below the folder.
bool is_our_own(std::string_view name);
// Never data: our own files, "README" and "LICENSE", and paths of which a part begins with "." or "_", as
// Spark's "_SUCCESS" does.
bool is_never_data(std::string_view path);
// Whether files of this kind lie beside data: indexes, lists, descriptions and checksums. Of
// these, some are data where there is nothing else: .csv, .tsv, .txt, .jsonl and .ndjson.
bool is_beside_data(std::string_view kind);
bool is_text_data(std::string_view kind);
// Images and photographs that no codec of ours reads: ".heic".
bool is_of_other_images(std::string_view kind);
// Code and pages: data only where there is nothing at all beside them.
bool is_code_or_page(std::string_view kind);
// Whether a word of a file or folder is usual beside the splits or classes of a data set: "annotations",
// "sample_submission.csv", "LICENSE".
bool is_usual_beside(std::string_view name);
// Whether a folder without images is none of the class folders that it lies beside: "labels", or "logs",
// which a tool left there. By its whole name: "gas mask" is a class.
bool is_folder_beside_classes(std::string_view name);

}  // namespace headrace
